"""Motions that make data say most."""
