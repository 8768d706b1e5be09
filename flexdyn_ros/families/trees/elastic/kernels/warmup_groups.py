"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""
