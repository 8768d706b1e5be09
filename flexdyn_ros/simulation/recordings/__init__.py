"""Trajectories as MCAP recordings, and back."""
