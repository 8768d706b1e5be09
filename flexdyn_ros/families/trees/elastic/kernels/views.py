"""Layout of what the kernels of elastic joints find at the address of a robot."""

from __future__ import annotations

#: address of the tree (what its steps take in steps.py, its head in verbs.py), its table of functions
#: (steps.py), its nq and nv, the number m of motors, addresses of m joint indices in q, m in v, and of 3 m
#: numbers I, k, d
ELASTIC_HEADER = 8
E_TREE, E_TABLE, E_NQ, E_NV, E_MOTORS, E_JOINTS_Q, E_JOINTS_V, E_NUMBERS = range(ELASTIC_HEADER)
