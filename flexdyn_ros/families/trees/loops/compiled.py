"""Compiled forward dynamics and projection of a robot with loops: the numbers that they read, and the methods
that ask them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.loops.closing import OPEN, Closing
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.families.trees.loops.kernels import forward as at
from flexdyn_ros.families.trees.loops.packed import PackedLoops
from flexdyn_ros.robot.arguments import Rows, check_out
from flexdyn_ros.robot.entries.verbs import single_forward_dynamics
from flexdyn_ros.robot.threads import run_in_slices


class CompiledLoops:
    """Keeps the memory of compiled forward dynamics alive.

    tolerance: how far loops may be open [m, rad], and opening, for forward dynamics to answer.
    """

    def __init__(self, closing: Closing, packed: PackedLoops, tolerance: float) -> None:
        # those of a tree, which lie above
        self._functions: Any = closing.functions
        packed.provide_rows()
        self._arrays = {
            at.ROOM: np.zeros(packed.room),
            at.TOLERANCE: np.array([tolerance]),
            at.STEPS: np.zeros(self._functions.motion().work_size),
        }

    @cached_property
    def _forward(self) -> tuple[int, object]:
        return self._block("mass", "balance")

    @cached_property
    def _project(self) -> tuple[int, object]:
        return self._block("mass", "moved", "constrain")

    def _block(self, *names: str) -> tuple[int, object]:
        """The address of a block for functions that call these of the robot, which are compiled now, and what
        keeps it alive."""
        head = self._functions.heads.new(*names, efforts=self._functions.nu)
        words = {place: array.ctypes.data for place, array in self._arrays.items()} | {at.HEAD: head.address}
        block = np.array([words[i] for i in range(at.BLOCK_WORDS)], dtype=np.int64)
        return int(block.ctypes.data), (head, block)

    def single(self) -> tuple[Callable[..., int], int]:
        """The entry of a single state, loaded, and the address that it takes."""
        return at.closed_forward_one.load(), self._forward[0]

    def project(self, q: np.ndarray, v: np.ndarray) -> bool:
        """Move a state (nq,), (nv,) onto the loops, in place; False if it is not near them."""
        return bool(at.closed_project_one.load()(self._project[0], q, v) == 0)

    def rows(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, a: np.ndarray) -> bool:
        """Write a (N, nv) at rows of q, v, tau; False if one of them has no answer here."""

        def call(*arrays: np.ndarray) -> int:
            work, room = self._functions.work(), np.zeros(self._arrays[at.ROOM].size)
            return int(at.closed_forward_many(self._forward[0], work, room, *arrays))

        return run_in_slices(call, [q, v, tau, a]) == 0


class FastPaths:
    """Methods that ask compiled functions first, and else the general ones."""

    def __init__(self, forces: Forces, packed: PackedLoops) -> None:
        self._forces, self._closing, self._packed = forces, forces.closing, packed

    @cached_property
    def _is_there(self) -> bool:
        """Whether compiled functions answer: where no acceleration is given by the description."""
        return self._closing.open.functions.direct and not self._closing.functions.prescribed.any()

    @cached_property
    def _compiled(self) -> CompiledLoops:
        """For states on the loops."""
        return CompiledLoops(self._closing, self._packed, OPEN)

    @cached_property
    def forward_dynamics(self) -> Callable[..., np.ndarray]:
        """Single states of the usual types go to one entry."""
        f, general = self._closing.functions, self._forces.forward_dynamics
        if not self._is_there:
            return general

        @wraps(general)
        def batches(q, v, tau=None, wrenches=None, *, prescribed=None, out=None):  # type: ignore[no-untyped-def]
            if not (wrenches or prescribed) and (a := self._batch(q, v, tau, out)) is not None:
                return a
            return general(q, v, tau, wrenches, prescribed=prescribed, out=out)

        return single_forward_dynamics(f.nv, f.nu, batches, lambda: self._compiled.single())

    def _batch(self, q: Any, v: Any, tau: Any, out: np.ndarray | None) -> np.ndarray | None:
        """Accelerations of a batch, if all its states have an answer."""
        f = self._closing.functions
        given = {"q": (q, f.nq), "v": (v, f.nv), "tau": (np.zeros(f.nu) if tau is None else tau, f.nu)}
        rows = Rows(given)
        if rows.count < 2:
            return None
        a = check_out(out, (*rows.shape, f.nv), rows)
        q, v, tau = (np.ascontiguousarray(rows.take(name)) for name in given)
        return a if self._compiled.rows(q, v, tau, a.reshape(rows.count, -1)) else None

    def project(
        self, q: np.ndarray, v: np.ndarray, lock: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Closing.project`."""
        f = self._closing.functions
        if self._is_there and not lock and self._closing.maximum_change is None:
            rows = Rows({"q": (q, f.nq), "v": (v, f.nv)})
            place, speed = (rows.take(name).reshape(-1).copy() for name in ("q", "v"))
            if rows.shape == () and self._compiled.project(place, speed):
                return place, speed
        return self._closing.project(q, v, lock)
