"""Linearizations of many states by a tape: the robot's own kernels, traced once, and their derivatives.

The kernels of the balance of forces are interpreted on numbers that note what is done with them; derivatives
of these notes are found by vertex elimination (numerics/tracing/elimination.py), which takes what is zero by
a direction for nothing, and a tape of all that is followed for a block of states at a time
(numerics/verbs/tapes.py). Finding it takes up to 2.5 s: it pays for many states only.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.compiling.teaching import is_interpreted
from flexdyn_ros.numerics.numbers.memory import aligned
from flexdyn_ros.numerics.tracing.elimination import Seeds, jacobian
from flexdyn_ros.numerics.tracing.graph import Graph
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.numerics.tracing.tape import Tape, write_tape
from flexdyn_ros.numerics.verbs import tapes
from flexdyn_ros.robot.entries.heads import Head
from flexdyn_ros.robot.threads import run_in_slices, shared_property

#: so many states have been linearized in batches before a tape is written, and so many are worth following it
STATES, FEWEST = 1000, 8
#: nodes of the equations, and products of their derivatives, above which there is no tape
MOST_NODES, MOST_PRODUCTS = 40_000, 100_000
#: imaginary step, and how well what is moved has to depend linearly on q
_STEP, _LINEAR = 1e-30, 1e-12


class Taped:
    """The tape of a robot, once it is worth one.

    Parameters
    ----------
    functions : of the robot
    head : for `linearize` of a single state
    """

    def __init__(self, functions: Any, head: Head) -> None:
        self._functions, self._head = functions, head
        self._states, self._lock = 0, Lock()

    def is_worth(self, count: int) -> bool:
        """Whether so many further states are better linearized by the tape."""
        if is_interpreted() or count < FEWEST:
            return False
        self._states += count
        if self._states < STATES:
            return False
        with self._lock:
            return self.tape is not None

    @shared_property
    def tape(self) -> Tape | None:
        """The tape; None where there is none: kernels cannot be traced, or take too much.

        Kernels of other packages may do what such numbers cannot: tangents answer then as well.
        """
        try:
            return Equations(self._functions, self._head).tape()
        except UnsupportedError:
            return None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            name = self._functions.description.name
            import logging

            logging.getLogger(__name__).debug("kernels of %r cannot be traced: %r", name, error)
            return None

    @shared_property
    def pattern(self) -> np.ndarray:
        """Of the Cholesky factor of M, where the tape does not say that M is zero."""
        tape, nv = self.tape, self._functions.nv
        assert tape is not None
        M = np.zeros((nv, nv), dtype=bool)
        M[np.tril_indices(nv)] = ~tape.is_zero(tape.results[0][nv:])
        return tapes.pattern_of(M | M.T)

    def linearize(self, data: dict[str, np.ndarray], A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Write A and B of rows of q, v, tau; the numbers of the rows that are not answered."""
        tape, head, nv = self.tape, self._head, self._functions.nv
        assert tape is not None
        ends = np.array(tape.ends, dtype=np.int64)
        results = np.concatenate(tape.results)
        done = np.zeros(len(A), dtype=np.uint8)

        def call(*arrays: np.ndarray) -> int:
            work = aligned(tapes.numbers_of(tape.slots, nv))
            return tapes.linearize_taped(
                head.address, tape.code, ends, tape.constants, results, self.pattern, work, *arrays
            )

        run_in_slices(call, [data["q"], data["v"], data["tau"], done, A, B])
        return np.flatnonzero(done == 0)


