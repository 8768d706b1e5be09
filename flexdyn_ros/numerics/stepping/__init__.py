"""Compiled steps in time over a family's table of functions."""
