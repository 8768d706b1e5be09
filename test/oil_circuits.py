"""Cylinders on supplies for the tests: rows of numbers by name, and masses that the cylinders move."""

from math import inf, pi, sqrt

import numpy as np

from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder, entries, oil
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.ticks import work_size

BAR = 1e5
#: flow constant of the oil specification, section 7
K = 6.666666666666667e-4 / sqrt(35e5)
FLUID = {"bulk_modulus": 1.4e9, "air": 0.005, "polytropic": 1.4, "atmosphere": 101325.0}
AREAS = 0.25 * pi * 0.05**2, 0.25 * pi * (0.05**2 - 0.036**2)

CYLINDER = dict.fromkeys(at.PARAMETERS, 0.0) | FLUID | {
    "bore_area": AREAS[0], "rod_area": AREAS[1], "dead_volume_bore": 1e-4, "dead_volume_rod": 1e-4,
    "stroke": 0.4, "valve_bore": K, "valve_rod": K, "slew_rate": inf, "transition": 2e4, "cavitation": 3e4,
    "supply": 160e5, "tank": 3e5, "relief_pressure": inf, "stribeck": 1.0, "smoothing": 1.0,
    "cushion_minimum": 1.0, "compensation": inf, "range_bore": 1e6, "range_rod": 1e6, "rtol": 1e-4,
    "atol": 2e3, "nominal_gain": 1.0,
}  # fmt: skip
OIL = {f"supply_{name}": value for name, value in FLUID.items()}
SUPPLY = dict.fromkeys(of.SUPPLY_PARAMETERS, 0.0) | OIL | {
    "pump": of.IDEAL, "supply_pressure": 160e5, "supply_tank": 3e5, "line_volume": 2e-3,
    "displacement": 1.2e-5, "speed": 157.0, "band": 10e5, "line_relief_pressure": inf,
    "accumulator_exponent": 1.2, "supply_rtol": 1e-4, "supply_atol": 2e3,
}  # fmt: skip


def row(names, defaults, changes):
    unknown = changes.keys() - set(names)
    assert not unknown, unknown
    return np.array([float((defaults | changes)[name]) for name in names])


#: O3's cylinder, with a counterbalance valve that holds its load
HELD = {
    "valve_rod": 0.15 * K, "supply_index": 0, "cracking_bore": 90e5, "pilot_bore": 4.0,
    "counterbalance_bore": 0.5 * K, "range_bore": 20e5,
}  # fmt: skip
SENSING = {"pump": of.LOAD_SENSING, "margin": 20e5, "maximum_pressure": 250e5}
PUMPS = {
    "constant pressure": {"pump": of.CONSTANT_PRESSURE, "pump_leakage": 1e-12},
    "fixed displacement": {
        "pump": of.FIXED_DISPLACEMENT, "line_relief_pressure": 200e5, "line_relief": 2e-9,
        "pump_leakage": 1e-12,
    },
    "load sensing": SENSING | {"swivel_time": 0.02},
    "accumulator": {
        "pump": of.CONSTANT_PRESSURE, "accumulator_volume": 1e-3, "precharge": 90e5, "swivel_time": 0.01
    },
}  # fmt: skip


def rates_of(P, ps, x, y, p1, p2):
    """What `oil_rates` returns for a cylinder, and w at both pressures."""
    w1, b1 = oil.volume_and_stiffness(tuple(FLUID.values()), p1)
    w2, b2 = oil.volume_and_stiffness(tuple(FLUID.values()), p2)
    return cylinder.oil_rates(P, ps, x, y, p1, w1, b1, p2, w2, b2), w1, w2


def chamber_volumes(y):
    """V1, V2 of CYLINDER with its piston at y [m3]."""
    return np.array([1e-4 + AREAS[0] * y, 1e-4 + AREAS[1] * (0.4 - y)])


