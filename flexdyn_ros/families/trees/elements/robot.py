"""Trees with elements between frames: springs, dampers and cylinders, around the verbs of the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numba
import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.actuation import with_actuation
from flexdyn_ros.families.trees.elements.kernels import verbs
from flexdyn_ros.families.trees.elements.loads import element_wrenches
from flexdyn_ros.families.trees.elements.model import (
    PackedElements,
    changed_elements,
    meeting_elements,
    placed_elements,
    refuse_lengths,
    sections_of,
)
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.numerics.verbs import dynamics
from flexdyn_ros.robot.analysis.equilibrium import Statics, find_equilibrium
from flexdyn_ros.robot.arguments import Rows, check_out, numbers
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.functions import DirectFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.results import CylinderStates, ElementStates, Equilibrium, Loads, PositionLimits
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches

#: what robots with elements have beside the rest
OFFERS = ("elements", "element_names", "element_forces", "cylinder_states")


class ElementTreeFunctions(TreeFunctions):
    """A `TreeFunctions` with elements between its frames; the verbs of `flexdyn_ros.Robot`.

        M a + h - sum J_i^T f_i(l_i, dl_i/dt) = tau + sum J_i^T u_i

    with the coordinate l_i of each element, J_i its derivative, and the efforts u_i of those that are driven
    behind the efforts of the coordinates (docs/theory/elements.md).
    """

    offers = (*TreeFunctions.offers, *OFFERS)
    #: what the elements are a layer around
    around: type[TreeFunctions] = TreeFunctions

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        sections: tuple[str, ...] = (),
        changes: tuple[tuple[str, float], ...] = (),
        *,
        loose: bool = False,
        bare: RigidTree | None = None,
    ) -> None:
        self._is_loose = loose
        held = tuple(dict.fromkeys((*sections_of(description), *sections)))
        super().__init__(description, payloads, held, changes, loose=loose, bare=bare)

    def actuated(self, tree: RigidTree, description: RobotDescription) -> RigidTree:
        placed = placed_elements(description, tree)
        ends = [(e.base.node, e.end.node) for e in placed if e.kind.driven]
        return with_actuation(tree, description, ends)

    def _build(self) -> None:
        super()._build()
        placed = placed_elements(self.description, self.tree)
        self.elements = changed_elements(placed, dict(self.changes))
        self.effort_names = self.v_names + tuple(e.name for e in self.elements if e.kind.driven)
        self.nu = len(self.effort_names)
        #: the robot without its elements
        self.inner = self.around(self.description, self.payloads, self.sections, self.changes, bare=self.bare)
        Robot(self.inner)
        self.packed = PackedElements(self.packed, self.tree, self.elements, self.table)
        self.address, self.table = self.packed.address, self.packed.wrapped
        if self.nu > self.nv:
            self.observed = self.observed | {*verbs.driven}
        if not self._is_loose and not self.changes:
            refuse_lengths(self.description, self.elements, self.packed.coordinates(self.neutral()))
            self.warnings += meeting_elements(self.inner.robot, self.elements, self._lengths)

    # ---- what the elements are ----

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
        return ElementStates(*(told[..., i].reshape(*shape, -1) for i in range(3)))

    def cylinder_states(self, q: np.ndarray, v: np.ndarray) -> CylinderStates:
        """Length, rate, stroke and force limits of every cylinder; see `CylinderStates`.

        Raises
        ------
        DimensionError, StateError
        """
        shape, told = self._told(q, v)
        length, rate = (told[:, self._driven, i].reshape(*shape, -1) for i in range(2))
        largest, _, least_length, _ = self._limits_of_driven
        limits = np.broadcast_to(np.stack([-largest, largest], axis=-1), (*length.shape, 2)).copy()
        return CylinderStates(length, rate, length - least_length, limits)

    def loosened(self, description: RobotDescription) -> TreeFunctions:
        return type(self)(description, self.payloads, self.sections, self.changes, loose=True)

    @property
    def mass(self) -> float:
        """Mass of all links and of the cylinders [kg]."""
        weights = (p.value for e in self.elements for p in e.parameters if p.name.endswith("_mass"))
        return super().mass + sum(weights)

    def coriolis_rows(self, rows: Rows) -> np.ndarray:
        return DirectFunctions.coriolis_rows(self, rows) if self._is_heavy else super().coriolis_rows(rows)

    def parameters_with(self, tree: RigidTree) -> tuple[Parameter, ...]:
        placed = placed_elements(self.description, tree)
        elements = changed_elements(placed, dict(self.changes))
        return (*super().parameters_with(tree), *(p for each in elements for p in each.parameters))

    def regressor_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._probes.columns(rows)

    @property
    def regressor_one(self) -> None:
        """None: the columns are those of robots with one parameter each."""
        return

    @cached_property
    def effort_coordinates(self) -> tuple[Coordinate, ...]:
        driven = []
        for i, element in enumerate(e for e in self.elements if e.kind.driven):
            effort, speed, lower, upper = (float(x[i]) for x in self._limits_of_driven)
            driven.append(
                Coordinate(
                    element.name,
                    "cylinder",
                    element.kind.unit,
                    self.nq + i,
                    self.nv + i,
                    self.tree.body_links[element.end.node],
                    lower=lower,
                    upper=upper,
                    velocity_limit=speed,
                    effort_limit=effort,
                )
            )
        return (*self.coordinates, *driven)

    @cached_property
    def limits(self) -> PositionLimits:
        own = super().limits
        least, most = self._limits_of_driven[2:]
        names = self.effort_names[self.nv :]
        return PositionLimits(
            (*own.names, *names),
            np.concatenate([own.lower, least]),
            np.concatenate([own.upper, most]),
            np.concatenate([own.places, np.full(len(names), -1)]),
        )

    def limited_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        numbered = [c for c in self.coordinates if c.q_index >= 0]
        position, rate = q[..., [c.q_index for c in numbered]], v[..., [c.v_index for c in numbered]]
        if self.nu == self.nv:
            return position, rate
        shape, told = self._told(q, v)
        lengths, rates = (told[:, self._driven, i].reshape(*shape, -1) for i in range(2))
        return np.concatenate([position, lengths], axis=-1), np.concatenate([rate, rates], axis=-1)

    def effort_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        position, speed = super().effort_motion(q, v)
        if self.nu == self.nv:
            return position, speed
        shape, told = self._told(q, v)
        lengths, rates = (told[:, self._driven, i].reshape(*shape, -1) for i in range(2))
        return np.concatenate([position, lengths], axis=-1), np.concatenate([speed, rates], axis=-1)

    def motion(self) -> Motion:
        """What fixed compiled steps need."""
        from flexdyn_ros.families.trees.elements.motion import elements_motion

        return elements_motion(super().motion(), self.packed, self.elements, self._limits_of_driven)

    # ---- what the elements do ----

    def _lengths(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (N, n) of the elements at rows of q, and their derivatives (N, n, nv)."""
        told = self._told(q, np.zeros((len(q), self.nv)))[1]
        return told[..., 0], told[..., verbs.TOLD :]

    def _told(self, q: np.ndarray, v: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
        """The batch, and in its rows (N, n, TOLD + nv) what is told of each element."""
        rows, n = Rows({"q": (q, self.nq), "v": (v, self.nv)}), len(self.elements)
        size = n * (verbs.TOLD + self.nv)
        head = self.head("elements", lambda: self.new_head(looking="elements", results=size))
        return rows.shape, self.look(head, rows).reshape(rows.count, n, -1)

    @cached_property
    def _driven(self) -> np.ndarray:
        return np.array([i for i, e in enumerate(self.elements) if e.kind.driven], dtype=np.intp)

    @cached_property
    def _limits_of_driven(self) -> np.ndarray:
        """Largest force and rate, least and largest coordinate of what is driven (4, nc)."""
        found = [e.kind.limits(e.record) for e in self.elements if e.kind.driven and e.kind.limits]
        limits = np.array(found).reshape(-1, 4).T.copy()
        limits[0] = np.where(limits[0] > 0.0, limits[0], np.inf)
        return limits

    @cached_property
    def by_mass_matrix(self) -> bool:  # type: ignore[override]
        """True also where elements have mass, which couples bodies that are not parent and child."""
        return self._is_heavy or self.inner.by_mass_matrix or bool(numba.config.DISABLE_JIT)

    @cached_property
    def _is_heavy(self) -> bool:
        return any(element.inertia is not None for element in self.elements)

    # ---- rows of the verbs ----

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """Those of the tree alone under what the elements exert on it, as external wrenches; elements that
        are driven exert their efforts in tau, nothing where it is left out."""
        efforts = (
            rows.take("tau")[:, self.nv :]
            if "tau" in rows.names
            else np.zeros((rows.count, self.nu - self.nv))
        )
        acting = element_wrenches(self.robot, self.elements, efforts, rows)
        for name, wrench in (flat_wrenches(rows, wrenches) or {}).items():
            acting[name] = acting[name] + wrench if name in acting else wrench
        given = {
            name: (rows.take(name), size) for name, size in (("q", self.nq), ("v", self.nv), ("a", self.nv))
        }
        motion = {name: (x.reshape(*rows.shape, size), size) for name, (x, size) in given.items()}
        loads = {name: w.reshape(*rows.shape, 6) for name, w in acting.items()}
        return self.inner.loads_rows(rows_with_wrenches(loads, **motion), loads, stations)

    @cached_property
    def singles(self) -> Mapping[str, Callable[[], tuple[Callable[..., int], int]]]:  # type: ignore[override]
        """Inverse dynamics, and forward dynamics but for trees that take the mass matrix."""
        by_matrix = self.inner.needs_mass_matrix or (self._is_heavy and bool(self._weak_bodies))
        found = {"inverse_dynamics": self._load_inverse_dynamics}
        return found if by_matrix else found | {"forward_dynamics": self._load_forward_dynamics}

    def _load_forward_dynamics(self) -> tuple[Callable[..., int], int]:
        self.packed.keep_work(self.packed.take_steps(super().motion().work_size) + self.nv + self.nu)
        if self._is_heavy:
            self.packed.provide_rows()
        self.table.provide("ready", "accelerate", "exert")
        return verbs.forward_dynamics_one.load(), self.moving.address

    def _load_inverse_dynamics(self) -> tuple[Callable[..., int], int]:
        balance, nv = dynamics.balance_one.load(), self.nv

        def with_efforts(head: int, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> int:
            tau[nv:] = 0.0
            return balance(head, q, v, a, tau[:nv])

        return (balance if self.nu == nv else with_efforts), self.balancing.address

    def partial(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        if tau is not None and self.nu != self.nv:
            tau = numbers(tau, "tau", self.nu)
            tau = np.einsum("...ij,...j->...i", self.actuation_matrix(q), tau)
        return super().partial(q, v, tau, a, given, wrenches)

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """B (..., nv, nu): the identity, then d(length)/dq of each cylinder."""
        if self.nu == self.nv:
            return super().actuation_matrix(q, out=out)
        rows = Rows({"q": (q, self.nq)})
        B = check_out(out, (*rows.shape, self.nv, self.nu), rows)
        self.look(self.looking("actuation"), rows, B, ("q",))
        return B

    def rest(
        self, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> Equilibrium:
        if self.nu == self.nv:
            return super().rest(q, tau, held, wrenches)
        still, robot, nv = np.zeros(self.nv), self.robot, self.nv

        def stiffness(q: np.ndarray) -> np.ndarray:
            motion = {"q": (q, self.nq), "v": (still, nv), "a": (still, nv), "tau": (tau, self.nu)}
            return self.slopes_rows(rows_with_wrenches(wrenches, **motion), wrenches)[0][0]

        statics = Statics(
            load=lambda q: (
                robot.inverse_dynamics(q, still, still, wrenches)[:nv]
                - robot.actuation_matrix(q)[:, nv:] @ tau[nv:]
            ),
            stiffness=stiffness,
            mass=robot.mass_matrix,
            move=lambda q, dq: robot.integrate(q, dq, 1.0),
        )
        found = find_equilibrium(statics, q, tau[:nv], held)
        return found._replace(tau=np.concatenate([found.tau, tau[nv:]]))
