"""Parameters of servo-hydraulic cylinders: from the records of a description to rows for the kernels."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite, pi, sqrt
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.oil import SharedSupply
from flexdyn_ros.description.elements.platforms import Hydraulics, Leg, Supply
from flexdyn_ros.multibody.elements.cylinder.circuits import Circuit, OnOil, supplies_of_legs
from flexdyn_ros.multibody.elements.cylinder.kernels import memory
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of_supply
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import SUPPLY_PARAMETER_COUNT
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy

#: tolerances of the pressures (docs/theory/hydraulics.md, "Integration")
RTOL, ATOL = 1e-4, 2e3
LAWS = {"feedback_linearization": memory.FEEDBACK_LINEARIZATION, "pi": memory.PI_LAW}
PUMPS = {
    "constant_pressure": of_supply.CONSTANT_PRESSURE,
    "fixed_displacement": of_supply.FIXED_DISPLACEMENT,
    "load_sensing": of_supply.LOAD_SENSING,
}


class Line(NamedTuple):
    """A supply of oil: its pressure and that of its tank, absolute [Pa], whether a pump feeds it, and the
    names of its cylinders."""

    pressure: float
    tank: float
    has_pump: bool
    cylinders: tuple[str, ...]


class HydraulicModel(NamedTuple):
    """Cylinders of a platform or a tree.

    names : of the n cylinders
    parameters (n, k) : columns as PARAMETERS of kernels/memory.py
    home (n,) : their lengths at the home pose [m]; of cylinders of trees with the rod half out
    effort_limits (n,) : of the sliders, infinite where none is stated [N]
    supplies : names of the s supplies that cylinders share
    supply_parameters (s, m) : columns as SUPPLY_PARAMETERS of kernels/supplies.py
    own : of a platform alone, the name of the supply of constant pressure of each leg
    """

    names: tuple[str, ...]
    parameters: np.ndarray
    home: np.ndarray
    effort_limits: np.ndarray
    supplies: tuple[str, ...] = ()
    supply_parameters: np.ndarray = np.zeros((0, SUPPLY_PARAMETER_COUNT))
    own: tuple[str, ...] = ()

    def column(self, name: str) -> np.ndarray:
        """One parameter of all cylinders (n,)."""
        return self.parameters[:, memory.PARAMETERS.index(name)]

    @property
    def lines(self) -> dict[str, Line]:
        """All supplies by name, those of platforms alone among them."""
        of = self.own or tuple(self.supplies[int(k)] for k in self.parameters[:, memory.SUPPLY_INDEX])
        pumps = dict(zip(self.supplies, self.supply_parameters[:, of_supply.PUMP].tolist(), strict=True))
        found = {}
        for name in self.supplies or dict.fromkeys(of):
            fed = [i for i, own in enumerate(of) if own == name]
            pressure, tank = (float(self.column(key)[fed[0]]) for key in ("supply", "tank"))
            pump = pumps.get(name, of_supply.IDEAL) != of_supply.IDEAL
            found[name] = Line(pressure, tank, pump, tuple(self.names[i] for i in fed))
        return found


def build_hydraulics(description: RobotDescription) -> HydraulicModel | None:
    """The cylinders of a platform; None where the description has none.

    Raises
    ------
    DescriptionError
        If only some legs have hydraulics, or a parameter makes no sense.
    """
    platform = description.platform
    if platform is None or all(leg.hydraulics is None for leg in platform.legs):
        return None
    rows = []
    for leg in platform.legs:
        if leg.hydraulics is None:
            expected = "<hydraulics> in <platform>, in every <leg>, or in none"
            message = f"leg '{leg.name}' has no hydraulics, but others have"
            description.place(leg, "leg").fail(message, expected=expected)
        if leg.hydraulics.supply.name:
            name, message = leg.hydraulics.supply.name, f"leg '{leg.name}': there is no supply of this name"
            description.place(leg, "supply").fail(message, "name", name, "the name of a <supply>")
        slider = description.joint(leg.slider)
        fault = _fault_of(leg.hydraulics)
        if fault:
            message = f"hydraulics of leg '{leg.name}': {fault[0]}"
            description.place(leg, "hydraulics").fail(message, expected=fault[1])
        rows.append(leg_parameters(leg.hydraulics, slider.xyz[2], slider.limit.upper))
    parameters = np.array(rows)
    home = np.array([_home_length(description, leg) for leg in platform.legs])
    efforts = np.array([description.joint(leg.slider).limit.effort or inf for leg in platform.legs])
    for array in (parameters, home, efforts):
        array.flags.writeable = False
    names, _ = supplies_of_legs(platform)
    return HydraulicModel(tuple(leg.name for leg in platform.legs), parameters, home, efforts, own=names)


def _home_length(description: RobotDescription, leg: Leg) -> float:
    """Distance of a leg's two joints at the home pose [m]; both in axes of the base."""
    platform = description.platform
    assert platform is not None
    joints = {joint.child: joint for joint in description.joints}
    home = joints[platform.link]
    second = joints[description.joint(leg.slider).parent]
    lower = np.array(joints[second.parent].xyz)
    upper = np.array(home.xyz) + rotation_of_rpy(home.rpy) @ np.array(leg.anchor)
    return float(np.linalg.norm(upper - lower))


