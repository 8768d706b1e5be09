"""Records of a platform, its legs and their hydraulics: one class per element, one field per attribute.

Units and meaning of each attribute are in schema_platform.py and, generated from it, in docs/schema.md.
"""

from __future__ import annotations

from dataclasses import dataclass

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Cylinder:
    bore: float
    rod_diameter: float
    dead_volume_bore: float
    dead_volume_rod: float


@dataclass(frozen=True)
class Valve:
    rated_flow: float
    rated_pressure_drop: float
    rating: str
    flow_ratio: float = 1.0
    natural_frequency_hz: float | None = None
    damping_ratio: float | None = None
    time_constant: float | None = None
    overlap: float = 0.0
    null_opening: float = 0.0
    slew_rate: float | None = None
    transition_pressure: float = 2e4


@dataclass(frozen=True)
class Fluid:
    bulk_modulus: float
    model: str = "air"
    air_fraction: float | None = None
    polytropic_exponent: float = 1.4
    cavitation_pressure: float = 3e4


@dataclass(frozen=True)
class Supply:
    pressure: float
    tank_pressure: float
    atmospheric_pressure: float = 101325.0
    relief_pressure: float | None = None
    relief_conductance: float = 0.0
    makeup_conductance: float = 0.0


@dataclass(frozen=True)
class Leakage:
    internal: float = 0.0
    external_bore: float = 0.0
    external_rod: float = 0.0


@dataclass(frozen=True)
class CylinderFriction:
    model: str
    coulomb: float
    static: float
    stribeck_velocity: float
    smoothing_velocity: float | None = None
    viscous: float = 0.0
    bristle_stiffness: float | None = None
    bristle_damping: float | None = None


@dataclass(frozen=True)
class EndStop:
    stiffness: float
    damping: float


@dataclass(frozen=True)
class Cushion:
    length: float
    minimum: float


@dataclass(frozen=True)
class ForceControl:
    law: str = "feedback_linearization"
    kp: float = 100.0
    ki: float = 0.0
    lead: bool = True


@dataclass(frozen=True)
class Hydraulics:
    cylinder: Cylinder
    valve: Valve
    fluid: Fluid
    supply: Supply
    end_stop: EndStop
    leakage: Leakage = Leakage()
    friction: CylinderFriction | None = None
    cushion: Cushion | None = None
    control: ForceControl = ForceControl()


@dataclass(frozen=True)
class Leg:
    """One leg; hydraulics is this leg's own, or the platform's where it has none."""

    name: str
    slider: str
    anchor: Vec3
    ball_limit: float | None = None
    diameter: float | None = None
    hydraulics: Hydraulics | None = None
    line: int | None = None


@dataclass(frozen=True)
class Platform:
    link: str
    legs: tuple[Leg, ...]
    min_singular_value: float = 0.1
    hydraulics: Hydraulics | None = None
    line: int | None = None
