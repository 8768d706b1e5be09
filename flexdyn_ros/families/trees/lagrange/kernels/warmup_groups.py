"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""

#: a second formulation, which few people call
RARE = ("*",)
