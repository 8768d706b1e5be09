"""Compiled recursions over rigid trees (Featherstone 2008)."""
