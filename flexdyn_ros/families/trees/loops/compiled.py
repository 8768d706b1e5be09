"""Compiled forward dynamics and projection of a robot with loops: the numbers that they read, and the methods
that ask them first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.loops.closing import OPEN, Closing
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.families.trees.loops.geometry import Mount
from flexdyn_ros.families.trees.loops.kernels import forward as at
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS
from flexdyn_ros.robot.arguments import Rows, check_out
from flexdyn_ros.robot.entries.verbs import single_forward_dynamics
from flexdyn_ros.robot.threads import run_in_slices


class CompiledLoops:
    """Keeps the memory of compiled forward dynamics alive.

    tolerance: how far loops may be open [m, rad], and opening, for forward dynamics to answer.
    """

    def __init__(self, closing: Closing, tolerance: float) -> None:
        # those of a tree, which lie above
        functions: Any = closing.open.functions
        geometry = closing.geometry
        heads, nv = functions.heads, functions.nv
        ends = [mount for loop in geometry.loops for mount in (loop.base, loop.end)]
        # ends with the same constraint frame are looked at once
        places = {_key(mount): mount for mount in ends if mount.frame is not None}
        moving = list(places.values())
        names = [mount.frame for mount in moving]
        seeing = functions.seeing(names)
        bodies, own = seeing.placements(names)
        placements = np.array(
            [
                (Placement(x[:9].reshape(3, 3), x[9:]) @ mount.placement).flat()
                for x, mount in zip(own, moving, strict=True)
            ]
        ).reshape(-1, 12)
        points = bodies, np.ascontiguousarray(placements[:, 9:])
        number = {key: i for i, key in enumerate(places)}
        self._heads = (
            heads.new("mass", "balance", "moved", efforts=functions.nu),
            seeing.heads.posing((bodies, placements)),
            seeing.heads.pointing(points),
            seeing.heads.new(looking="jacobian_rate", results=6 * len(moving), frames=points),
        )
        m = geometry.kinds.size
        self._size = int(at.room_numbers(len(moving), m, functions.nq, nv))
        self._arrays = {
            at.KINDS: geometry.kinds,
            at.LOOPS: geometry.loop_of.astype(np.int64),
            at.LENGTHS: np.ascontiguousarray(geometry.lengths),
            at.ENDS: np.array([number.get(_key(x), -1) for x in ends], dtype=np.int64),
            at.PLACEMENTS: np.array([x.placement.flat() for x in ends]),
            at.TOLERANCE: np.array([tolerance]),
            at.ROOM: np.zeros(self._size),
            at.MOVES: closing.moves(()).astype(np.int64),
        }
        heads_at = at.OPEN, at.POSES, at.POINTS, at.RATES
        words = {place: head.address for place, head in zip(heads_at, self._heads, strict=True)}
        words |= {at.FRAMES: len(moving), at.ROWS: m, at.RANK: closing.rank}
        words |= {place: array.ctypes.data for place, array in self._arrays.items()}
        self._words = np.array([words[i] for i in range(at.BLOCK_WORDS)], dtype=np.int64)
        #: of the block that the functions take
        self.address = int(self._words.ctypes.data)
        self._seeing = seeing

    def single(self) -> tuple[Callable[..., int], int]:
        """The entry of a single state, loaded, and the address that it takes."""
        return at.closed_forward_one.load(), self.address

    def project(self, q: np.ndarray, v: np.ndarray) -> bool:
        """Move a state (nq,), (nv,) onto the loops, in place; False if it is not near them."""
        return bool(at.closed_project_one.load()(self.address, q, v) == 0)

    def rows(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, a: np.ndarray) -> bool:
        """Write a (N, nv) at rows of q, v, tau; False if one of them has no answer here."""

        def call(*arrays: np.ndarray) -> int:
            floats, tangents = self._seeing.work(), self._seeing.work(PER_TANGENTS)
            room = np.zeros(self._size)
            return int(at.closed_forward_many(self.address, floats, tangents, room, *arrays))

        return run_in_slices(call, [q, v, tau, a]) == 0


def _key(mount: Mount) -> tuple[object, ...]:
    """The same for the same constraint frame."""
    return mount.frame, mount.placement.flat().tobytes()


class FastPaths:
    """Methods that ask compiled functions first, and else the general ones."""

    def __init__(self, forces: Forces) -> None:
        self._forces, self._closing = forces, forces.closing

    @cached_property
    def _is_there(self) -> bool:
        """Whether compiled functions answer: where no acceleration is given by the description."""
        return self._closing.open.functions.direct and not self._closing.functions.prescribed.any()

    @cached_property
    def _compiled(self) -> CompiledLoops:
        """For states on the loops."""
        return CompiledLoops(self._closing, OPEN)

    @cached_property
    def _of_stages(self) -> CompiledLoops:
        """For states within a step."""
        return CompiledLoops(self._closing, np.inf)

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

    def stage_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        prescribed: Mapping[str, object] | None = None,
    ) -> np.ndarray:
        """See `Forces.stage_dynamics`."""
        f = self._closing.functions
        if self._is_there and not (wrenches or prescribed or np.ndim(q) > 1):
            call, address = self._of_stages.single()
            a = np.empty(f.nv)
            if call(address, q, v, np.zeros(f.nu) if tau is None else tau, a) == 0:
                return a
        return self._forces.stage_dynamics(q, v, tau, wrenches, prescribed=prescribed)

    def project(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Closing.project`."""
        f = self._closing.functions
        if self._is_there:
            rows = Rows({"q": (q, f.nq), "v": (v, f.nv)})
            place, speed = (rows.take(name).reshape(-1).copy() for name in ("q", "v"))
            if rows.shape == () and self._compiled.project(place, speed):
                return place, speed
        return self._closing.project(q, v)
