"""Compiled recursive Lagrangian dynamics."""
