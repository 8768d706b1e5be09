"""Kernels interpreted on numbers that note what is done with them, and what is made of these notes."""
