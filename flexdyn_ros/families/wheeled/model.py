"""The planar tree of a wheeled robot: floating frames of its links, and its wheels, from the general tree.

The general tree (trees/rigid/model.py) has the nodes, coordinates, frames and beams; this turns the nodes'
axes into the plane X = world x, Y = world z and makes the invariants of each beam (docs/theory/mobile.md,
"Equations").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.places import Place
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import Profile, gauss_legendre
from flexdyn_ros.families.trees.flexible.beams.modes import Beam
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.kernels.views import FIXED, SECTION
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.kernels import views as layout
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW

#: how far an axis may leave the plane [-]
PLANAR = 1e-9
_ASIDE = np.array([0.0, -1.0, 0.0])  # positive angles turn about it


@dataclass(frozen=True)
class Invariants:
    """A beam in its plane, m modes (docs/theory/mobile.md, "Equations"): axes x along the beam, y to the
    left.

    mass [kg]; moment (2,) and inertia about the node's origin; N (2, m); a, b (m); M (m, m), translation
    alone Mt; G; K, D; Kw (m, m): stiffness per squared angular rate, from the tension it makes.
    """

    mass: float
    moment: np.ndarray
    inertia: float
    N: np.ndarray
    a: np.ndarray
    b: np.ndarray
    M: np.ndarray
    Mt: np.ndarray
    G: np.ndarray
    K: np.ndarray
    D: np.ndarray
    Kw: np.ndarray

    def flat(self) -> np.ndarray:
        """In the order of kernels/views.py."""
        parts = (self.N, self.a, self.b, self.M, self.Mt, self.G, self.K, self.D, self.Kw)
        return np.concatenate([np.ravel(part) for part in parts])


@dataclass(frozen=True)
class Wheels:
    """Names of the wheels, their table and numbers (kernels/views.py), and whether each has a tyre."""

    names: tuple[str, ...]
    table: np.ndarray
    numbers: np.ndarray


@dataclass(frozen=True)
class MobileTables:
    """Arrays of a planar tree for packed.py.

    table, numbers: of the nodes; modal: work numbers of all beams; prescribed (nv,): 1 where motion is
    prescribed; joints: names of the moving joints, their nodes, and whether they hang on the root link.
    """

    table: np.ndarray
    numbers: np.ndarray
    modal: int
    wheels: Wheels
    prescribed: np.ndarray
    exact: bool
    joints: tuple[tuple[str, int, bool], ...]

    @property
    def nodes(self) -> int:
        return len(self.table)


def build_mobile(description: RobotDescription, tree: RigidTree) -> MobileTables:
    """Planar tables of a general tree on a planar base.

    Raises
    ------
    DescriptionError
        If a joint or a mode would leave the plane.
    UnsupportedError
        For mimic joints and a turned base.
    """
    return _Plane(description, tree).tables()


def invariants(
    link: FlexibleLinkModel, along: np.ndarray, origin: np.ndarray, rotary: bool, stiffened: bool
) -> Invariants:
    """Invariants of a flexible link by Gauss quadrature.

    along : (3, 3) rows: the plane's x (along the beam), y, and the normal, in beam axes
    origin : (2,) root of the beam from the node's origin, in the plane's axes
    """
    beam, modes = mass_along(link), link.modes
    m, L = len(modes), link.beam.beam.length
    total: dict[str, Any] = {
        "mass": 0.0, "moment": np.zeros(2), "inertia": 0.0, "N": np.zeros((2, m)), "a": np.zeros(m),
        "b": np.zeros(m), "M": np.zeros((m, m)), "Mt": np.zeros((m, m)), "G": np.zeros((m, m)),
        "Kw": np.zeros((m, m)),
    }  # fmt: skip
    for s, weight in _stations(link):
        u, th, _, _ = link.beam.fields_along(modes, s)
        S1, S2, slope = u @ along[0], u @ along[1], th @ along[2]
        x, y = origin[0] + L * s, np.full_like(s, origin[1])
        mu = weight * L * beam.mu(s)
        turn = along[2]
        J = weight * L * (turn[1] ** 2 * beam.Jyy(s) + turn[2] ** 2 * beam.Jzz(s)) * rotary
        total["mass"] += mu.sum()
        total["moment"] += np.array([mu @ x, mu @ y])
        total["inertia"] += mu @ (x * x + y * y) + J.sum()
        total["N"] += np.array([S1 @ mu, S2 @ mu])
        total["a"] += S1 @ (mu * x) + S2 @ (mu * y)
        total["b"] += S2 @ (mu * x) - S1 @ (mu * y) + slope @ J
        total["Mt"] += (S1 * mu) @ S1.T + (S2 * mu) @ S2.T
        total["M"] += (S1 * mu) @ S1.T + (S2 * mu) @ S2.T + (slope * J) @ slope.T
        total["G"] += (S2 * mu) @ S1.T - (S1 * mu) @ S2.T
        if stiffened:
            tension = np.array([_outer_moment(link, at, origin[0]) for at in s])
            total["Kw"] += (slope * (weight * L * tension)) @ slope.T
    return Invariants(**total, K=link.stiffness, D=link.damping)


def mass_along(link: FlexibleLinkModel) -> Beam:
    """Mass and rotary inertia along a beam, what grows with its mass per length at its density."""
    assert isinstance(link.beam, BeamLink)
    beam, line, more = link.beam.beam, link.beam.line, link.density - 1.0

    def total(part: str) -> Profile:
        own, grown = getattr(beam, part), getattr(line, part)
        return lambda s: own(s) + more * grown(s)

    return Beam(beam.length, total("mu"), Jyy=total("Jyy"), Jzz=total("Jzz"))


def _stations(link: FlexibleLinkModel) -> list[tuple[np.ndarray, np.ndarray]]:
    """Gauss points and weights on each smooth piece of the beam."""
    assert isinstance(link.beam, BeamLink)
    order = max((mode.shape.order for mode in link.modes), default=0)
    edges = sorted({*link.beam.breaks, *(b for mode in link.modes for b in mode.shape.breaks)})
    x, w = gauss_legendre(16 + 4 * max(0, order - 6))
    return [(low + (high - low) * x, (high - low) * w) for low, high in zip(edges, edges[1:], strict=False)]


def _outer_moment(link: FlexibleLinkModel, station: float, root: float) -> float:
    """int_x^l rho y dy about the node's origin: tension per squared rate of the beam alone."""
    x, w = gauss_legendre(16)
    s = station + (1.0 - station) * x
    L = link.beam.beam.length
    return float((w * (1.0 - station) * L * mass_along(link).mu(s)) @ (root + L * s))


