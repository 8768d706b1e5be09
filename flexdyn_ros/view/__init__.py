"""Pictures: plots of trajectories."""
