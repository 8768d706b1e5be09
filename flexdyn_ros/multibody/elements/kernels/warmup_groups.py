"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""

#: what few people call and what takes long
RARE = ("lines.*",)
