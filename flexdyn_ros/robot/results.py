"""What verbs return when one array does not say it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = [
    "BiasTerms", "Contacts", "CylinderStates", "Deflection", "ElementStates", "Energy", "Equilibrium",
    "ForwardDerivatives", "Linearization", "LinearizationWithStates", "Loads", "LoopReactions", "Modes",
    "PositionLimits",
]  # fmt: skip


class BiasTerms(NamedTuple):
    """Parts of the bias h = velocity + gravity + elastic + damping + external, each (..., nv) [N m, N]."""

    velocity: np.ndarray
    gravity: np.ndarray
    elastic: np.ndarray
    damping: np.ndarray
    external: np.ndarray


class Energy(NamedTuple):
    """Energies (...,) [J]; gravity = -sum m g.p from the world origin."""

    kinetic: np.ndarray
    gravity: np.ndarray
    elastic: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Sum of the three [J]."""
        return self.kinetic + self.gravity + self.elastic


class ForwardDerivatives(NamedTuple):
    """Derivatives of accelerations by q (tangent), v (..., nv, nv) and tau (..., nv, nu)."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


class Linearization(NamedTuple):
    """x' = A x + B u about a motion, x = (dq, dv) of m velocities: A (..., 2 m, 2 m), B (..., 2 m, nu)."""

    A: np.ndarray
    B: np.ndarray

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of elements behind (dq, dv) in x: none without commands of valves."""
        return ()


class LinearizationWithStates(NamedTuple):
    """x = (dq, dv, states of elements): A (..., 2 m + ns, 2 m + ns), B (..., 2 m + ns, nu); columns of B of
    cylinders on oil are by the openings of their valves; state_names (ns,) are those of these states."""

    A: np.ndarray
    B: np.ndarray
    state_names: tuple[str, ...]


class Modes(NamedTuple):
    """Modes of vibration, by rising frequency.

    frequency (..., m) [Hz], damping_ratio (..., m) [-], shape (..., nv, m) of unit M-norm, complex for modes
    of a steady motion, unstable (...) bool.
    """

    frequency: np.ndarray
    damping_ratio: np.ndarray
    shape: np.ndarray
    unstable: np.ndarray

    def __str__(self) -> str:
        from flexdyn_ros.wording import text_table

        return text_table(*self._table())

    def _repr_html_(self) -> str:
        """Frequencies and damping ratios; of a batch, its first state."""
        from flexdyn_ros.wording import section, table

        title, columns, rows = self._table()
        return section(title, table(columns, rows))

    def _table(self) -> tuple[str, tuple[str, ...], list[tuple[object, ...]]]:
        """Title, columns and rows; of a batch, its first state."""
        first = (0,) * (self.frequency.ndim - 1)
        rows: list[tuple[object, ...]] = [
            (i, f"{f:.5g}", "" if np.isinf(z) else f"{z:.4g}")
            for i, (f, z) in enumerate(zip(self.frequency[first], self.damping_ratio[first]), 1)
        ]
        title = "Modes" if not first else f"Modes of the first of {self.unstable.size} states"
        title += ", unstable" if self.unstable[first] else ""
        return title, ("mode", "frequency [Hz]", "damping ratio"), rows


class Equilibrium(NamedTuple):
    """A state of rest: q (nq,), tau (nu,), largest residual [N m, N], whether it is stable, iterations
    taken."""

    q: np.ndarray
    tau: np.ndarray
    residual: float
    stable: bool
    iterations: int

    def __str__(self) -> str:
        from flexdyn_ros.wording import text_table

        def cell(values: np.ndarray, i: int) -> str:
            return f"{values[i]:.6g}" if i < len(values) else ""

        title = f"Equilibrium, {'stable' if self.stable else 'unstable'}, residual {self.residual:.2g}"
        rows = [(i, cell(self.q, i), cell(self.tau, i)) for i in range(max(len(self.q), len(self.tau)))]
        return text_table(title, ("", "q [m, rad]", "tau [N, N m]"), rows)


class Deflection(NamedTuple):
    """Deformation of one flexible link at k stations, beam axes.

    station (k,) [-], displacement (..., k, 3) [m], rotation (..., k, 3) [rad], curvature (..., k, 3) [1/m],
    strain (..., k) [-], moment (..., k, 3) [N m], axial_force (..., k) [N]. Strain is that of the outermost
    fibre, NaN where the link states rigidities (EI, GJ) but no section, whose size then is not known.

    Curvature, strain, moment and force are those of the mode shapes: with few modes they are less exact than
    displacements. At the root of a cantilever under a tip force, the moment is off by 14, 4 and 2 % with 1, 2
    and 3 eigenfunctions (docs/families/flexible.md, "Section moments"). Where accelerations are known,
    `Robot.loads` returns those of equilibrium.
    """

    station: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray
    curvature: np.ndarray
    strain: np.ndarray
    moment: np.ndarray
    axial_force: np.ndarray

    def __str__(self) -> str:
        """Displacement, largest strain and moment along the link; of a batch, its first state."""
        from flexdyn_ros.wording import text_table

        first = (0,) * (self.displacement.ndim - 2)
        moments = np.linalg.norm(self.moment[first], axis=-1)
        columns = [*self.displacement[first].T, moments, self.strain[first]]
        # what rounding left beside the largest value is 0
        columns = [np.where(np.abs(x) <= 1e-12 * np.abs(x).max(initial=0.0), 0.0, x) for x in columns]
        cells = [["unknown" if np.isnan(y) else f"{y:.4g}" for y in x] for x in columns]
        rows = list(zip((f"{s:.3g}" for s in self.station.tolist()), *cells, strict=True))
        title = "Deflection" if not first else "Deflection of the first state"
        return text_table(title, ("station", "x [m]", "y [m]", "z [m]", "moment [N m]", "strain"), rows)


class Loads(NamedTuple):
    """Section loads of one link at k stations, by equilibrium: what lies outward of a section exerts on the
    rest.

    station (k,) [-], fractions of the length; force (..., k, 3) [N], tension and shear; moment (..., k, 3)
    about the centre of the deformed section [N m], torsion and bending; axes of the deformed section, x along
    the beam. A rigid link has the one station 0: its origin, link axes.

    What sits at a station counts as outward of it, so that station 0 has all of the link and station 1 what
    hangs on its tip; the course jumps there.
    """

    station: np.ndarray
    force: np.ndarray
    moment: np.ndarray

    def __str__(self) -> str:
        """Force and moment along the link; of a batch, its first state."""
        from flexdyn_ros.wording import text_table

        first = (0,) * (self.force.ndim - 2)
        columns = [*self.force[first].T, *self.moment[first].T]
        rows = [(f"{s:.3g}", *(f"{x[i]:.4g}" for x in columns)) for i, s in enumerate(self.station.tolist())]
        title = "Loads" if not first else "Loads of the first state"
        names = [*(f"force {x} [N]" for x in "xyz"), *(f"moment {x} [N m]" for x in "xyz")]
        return text_table(title, ("station", *names), rows)


class PositionLimits(NamedTuple):
    """What of a robot has limits, k of them: names, lower and upper limits (k,) [rad, m], and where they are
    numbers of q (k,), -1 where they are none."""

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    places: np.ndarray


class Contacts(NamedTuple):
    """Points that touch the ground, k of them, by name.

    forces : callable (q (n, nq), v (n, nv)) -> (n, k), forces of the ground on them, upward [N]
    ends : whether a run ends where one no longer pushes; lets_go : whether it then leaves the ground
    """

    names: tuple[str, ...]
    forces: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ends: bool
    lets_go: bool


class ElementStates(NamedTuple):
    """Forces and motion of elements, each (..., n), in the order of `element_names`.

    coordinate: length [m] or angle [rad]; rate: how it changes; force: of the element by itself, along its
    coordinate, which it drives up: springs that pull have a negative one [N or N m].
    """

    coordinate: np.ndarray
    rate: np.ndarray
    force: np.ndarray


class CylinderStates(NamedTuple):
    """Cylinders between frames, each (..., nc), in the order of the description.

    length: distance of the pins [m]; rate: how it changes [m/s]; stroke: how far the rod is out [m];
    force_limits: (..., nc, 2) least and largest force [N].
    """

    length: np.ndarray
    rate: np.ndarray
    stroke: np.ndarray
    force_limits: np.ndarray


class LoopReactions(NamedTuple):
    """Forces of closed loops on their `end`, at its constraint frame, world axes.

    force, moment (..., nl, 3) [N, N m], in the order of `Robot.loops`; the opposite acts on `base` at the
    same point. determinate (..., rows): whether the component along a row of the loops is determined; of
    redundant rows the solution of least norm is given, in which 1 rad counts as 1 m.
    """

    force: np.ndarray
    moment: np.ndarray
    determinate: np.ndarray
