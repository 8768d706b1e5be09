"""Closed loops around the functions of a tree: a layer that replaces the methods in which loops count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.loops.closing import Closing
from flexdyn_ros.families.trees.loops.compiled import FastPaths
from flexdyn_ros.families.trees.loops.dead_centres import DeadCentres
from flexdyn_ros.families.trees.loops.dynamics import null_space
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.families.trees.loops.packed import PackedLoops
from flexdyn_ros.families.trees.loops.placing import placed_loops, stations_of
from flexdyn_ros.families.trees.loops.reacting import Reacting
from flexdyn_ros.families.trees.loops.vicinity import Vicinity
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.results import Loads

#: methods of a robot by the part that has them
_OF_CLOSING = ("mobility", "loops", "loop_residual", "loop_jacobian", "assemble", "project", "random")
_OF_FORCES = ("forward_dynamics", "inverse_dynamics", "loop_reactions")
_OF_VICINITY = (
    "linearize", "modes", "static_equilibrium", "inverse_dynamics_derivatives",
    "forward_dynamics_parameter_derivatives",
)  # fmt: skip
_OF_REACTIONS = ("joint_reactions", "loads")
#: uses that others ask about
_ALLOWED = (*_OF_REACTIONS, "specialized")
#: methods that ask compiled functions first
_FAST = ("forward_dynamics", "project")
#: those of the open tree: by the functions of a robot with loops, they would go through methods of these
_OF_THE_OPEN_TREE = ("regressor", "coriolis_matrix")


class Loops(Layer):
    """The closed joints of a tree.

        M a + h = B tau + J' lam + sum J_i' w_i,        J a + dJ/dt v = 0

    Methods in which loops count take the place of those of the robot; all others are those of the open tree,
    at any q. Outermost of all layers: what is within is the open robot, whose methods give M, h, the frames
    and their Jacobians.
    """

    hides_reactions = by_mass_matrix = is_constraint = True
    offers = (*_OF_CLOSING, *_OF_FORCES, *_OF_VICINITY, *_OF_THE_OPEN_TREE, "joint_reactions")

    @staticmethod
    def sections(description: RobotDescription) -> tuple[str, ...]:
        return stations_of(description)

    @staticmethod
    def driven_ends(description: RobotDescription, tree: RigidTree) -> list[tuple[int, int]]:
        return [(loop.base.node, loop.end.node) for loop in placed_loops(description, tree)]

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        inner = functions.like(layers=functions.made_with, bare=functions.bare)
        self.closing = closing = Closing(functions, inner)
        self.packed = PackedLoops(functions.packed, functions.tree, closing.geometry.loops, functions.table)
        functions.packed, functions.table = self.packed, self.packed.wrapped
        functions.address = self.packed.address
        self._forces = Forces(closing)
        self._fast = FastPaths(self._forces, self.packed)
        self._reacting = Reacting(self._forces)
        if functions.is_loose:
            return
        found = closing.close()
        self.packed.close(
            closing.rank, closing.moves(()), closing.open.mass_matrix(found.q), closing.loop_jacobian(found.q)
        )
        functions.home = found.q
        if found.displaced:
            functions.warnings += (
                "the loops cannot be closed from the start as it is: the nearest closed pose of eight starts "
                "displaced by up to 0.3 rad is taken; <assembly start=...> says where to begin",
            )
        if not functions.changes:
            for layer in functions.layers:
                layer.refuse_at(found.q)
        parts = (
            (closing, _OF_CLOSING),
            (self._forces, _OF_FORCES),
            (Vicinity(self._forces), _OF_VICINITY),
            (closing.open, _OF_THE_OPEN_TREE),
            (self._reacting, ("joint_reactions",)),
            (self._fast, _FAST),
        )
        vars(self).update({name: getattr(part, name) for part, names in parts for name in names})

    def project(
        self, q: np.ndarray, v: np.ndarray, held: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.closing.project(q, v, held) if held else self._fast.project(q, v)

    def efforts_for(self, *state: Any) -> np.ndarray:
        return self._forces.efforts_for(*state)

    def closed(self, q: np.ndarray, held: Sequence[str] = ()) -> np.ndarray:
        # more than motions can seldom all stay: then the nearest pose
        return self.closing.assemble(q, lock=held if len(held) <= self.closing.mobility else ())

    def inverse_inertia(self, q: np.ndarray) -> np.ndarray:
        return self.closing.inverse_inertia(q)

    def motions(self, q: np.ndarray) -> np.ndarray:
        return null_space(self.closing.loop_jacobian(q))

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        return self._reacting.loads_rows(rows, wrenches, stations)

    def motion(self, within: Motion) -> Motion:
        self.packed.provide_rows()
        return replace(within, work_size=self.packed.take_steps(within.work_size), keep=(within, self.packed))

    def remarks(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> list[str]:
        found = DeadCentres(self.closing).remarks(q, t)
        if self.packed.lost[0] != 0.0 and not found:
            # steps that samples do not show
            found = [
                f"robot '{self.functions.description.name}' passed a singular pose (dead centre) of its "
                "loops: its energy is determined there, the way it goes on is not"
            ]
        return found

    def refuse(self, verb: str) -> None:
        if verb not in _ALLOWED:
            raise self.closing.unsupported(verb)
