"""Records of the `<flexdyn>` elements, one class per element, one field per attribute (see schema.py).

Attributes that the text left out and that have no default are None. Units are SI and rad; the meaning of each
attribute is in schema.py and, generated from it, in docs/schema.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flexdyn_ros.errors import StateError

Vec3 = tuple[float, float, float]


# ---- flexible link ----


@dataclass(frozen=True)
class Tube:
    outer_radius: float
    wall: float


@dataclass(frozen=True)
class Rod:
    radius: float


@dataclass(frozen=True)
class Rectangle:
    width: float
    height: float


@dataclass(frozen=True)
class ISection:
    width: float
    height: float
    web: float
    flange: float


@dataclass(frozen=True)
class Material:
    """Young's modulus E [Pa], density [kg/m3] (None: not stated), shear modulus G [Pa] or Poisson's ratio."""

    name: str | None = None
    E: float | None = None
    density: float | None = None
    G: float | None = None
    poisson: float | None = None


@dataclass(frozen=True)
class Table:
    """Beam properties along the beam: rows from station 0 to 1, one value per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    file: str | None = None


@dataclass(frozen=True)
class Beam:
    axis: Vec3 = (1.0, 0.0, 0.0)
    origin: Vec3 = (0.0, 0.0, 0.0)
    y_axis: Vec3 | None = None
    length: float | None = None
    mass_per_length: float | None = None
    EIy: float | None = None
    EIz: float | None = None
    GJ: float | None = None
    EA: float | None = None
    rotary_inertia_y: float | None = None
    rotary_inertia_z: float | None = None
    polar_inertia: float | None = None
    section: Tube | Rod | Rectangle | ISection | None = None
    material: Material | None = None
    table: Table | None = None


@dataclass(frozen=True)
class Modes:
    axial: int = 0
    bending_y: int = 0
    bending_z: int = 0
    torsion: int = 0
    basis: str = "eigen"
    elements: int = 20
    boundary: str = "clamped-free"
    file: str | None = None
    shapes: str | None = None


@dataclass(frozen=True)
class ModalDamping:
    ratio: tuple[float, ...] | None = None
    rayleigh_mass: float = 0.0
    rayleigh_stiffness: float = 0.0


@dataclass(frozen=True)
class Body:
    """Rigid body fixed to the cross section at `station`; inertia as in URDF, (ixx, ixy, ixz, iyy, iyz,
    izz)."""

    name: str
    mass: float
    station: float = 1.0
    xyz: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)
    inertia: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Attach:
    """A child joint that does not hang from the tip; station "auto" = projection on the axis."""

    joint: str
    station: float | str


@dataclass(frozen=True)
class Display:
    segments: int = 8
    visual: str = "segments"


@dataclass(frozen=True)
class FlexibleLink:
    """All `<flexdyn reference="link">` says; remainder is "auto", "none" or a station. beam is None with a
    file."""

    link: str
    beam: Beam | None
    modes: Modes
    damping: ModalDamping | None = None
    bodies: tuple[Body, ...] = ()
    remainder: float | str = "auto"
    attach: tuple[Attach, ...] = ()
    display: Display = Display()
    line: int | None = None


# ---- joints ----


@dataclass(frozen=True)
class Rotor:
    inertia: float
    gear_ratio: float = 1.0


@dataclass(frozen=True)
class JointElasticity:
    stiffness: float
    damping: float = 0.0


@dataclass(frozen=True)
class JointSpring:
    stiffness: float
    reference: float = 0.0


@dataclass(frozen=True)
class DryFriction:
    static: float | None = None
    stribeck_velocity: float | None = None
    smoothing_velocity: float = 1e-3


# ---- soft sections ----


@dataclass(frozen=True)
class Pressure:
    area: float
    time_constant: float = 0.0
    maximum: float | None = None


@dataclass(frozen=True)
class Section:
    """A fixed joint made soft; stiffness, damping, lower and upper hold one number per actuator."""

    joint: str
    length: float
    radius: float
    disc_radius: float
    mass: float
    stiffness: Vec3
    damping: Vec3
    lower: Vec3
    upper: Vec3
    limit_stiffness: float = 0.0
    limit_damping: float = 0.0
    bending_stiffness: float = 0.0
    quadrature: int = 8
    preset: str | None = None
    pressure: Pressure | None = None
    line: int | None = None


# ---- mobile ----


@dataclass(frozen=True)
class Suspension:
    stiffness: float
    damping: float
    free_length: float


@dataclass(frozen=True)
class Tyre:
    stiffness: float
    damping: float
    radius: float
    mass: float


@dataclass(frozen=True)
class Wheel:
    name: str
    link: str
    xyz: Vec3
    suspension: Suspension
    tyre: Tyre | None = None
    line: int | None = None


@dataclass(frozen=True)
class Wave:
    amplitude: float
    wavelength: float
    phase: float = 0.0


@dataclass(frozen=True)
class Road:
    """Height z [m] over the world abscissa X [m]. `function` is a Python callable X -> (z, dz/dX), kind
    `callable`."""

    kind: str = "flat"
    start: float = 0.0
    contact: str = "monitor"
    amplitude: float | None = None
    wavelength: float | None = None
    phase: float | None = None
    offset: float | None = None
    height: float | None = None
    length: float | None = None
    grade: float | None = None
    road_class: str | None = None
    seed: int | None = None
    lines: int | None = None
    n_min: float | None = None
    n_max: float | None = None
    waves: tuple[Wave, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    file: str | None = None
    function: Callable[[float], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """StateError for a function that pickle cannot find again by its name."""
        name = getattr(self.function, "__qualname__", "")
        if "<" in name:
            raise StateError(
                f"the road of this robot is the function '{name}', which cannot be pickled: expected a "
                "function at the top level of a module, or a road of another kind, as a table"
            )
        return dict(self.__dict__)


@dataclass(frozen=True)
class Drive:
    """base/x prescribed (`speed`, or `profile` with points (t, x)), or free with the force as an effort
    (`force`)."""

    type: str = "speed"
    speed: float | None = None
    start: float | None = None
    file: str | None = None
    points: tuple[tuple[float, float], ...] = ()
