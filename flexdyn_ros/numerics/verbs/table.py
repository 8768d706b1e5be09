"""The table of a robot's compiled functions, from which verbs, batches, derivatives, steps in time, exports
and tapes are made.

A row is a function, its columns are addresses of the C functions for float64 numbers, on lanes and on
tangents; 0 stands for one that the robot does without. Kernels that are compiled once find the table by a
word of the robot's head (numerics/verbs/head.py), read addresses from it at run time and call what they need.
Springs, cylinders, wheels wrap the table of the tree: they have a table of their own, and call the tree's by
an address in their header. Exporters and tapes interpret the Python functions behind the addresses.

Arrays cross as addresses (numerics/compiling/memory.py), and nothing crosses that could raise: a function
says by its result, or by NaN in what it writes, that it has none. SI; twists and wrenches angular part first,
in world axes. `head` is the address of the robot's head, `work` that of work memory, which all may write to.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import Callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import ints_at

#: columns of a row: addresses for float64 numbers, a block of lanes, tangents
FLOATS, ON_LANES, ON_TANGENTS = range(3)
COLUMNS = 3


@dataclass(frozen=True, eq=False)
class Row:
    """A row: its first word in a table, the signature of the function for float64 numbers, and how kernels
    call that: call(address, arguments)."""

    name: str
    word: int
    signature: str
    call: Callable[..., Any]


#: all rows by their names, in their order in a table
ROWS: dict[str, Row] = {}


def _row(signature: str) -> Callable[[Callable[..., Any]], Row]:
    """Make a row of a function without a body, whose docstring says what families give."""

    def made(function: Callable[..., Any]) -> Row:
        name = function.__name__
        row = Row(name, COLUMNS * len(ROWS), signature, caller(signature))
        object.__setattr__(row, "__doc__", function.__doc__)
        ROWS[name] = row
        return row

    return made


_OBSERVE = "int64(int64, int64, int64, int64, int64)"


@_row("int64(int64, int64)")
def status(robot, q):
    """OK, NOT_FINITE or BAD_QUATERNION (numerics/compiling/status.py) for q (nq,); robot: what the head knows
    as ROBOT."""


@_row("int64(int64, int64)")
def ready(head, work):
    """Make work memory ready for `inverse` and `inertia`; 0."""


@_row("int64(int64, int64, int64, int64, int64, int64)")
def inverse(head, work, q, v, a, tau):
    """Write efforts (nu,) of a motion, M a + h = B tau [N m, N], in work memory that is ready.

    On lanes: see LANES_SIGNATURE.
    """


@_row("int64(int64, int64, int64, int64, int64, int64, int64)")
def forward(head, work, q, v, tau, wrenches, a):
    """Write accelerations (nv,) under efforts (nu,) and wrenches (COUNT, 6) at the points of the head; OK, or
    a status of the family.

    On lanes: see LANES_SIGNATURE.
    """


@_row("int64(int64, int64, int64, int64, int64, int64, int64, int64)")
def balance(head, work, q, v, a, tau, wrenches, out):
    """Write M a + h - B tau - sum J^T w (nv,) [N m, N], with the EFFORTS first numbers of tau and wrenches
    (COUNT, 6).

    On tangents: its derivatives (nv, 2 nv) by q, in its tangent space, and by v; work memory of TANGENTS
    numbers.
    """


@_row(_OBSERVE)
def inertia(head, work, q, v, out):
    """Write M (nv, nv), in work memory that is ready; v is not read."""


@_row(_OBSERVE)
def mass(head, work, q, v, out):
    """Write M (nv, nv) [kg m2, kg m, kg]; v is not read."""


@_row(_OBSERVE)
def bias_terms(head, work, q, v, out):
    """Write parts (5, nv) of h: velocity, gravity, elastic, damping, external [N m, N]."""


@_row(_OBSERVE)
def energy(head, work, q, v, out):
    """Write kinetic, gravity and elastic energy (3,) [J]."""


@_row(_OBSERVE)
def momenta(head, work, q, v, out):
    """Write angular and linear momentum about the world's origin, first moment of mass, mass (10,)."""


@_row(_OBSERVE)
def frames(head, work, q, v, out):
    """Write poses (COUNT, 4, 4) of the frames of the head; v is not read."""