def _fault_of(h: Hydraulics) -> tuple[str, str] | None:
    """What is wrong with a record beyond what its elements show one by one, and what is expected."""
    if h.fluid.model == "air" and not 0.0 < (h.fluid.air_fraction or 0.0) < 1.0:
        return f"air_fraction is {h.fluid.air_fraction}", "above 0 and below 1"
    if h.fluid.polytropic_exponent < 1.0:
        return f"polytropic_exponent is {h.fluid.polytropic_exponent}", "at least 1"
    if h.fluid.cavitation_pressure >= h.supply.tank_pressure:
        return f"cavitation_pressure is {h.fluid.cavitation_pressure} Pa", "below tank_pressure"
    relief = h.supply.relief_pressure
    if relief is not None and relief <= h.supply.tank_pressure:
        return f"relief_pressure is {relief} Pa", "above tank_pressure"
    if not h.supply.pressure > h.supply.tank_pressure > 0.0:
        return f"pressure is {h.supply.pressure} Pa", "pressure > tank_pressure > 0"
    if not h.cylinder.bore > h.cylinder.rod_diameter > 0.0:
        return f"bore is {h.cylinder.bore} m", "bore > rod_diameter > 0"
    return None


def hydraulics_of_circuits(circuits: tuple[Circuit, ...]) -> HydraulicModel:
    """The cylinders of trees, in the order of the description."""
    shared = [circuit.supply for circuit in circuits]
    found: dict[int, tuple[str, np.ndarray, float]] = {}
    for row, circuit in enumerate(circuits):
        for place, record in circuit.cylinders:
            middle = record.minimum_length + 0.5 * record.stroke
            found[place] = record.name, cylinder_parameters(record, circuit.supply, row), middle
    names, rows, home = zip(*(found[place] for place in sorted(found)), strict=True)
    return HydraulicModel(
        names,
        np.array(rows),
        np.array(home),
        np.full(len(names), inf),
        tuple(supply.name for supply in shared),
        np.array([supply_parameters(supply) for supply in shared]),
    )


def cylinder_parameters(record: OnOil, supply: SharedSupply, row: int) -> np.ndarray:
    """Row of parameters (k,) of one cylinder on the supply that has this row."""
    h, stop = record.hydraulics, record.stop
    assert h is not None
    assert stop is not None
    chambers = replace(
        h.chambers,
        dead_volume_bore=h.chambers.dead_volume_bore + h.hose_volume("bore"),
        dead_volume_rod=h.chambers.dead_volume_rod + h.hose_volume("rod"),
    )
    as_leg = Hydraulics(
        cylinder=chambers,
        valve=h.valve,
        fluid=supply.fluid,
        supply=Supply(
            pressure=supply.highest,
            tank_pressure=supply.tank_pressure,
            atmospheric_pressure=supply.atmospheric_pressure,
            relief_pressure=supply.relief_pressure,
            relief_conductance=supply.relief_conductance,
            makeup_conductance=supply.makeup_conductance,
        ),
        leakage=h.leakage,
        friction=h.friction,
        end_stop=stop,
        cushion=h.cushion,
        control=h.control,
    )
    values = leg_parameters(as_leg, record.minimum_length, record.stroke)
    more = {"supply_index": float(row), "compensation": h.valve.compensation or inf}
    for valve in h.counterbalances:
        more |= {
            f"cracking_{valve.port}": valve.cracking_pressure,
            f"pilot_{valve.port}": valve.pilot_ratio,
            f"counterbalance_{valve.port}": valve.conductance,
            f"range_{valve.port}": valve.opening_range,
        }
    for name, value in more.items():
        values[memory.PARAMETERS.index(name)] = value
    return values


def supply_parameters(supply: SharedSupply) -> np.ndarray:
    """Row of parameters (m,) of a supply."""
    pump, gas = supply.pump, supply.accumulator
    values = {
        "pump": of_supply.IDEAL if pump is None else PUMPS[pump.type],
        "supply_pressure": supply.highest,
        "supply_tank": supply.tank_pressure,
        "supply_atmosphere": supply.atmospheric_pressure,
        "supply_bulk_modulus": supply.fluid.bulk_modulus,
        "supply_air": (supply.fluid.air_fraction or 0.0) if supply.fluid.model == "air" else 0.0,
        "supply_polytropic": supply.fluid.polytropic_exponent,
        "line_volume": 0.0 if pump is None else pump.line_volume,
        "displacement": 0.0 if pump is None else pump.displacement,
        "speed": 0.0 if pump is None else pump.speed,
        "band": 1.0 if pump is None else pump.band,
        "pump_leakage": 0.0 if pump is None else pump.leakage,
        "swivel_time": 0.0 if pump is None else pump.time_constant,
        "margin": 0.0 if pump is None else pump.margin or 0.0,
        "maximum_pressure": inf if pump is None else pump.maximum_pressure or inf,
        "line_relief_pressure": supply.relief_pressure or inf,
        "line_relief": supply.relief_conductance,
        "accumulator_volume": 0.0 if gas is None else gas.volume,
        "precharge": 1.0 if gas is None else gas.precharge,
        "accumulator_exponent": 1.0 if gas is None else gas.polytropic_exponent,
        "supply_rtol": RTOL,
        "supply_atol": ATOL,
    }
    return np.array([values[name] for name in of_supply.SUPPLY_PARAMETERS], dtype=np.float64)


