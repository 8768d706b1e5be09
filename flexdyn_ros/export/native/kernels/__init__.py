"""Kernels: what Python calls of a robot that the C compiler compiled."""
