"""What `check` says of elements."""

from __future__ import annotations

from math import inf

import numpy as np

from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.errors import SingularityError
from flexdyn_ros.multibody.elements.cylinder.circuits import Circuit, circuits_of
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import FORCE_UNREACHABLE
from flexdyn_ros.multibody.elements.cylinder.parameters import HydraulicModel
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.verbs import Robot


def notes_of_elements(robot: Robot) -> tuple[str, ...]:
    """A note for each element, where all coordinates are zero; of cylinders, how far the rod is out."""
    q, still = robot.neutral(), np.zeros(robot.nv)
    found, notes = robot.element_forces(q, still), []
    for element, value, force in zip(robot.elements, found.coordinate, found.force, strict=True):
        unit = element.kind.unit
        what = f"{element.name}: {'length' if unit == 'm' else 'angle'} {value:.4g} {unit} at zero"
        if element.kind.driven:
            record = element.record
            out = value - record.minimum_length
            what += f", the rod is {out:.4g} of {record.stroke:.4g} m out"
        elif force:
            what += f", {'pulls' if force < 0.0 else 'pushes'} with {abs(force):.4g} "
            what += "N" if unit == "m" else "N m"
        notes.append(what)
    return tuple(notes)


#: [Pa], and l/min in m3/s
BAR, LITRES_A_MINUTE = 1e5, 1e-3 / 60.0


