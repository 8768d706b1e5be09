"""Kernels of links that deform."""
