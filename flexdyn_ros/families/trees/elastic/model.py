"""Elastic joints: coordinates, inertias and springs of their motors, and the tree without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import Parameter

#: the numbers of a motor that turns and of one that slides
_UNITS = {
    "rotor": {"rad": "kg m2", "m": "kg"},
    "elasticity_stiffness": {"rad": "N m/rad", "m": "N/m"},
    "elasticity_damping": {"rad": "N m s/rad", "m": "N s/m"},
}


def is_elastic(description: RobotDescription) -> bool:
    """Whether a description has elastic joints that are computed as such."""
    return bool(description.formulation.flexible) and any(j.elasticity for j in description.joints)


def without_elasticity(description: RobotDescription) -> RobotDescription:
    """The tree beyond the springs: elastic joints have neither spring nor rotor, nothing drives them."""
    joints = tuple(
        j if j.elasticity is None else replace(j, elasticity=None, rotor=None) for j in description.joints
    )
    return replace(description, joints=joints)


@dataclass(frozen=True)
class ElasticJoints:
    """Motors 0..m-1 behind springs, on the joints' side of the gears.

    count: m. names (m): JOINT/motor. q, v (m,): indices of their joints in q and v of the tree. numbers
    (3 m,): inertias gear_ratio^2 J [kg m2 or kg], stiffnesses [N m/rad or N/m], dampings, as kernels read
    them. coordinates: of tree and motors together; the elastic joints' own are not actuated.
    """

    names: tuple[str, ...]
    q: np.ndarray
    v: np.ndarray
    numbers: np.ndarray
    coordinates: tuple[Coordinate, ...]

    @classmethod
    def of(cls, description: RobotDescription, tree: tuple[Coordinate, ...], nq: int) -> ElasticJoints:
        """Motors in the order of their joints in `tree`, the coordinates of the tree with nq positions."""
        joints = {j.name: j for j in description.joints if j.elasticity is not None}
        driven = [c for c in tree if c.name in joints]
        motors = [
            replace(
                c,
                name=f"{c.name}/motor",
                kind="motor",
                q_index=nq + i,
                v_index=len(tree) + i,
                lower=-inf,
                upper=inf,
            )
            for i, c in enumerate(driven)
        ]
        links = [replace(c, actuated=False) if c.name in joints else c for c in tree]
        rotors = [joints[c.name].rotor for c in driven]
        springs = [joints[c.name].elasticity for c in driven]
        inertia = [r.gear_ratio**2 * r.inertia for r in rotors if r]
        stiffness = [s.stiffness for s in springs if s]
        damping = [s.damping for s in springs if s]
        return cls(
            names=tuple(c.name for c in motors),
            q=np.array([c.q_index for c in driven], dtype=np.int64),
            v=np.array([c.v_index for c in driven], dtype=np.int64),
            numbers=np.array([*inertia, *stiffness, *damping]),
            coordinates=(*links, *motors),
        )

    @property
    def count(self) -> int:
        """Number of motors."""
        return len(self.names)

    @property
    def inertia(self) -> np.ndarray:
        """Inertias of the motors (m,)."""
        return self.numbers[: self.count]

    @property
    def stiffness(self) -> np.ndarray:
        """Of the springs (m,)."""
        return self.numbers[self.count : 2 * self.count]

    @property
    def damping(self) -> np.ndarray:
        """Of the dampers (m,)."""
        return self.numbers[2 * self.count :]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """JOINT/rotor of all motors, then JOINT/elasticity_stiffness, then JOINT/elasticity_damping."""
        motors = self.coordinates[len(self.coordinates) - self.count :]
        values = iter(self.numbers.tolist())
        return tuple(
            Parameter(f"{motor.name.removesuffix('/motor')}/{name}", next(values), units[motor.unit], 0.0)
            for name, units in _UNITS.items()
            for motor in motors
        )

    def changed(self, values: Mapping[str, float]) -> ElasticJoints:
        """With other values of these parameters."""
        numbers = [values.get(parameter.name, parameter.value) for parameter in self.parameters]
        return replace(self, numbers=np.array(numbers))

    def wound(self, q: np.ndarray) -> np.ndarray:
        """q_m - q_j (n, m) of rows of q (n, nq)."""
        return q[:, q.shape[1] - self.count :] - q[:, self.q]

    def add_pull(self, q: np.ndarray, v: np.ndarray, sign: float, force: np.ndarray) -> None:
        """Add sign times the springs' and dampers' forces on all coordinates to force (n, nv)."""
        n = v.shape[1] - self.count
        pull = sign * (self.stiffness * self.wound(q) + self.damping * (v[:, n:] - v[:, self.v]))
        force[:, self.v] += pull
        force[:, n:] -= pull

    def add_slopes(self, slope: np.ndarray, matrix: np.ndarray) -> None:
        """Add the symmetric matrix of springs (dampers) of these constants (m,) to matrix (n, nv, nv)."""
        motor = np.arange(matrix.shape[1] - self.count, matrix.shape[1])
        matrix[:, self.v, self.v] += slope
        matrix[:, motor, motor] += slope
        matrix[:, self.v, motor] -= slope
        matrix[:, motor, self.v] -= slope
