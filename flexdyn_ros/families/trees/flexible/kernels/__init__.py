"""Compiled recursions over trees with flexible links."""
