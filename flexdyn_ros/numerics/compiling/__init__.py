"""How kernels are compiled, kept, found again and compiled beforehand."""
