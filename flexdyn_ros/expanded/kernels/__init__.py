"""Compiled frames and surfaces of what bends."""
