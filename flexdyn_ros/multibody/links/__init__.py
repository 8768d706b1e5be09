"""Links that deform: the kinds that are known, and what a kind answers."""
