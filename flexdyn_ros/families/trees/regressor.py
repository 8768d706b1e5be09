"""The regressor of a tree: tau = Y p + tau0, p the parameters of `parameters.py`.

Columns of a body are what its wrench does along its link's Jacobian: J^T (n; f), with f = m a + alpha x c +
w x (w x c) and n = c x a + I alpha + w x I w about the link's origin, a its acceleration less gravity, c mass
times centre of mass (Atkeson, An & Hollerbach 1986). A number of a joint acts on the joint's own effort. The
columns of beams are differences of inverse dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.families.trees.parameters import changed, parameters_of
from flexdyn_ros.families.trees.rigid.parameters import body_links_of, joint_numbers_of
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.robot import TreeFunctions


class TreeRegressor:
    """Y and tau0 of one tree."""

    def __init__(self, functions: TreeFunctions) -> None:
        self._functions, tree = functions, functions.tree
        names = [parameter.name for parameter in parameters_of(tree)]
        self._place = {name: i for i, name in enumerate(names)}
        self._links = tuple(link for _, link in body_links_of(tree))
        nothing = dict.fromkeys(names, 0.0)
        self._nothing = self._probe(nothing)
        #: a robot in which all numbers of one kind are 1, their columns and the coordinates that these act on
        self._joints: list[tuple[Robot, list[int], list[int]]] = []
        kinds: dict[str, list[tuple[str, int]]] = {}
        for name, v_index in joint_numbers_of(tree):
            kinds.setdefault(name.rsplit("/", 1)[1], []).append((name, v_index))
        for members in kinds.values():
            probe = self._probe(nothing | {name: 1.0 for name, _ in members})
            self._joints.append((probe, [self._place[name] for name, _ in members], [v for _, v in members]))
        sizes = {p.name: max(1.0, abs(p.value)) for p in parameters_of(tree)}
        others = names[10 * len(self._links) + sum(len(members) for members in kinds.values()) :]
        self._beams = [(name, self._probe(nothing | {name: sizes[name]}), sizes[name]) for name in others]

    def _probe(self, values: dict[str, float]) -> Robot:
        """The robot without payloads, with these parameters."""
        functions = self._functions
        tree = changed(functions.tree, values)
        return Robot(type(functions)(functions.description, (), functions.sections, bare=tree))

    def rows(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Y (N, nv, np) and tau0 (N, nv) at rows of q, v, a."""
        tau0 = _efforts(self._nothing, q, v, a)
        Y = np.zeros((*tau0.shape, len(self._place)))
        for b, (J, wrenches) in enumerate(self._wrenches(q, v, a)):
            Y[:, :, 10 * b : 10 * b + 10] = np.swapaxes(J, 1, 2) @ wrenches
        for probe, columns, coordinates in self._joints:
            effort = _efforts(probe, q, v, a) - tau0
            Y[:, coordinates, columns] = effort[:, coordinates]
        for name, probe, size in self._beams:
            Y[:, :, self._place[name]] = (_efforts(probe, q, v, a) - tau0) / size
        return Y, tau0

    def _wrenches(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of each body: J (N, 6, nv) and the wrench (N, 6, 10) for a unit of each number, world axes."""
        functions, links = self._functions, self._links
        sized = {"q": (q, functions.nq), "v": (v, functions.nv)}
        rows = Rows(sized)
        poses = np.empty((rows.count, len(links), 4, 4))
        J = np.empty((rows.count, len(links), 6, functions.nv))
        functions.frames_rows(rows, links, poses)
        functions.jacobians_rows(rows, links, J)
        speed = np.einsum("nkij,nj->nki", J, v)
        rate = np.einsum("nkij,nj->nki", J, a) + functions.jacobian_rates_rows(rows, links)
        rate[..., 3:] -= functions.gravity
        for b in range(len(links)):
            R = poses[:, b, :3, :3]
            parts = (speed[:, b, :3], rate[:, b, :3], rate[:, b, 3:])
            yield J[:, b], _turned(R, _unit_wrenches(*(np.einsum("nij,ni->nj", R, x) for x in parts)))


def _efforts(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """tau (N, nv) at rows; the short way for one."""
    if len(q) == 1:
        return robot.inverse_dynamics(q[0], v[0], a[0])[None]
    return robot.inverse_dynamics(q, v, a)


def _unit_wrenches(w: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(n; f) (N, 6, 10) for a unit of mass, m c (3) and the tensor xx xy xz yy yz zz, in body axes."""
    Y = np.zeros((len(w), 6, 10))
    Y[:, 3:, 0] = a
    turning = _cross(w)
    Y[:, 3:, 1:4] = _cross(alpha) + turning @ turning
    Y[:, :3, 1:4] = -_cross(a)
    Y[:, :3, 4:] = _times(alpha) + turning @ _times(w)
    return Y


def _times(x: np.ndarray) -> np.ndarray:
    """(N, 3, 6): I x as a matrix times xx xy xz yy yz zz."""
    T = np.zeros((len(x), 3, 6))
    for row, columns in enumerate(((0, 1, 2), (1, 3, 4), (2, 4, 5))):
        for axis, column in enumerate(columns):
            T[:, row, column] = x[:, axis]
    return T


def _cross(x: np.ndarray) -> np.ndarray:
    """(N, 3, 3): x times, as a matrix."""
    C = np.zeros((len(x), 3, 3))
    C[:, 0, 1], C[:, 0, 2], C[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    return C - np.swapaxes(C, 1, 2)


def _turned(R: np.ndarray, wrenches: np.ndarray) -> np.ndarray:
    """Wrenches (N, 6, k) in world axes."""
    return np.concatenate([R @ wrenches[:, :3], R @ wrenches[:, 3:]], axis=1)
