"""Rotations, small dense linear algebra, moving on the configuration manifold."""
