"""Compiled dynamics of robots on wheels."""
