"""Closed loops of trees: assembly, constrained dynamics, small motions."""
