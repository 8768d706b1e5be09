"""The robot: verbs over a state, their arguments, batches and results, for every family."""
