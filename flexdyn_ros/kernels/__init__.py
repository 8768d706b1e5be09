"""Compiled kernels: from model and state to numbers; they do not allocate, validate or raise."""