def findings_of_oil(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings and notes on cylinders that oil drives, where all coordinates are zero.

    Warnings: forces that no pressure of the supply gives; cylinders that gravity overruns. Notes: the
    pressures that hold the robot with shut valves, and flows of pumps beside those of the valves.
    """
    h = robot.hydraulics
    if h is None:
        return (), ()
    q, still = robot.neutral(), np.zeros(robot.nv)
    notes = [text for circuit in circuits_of(robot.description) for text in _flow_of_pump(circuit)]
    notes += notes_of_supplies(h.model)
    try:
        efforts = robot.inverse_dynamics(q, still, still, actuators="all")
    except SingularityError:
        return (), tuple(notes)
    names = list(robot.effort_names)
    forces = efforts[[names.index(name) for name in h.names]]
    lengths = dict(zip(robot.element_names, robot.element_forces(q, still).coordinate, strict=True))
    state = h.initial(forces, np.array([lengths[name] for name in h.names]))
    margins = _margins(robot)
    doubts = []
    for i, (name, force) in enumerate(zip(h.names, forces.tolist(), strict=True)):
        column = {key: float(h.model.column(key)[i]) for key in _COLUMNS}
        column["compensation"] = min(column["compensation"], margins[name])
        bore, rod = state.pressure_bore[i] / BAR, state.pressure_rod[i] / BAR
        held = f"{name}: {bore:.4g} bar at the bore and {rod:.4g} bar at the rod"
        if state.flags[i] & FORCE_UNREACHABLE:
            doubts.append(f"{held} are the most that its supply gives at zero; {force:.4g} N hold the robot")
            continue
        notes.append(f"{held} hold it at zero with {force:.4g} N")
        feed = feed_of_overrun(column, force)
        if feed is not None:
            port, fed = ("bore", "rod") if force > 0.0 else ("rod", "bore")
            doubts.append(
                f"{name}: gravity overruns it at zero: the {fed} side, fed by an open valve, would have "
                f"{feed / BAR:.3g} bar and run empty; expected <counterbalance port='{port}'>"
            )
    return tuple(doubts), tuple(notes)


def notes_of_supplies(model: HydraulicModel) -> list[str]:
    """Supplies of constant pressure, and what they feed."""
    return [
        f"{name}: constant {line.pressure / BAR:.4g} bar, tank at {line.tank / BAR:.4g} bar, feeds "
        f"{', '.join(line.cylinders)}"
        for name, line in model.lines.items()
        if not line.has_pump
    ]


def _margins(robot: Robot) -> dict[str, float]:
    """Drops that pumps keep across the valve of each cylinder [Pa], infinite but for load sensing."""
    return {
        record.name: inf if circuit.supply.pump is None else circuit.supply.pump.margin or inf
        for circuit in circuits_of(robot.description)
        for _, record in circuit.cylinders
    }


def _flow_of_pump(circuit: Circuit) -> list[str]:
    """Flow of the pump of a circuit where its valves, all fully open at their rated drops, pass more."""
    pump = circuit.supply.pump
    if pump is None:
        return []
    valves = [h.valve for h in circuit.hydraulics]
    most = sum(valve.rated_flow * max(1.0, valve.flow_ratio) for valve in valves)
    flow = pump.displacement * pump.speed
    if flow >= most:
        return []
    return [
        f"{circuit.supply.name}: the pump gives {flow / LITRES_A_MINUTE:.3g} l/min, {flow / most:.2g} of the "
        f"{most / LITRES_A_MINUTE:.3g} l/min that all valves pass fully open at their rated drops"
    ]


_COLUMNS = (
    "bore_area", "rod_area", "valve_bore", "valve_rod", "supply", "tank", "atmosphere", "coulomb",
    "compensation", "counterbalance_bore", "counterbalance_rod",
)  # fmt: skip


def feed_of_overrun(column: dict[str, float], force: float) -> float | None:
    """Pressure of the chamber that is fed while a load moves the rod its way, steadily [Pa]; None where it is
    at least that of the tank, or a counterbalance valve holds the load.

    With h the chamber that holds the load, f the other one, s the speed by the opening x of the valve, L the
    load by which h is pressed, less Coulomb friction (Merritt 1967, flows of both edges, K sqrt(drop)):

        p_h = p_t + (A_h s/K_h)^2,   p_f = p_s - (A_f s/K_f)^2,   A_h p_h - A_f p_f = L

    gives s^2 = (L - A_h p_t + A_f p_s)/(A_h^3/K_h^2 + A_f^3/K_f^2), whatever x is. A compensator, or load
    sensing, bounds the drop of the edge from the supply, and so s; then p_f follows from the last equation.

    Parameters
    ----------
    column : dict
        Parameters of the cylinder by the names of kernels/memory.py.
    force : float
        Of the cylinder on the rod, that holds the load [N].
    """
    holds, feeds = ("bore", "rod") if force > 0.0 else ("rod", "bore")
    if column[f"counterbalance_{holds}"] > 0.0 or force == 0.0:
        return None
    A, a = column[f"{holds}_area"], column[f"{feeds}_area"]
    K, k = column[f"valve_{holds}"], column[f"valve_{feeds}"]
    atmosphere = (A - a) * column["atmosphere"]
    load = abs(force) + atmosphere - column["coulomb"]
    excess = load - A * column["tank"] + a * column["supply"]
    if excess <= 0.0:
        return None
    square = min(excess / (A**3 / K**2 + a**3 / k**2), column["compensation"] * (k / a) ** 2)
    feed = (A * (column["tank"] + square * (A / K) ** 2) - load) / a
    return feed if feed < column["tank"] else None


def held_by_springs(robot: Robot) -> tuple[str, ...]:
    """Coordinates of joints and base on the tree path between the ends of an element with a stiffness."""
    parents = {joint.child: joint.parent for joint in robot.description.joints}

    def carriers(frame: str) -> set[str]:
        link = None if frame == WORLD else section_of(frame)[0] or frame
        found = set()
        while link is not None:
            found.add(link)
            link = parents.get(link)
        return found

    held: set[str] = set()
    for element in robot.elements:
        if any(p.name.endswith("/stiffness") and p.value > 0.0 for p in element.parameters):
            held |= carriers(element.record.base) ^ carriers(element.record.end)
    return tuple(c.name for c in robot.coordinates if c.kind in ("joint", "base") and c.body in held)
