"""Compiled actuators."""
