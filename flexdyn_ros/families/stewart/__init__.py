"""Platforms on six legs."""
