"""What the fixed steps ask of a robot's family: a table of addresses of C functions.

The stepping kernels (numerics/stepping/fixed.py) are compiled once. Whatever knows the family - its equations
of motion, its own resistance, its energies, its wrenches, its actuators - is a function of the family with a
signature named here or, for what verbs have too, in numerics/verbs/head.py; a table of their addresses
travels in the header of the steps. The first argument of all is `Motion.robot`: the address of a head, or of
whatever else the functions of a family take. Arrays cross as addresses (numerics/compiling/memory.py), and
nothing crosses that could raise: a function says by NaN in its results that it has none.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import Callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.verbs.head import LOAD_SIGNATURE
from flexdyn_ros.numerics.verbs.head import OBSERVE_SIGNATURE as ENERGIES_SIGNATURE
from flexdyn_ros.numerics.verbs.head import READY_SIGNATURE as PREPARE_SIGNATURE

#: places in the table; 0 stands for a function that the family does without, which it may do without PREPARE
#: (robot, work), which makes work memory ready, and what is optional below. ENERGIES (robot, work, q, v, out)
#: writes kinetic, gravity and elastic energy [J]; LOAD as in head.py
MOTION_TABLE = 9
PREPARE, ACCELERATE, LOSSES, ENERGIES, LOAD, OBSERVE, EXERT, ACTUATE, SUPPLY = range(MOTION_TABLE)

_I, _F = "int64", "float64"

#: (robot, work, t, q, v, force, extra, h, a): write a (nv,) of
#: [M + B diag(extra) B' + h D + h^2 K] a = force - bias(q, v, t) - h K v, with the family's own stiffness K
#: and damping D (their constants, or secants at the state; h = 0 is forward dynamics).
#: force (nv,) may be overwritten; extra is (nu,). Prescribed coordinates bring their acceleration in a, and
#: find the force that it takes in force.
ACCELERATE_SIGNATURE = f"{_I}({_I}, {_I}, {_F}, {_I}, {_I}, {_I}, {_I}, {_F}, {_I})"
#: (robot, work, t, q, v0, speed, mean): power speed' D mean that the family's own resistance takes, with D as
#: it is at v0 [W]. Optional
LOSSES_SIGNATURE = f"{_F}({_I}, {_I}, {_F}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work, q, v, position, speed): what the actuators measure, (nu,) each: lengths and B' v of legs.
#: Left out where B is the identity
OBSERVE_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work, q, effort, force): force (nv,) += B effort (nu,). Left out where B is the identity
EXERT_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_I}, {_I})"
#: (actuator, robot, work, t, h, q, v, effort, a): once before each step of h, with the memory of the
#: actuators: effort (nu,) holds the command and gets what the actuators exert during the step; q, v and a of
#: prescribed coordinates may be set, a being their acceleration during the step. Optional
ACTUATE_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_F}, {_F}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work): power that the surroundings give (a road that moves under wheels), for the arguments that
#: LOSSES was called with last [W]. Optional
SUPPLY_SIGNATURE = f"{_F}({_I}, {_I})"


#: (t, q, v): before each evaluation of a run with error control, what follows time and state without breaks:
#: efforts, wrenches, accelerations of prescribed coordinates are written into the memory of the steps. Not 0
#: ends the run. No function of the family: its address travels in the header of the steps. Optional
PROVIDE_SIGNATURE = f"{_I}({_F}, {_I}, {_I})"


def motion_table(functions: dict[int, Callback]) -> np.ndarray:
    """Addresses (MOTION_TABLE,) of a family's functions, by their places; compiles what is not in the
    cache."""
    table = np.zeros(MOTION_TABLE, dtype=np.int64)
    for place, function in functions.items():
        table[place] = function.address
    return table


call_prepare = caller(PREPARE_SIGNATURE)
call_accelerate = caller(ACCELERATE_SIGNATURE)
call_losses = caller(LOSSES_SIGNATURE)
call_energies = caller(ENERGIES_SIGNATURE)
call_load = caller(LOAD_SIGNATURE)
call_observe = caller(OBSERVE_SIGNATURE)
call_exert = caller(EXERT_SIGNATURE)
call_actuate = caller(ACTUATE_SIGNATURE)
call_supply = caller(SUPPLY_SIGNATURE)
call_provide = caller(PROVIDE_SIGNATURE)


@kernel(forceinline=True)
def table_at(address):
    """The table (MOTION_TABLE,) at an address."""
    return ints_at(address, MOTION_TABLE)