class _Plane:
    """Node axes of the general tree seen in the plane, all coordinates zero."""

    def __init__(self, description: RobotDescription, tree: RigidTree) -> None:
        self.description, self.tree = description, tree
        self.model = tree.model
        if any(abs(angle) > 0.0 for angle in description.base.rpy):
            raise UnsupportedError("a turned planar base (rpy) is computed by method 'articulated' only")
        if tree.has_mimic:
            raise UnsupportedError("mimic joints on a planar base are computed by method 'articulated' only")
        self.links = () if tree.flexible is None else tree.flexible.links
        for link in self.links:
            if not isinstance(link.beam, BeamLink):
                raise UnsupportedError(
                    f"imported modes (link '{link.name}') are computed by method 'articulated' only"
                )
        self.carriers = {link.node: i for i, link in enumerate(self.links)}
        self.R = self._turns()
        self.phi = [self._angle(k) for k in range(self.model.nb)]

    # ---- axes ----

    def _turns(self) -> list[np.ndarray]:
        """World rotation of each node at zero."""
        turns = [np.eye(3)]
        for k in range(1, self.model.nb):
            parent = int(self.model.parent[k])
            own = np.eye(3)
            if self.model.joint_type[k] != SECTION:
                own = self.model.placement[12 * k : 12 * k + 9].reshape(3, 3)
            turns.append(turns[parent] @ own)
        return turns

    def _angle(self, k: int) -> float:
        """Angle of the planar axes of a node at zero: along the beam that it carries."""
        index = self._link_of(k)
        if index < 0:
            return 0.0
        e = self.R[k] @ self.links[index].beam_in_node.R[:, 0]
        if abs(e[1]) > PLANAR:
            self._refuse(f"beam of link '{self.links[index].name}'", "axis", "a direction in the plane x, z")
        return float(np.arctan2(e[2], e[0]))

    def _link_of(self, k: int) -> int:
        if self.model.joint_type[k] == SECTION:
            assert self.tree.flexible is not None
            return self.tree.flexible.sections[k][0]
        return self.carriers.get(k, -1)

    def _axes(self, k: int) -> np.ndarray:
        """Rows (2, 3): planar x and y of a node in the axes of its node of the general tree."""
        c, s = np.cos(self.phi[k]), np.sin(self.phi[k])
        return np.array([[c, 0.0, s], [-s, 0.0, c]]) @ self.R[k]

    def _refuse(self, element: str, attribute: str, expected: str) -> NoReturn:
        message = f"{element} leaves the plane of the planar base"
        expected += ", or method 'articulated'"
        Place(self.description.file, None, element).fail(message, attribute, expected=expected)

    # ---- tables ----

    def tables(self) -> MobileTables:
        """All of them."""
        rows, numbers, size, modal = [], [], 0, 0
        for k in range(self.model.nb):
            flat, m, first_q, first_v = self._numbers(k)
            kind = self._kind(k) if k else FIXED
            rows.append(
                [kind, int(self.model.parent[k]), int(self.model.q_index[k]), int(self.model.v_index[k]), m,
                 first_q, first_v, size, modal]
            )  # fmt: skip
            numbers.append(flat)
            size += len(flat)
            if kind != SECTION:
                modal += layout.modal_rows(m)
        for k in range(self.model.nb):
            if rows[k][0] == SECTION:  # a section writes into the rows of its beam
                rows[k][8] = rows[rows[k][1]][8]
        drive = [int(c.prescribed) for c in self.tree.coordinates]
        return MobileTables(
            table=np.array(rows, dtype=np.int64),
            numbers=np.concatenate(numbers),
            modal=modal,
            wheels=self._wheels(),
            prescribed=np.array(drive, dtype=np.int64),
            exact=self.description.formulation.suspension == "exact",
            joints=self._joints(),
        )

    def _numbers(self, k: int) -> tuple[np.ndarray, int, int, int]:
        """Numbers of a node, its count of modes, and the first of them in q and v."""
        head = self._head(k)
        index = self._link_of(k)
        if index < 0:
            return head, 0, 0, 0
        link = self.links[index]
        m = len(link.modes)
        first = (int(link.q[0]), int(link.v[0])) if m else (0, 0)
        if self.model.joint_type[k] == SECTION:
            assert self.tree.flexible is not None
            tail = self._section(link, self.tree.flexible.sections[k][1])
            return np.concatenate([head, tail]), m, *first
        own = invariants(
            link,
            self._beam_axes(link),
            self._axes(k) @ link.beam_in_node.p,
            self.description.formulation.rotary_inertia != "none",
            self.description.formulation.stiffening == "geometric",
        )
        head[layout.MASS] += own.mass
        head[layout.MOMENT : layout.MOMENT + 2] += own.moment
        head[layout.INERTIA] += own.inertia
        return np.concatenate([head, own.flat()]), m, *first

    def _head(self, k: int) -> np.ndarray:
        """Joint and rigid inertia of a node."""
        head = np.zeros(layout.NODE_HEAD)
        axes = self._axes(k)
        head[layout.PLANE :] = axes.ravel()
        if k == 0:
            return head
        parent, kind = int(self.model.parent[k]), self._kind(k)
        if kind != SECTION:
            lever = self.model.placement[12 * k + 9 : 12 * k + 12]
            head[layout.LEVER : layout.LEVER + 2] = self._axes(parent) @ lever
            head[layout.TURN] = self.phi[k] - self.phi[parent]
        self._joint_numbers(k, parent, kind, head)
        body = self.model.inertia[10 * k : 10 * k + 10]
        xx, xy, xz, yy, yz, zz = body[4:]
        aside = self.R[k].T @ _ASIDE
        head[layout.MASS] = body[0]
        head[layout.MOMENT : layout.MOMENT + 2] = axes @ body[1:4]
        head[layout.INERTIA] = aside @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ aside
        return head

    def _joint_numbers(self, k: int, parent: int, kind: int, head: np.ndarray) -> None:
        axis = self.R[k][:, 2]
        name = f"joint of link '{self.tree.body_links[k]}'"
        if kind == layout.REVOLUTE:
            sign = float(axis @ _ASIDE)
            if abs(abs(sign) - 1.0) > PLANAR:
                self._refuse(name, "axis", "0 1 0 or 0 -1 0 where all joints are zero")
            head[layout.SIGN] = np.sign(sign)
        elif kind == layout.PRISMATIC:
            if abs(axis @ _ASIDE) > PLANAR:
                self._refuse(name, "axis", "a direction in the plane x, z")
            direction = self.R[parent].T @ axis
            head[layout.ALONG : layout.ALONG + 2] = self._axes(parent) @ direction
        elif kind in (FREE, BALL):
            self._refuse(name, "type", "revolute, continuous, prismatic or fixed")

    # ---- beams ----

    def _beam_axes(self, link: FlexibleLinkModel) -> np.ndarray:
        """Rows (3, 3): planar x, y, and the axis of positive turns, in beam axes."""
        in_beam = (self.R[link.node] @ link.beam_in_node.R).T
        c, s = np.cos(self.phi[link.node]), np.sin(self.phi[link.node])
        rows = np.array([[c, 0.0, s], [-s, 0.0, c], _ASIDE]) @ in_beam.T
        for mode, u, th in zip(link.modes, *link.beam.fields_along(link.modes, np.array([0.6, 1.0]))[:2]):
            out = np.abs(u @ rows[2]).max() + np.abs(th @ rows[0]).max() + np.abs(th @ rows[1]).max()
            if out > PLANAR * (np.abs(u).max() + np.abs(th).max()):
                self._refuse(f"a mode {mode.field} of link '{link.name}'", mode.field, "modes in the plane")
        return rows

    def _section(self, link: FlexibleLinkModel, station: Any) -> np.ndarray:
        """Undeformed place of a section in its link's axes, and rows S1, S2, slope."""
        fields, along = link.beam.fields(link.modes, station), self._beam_axes(link)
        centre = link.beam_in_node.p + link.beam_in_node.R @ link.beam.centre(station)
        place = self._axes(link.node) @ centre
        return np.concatenate([place, fields.u @ along[0], fields.u @ along[1], fields.th @ along[2]])

    # ---- wheels ----

    def _wheels(self) -> Wheels:
        wheels = self.description.wheels
        unilateral = self.description.road is not None and self.description.road.contact == "unilateral"
        names = [c.name for c in self.tree.coordinates]
        table, numbers = [], []
        for wheel in wheels:
            frame = self.tree.frames[wheel.link]
            mount = self._axes(frame.body) @ (frame.placement.p + frame.placement.R @ np.array(wheel.xyz))
            hub = names.index(f"{wheel.name}/hub_z") if wheel.tyre else 0
            coordinate = self.tree.coordinates[hub]
            at = (coordinate.q_index, coordinate.v_index) if wheel.tyre else (0, 0)
            table.append([frame.body, *at, int(wheel.tyre is not None), int(unilateral)])
            spring, tyre = wheel.suspension, wheel.tyre
            rubber = (tyre.stiffness, tyre.damping, tyre.radius, tyre.mass) if tyre else (0.0,) * 4
            numbers.append([*mount, spring.stiffness, spring.damping, spring.free_length, *rubber, 0.0])
        return Wheels(
            tuple(wheel.name for wheel in wheels),
            np.array(table, dtype=np.int64).reshape(-1, layout.WHEEL_COLUMNS),
            np.array(numbers, dtype=np.float64).reshape(-1, layout.WHEEL_SIZE),
        )

    def _joints(self) -> tuple[tuple[str, int, bool], ...]:
        """Moving joints in the order of the coordinates."""
        root = self.tree.frames[self.description.root].body
        found: list[tuple[str, int, bool]] = []
        nodes: Sequence[int] = range(1, self.model.nb)
        for c in self.tree.coordinates:
            if c.kind == "joint":
                node = next(k for k in nodes if self._moves(k, c.v_index))
                found.append((c.name, node, int(self.model.parent[node]) == root))
        return tuple(found)

    def _moves(self, k: int, v_index: int) -> bool:
        return self.model.joint_type[k] == SCREW and int(self.model.v_index[k]) == v_index

    def _kind(self, k: int) -> int:
        """Of the joint of a node."""
        kind = int(self.model.joint_type[k])
        if kind != SCREW:
            return kind
        return layout.REVOLUTE if self.model.turn[k] else layout.PRISMATIC