@_row(_OBSERVE)
def jacobian(head, work, q, v, out):
    """Write Jacobians (COUNT, 6, nv) of the points of the head, world axes; v is not read."""


@_row(_OBSERVE)
def jacobian_rate(head, work, q, v, out):
    """Write dJ/dt v (COUNT, 6) of the points of the head."""


@_row(_OBSERVE)
def moved(head, work, q, v, out):
    """Write q (+) v (nq,), one second along v."""


@_row("int64(int64, int64, int64, int64, int64, int64, int64, int64)")
def load(head, work, q, k, bodies, points, wrenches, force):
    """force (nv,) += sum J^T w of k wrenches; bodies (k,) and points, rows, are what the family answered for
    the frames."""


# ---- of steps in time ----


@_row("int64(int64, int64, float64, int64, int64, int64, int64, float64, int64)")
def accelerate(head, work, t, q, v, force, extra, h, a):
    """Write a (nv,) of [M + B diag(extra) B' + h D + h^2 K] a = force - bias(q, v, t) - h K v, or NaN.

    K and D are the family's own stiffness and damping (constants, or secants at the state); h = 0 is forward
    dynamics. force (nv,) may be overwritten; extra is (nu,). Prescribed coordinates bring their acceleration
    in a, and find the force that it takes in force.
    """


@_row("float64(int64, int64, float64, int64, int64, int64, int64)")
def losses(head, work, t, q, v0, speed, mean):
    """Power speed' D mean that the family's own resistance takes, D as it is at v0 [W]. Optional.

    Called with one array for v0, speed and mean only right after `accelerate` at the same q and v.
    """


@_row("int64(int64, int64, int64, int64, int64, int64)")
def measure(head, work, q, v, position, speed):
    """Write what the actuators measure, (nu,) each: lengths and B' v of legs. Left out where B is the
    identity."""


@_row("int64(int64, int64, int64, int64, int64)")
def exert(head, work, q, effort, force):
    """force (nv,) += B effort (nu,). Left out where B is the identity."""


@_row("int64(int64, int64, int64, float64, float64, int64, int64, int64, int64)")
def actuate(actuator, head, work, t, h, q, v, effort, a):
    """Once before each step of h, with the memory of the actuators: effort (nu,) holds the command and gets
    what they exert during the step. Optional.

    q, v and a of prescribed coordinates may be set, a being their acceleration during the step.
    """


@_row("int64(int64, float64, int64, int64, int64, int64, int64, int64, int64)")
def comply(actuator, h, position, speed, drive, stiffness, damping, target_q, target_v):
    """Before each part of h of an implicit step, with the memory of the actuators and what they measure
    (nu,): force and slopes of actuators that are springs while the step lasts, as a servo whose target is
    where they are. Optional.
    """


@_row("int64(int64, float64, int64)")
def settle(actuator, h, speed):
    """After each part of h of an implicit step, with the memory of the actuators and the speeds (nu,) that
    they measure at its end. Optional; together with `comply`."""


@_row("float64(int64, int64)")
def supply(head, work):
    """Power that the surroundings give (a road that moves under wheels), for the arguments that `losses` was
    called with last [W]. Optional."""


@_row(accelerate.signature)
def respond(head, work, t, q, v, force, extra, h, a):
    """Right after `accelerate` with the same other arguments: write what a force (nv,) beside those changes
    of its answer. Optional: where that costs less than another answer."""


@_row("int64(int64, int64, int64, int64)")
def constrain(head, work, q, v):
    """After each accepted step: move a state (nq,), (nv,) onto the constraints, near to which it is; OK, or
    another status, and then the state is what it was. Optional."""


@_row("int64(int64, int64)")
def finish(actuator, must):
    """After all parts of an implicit step, with the memory of the actuators, whose state this moves on: 0, or
    less where a longer step would do too. More where the step is not exact enough: nothing is moved then, and
    the step is made again in two; only if `must` is 0. Where it is less, the step is made, and 0.
    Optional; together with `comply`."""


