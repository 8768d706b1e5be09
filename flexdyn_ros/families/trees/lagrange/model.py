"""Models of the recursive Lagrangian path: bodies with their joints and modes, packed for the kernels.

`build_lagrange` makes one from a rigid tree, `assemble` from bodies given one by one (flexible links
included).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from flexdyn_ros.families.trees.flexible.beams.modal_integrals import ModalIntegrals
from flexdyn_ros.families.trees.flexible.beams.modes import SectionFields
from flexdyn_ros.families.trees.lagrange.kernels import views as layout
from flexdyn_ros.families.trees.lagrange.kernels.equations import equations_of_lagrange
from flexdyn_ros.families.trees.rigid.kernels import views as tree
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW


class LagrangeModel(NamedTuple):
    """Packed model of the Lagrangian kernels, shared by threads.

    ints (k,) int64, floats (n,) float64: see lagrange/kernels/views.py. Nobody writes to them, but they are
    not marked so: kernels are compiled for one kind of array. nq, nv: sizes of q and v.
    work_size: number of (4, 4) blocks a kernel call needs as scratch; one array per thread.
    """

    ints: np.ndarray
    floats: np.ndarray
    nq: int
    nv: int
    work_size: int

    def work(self, dtype: DTypeLike = float) -> np.ndarray:
        """Scratch array for the kernels; complex for a complex step."""
        return np.zeros((self.work_size, 4, 4), dtype=dtype)


@dataclass(frozen=True)
class FlexibleLink:
    """The modes of a body: integrals without the bodies it carries, damping (m, m), stations of its
    children."""

    integrals: ModalIntegrals
    damping: np.ndarray
    stations: tuple[SectionFields, ...]
    q_index: int
    v_index: int

    @property
    def modes(self) -> int:
        """Number of modal coordinates."""
        return len(self.integrals.K)


@dataclass(frozen=True)
class Body:
    """One body with the joint that carries it; parents come before children.

    parent: index, -1 = world. station: index among the parent's stations, None = its body frame. kind:
    REVOLUTE, PRISMATIC, FIXED of lagrange/kernels/views.py, FREE or BALL. pre, post: unit-first transforms
    (4, 4) before and after the joint; axis: unit, after pre. second_moments: 1/2 int h h^T dm (4, 4) of rigid
    matter fixed to the body frame. Joint position = ratio q[q_index] + offset; rows of v from v_index (6 for
    FREE: angular, then linear velocity, in axes of pre; 3 for BALL).
    """

    parent: int
    kind: int = layout.FIXED
    pre: np.ndarray = field(default_factory=lambda: np.eye(4))
    post: np.ndarray = field(default_factory=lambda: np.eye(4))
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    second_moments: np.ndarray = field(default_factory=lambda: np.zeros((4, 4)))
    q_index: int = -1
    v_index: int = -1
    ratio: float = 1.0
    offset: float = 0.0
    station: int | None = None
    link: FlexibleLink | None = None

    @property
    def rows(self) -> int:
        """Number of joint coordinates."""
        return {layout.FIXED: 0, FREE: 6, BALL: 3}.get(self.kind, 1)


def transform(rotation: np.ndarray, origin: ArrayLike) -> np.ndarray:
    """Unit-first homogeneous transform [[1, 0], [origin, rotation]]."""
    T = np.eye(4)
    T[1:, 0] = origin
    T[1:, 1:] = rotation
    return T


def resistance(nv: int, **columns: Sequence[float]) -> np.ndarray:
    """Table (nv, DOF_NUMBERS) of what acts on single coordinates, as in the tree model; zero where not given.

    columns: armature, damping, coulomb, static, stribeck, smoothing, stiffness, reference, each (nv,).
    """
    dof = np.zeros((nv, tree.DOF_NUMBERS))
    dof[:, [tree.STRIBECK, tree.SMOOTHING]] = 1.0, 1e-3
    for name, values in columns.items():
        dof[:, getattr(tree, name.upper())] = values
    return dof


def assemble(
    bodies: Sequence[Body],
    nq: int,
    nv: int,
    *,
    gravity: ArrayLike,
    dof: np.ndarray | None = None,
    affine: bool = False,
    foreshortened: bool = False,
) -> LagrangeModel:
    """Pack bodies for the kernels.

    dof: (nv, DOF_NUMBERS) as in the tree model: rotor inertia, damping, friction, parallel spring; default
    none. affine: section frames linear in the modal coordinates (Zhang 2009) instead of true rotations.
    foreshortened: links that bend become shorter.
    """
    ints, floats = _Packer(), _Packer()
    columns = _columns(bodies)
    joint_bodies = [b for b in bodies if b.rows]
    links = [b.link for b in bodies if b.link is not None]
    stations = [(row, s) for row, s in columns.stations]
    head = np.zeros(layout.HEAD, dtype=np.int64)
    head[:8] = [len(bodies), nv, nq, columns.rows, columns.modes, columns.pairs, len(stations), columns.edges]
    head[8:] = [affine, foreshortened]
    for array in _float_fields(bodies, joint_bodies, links, columns, nv, gravity, dof, foreshortened):
        floats.add(array)
    ints.add(head)
    ints.add(floats.offsets)
    ints.add(columns.body_int)
    ints.add(np.array([row for row, _ in stations]).reshape(-1, 2))
    ints.add(_concatenate(np.arange(b.v_index, b.v_index + b.rows) for b in joint_bodies))
    ints.add(_q_of_v(bodies, nq, nv))
    ints.add(_concatenate(np.arange(x.q_index, x.q_index + x.modes) for x in links))
    ints.add(_concatenate(np.arange(x.v_index, x.v_index + x.modes) for x in links))
    packed = ints.packed().astype(np.int64)
    return LagrangeModel(packed, floats.packed().astype(float), nq, nv, layout.work_size(packed))


def _q_of_v(bodies: Sequence[Body], nq: int, nv: int) -> np.ndarray:
    """Index in q of each velocity coordinate, -1 for those of free joints; coordinates of no body, which are
    those of motors, come last in q and in v."""
    index = np.arange(nq - nv, nq, dtype=np.int64)
    for b in bodies:
        index[b.v_index : b.v_index + b.rows] = b.q_index if b.rows == 1 else -1
        if b.link is not None:
            index[b.link.v_index : b.link.v_index + b.link.modes] = np.arange(b.link.modes) + b.link.q_index
    return index


class _Packer:
    """Arrays laid one after another."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []

    def add(self, array: Any) -> None:
        self.parts.append(np.asarray(array).ravel())

    @property
    def offsets(self) -> np.ndarray:
        return np.cumsum([0, *[p.size for p in self.parts]])

    def packed(self) -> np.ndarray:
        return np.concatenate(self.parts)


