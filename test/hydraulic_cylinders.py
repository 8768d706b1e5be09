"""Cylinders for the tests: H1's of the parallel specification, section 9, alone or six of them."""

import numpy as np

from flexdyn_ros.description.elements import platforms as elements
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.parameters import HydraulicModel, leg_parameters

SHORTEST, STROKE = 1.10, 0.60

PARTS = {
    "cylinder": {"bore": 0.050, "rod_diameter": 0.036, "dead_volume_bore": 1e-4, "dead_volume_rod": 1e-4},
    "valve": {
        "rated_flow": 40e-3 / 60,
        "rated_pressure_drop": 35e5,
        "rating": "edge",
        "natural_frequency_hz": 80.0,
        "damping_ratio": 0.8,
    },
    "fluid": {"bulk_modulus": 1.4e9, "air_fraction": 0.005},
    "supply": {"pressure": 160e5, "tank_pressure": 3e5},
    "end_stop": {"stiffness": 2e7, "damping": 0.5},
    "leakage": {"internal": 5e-13},
    "friction": {
        "model": "stribeck",
        "coulomb": 250.0,
        "static": 400.0,
        "stribeck_velocity": 0.02,
        "smoothing_velocity": 0.002,
        "viscous": 600.0,
    },
    "cushion": {},
    "control": {},
}
RECORDS = {
    "cylinder": elements.Cylinder,
    "valve": elements.Valve,
    "fluid": elements.Fluid,
    "supply": elements.Supply,
    "end_stop": elements.EndStop,
    "leakage": elements.Leakage,
    "friction": elements.CylinderFriction,
    "cushion": elements.Cushion,
    "control": elements.ForceControl,
}


def record(**changes):
    """H1's hydraulics with attributes replaced by element: record(valve={"overlap": 0.02}, friction=None)."""
    parts = {}
    for name, values in PARTS.items():
        change = changes.get(name, {})
        if change is None or not (values or change or name == "control"):
            continue
        parts[name] = RECORDS[name](**values | change)
    return elements.Hydraulics(**parts)


def cylinder(legs=1, **changes):
    """Equal cylinders of H1, stroke 0.6 m from 1.1 m, home in the middle."""
    row = leg_parameters(record(**changes), SHORTEST, STROKE)
    names = tuple(f"leg_{i + 1}" for i in range(legs))
    return Hydraulics(
        HydraulicModel(
            names, np.tile(row, (legs, 1)), np.full(legs, SHORTEST + 0.5 * STROKE), np.full(legs, np.inf)
        )
    )


def at_pressures(hydraulics, p1, p2, y=0.3):
    """A state at rest with these pressures [Pa] and stroke [m]."""
    n = len(hydraulics.names)
    state = hydraulics.initial(np.zeros(n), np.full(n, SHORTEST + y))
    A1, A2 = hydraulics.model.column("bore_area"), hydraulics.model.column("rod_area")
    force = A1 * p1 - A2 * p2 - (A1 - A2) * hydraulics.model.column("atmosphere")
    return state._replace(
        pressure_bore=np.full(n, float(p1)),
        pressure_rod=np.full(n, float(p2)),
        force_hydraulic=force,
        force=force - state.force_friction + state.force_stop,
    )


def step(hydraulics, state, y, v, u, dt=1e-3, *, a=0.0, mode="valve"):
    """One tick of a single cylinder by stroke y [m], rate v and one command."""
    n = len(hydraulics.names)
    return hydraulics.step(
        state,
        np.full(n, SHORTEST + y),
        np.full(n, float(v)),
        np.full(n, float(u)),
        dt,
        mode=mode,
        accelerations=np.full(n, float(a)),
    )


class Mass:
    """A mass on a cylinder, moved by the time-symmetric staggered scheme of section 8.3 (1 kHz)."""

    def __init__(self, hydraulics, mass, state, y=0.3, v=0.0, load=0.0):
        self.hydraulics, self.mass, self.load = hydraulics, mass, load
        self.state, self.y, self.v = state, y, v

    def step(self, u, dt=1e-3, mode="valve"):
        a = (self.state.force[0] - self.load) / self.mass
        self.state = step(self.hydraulics, self.state, self.y, self.v, u, dt, a=a, mode=mode)
        self.y += self.v * dt + 0.5 * a * dt * dt
        self.v += 0.5 * (a + (self.state.force[0] - self.load) / self.mass) * dt