#: (head, work, numbers, is_first): `inverse` or `forward` of a block of lanes at the beginning of work memory
#: of so many float64 numbers: q, v, accelerations or efforts, and the result; a status of the family
LANES_SIGNATURE = "int64(int64, int64, int64, int64)"
#: (head, q, v, third, out, count): `inverse` or `forward` of rows of q, v and accelerations or efforts, which
#: C libraries of single robots have; 0
ROWS_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64)"
#: (t, q, v): before each evaluation of a run with error control, what follows time and state without breaks:
#: efforts, wrenches, accelerations of prescribed coordinates are written into the memory of the steps. Not 0
#: ends the run. No function of the family: its address travels in the header of the steps
PROVIDE_SIGNATURE = "int64(float64, int64, int64)"

TABLE_WORDS = COLUMNS * len(ROWS)
(
    STATUS, READY, INVERSE, FORWARD, BALANCE, INERTIA, MASS, BIAS_TERMS, ENERGY, MOMENTA, FRAMES, JACOBIAN,
    JACOBIAN_RATE, MOVED, LOAD, ACCELERATE, LOSSES, MEASURE, EXERT, ACTUATE, COMPLY, SETTLE, SUPPLY,
    RESPOND, CONSTRAIN, FINISH,
) = range(0, TABLE_WORDS, COLUMNS)  # fmt: skip
SLOPES = BALANCE + ON_TANGENTS
#: names of functions in other columns than the first
_COLUMNS = {
    "inverse_on_lanes": INVERSE + ON_LANES, "forward_on_lanes": FORWARD + ON_LANES, "slopes": SLOPES,
}  # fmt: skip
#: the rows that steps in time call
STEPPED = (
    "ready", "energy", "load", "accelerate", "losses", "measure", "exert", "actuate", "comply", "settle",
    "supply", "constrain", "finish",
)  # fmt: skip

# how kernels call them
call_status, call_ready, call_inverse, call_forward = status.call, ready.call, inverse.call, forward.call
call_balance, call_observe, call_load, call_accelerate = balance.call, mass.call, load.call, accelerate.call
call_losses, call_measure, call_exert = losses.call, measure.call, exert.call
call_actuate, call_comply, call_settle, call_supply = actuate.call, comply.call, settle.call, supply.call
call_respond, call_constrain, call_finish = respond.call, constrain.call, finish.call
call_on_lanes, call_of_rows = caller(LANES_SIGNATURE), caller(ROWS_SIGNATURE)
call_provide = caller(PROVIDE_SIGNATURE)


class Table(Mapping[str, Callback]):
    """The functions of a robot by the names of rows (`inverse_on_lanes`, `forward_on_lanes` and `slopes` are
    other columns), and their addresses where kernels find them.

    Functions under other names than those of ROWS are what heads look at (`Head`).

    Parameters
    ----------
    functions : mapping from names to Callbacks
    inner : the table that these functions wrap, of whose rows each may call the one of its own name
    before : of names: makes ready what else these functions call

    Attributes
    ----------
    address : int
        Of the words; they live as long as this object.
    """

    def __init__(
        self,
        functions: Mapping[str, Callback],
        inner: Table | None = None,
        before: Callable[[tuple[str, ...]], None] | None = None,
    ) -> None:
        self._functions, self._inner, self._before = dict(functions), inner, before
        self._words = np.zeros(TABLE_WORDS, dtype=np.int64)
        self.address = int(self._words.ctypes.data)

    def __getitem__(self, name: str) -> Callback:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def provide(self, *names: str) -> None:
        """Write the addresses of those of these functions that there are, compiled now if need be."""
        self.open(*names)
        for name in names:
            word = ROWS[name].word if name in ROWS else _COLUMNS.get(name)
            if word is not None and name in self._functions and not self._words[word]:
                self._words[word] = self._functions[name].address

    def open(self, *names: str) -> None:
        """Make ready what these functions call: so they can be interpreted without being compiled."""
        if self._inner is not None:
            self._inner.provide(*names)
        if self._before is not None:
            self._before(names)

    def with_rows(self, functions: Mapping[str, Callback]) -> Table:
        """The same table with other functions in some rows."""
        return Table({**self._functions, **functions}, self._inner, self._before)

    def without(self, *names: str) -> Table:
        """The same table without some functions."""
        kept = {name: x for name, x in self._functions.items() if name not in names}
        return Table(kept, self._inner, self._before)


@kernel(forceinline=True)
def table_at(address):
    """The words of a table at an address."""
    return ints_at(address, TABLE_WORDS)