def random_cylinder(rng):
    """Changes of CYLINDER, by chance with each of the valves."""
    changes = {
        "valve_rod": rng.uniform(0.1, 1.0) * K, "null_opening": rng.choice([0.0, 0.02]),
        "leak_internal": 3e-12, "leak_bore": 2e-12, "compensation": rng.choice([np.inf, 15e5]),
        "makeup": rng.choice([0.0, 1e-7]), "relief_pressure": rng.choice([np.inf, 100e5]), "relief": 1e-10,
        "cushion_length": rng.choice([0.0, 0.3]), "cushion_minimum": 0.1, "spool_frequency": 300.0,
    }  # fmt: skip
    for port in ("bore", "rod"):
        changes |= {
            f"counterbalance_{port}": rng.choice([0.0, 0.5 * K]), f"cracking_{port}": 90e5,
            f"pilot_{port}": 4.0, f"range_{port}": 40e5,
        }  # fmt: skip
    return changes


class Circuit:
    """Cylinders on supplies, each a mass that moves along its cylinder's line (or is moved).

    Parameters
    ----------
    cylinders, pumps : list of dict
        Changes of CYLINDER and SUPPLY.
    """

    def __init__(self, cylinders, pumps=({},), rtol=None):
        if rtol is not None:
            cylinders = [c | {"rtol": 0.0, "atol": rtol * 160e5} for c in cylinders]
            pumps = [s | {"supply_rtol": 0.0, "supply_atol": rtol * 160e5} for s in pumps]
        self.n = len(cylinders)
        self.P = np.concatenate([row(at.PARAMETERS, CYLINDER, c) for c in cylinders])
        self.S = np.concatenate([row(of.SUPPLY_PARAMETERS, SUPPLY, s) for s in pumps])
        self.states = np.zeros((self.n, at.STATE_COUNT))
        self.supplies = np.zeros((len(pumps), of.SUPPLY_STATE_COUNT))
        self.work = np.zeros(work_size(self.n))
        self.y, self.v = np.zeros(self.n), np.zeros(self.n)
        self.modes, self.commands = np.zeros(self.n), np.zeros(self.n)
        self.faults = 0

    def __getitem__(self, name):
        """A column of the cylinders or of the supplies."""
        if name in at.STATE:
            return self.states[:, at.STATE.index(name)]
        return self.supplies[:, of.SUPPLY_STATE.index(name)]

    def rest(self, y, forces):
        """Start at the strokes y, exerting forces."""
        self.y[:], self.v[:] = y, 0.0
        forces = np.broadcast_to(np.asarray(forces, dtype=float), self.n).copy()
        entries.rest(self.P, self.S, self.flat, self.supplies.reshape(-1), forces, self.y)
        return self

    def set_pressures(self, bore, rod):
        self["pressure_bore"][:], self["pressure_rod"][:] = bore, rod
        self["oil_bore"][:], self["oil_rod"][:] = 0.0, 0.0

    @property
    def flat(self):
        return self.states.reshape(-1)

    def tick(self, dt, a=0.0, follow=1.0):
        """One tick on the given motion."""
        a = np.broadcast_to(np.asarray(a, dtype=float), self.n).copy()
        self.faults += entries.tick(
            self.P, self.S, self.flat, self.supplies.reshape(-1), self.work, self.y, self.v, a, self.commands,
            self.modes, dt, follow,
        )  # fmt: skip
        self.y += self.v * dt + 0.5 * a * dt * dt
        self.v += a * dt

    def move(self, dt, masses, loads):
        """One staggered step of masses under loads that push against the cylinders [kg, N]."""
        masses, loads = np.asarray(masses, float), np.asarray(loads, float)
        a = (self.force_now() - loads) / masses
        v, y = self.v.copy(), self.y.copy()
        self.tick(dt, a)
        # with the force at the end, as docs/theory/hydraulics.md has it
        self.y = y + v * dt + 0.5 * a * dt * dt
        self.v = v + 0.5 * dt * (a + (self["force"] - loads) / masses)

    def force_now(self):
        return self["force"].copy()

    def stored(self):
        """Elastic energies of the cylinders and of the lines [J]."""
        found = np.zeros(self.n), np.zeros(len(self.supplies))
        entries.stored(self.P, self.S, self.flat, self.supplies.reshape(-1), *found)
        return found
