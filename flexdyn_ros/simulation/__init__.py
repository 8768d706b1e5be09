"""Composing the verbs: time stepping, events, trajectories."""