class _Columns(NamedTuple):
    body_int: np.ndarray
    stations: list[tuple[tuple[int, int], SectionFields]]
    rows: int
    modes: int
    pairs: int
    edges: int


def _columns(bodies: Sequence[Body]) -> _Columns:
    """Integer table of the bodies: where each one's rows, modes, pairs, stations and quadrature points
    begin."""
    table = np.full((len(bodies), layout.BODY_INTS), 0, dtype=np.int64)
    stations: list[tuple[tuple[int, int], SectionFields]] = []
    first_station: list[int] = []
    rows = modes = pairs = edges = points = point_modes = point_pairs = station_rows = station_pairs = 0
    for i, b in enumerate(bodies):
        first_station.append(len(stations))
        station = -1 if b.station is None else first_station[b.parent] + b.station
        m = b.link.modes if b.link else 0
        n = len(b.link.integrals.point_x) if b.link else 0
        joint = [b.parent, station, b.kind, b.q_index, rows, b.rows]
        table[i] = [*joint, modes, m, pairs, edges, points, n, point_modes, point_pairs]
        for fields in b.link.stations if b.link else ():
            stations.append(((station_rows, station_pairs), fields))
            station_rows += m
            station_pairs += m * m
        if station >= 0:
            edges += len(stations[station][1].u)
        rows, modes, pairs = rows + b.rows, modes + m, pairs + m * m
        points, point_modes, point_pairs = points + n, point_modes + n * m, point_pairs + n * m * m
    return _Columns(table, stations, rows, modes, pairs, edges)


def _float_fields(
    bodies: Sequence[Body],
    joint_bodies: Sequence[Body],
    links: Sequence[FlexibleLink],
    columns: _Columns,
    nv: int,
    gravity: ArrayLike,
    dof: np.ndarray | None,
    foreshortening: bool,
) -> list[object]:
    """The float arrays in the order of layout.FLOAT_FIELDS."""
    integrals = [x.integrals for x in links]
    at = [fields for _, fields in columns.stations]
    return [
        [b.pre for b in bodies],
        [b.post for b in bodies],
        [b.second_moments + _own_moments(b.link, foreshortening, "C") for b in bodies],
        _concatenate(_own_moments(x, foreshortening, "C1") for x in links),
        _concatenate(_own_moments(x, foreshortening, "C2") for x in links),
        gravity,
        [b.axis for b in bodies],
        [[b.ratio, b.offset] for b in bodies],
        _concatenate(np.full(b.rows, b.ratio) for b in joint_bodies),
        resistance(nv) if dof is None else dof,
        _concatenate(x.T for x in integrals),
        _concatenate(x.K for x in integrals),
        _concatenate(x.damping for x in links),
        [fields.centre for fields in at],
        _concatenate(fields.u for fields in at),
        _concatenate(fields.th for fields in at),
        _concatenate(fields.S for fields in at),
        _concatenate(x.point_mass for x in integrals),
        _concatenate(_positions(x.point_x) for x in integrals),
        _concatenate(x.point_u for x in integrals),
        _concatenate(x.point_S for x in integrals),
    ]


def _positions(x: np.ndarray) -> np.ndarray:
    """Positions (n, 3) of points, given so or as abscissae on the centre line (n,)."""
    return x if x.ndim == 2 else np.column_stack([x, np.zeros((len(x), 2))])


