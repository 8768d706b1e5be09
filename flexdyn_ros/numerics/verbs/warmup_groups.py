"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""

#: what scripts/demo calls: Canadarm2 with flexible and with rigid booms, simulated and slewed
DEMO = ("dynamics.*", "observers.*", "derivatives.*", "partial.*")
