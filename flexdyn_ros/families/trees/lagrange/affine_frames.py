"""Frames, Jacobians and momenta of trees whose section frames are affine (Zhang 2009, eqs. 2-3).

Such frames are no rotations, the recursions of rigid bodies do not hold: positions follow from the transforms
of the Lagrangian path, momenta from the mass matrix of a copy whose base can slide and turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.families.trees.lagrange.kernels.frames import frames_of_lagrange, jacobians_of_lagrange
from flexdyn_ros.families.trees.lagrange.model import LagrangeModel, transform
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree

if TYPE_CHECKING:
    from flexdyn_ros.robot.verbs import Robot


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
