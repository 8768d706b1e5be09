"""Kernels of elements between two frames: what they are asked (`law`), and those of lines and axes."""