def _own_moments(link: FlexibleLink | None, foreshortening: bool, name: str) -> np.ndarray | float:
    """C, C1 or C2 of a link; only the cross sections' part if the line is integrated point by point."""
    if link is None:
        return 0.0
    return getattr(link.integrals, f"{name}_section" if foreshortening else name)


def _concatenate(arrays: Iterable[object]) -> np.ndarray:
    parts = [np.asarray(a).ravel() for a in arrays]
    return np.concatenate(parts) if parts else np.zeros(0)


# ---------------------------------------- rigid trees


def build_lagrange(model: tree.TreeModel) -> LagrangeModel:
    """The Lagrangian model of a rigid tree; same coordinates, same joint resistances.

    Body b > 0 of the tree (its world, body 0, has no row here) hangs on its joint, whose axis is z.
    """
    bodies: list[Body] = []
    rows = {0: -1}
    for b in range(1, model.nb):
        bodies += bodies_of(model, b, rows[int(model.parent[b])], len(bodies))
        rows[b] = len(bodies) - 1
    return assemble(bodies, model.nq, model.nv, gravity=model.gravity, dof=dof_of(model))


def bodies_of(model: tree.TreeModel, b: int, parent: int, row: int) -> list[Body]:
    """Body b of a tree with its joint, which hangs on row `parent`: one for row `row`, or two, where its
    screw turns and slides."""
    body = _body_of(model, b, parent)
    if body.kind != layout.REVOLUTE or not model.slide[b]:
        return [body]
    # what slides has no frame of its own before it
    pitch = float(model.slide[b])
    slides = replace(
        body,
        parent=row,
        kind=layout.PRISMATIC,
        pre=np.eye(4),
        ratio=pitch * body.ratio,
        offset=pitch * body.offset,
    )
    return [replace(body, second_moments=np.zeros((4, 4))), slides]


def _body_of(model: tree.TreeModel, b: int, parent: int) -> Body:
    kind = int(model.joint_type[b])
    if kind == SCREW:
        kind = layout.REVOLUTE if model.turn[b] else layout.PRISMATIC
    placement = model.placement[12 * b : 12 * b + 12]
    return Body(
        parent=parent,
        kind=kind,
        pre=transform(placement[:9].reshape(3, 3), placement[9:]),
        second_moments=0.5 * _pseudo_inertia_about_origin(model.inertia[10 * b : 10 * b + 10]),
        q_index=int(model.q_index[b]),
        v_index=int(model.v_index[b]),
        ratio=float(model.ratio[b]),
        offset=float(model.offset[b]),
    )


def dof_of(model: tree.TreeModel) -> np.ndarray:
    """Numbers of the velocity coordinates (nv, DOF_NUMBERS)."""
    return np.asarray(model.dof).reshape(model.nv, tree.DOF_NUMBERS)


def _pseudo_inertia_about_origin(inertia: np.ndarray) -> np.ndarray:
    """int h h^T dm (4, 4) from mass, first moment and inertia (xx xy xz yy yz zz) about the body origin."""
    xx, xy, xz, yy, yz, zz = inertia[4:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.empty((4, 4))
    P[0, 0] = inertia[0]
    P[0, 1:] = P[1:, 0] = inertia[1:4]
    P[1:, 1:] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return P


# ---------------------------------------- evaluation


class Equations(NamedTuple):
    """M a + velocity + gravity + elastic + damping = tau, and the energies; batch dimensions in front.

    M (..., nv, nv); velocity, gravity, elastic, damping (..., nv); kinetic, gravitational, strain (...,) [J].
    """

    M: np.ndarray
    velocity: np.ndarray
    gravity: np.ndarray
    elastic: np.ndarray
    damping: np.ndarray
    kinetic: np.ndarray
    gravitational: np.ndarray
    strain: np.ndarray

    @property
    def h(self) -> np.ndarray:
        """Sum of the four bias terms (..., nv)."""
        return self.velocity + self.gravity + self.elastic + self.damping


def equations(model: LagrangeModel, q: np.ndarray, v: np.ndarray) -> Equations:
    """Evaluate the equations of motion at q (..., nq), v (..., nv), real or complex; leading dimensions
    broadcast."""
    dtype = np.result_type(q, v, float)
    q, v = np.asarray(q, dtype=dtype), np.asarray(v, dtype=dtype)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    qs = np.ascontiguousarray(np.broadcast_to(q, (*batch, model.nq)).reshape(-1, model.nq))
    vs = np.ascontiguousarray(np.broadcast_to(v, (*batch, model.nv)).reshape(-1, model.nv))
    n, nv = len(qs), model.nv
    M, h, e = np.empty((n, nv, nv), dtype), np.empty((n, 4, nv), dtype), np.empty((n, 3), dtype)
    qs, vs = np.require(qs, requirements="W"), np.require(vs, requirements="W")  # one signature of the kernel
    equations_of_lagrange(model.ints, model.floats, qs, vs, model.work(dtype), M, h, e)
    h, e = h.reshape(*batch, 4, nv), e.reshape(*batch, 3)
    terms = (h[..., i, :] for i in range(4))
    return Equations(M.reshape(*batch, nv, nv), *terms, *(e[..., i] for i in range(3)))
