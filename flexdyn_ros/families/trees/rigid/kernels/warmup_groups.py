"""Which entries of this package are compiled beforehand (see numerics/compiling/warmup_names.py)."""

#: what scripts/demo calls: Canadarm2 with flexible and with rigid booms, simulated and slewed
DEMO = (
    "steps.*",
    "entries.ready",
    "entries.inverse",
    "entries.inertia",
    "entries.forward",
    "entries.load",
    "entries.mass",
    "entries.status",
    "entries.bias_terms",
    "entries.energy",
    "entries.slopes",
    "entries.balance",
    "entries.moved",
    "entries.difference_many",
    "entries.integrate_many",
)

#: what everybody waits for beside it: with it at most five minutes of processor time
START = ("entries.frames", "entries.jacobian")

#: what few people call and what takes long
RARE = ("coriolis.*", "*.accelerate_densely", "entries.momenta")