def leg_parameters(
    h: Hydraulics, shortest: float, stroke: float, *, rtol: float = RTOL, atol: float = ATOL
) -> np.ndarray:
    """Row of parameters (k,) of one cylinder.

    Parameters
    ----------
    h : Hydraulics
        Record of the description.
    shortest, stroke : float
        Length at stroke zero, and stroke [m].
    rtol, atol : float
        Tolerances of the pressures [-, Pa].
    """
    if not (isfinite(shortest) and isfinite(stroke) and stroke > 0.0):
        raise ValueError(f"stroke is {stroke} m from {shortest} m, expected a positive stroke")
    c, v, f, s = h.cylinder, h.valve, h.fluid, h.supply
    drop = v.rated_pressure_drop * (0.5 if v.rating == "valve" else 1.0)
    conductance = v.rated_flow / sqrt(drop)
    values = {
        "bore_area": 0.25 * pi * c.bore**2,
        "rod_area": 0.25 * pi * (c.bore**2 - c.rod_diameter**2),
        "dead_volume_bore": c.dead_volume_bore,
        "dead_volume_rod": c.dead_volume_rod,
        "shortest": shortest,
        "stroke": stroke,
        "valve_bore": conductance,
        "valve_rod": conductance * v.flow_ratio,
        "spool_frequency": 2.0 * pi * (v.natural_frequency_hz or 0.0),
        "spool_damping": v.damping_ratio or 0.0,
        "spool_time": v.time_constant or 0.0,
        "overlap": v.overlap,
        "null_opening": v.null_opening,
        "slew_rate": inf if v.slew_rate is None else v.slew_rate,
        "transition": v.transition_pressure,
        "bulk_modulus": f.bulk_modulus,
        "air": (f.air_fraction or 0.0) if f.model == "air" else 0.0,
        "polytropic": f.polytropic_exponent,
        "cavitation": f.cavitation_pressure,
        "supply": s.pressure,
        "tank": s.tank_pressure,
        "atmosphere": s.atmospheric_pressure,
        "relief_pressure": inf if s.relief_pressure is None else s.relief_pressure,
        "relief": s.relief_conductance,
        "makeup": s.makeup_conductance,
        "leak_internal": h.leakage.internal,
        "leak_bore": h.leakage.external_bore,
        "leak_rod": h.leakage.external_rod,
        "stop_stiffness": h.end_stop.stiffness,
        "stop_damping": h.end_stop.damping,
        "cushion_length": 0.0 if h.cushion is None else h.cushion.length,
        "cushion_minimum": 1.0 if h.cushion is None else h.cushion.minimum,
        "control_law": LAWS[h.control.law],
        "kp": h.control.kp,
        "ki": h.control.ki,
        "lead": float(h.control.lead),
        "rtol": rtol,
        "atol": atol,
        "supply_index": -1.0,
        "compensation": inf,
    }
    for port in ("bore", "rod"):
        values |= {f"cracking_{port}": 0.0, f"pilot_{port}": 0.0, f"counterbalance_{port}": 0.0}
        values[f"range_{port}"] = 1e6
    values |= _friction(h)
    values["nominal_gain"] = _nominal_gain(values)
    return np.array([values[name] for name in memory.PARAMETERS], dtype=np.float64)


def _friction(h: Hydraulics) -> dict[str, float]:
    f = h.friction
    names = ("coulomb", "static", "viscous", "bristle_stiffness", "bristle_damping")
    if f is None:
        none = {"friction_law": memory.NO_FRICTION, "stribeck": 1.0, "smoothing": 1.0}
        return none | dict.fromkeys(names, 0.0)
    return {
        "friction_law": memory.LUGRE_LAW if f.model == "lugre" else memory.STRIBECK_LAW,
        "coulomb": f.coulomb,
        "static": f.static,
        "stribeck": f.stribeck_velocity,
        "smoothing": f.smoothing_velocity or 1.0,
        "viscous": f.viscous,
        "bristle_stiffness": f.bristle_stiffness or 0.0,
        "bristle_damping": f.bristle_damping or 0.0,
    }


def _nominal_gain(values: dict[str, float]) -> float:
    """Rate of the force per valve opening at mid-stroke and half the supply pressure [N/s].

    The control law pi divides its gains by it, so that kp and ki have the units and about the effect that
    they have in the other law (our choice; no source gives the scale).
    """
    drop = sqrt(0.5 * (values["supply"] - values["tank"]))
    half = 0.5 * values["stroke"]
    gain = 0.0
    for side in ("bore", "rod"):
        area = values[f"{side}_area"]
        volume = values[f"dead_volume_{side}"] + area * half
        gain += area * values["bulk_modulus"] / volume * values[f"valve_{side}"] * drop
    return gain
