"""Kernels interpreted on numbers that note what is done with them."""