class Equations:
    """The balance of forces of a robot as a graph.

    Raises
    ------
    UnsupportedError
        If the kernels cannot be traced, or are too much.
    """

    def __init__(self, functions: Any, head: Head) -> None:
        self._functions, self._head = functions, head
        self._graph, self._memory = Graph(), Memory()
        sizes = {"q": functions.nq, "v": functions.nv, "tau": functions.nu, "a": functions.nv}
        self._inputs = {name: self._graph.inputs(name, n) for name, n in sizes.items()}
        with self._memory.in_use():
            self._q = self._moved(self._inputs["q"], np.zeros(functions.nv))
            self._at_rest = self._nodes(self._balance(np.zeros(functions.nv)))
            self._whole = self._nodes(self._balance(self._inputs["a"]))
        if len(self._graph.nodes) > MOST_NODES:
            raise UnsupportedError(f"the equations have more than {MOST_NODES} nodes")

    def tape(self) -> Tape:
        """The balance without accelerations and the lower half of M, row by row; then the derivatives
        (nv, 2 nv) of the balance by q and v."""
        nv, index = self._functions.nv, self._graph.index
        rows = jacobian(self._graph, self._seeds(), self._whole, MOST_PRODUCTS)
        slopes = [index(row.get(j, 0.0)) for row in rows for j in range(2 * nv)]
        M = [index(row.get(2 * nv + j, 0.0)) for i, row in enumerate(rows) for j in range(i + 1)]
        inputs = [x.index for numbers in self._inputs.values() for x in numbers]
        return write_tape(self._graph, inputs, ([*self._at_rest, *M], slopes))

    def _nodes(self, numbers: np.ndarray) -> list[int]:
        return [self._graph.index(x) for x in numbers.ravel()]

    # ---- C functions of the family, interpreted ----

    def _call(self, name: str, head: Head, n: int, *arrays: np.ndarray) -> np.ndarray:
        """The n results of a C function of arrays."""
        room, out = self._memory.room, self._memory.room(np.zeros(n))
        work = room(np.zeros(self._functions.heads.memory.floats.size))
        places = [x.ctypes.data for x in (work, *(room(x) for x in arrays), out)]
        self._functions.table[name].function(head.address, *places)
        return out

    def _balance(self, a: np.ndarray) -> np.ndarray:
        functions, v = self._functions, self._inputs["v"]
        return self._call("balance", self._head, functions.nv, self._q, v, a, self._inputs["tau"], v)

    def _moved(self, q: np.ndarray, turn: np.ndarray) -> np.ndarray:
        return self._call("moved", self._functions.heads.looking("moved"), self._functions.nq, q, turn)

    # ---- directions ----

    def _seeds(self) -> Seeds:
        """Derivatives of q, v and a by the directions: motions of q in its tangent space, then v, a."""
        nv, linear = self._functions.nv, self._rates()
        others = enumerate([*self._inputs["v"], *self._inputs["a"]])
        seeds: dict[int, dict[int, object]] = {x.index: {nv + j: 1.0} for j, x in others}
        for i, x in enumerate(self._q):
            seeds[x.index] = {}
            for j in range(nv):
                rate = linear[-1, i, j] + sum(c * self._q[k] for k, c in enumerate(linear[:-1, i, j]) if c)
                if not isinstance(rate, float) or rate != 0.0:
                    seeds[x.index][j] = rate
        return seeds

    def _rates(self) -> np.ndarray:
        """dq by the directions of its tangent space, (nq + 1, nq, nv): by each number of q, and the rest."""
        functions, nq = self._functions, self._functions.nq
        turning = sorted(set(range(nq)) - {c.q_index for c in functions.coordinates})
        rates = np.zeros((nq + 1, nq, functions.nv))
        rates[-1] = self._rates_at(functions.neutral())
        if not turning:
            return rates
        rates[-1, turning] = 0.0
        for k in range(4):
            q = functions.neutral()
            q[turning] = 0.0
            q[turning[k::4]] = 1.0
            at_k = self._rates_at(q)
            for i, row in enumerate(turning):
                rates[turning[i // 4 * 4 + k], row] = at_k[row]
        q = functions.random(np.random.default_rng(0))
        if not np.allclose(np.tensordot([*q, 1.0], rates, 1), self._rates_at(q), 0.0, _LINEAR):
            raise UnsupportedError("motions of q are not linear in quaternions")
        return rates

    def _rates_at(self, q: np.ndarray) -> np.ndarray:
        """dq (nq, nv) at one q, by complex steps."""
        steps = _STEP * 1j * np.eye(self._functions.nv)
        with np.errstate(all="ignore"), self._memory.in_use():
            moved = [self._moved(q, step) for step in steps]
        return np.array([[np.imag(x) / _STEP for x in column] for column in moved]).T
