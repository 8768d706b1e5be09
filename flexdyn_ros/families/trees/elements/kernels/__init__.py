"""Kernels of the layer of elements around a tree."""
