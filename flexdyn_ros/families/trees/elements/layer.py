"""Springs, dampers and cylinders between frames of a tree: a layer around its verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.elements.kernels import standing, verbs
from flexdyn_ros.families.trees.elements.loads import element_wrenches
from flexdyn_ros.families.trees.elements.model import (
    changed_elements,
    meeting_elements,
    placed_elements,
    refuse_axes,
    refuse_lengths,
    sections_of,
)
from flexdyn_ros.families.trees.elements.packed import PackedElements
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.multibody.elements.cylinder.circuits import OnOil, circuits_of, unused_supplies
from flexdyn_ros.numerics.compiling.teaching import is_interpreted
from flexdyn_ros.numerics.verbs import dynamics
from flexdyn_ros.robot.arguments import Rows, flat_wrenches, rows_with_wrenches
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.results import CylinderStates, ElementStates, Loads
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.elements.oil import Oil
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics


class Elements(Layer):
    """The elements of a tree.

        M a + h - sum J_i^T f_i(l_i, dl_i/dt) = tau + sum J_i^T u_i

    with the coordinate l_i of each element, J_i its derivative, and the efforts u_i of those that are driven
    behind the efforts of the coordinates (docs/theory/elements.md).
    """

    offers = ("elements", "element_names", "element_forces", "cylinder_states", "hydraulics")

    @staticmethod
    def sections(description: RobotDescription) -> tuple[str, ...]:
        return sections_of(description)

    @staticmethod
    def driven_ends(description: RobotDescription, tree: RigidTree) -> list[tuple[int, int]]:
        placed = placed_elements(description, tree)
        return [(e.base.node, e.end.node) for e in placed if e.kind.driven and e.kind.frees_joints]

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        tree = functions.tree
        self.elements = changed_elements(
            placed_elements(functions.description, tree), dict(functions.changes)
        )
        self._is_driven = np.array([i for i, e in enumerate(self.elements) if e.kind.driven], dtype=np.intp)
        self.driven = self._driven_coordinates()
        self.oil = self._find_oil()
        functions.effort_names += tuple(c.name for c in self.driven)
        functions.nu = len(functions.effort_names)
        #: the robot without its elements; joints that these drive are passive in it, too
        tree_of = {} if functions.is_loose else {"bare": functions.bare}
        self.inner = functions.like(layers=functions.made_with, **tree_of)
        Robot(self.inner)
        within = functions.packed, tree, self.elements, functions.table
        self.packed = PackedElements(*within, plain=functions.is_plain)
        functions.packed, functions.table = self.packed, self.packed.wrapped
        functions.address = self.packed.address
        if self.driven:
            functions.observed = functions.observed | {*verbs.driven}
        # loops say what the neutral pose is
        if not (functions.is_loose or functions.changes or loops_of(functions.description)):
            self.refuse_at(functions.neutral())

    def refuse_at(self, q: np.ndarray) -> None:
        lengths, slants = self.packed.coordinates(q)
        refuse_lengths(self.functions.description, self.elements, lengths)
        refuse_axes(self.functions.description, self.elements, slants)
        self.functions.warnings += meeting_elements(self.inner.robot, self.elements, self._lengths)

    # ---- what the elements are ----

    @property
    def hydraulics(self) -> Hydraulics | None:
        """The cylinders that oil drives; None without any."""
        return None if self.oil is None else self.oil.hydraulics

    def _find_oil(self) -> Oil | None:
        description = self.functions.description
        on_oil = any(isinstance(e.record, OnOil) and e.record.hydraulics for e in self.elements)
        if not on_oil and "supply" not in description.extras:
            return None
        circuits = circuits_of(description)
        if not self.functions.changes:
            self.functions.warnings += unused_supplies(description)
        if not circuits:
            return None
        from flexdyn_ros.families.trees.elements.oil import Oil

        names = {record.name for circuit in circuits for _, record in circuit.cylinders}
        elements = [i for i, e in enumerate(self.elements) if e.name in names]
        driven = [i for i, c in enumerate(self.driven) if c.name in names]
        return Oil(self.functions, circuits, elements, driven)

    @property
    def element_names(self) -> tuple[str, ...]:
        """Names of the elements: cylinders, then springs, dampers, torsion springs."""
        return tuple(element.name for element in self.elements)

    def element_forces(self, q: np.ndarray, v: np.ndarray) -> ElementStates:
        """Length or angle, rate and force of every element; see `ElementStates`.

        Raises
        ------
        DimensionError, StateError
        """
        shape, told = self._told(q, v)
        return ElementStates(*(told[..., i].reshape(*shape, len(self.elements)) for i in range(3)))

    def cylinder_states(self, q: np.ndarray, v: np.ndarray) -> CylinderStates:
        """Length, rate, stroke and force limits of every cylinder; see `CylinderStates`.

        Raises
        ------
        DimensionError, StateError
        """
        shape, told = self._told(q, v)
        length, rate = (told[:, self._is_driven, i].reshape(*shape, len(self.driven)) for i in range(2))
        largest, least_length = (
            np.array([getattr(c, x) for c in self.driven]) for x in ("effort_limit", "lower")
        )
        limits = np.broadcast_to(np.stack([-largest, largest], axis=-1), (*length.shape, 2)).copy()
        return CylinderStates(length, rate, length - least_length, limits)

    @property
    def mass(self) -> float:
        """Of the cylinders [kg]."""
        return sum(p.value for e in self.elements for p in e.parameters if p.name.endswith("_mass"))

    @cached_property
    def has_inertia(self) -> bool:
        return any(element.inertia is not None for element in self.elements)

    @property
    def by_mass_matrix(self) -> bool:
        """True where elements have mass that couples bodies which are not parent and child."""
        joins = self.packed.is_joined and not self.functions.weak_bodies
        return (self.has_inertia and not joins) or is_interpreted()

    def parameters(self, tree: RigidTree) -> tuple[Parameter, ...]:
        placed = placed_elements(self.functions.description, tree)
        elements = changed_elements(placed, dict(self.functions.changes))
        return tuple(p for each in elements for p in each.parameters)

    def _driven_coordinates(self) -> tuple[Coordinate, ...]:
        f, found = self.functions, []
        for i, e in enumerate(self.elements[k] for k in self._is_driven):
            limits = (0.0, 0.0, -np.inf, np.inf) if e.kind.limits is None else e.kind.limits(e.record)
            effort, speed, lower, upper = map(float, limits)
            found.append(
                Coordinate(
                    e.name,
                    "cylinder",
                    e.kind.unit,
                    f.nq + i,
                    f.nv + i,
                    f.tree.body_links[e.end.node],
                    lower=lower,
                    upper=upper,
                    velocity_limit=speed,
                    effort_limit=effort if effort > 0.0 else np.inf,
                )
            )
        return tuple(found)

    def driven_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape, told = self._told(q, v)
        lengths, rates = (told[:, self._is_driven, i].reshape(*shape, len(self.driven)) for i in range(2))
        return lengths, rates

    def motion(self, within: Motion) -> Motion:
        from flexdyn_ros.families.trees.elements.motion import elements_motion

        return elements_motion(within, self.packed, self.elements, self.driven, self.oil)

    def add_springs(self, q: np.ndarray, K: np.ndarray, D: np.ndarray) -> None:
        if self.oil is not None:
            J = self._lengths(q)[1][:, self.oil.elements]
            for matrix, of_cylinders in zip((K, D), self.oil.springs(q), strict=True):
                matrix += np.einsum("nki,nk,nkj->nij", J, of_cylinders, J)

    # ---- what the elements do ----

    def _lengths(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (N, n) of the elements at rows of q, and their derivatives (N, n, nv)."""
        told = self._told(q, np.zeros((len(q), self.functions.nv)))[1]
        return told[..., 0], told[..., verbs.TOLD :]

    def _told(self, q: np.ndarray, v: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
        """The batch, and in its rows (N, n, TOLD + nv) what is told of each element."""
        rows, n = Rows({"q": (q, self.functions.nq), "v": (v, self.functions.nv)}), len(self.elements)
        size = n * (verbs.TOLD + self.functions.nv)
        heads = self.functions.heads
        head = heads.kept("elements", lambda: heads.new(looking="elements", results=size))
        return rows.shape, self.functions.look(head, rows).reshape(rows.count, n, size // n)

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """Those of what is within under what the elements exert on it, as external wrenches; elements that
        are driven exert their efforts in tau, nothing where it is left out."""
        f, nc = self.functions, len(self.driven)
        efforts = rows.take("tau")[:, f.nv : f.nv + nc] if "tau" in rows.names else np.zeros((rows.count, nc))
        acting = element_wrenches(f.robot, self.elements, efforts, rows)
        for name, wrench in (flat_wrenches(rows, wrenches) or {}).items():
            acting[name] = acting[name] + wrench if name in acting else wrench
        given = {name: (rows.take(name), size) for name, size in (("q", f.nq), ("v", f.nv), ("a", f.nv))}
        motion = {name: (x.reshape(*rows.shape, size), size) for name, (x, size) in given.items()}
        loads = {name: w.reshape(*rows.shape, 6) for name, w in acting.items()}
        return self.inner.loads_rows(rows_with_wrenches(loads, **motion), loads, stations)

    def singles(self) -> Mapping[str, Callable[[], tuple[Callable[..., int], int]]]:
        """Inverse dynamics, and forward dynamics but for trees that take the mass matrix."""
        weak = self.has_inertia and bool(self.functions.weak_bodies)
        by_matrix = (self.inner.needs_mass_matrix or weak) and not self.packed.is_dense
        found = {"inverse_dynamics": self._load_inverse_dynamics}
        return found if by_matrix else found | {"forward_dynamics": self._load_forward_dynamics}

    def _load_forward_dynamics(self) -> tuple[Callable[..., int], int]:
        f = self.functions
        if self.packed.groups:
            return standing.forward_dynamics_one.load(), f.heads.accelerating.address
        self.packed.keep_work(self.packed.take_steps(f.motion_within(self).work_size) + f.nv + f.nu)
        if self.packed.has_rows:
            self.packed.provide_rows()
        f.table.provide("ready", "accelerate", "exert")
        return verbs.forward_dynamics_one.load(), f.heads.moving.address

    def _load_inverse_dynamics(self) -> tuple[Callable[..., int], int]:
        balance, nv = dynamics.balance_one.load(), self.functions.nv

        def with_efforts(head: int, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> int:
            tau[nv:] = 0.0
            return balance(head, q, v, a, tau[:nv])

        return (with_efforts if self.driven else balance), self.functions.heads.balancing.address
