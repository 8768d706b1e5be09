"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""

#: what takes longer than twenty seconds to compile, so that nobody waits for it at a first call
START = ("entries.slopes",)

#: what few people call and what takes long
RARE = ("entries.momenta",)
