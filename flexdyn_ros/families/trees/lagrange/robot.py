"""Trees by the method `lagrange`, and those whose section frames are affine (preset `paper`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.lagrange.kernels.frames import frames_of_lagrange, jacobians_of_lagrange
from flexdyn_ros.families.trees.lagrange.kernels.steps import functions, lagrange_steps_size
from flexdyn_ros.families.trees.lagrange.model import (
    Equations,
    LagrangeModel,
    build_lagrange,
    equations,
    transform,
)
from flexdyn_ros.families.trees.loads import JointReactions
from flexdyn_ros.families.trees.rigid.kernels.views import TreeModel
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.analysis.partial import partial_motion, solved
from flexdyn_ros.robot.arguments import Rows, rows_with_wrenches, warn_of_singular_rows, wrench_rows
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.results import Loads
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.robot.verbs import Robot


class LagrangianPath:
    """M and h of a tree by the recursive Lagrangian formulation (Book 1984), and what follows from them.

    All arguments are rows: q (N, nq), the others (N, nv), checked already; load is sum J^T w of external
    wrenches.
    """

    def __init__(self, tree: TreeModel, model: LagrangeModel | None = None) -> None:
        self.model = build_lagrange(tree) if model is None else model
        self._tree = tree

    def equations(self, q: np.ndarray, v: np.ndarray) -> Equations:
        """M (N, nv, nv) and the parts of h (N, nv)."""
        return equations(self.model, q, v)

    def terms(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Parts of h (N, 5, nv): velocity, gravity, elastic, damping, external (zero)."""
        e = self.equations(q, v)
        return np.stack([e.velocity, e.gravity, e.elastic, e.damping, np.zeros_like(e.gravity)], axis=1)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M (N, nv, nv)."""
        return self.equations(q, np.zeros((len(q), self._tree.nv))).M

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, load: np.ndarray) -> np.ndarray:
        """tau = M a + h - load."""
        e = self.equations(q, v)
        return np.einsum("nij,nj->ni", e.M, a) + e.h - load

    def energies(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic, gravity and elastic energy (N, 3) [J]."""
        e = self.equations(q, v)
        return np.stack([e.kinetic, e.gravitational, e.strain], axis=1)

    def derivatives(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq and d tau / dv (N, nv, nv) of the inverse dynamics, by the complex step.

        Raises
        ------
        UnsupportedError
            For trees with free bodies.
        """
        if self.model.nq != self.model.nv:
            raise UnsupportedError(
                "derivatives with affine section frames are computed for a fixed base only"
            )
        steps = 1e-30j * np.eye(self.model.nv)

        def slopes(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            e = self.equations(q, v)
            tau = np.einsum("nkij,nj->nki", e.M, a) + e.h
            return np.ascontiguousarray(np.swapaxes(tau.imag / 1e-30, 1, 2))

        return slopes(q[:, None] + steps, v[:, None]), slopes(q[:, None], v[:, None] + steps)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, load: np.ndarray) -> np.ndarray:
        """a of M a + h = tau + load; NaN where M is singular."""
        e = self.equations(q, v)
        return solved(e.M, tau - e.h + load)


def lagrange_motion(tree: Motion, address: int, model: LagrangeModel, no_moments: str) -> Motion:
    """Motion by the Lagrangian model in place of the recursions of the same tree, whose address is given."""
    arrays = (model.ints, len(model.ints), model.floats, len(model.floats))
    header = Header(address, *arrays, model.work_size)
    return replace(
        tree,
        robot=header.address,
        table=Table(functions),
        work_size=lagrange_steps_size(model.work_size, model.nv),
        keep=(tree, header),
        no_moments=no_moments,
    )


_NO_MOMENTS = (
    "moments on affine section frames (preset 'paper'): these are no rotations, only forces act on them; "
    "load with frame 'so3'"
)


class LagrangianTreeFunctions(TreeFunctions):
    """Dynamics by Lagrange's equations; geometry and energies are those of the recursions."""

    direct = False
    observed = TreeFunctions.observed - {"bias_terms"}

    def _build(self) -> None:
        bends = self.bending
        bent = None if bends is None else bends.lagrange_model(self.description.formulation)
        self.path = LagrangianPath(self.tree.model, bent)

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        if self.direct:
            super().mass_matrix_rows(rows, M)
            return
        M[...] = self.path.mass_matrix(**self._checked(rows, "q"))

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        return self.path.terms(**self._checked(rows, "q", "v"))

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        if self.direct:
            super().inverse_dynamics_rows(rows, wrenches, tau)
            return
        self._by_path(self.path.inverse_dynamics, self._checked(rows, "q", "v", "a"), rows, wrenches, tau)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        if self.direct:
            super().forward_dynamics_rows(rows, wrenches, a)
            return
        self._by_path(self.path.forward_dynamics, self._checked(rows, "q", "v", "tau"), rows, wrenches, a)

    def _by_path(
        self,
        dynamics: Callable[..., np.ndarray],
        data: Mapping[str, np.ndarray],
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        out: np.ndarray,
    ) -> None:
        out[...] = dynamics(*data.values(), self.generalized(data["q"], rows, wrenches))
        warn_of_singular_rows(out, data, "the mass matrix", rows.shape)

    def partial(
        self,
        q: np.ndarray,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        return partial_motion(self.robot, q, v, tau, a, given, wrenches)

    def _checked(self, rows: Rows, *names: str) -> dict[str, np.ndarray]:
        data = {name: rows.take(name) for name in names}
        self.check(data)
        return data

    def generalized(self, q: np.ndarray, rows: Rows, wrenches: Mapping[str, object] | None) -> np.ndarray:
        """sum J^T w (count, nv) of external wrenches."""
        load = np.zeros((rows.count, self.nv))
        loads = wrench_rows(rows, wrenches)
        for i, name in enumerate(wrenches or {}):
            load += np.einsum("nij,ni->nj", self.robot.jacobian(q, name), loads[:, i])
        return load


class AffineTreeFunctions(LagrangianTreeFunctions):
    """Section frames are affine: they stretch what hangs on them. All verbs follow Lagrange's equations."""

    observed = frozenset(("moved",))

    def _build(self) -> None:
        super()._build()
        self._frames = AffineFrames(self.tree, self.path.model)
        # those of the tree know rotations only
        self.table = Table({name: self.table[name] for name in ("status", "moved")})

    def motion(self) -> Motion:
        """What compiled steps need."""
        return lagrange_motion(self.motion_within(None), self.address, self.path.model, _NO_MOMENTS)

    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        found = [self._frames.point(self.frame(name)) for name in names]
        bodies = np.array([body for body, _ in found], dtype=np.int64)
        return bodies, np.array([point for _, point in found]).reshape(len(found), 3)

    def joint_reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        tau: np.ndarray | None = None,
    ) -> JointReactions:
        """UnsupportedError: these frames are no rotations."""
        self._need_rotations("joint_reactions")
        return super().joint_reactions(q, v, a, wrenches, tau)

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """UnsupportedError: these frames are no rotations."""
        self._need_rotations("loads")
        return super().loads_rows(rows, wrenches, stations)

    @cached_property
    def loose(self) -> Robot:
        return Robot(self.like(loose=True))

    def energy_rows(self, rows: Rows) -> np.ndarray:
        return self.path.energies(**self._checked(rows, "q", "v"))

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        data = self._checked(rows, "q", "v")
        root = self._frames.poses(data["q"], [self.frame(self.description.root)])[:, 0]
        return momenta(self.tree, self.loose, data["q"], data["v"], root)

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        seeing = self.seeing(names)
        frames = [seeing.frame(name) for name in names]
        self.check({"q": rows.take("q")})
        poses[...] = seeing._frames.poses(rows.take("q"), frames)

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        seeing = self.seeing((frame,))
        self.check({"q": rows.take("q")})
        J[...] = seeing._frames.jacobian(rows.take("q"), seeing.frame(frame))

    jacobians_rows = FamilyFunctions.jacobians_rows
    jacobian_rates_rows = FamilyFunctions.jacobian_rates_rows

    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        data = self._checked(rows, "q", "v", "a")
        by_q, by_v = self.path.derivatives(**data)
        loads = wrench_rows(rows, wrenches)
        self._refuse_moments(loads)
        for i, name in enumerate(wrenches or {}):
            seeing = self.seeing((name,))
            by_q -= seeing._frames.force_slopes(data["q"], seeing.frame(name), loads[:, i, 3:])
        return by_q, by_v

    def partial(
        self,
        q: np.ndarray,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        self._refuse_moments(wrench_rows(rows_with_wrenches(wrenches, q=(q, self.nq)), wrenches))
        return super().partial(q, v, tau, a, given, wrenches)

    def generalized(self, q: np.ndarray, rows: Rows, wrenches: Mapping[str, object] | None) -> np.ndarray:
        self._refuse_moments(wrench_rows(rows, wrenches))
        return super().generalized(q, rows, wrenches)

    def _refuse_moments(self, wrenches: np.ndarray) -> None:
        if wrenches[..., :3].any():
            raise UnsupportedError(_NO_MOMENTS)

    def _need_rotations(self, what: str) -> None:
        raise UnsupportedError(
            f"{what} with affine section frames (preset 'paper'): not computed, these are no rotations; "
            "load with frame 'so3'"
        )


# Frames, Jacobians and momenta of trees whose section frames are affine (Zhang 2009, eqs. 2-3).
#
# Such frames are no rotations, the recursions of rigid bodies do not hold: positions follow from the
# transforms
# of the Lagrangian path, momenta from the mass matrix of a copy whose base can slide and turn.


class AffineFrames:
    """Where the frames of a tree are, by its Lagrangian model; immutable."""

    def __init__(self, tree: RigidTree, model: LagrangeModel) -> None:
        self._model = model
        assert tree.flexible is not None
        #: the frame of a flexible link's body is its beam frame there
        self._back = {
            link.node: transform(link.beam_in_node.R.T, -link.beam_in_node.R.T @ link.beam_in_node.p)
            for link in tree.flexible.links
        }

    def poses(self, q: np.ndarray, frames: Sequence[Frame]) -> np.ndarray:
        """(N, k, 4, 4), R (3, 3) of which is no rotation beyond a bent section, for rows of q."""
        placed = [self._place(frame) for frame in frames]
        model, first = self._model, np.empty((len(q), len(frames), 4, 4))
        numbers = np.array([body for body, _ in placed], dtype=np.int64).reshape(-1, 2)
        offsets = np.array([offset for _, offset in placed]).reshape(-1, 4, 4)
        q, still = np.array(q), np.zeros(model.nv)
        frames_of_lagrange(model.ints, model.floats, q, still, model.work(), numbers, offsets, first)
        out = np.zeros_like(first)
        out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = first[..., 1:, 1:], first[..., 1:, 0], 1.0
        return out

    def jacobian(self, q: np.ndarray, frame: Frame) -> np.ndarray:
        """J (N, 6, nv), real or complex as q is: the angular part is the skew part of dR R^T."""
        body, offset = self._place(frame)
        model, q = self._model, np.array(q)
        J, still = np.empty((len(q), 6, model.nv), q.dtype), np.zeros(model.nv, q.dtype)
        work, offset = model.work(q.dtype), offset.astype(q.dtype)
        jacobians_of_lagrange(model.ints, model.floats, q, still, work, body, offset, J)
        return J

    def force_slopes(self, q: np.ndarray, frame: Frame, force: np.ndarray) -> np.ndarray:
        """d(J^T f)/dq (N, nv, nv) of held forces f (N, 3) at a frame's origin, by the complex step."""
        nv = self._model.nv
        steps = (q[:, None] + 1e-30j * np.eye(nv)).reshape(-1, nv)
        J = self.jacobian(steps, frame)[:, 3:].reshape(len(q), nv, 3, nv)
        return np.einsum("nkcj,nc->njk", J.imag / 1e-30, force)

    def point(self, frame: Frame) -> tuple[int, np.ndarray]:
        """Node of a frame, and its origin (3,) in the body frame that the Lagrangian path has there."""
        return frame.body, self._place(frame)[1][1:, 0]

    def _place(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """(body, station) of the Lagrangian path, and the pose in it."""
        offset = transform(frame.placement.R, frame.placement.p)
        if frame.body in self._back:
            offset = self._back[frame.body] @ offset
        return np.array([frame.body - 1, -1]), offset


def momenta(tree: RigidTree, loose: Robot, q: np.ndarray, v: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Rows (N, 10) of momentum about the world origin, first moment and mass of what moves.

    loose: copy of the robot with joints for reactions, of which those of the base are used; root (N, 4, 4):
    pose of the root link.
    """
    names = loose.v_names
    held = {c.name for c in loose.coordinates if c.kind == "reaction"}
    own_q = [i for i, name in enumerate(loose.q_names) if name not in held]
    own_v = [i for i, name in enumerate(names) if name not in held]
    slide, turn = ([names.index(f"base/{what}_{x}") for x in "xyz"] for what in ("force", "moment"))
    whole = np.zeros((len(q), loose.nq))
    whole[:, own_q] = q
    M = loose.mass_matrix(whole)
    R, r = root[:, :3, :3], root[:, :3, 3]

    def world(x: np.ndarray) -> np.ndarray:
        return np.einsum("nij,nj->ni", R, x)

    linear, angular = (world(np.einsum("nij,nj->ni", M[:, rows][:, :, own_v], v)) for rows in (slide, turn))
    mass = M[:, slide[0], slide[0]]
    # a turn about x by one moves the centre of mass by (0, -z, y), one about z by (-y, x, 0)
    first = np.stack([M[:, slide[1], turn[2]], M[:, slide[2], turn[0]], -M[:, slide[1], turn[0]]], axis=1)
    fixed = tree.model.inertia[:4]
    out = np.empty((len(q), 10))
    out[:, :3], out[:, 3:6] = angular + np.cross(r, linear), linear
    out[:, 6:9], out[:, 9] = world(first) + mass[:, None] * r - fixed[1:], mass - fixed[0]
    return out
