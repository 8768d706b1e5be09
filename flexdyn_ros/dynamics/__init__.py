"""The verbs: robots of every family behind one protocol."""
