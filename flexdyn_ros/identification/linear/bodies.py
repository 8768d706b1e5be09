"""Bodies among parameters: their pseudo-inertia matrices, and what numbers bodies and joints can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.identification.linear.known import Known
from flexdyn_ros.identification.linear.models import INERTIAL, LinearModel, is_inertial
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot

#: an eigenvalue of a scaled pseudo-inertia, a scaled number of a joint is negative below this
NEGATIVE, NEGATIVE_OF_JOINT = -1e-12, -1e-9
#: bounds are kept to this share of the scales of what they bound
BOUND = 1e-7
#: the scale of a joint's number is at least this share of the largest of its kind, and of the value with
#: which it alone would make the efforts that were measured
SMALL = 0.1
#: radius of gyration of a body of which nothing is known [m], share of the mass of all that the lightest has
GYRATION, LIGHTEST = 0.1, 1e-3


def _bases() -> np.ndarray:
    """(10, 4, 4): pseudo-inertia [[sum, h], [h^T, m]] of a body with one of its ten numbers 1 (Wensing, Kim &
    Slotine 2018, equation 10): sum = trace(I) / 2 - I."""
    found = np.zeros((10, 4, 4))
    found[0, 3, 3] = 1.0
    for i in range(3):
        found[1 + i, i, 3] = found[1 + i, 3, i] = 1.0
    for k, (i, j) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        found[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return found


PSEUDO = _bases()


@dataclass(frozen=True, eq=False)
class Body:
    """A body of which numbers are fitted.

    Attributes
    ----------
    link : str
    columns : (k,) array of int
        Which of the fitted numbers are its own.
    bases : (k, 4, 4) array
        Pseudo-inertia of each of them being 1, scaled so that the matrix of a usual body is near 1.
    constant : (4, 4) array
        What is held, less what links on fixed joints bring in: scaled too.
    """

    link: str
    columns: np.ndarray
    bases: np.ndarray
    constant: np.ndarray

    def matrix(self, values: np.ndarray) -> np.ndarray:
        """Scaled pseudo-inertia (4, 4) of the link itself, of all numbers that are fitted (np,)."""
        return np.tensordot(values[self.columns], self.bases, axes=1) + self.constant


@dataclass(frozen=True, eq=False)
class Bodies:
    """The numbers that are fitted (np,), by body and joint.

    Attributes
    ----------
    bodies : tuple of Body
    joint : (k,) array of int
        Numbers of joints, which have a least value.
    scale : (np,) array
        How large a change of each is like a change of the others.
    before, lower : (np,) arrays
        What they were, and the least that they may be.
    known : Known
        Bounds that they keep.
    consistent : bool
        Whether bodies and joints have to be such as can be; bounds are kept in any case.
    """

    bodies: tuple[Body, ...]
    joint: np.ndarray
    scale: np.ndarray
    before: np.ndarray
    lower: np.ndarray
    known: Known
    consistent: bool

    @classmethod
    def of(
        cls, robot: Robot, model: LinearModel, chosen: Sequence[Parameter], alone: np.ndarray,
        bounds: Known, consistent: bool,
    ) -> Bodies:  # fmt: skip
        """Of the parameters of a robot's model; `alone` (np,) as of `Rows`."""
        known = {p.name: p.value for p in model.parameters}
        place = {p.name: i for i, p in enumerate(chosen)}
        links = list(
            dict.fromkeys(p.name.rpartition("/")[0] for p in model.parameters if is_inertial(p.name))
        )
        numbers = {link: np.array([known[f"{link}/{part}"] for part in INERTIAL]) for link in links}
        total = sum(abs(x[0]) for x in numbers.values()) or _least_mass(chosen, alone)
        radii = [np.sqrt(max(x[4] + x[7] + x[9], 0.0) / (2.0 * x[0])) for x in numbers.values() if x[0] > 0.0]
        usual = float(np.max(radii, initial=0.0)) or GYRATION
        single = np.where(np.isfinite(alone), alone, 0.0)
        scale = np.array([
            max(abs(p.value), SMALL * _largest(p, chosen), SMALL * x) or 1.0
            for p, x in zip(chosen, single.tolist(), strict=True)
        ])  # fmt: skip
        bodies = []
        for link, own in numbers.items():
            mass = max(own[0], LIGHTEST * total)
            radius = np.sqrt(max(own[4] + own[7] + own[9], 0.0) / (2.0 * mass)) or usual
            sizes = np.array([mass, *3 * [mass * radius], *6 * [mass * radius**2]])
            free = [k for k, part in enumerate(INERTIAL) if f"{link}/{part}" in place]
            if not free:
                continue
            columns = np.array([place[f"{link}/{INERTIAL[k]}"] for k in free])
            scale[columns] = sizes[free]
            shrink = np.diag([1.0 / radius, 1.0 / radius, 1.0 / radius, 1.0]) / np.sqrt(mass)
            bases = shrink @ PSEUDO @ shrink
            held = own.copy()
            held[free] = 0.0
            constant = np.tensordot(held - _of_others(robot, link, own), bases, axes=1)
            bodies.append(Body(link, columns, bases[free], constant))
        joint = np.array(
            [i for i, p in enumerate(chosen) if not is_inertial(p.name) and p.lower > -np.inf], dtype=int
        )
        before, lower = (np.array([getattr(p, part) for p in chosen]) for part in ("value", "lower"))
        return cls(tuple(bodies), joint, scale, before, lower, bounds, consistent)

    def are_physical(self, values: np.ndarray) -> bool:
        """Whether values (np,) keep the bounds, and bodies and joints can have them if they have to."""
        fits = self.known.are_kept(values, self.scale, BOUND)
        return fits and not (self.consistent and (self.unphysical(values) or self.too_low(values).size))

    def too_low(self, values: np.ndarray) -> np.ndarray:
        """Places of the numbers of joints that are below the least that they may be."""
        below = (values - self.lower)[self.joint] < NEGATIVE_OF_JOINT * self.scale[self.joint]
        return np.asarray(self.joint[below])

    def unphysical(self, values: np.ndarray) -> tuple[str, ...]:
        """Links whose inertia no distribution of mass has."""
        return tuple(
            body.link for body in self.bodies if np.linalg.eigvalsh(body.matrix(values))[0] < NEGATIVE
        )

    def clipped(self, values: np.ndarray) -> np.ndarray:
        """Values of which those that are too low are the least that they may be: rounding, and the tolerance
        of a solver."""
        return np.maximum(values, self.lower) if self.consistent else values


def _least_mass(chosen: Sequence[Parameter], alone: np.ndarray) -> float:
    """The mass that alone would make the efforts, where a description has none; 1 kg if none would."""
    masses = [x for p, x in zip(chosen, alone.tolist(), strict=True) if p.name.endswith("/mass")]
    least = min(masses, default=np.inf)
    return float(least) if np.isfinite(least) else 1.0


def _largest(parameter: Parameter, chosen: Sequence[Parameter]) -> float:
    """The largest number of the same kind."""
    kind = parameter.name.rpartition("/")[2]
    return max((abs(p.value) for p in chosen if p.name.endswith(f"/{kind}")), default=0.0)


def _of_others(robot: Robot, link: str, own: np.ndarray) -> np.ndarray:
    """The ten numbers that links on fixed joints and payloads bring into a body: they stay as they are."""
    if link in robot.description.flexible_links:
        return np.zeros(10)
    inertial = robot.description.link(link).inertial
    if inertial is None:
        return np.zeros(10)
    alone = RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy).flat()
    others = own - alone
    return np.where(np.abs(others) > 1e-12 * np.abs(own).max(), others, 0.0)
