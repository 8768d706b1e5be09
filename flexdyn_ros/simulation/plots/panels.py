"""The numbers of a plot: one panel per quantity and unit, in units that read well, equal curves once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.errors import FlexdynError, UnknownNameError
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.simulation.limits import departures
from flexdyn_ros.simulation.plots.spectra import spectra, tip_deflections

if TYPE_CHECKING:
    from flexdyn_ros.simulation.samples import Samples

PANELS = (
    "position", "velocity", "deflection", "moment", "effort", "hydraulics", "energy", "balance", "spectrum",
)  # fmt: skip
#: those that are drawn unless others are chosen, where there is anything to draw
USUAL = ("position", "deflection", "energy")
#: values that count as zero [SI]
NOTHING = 1e-12
#: what moves by less beside its largest value is constant, and curves are equal that differ by less of it
CONSTANT = 1e-9
#: least height of the energy balance beside the largest kinetic energy
BALANCE_SCALE = 1e-9
#: curves that move by less of the height of their panel are drawn as changes
INVISIBLE = 0.02
#: names that are told of curves that are equal
MOST_EQUAL = 3
#: by unit: values below this, or from this on, read better in that unit, which is so many times as large
SMALL = {
    "m": (0.1, "mm", 1e3), "m/s": (0.1, "mm/s", 1e3), "rad": (0.01, "mrad", 1e3),
    "rad/s": (0.01, "mrad/s", 1e3), "J": (0.1, "mJ", 1e3), "N": (0.1, "mN", 1e3), "N m": (0.1, "mN m", 1e3),
}  # fmt: skip
LARGE = {"N": (1e4, "kN", 1e-3), "N m": (1e4, "kN m", 1e-3), "J": (1e4, "kJ", 1e-3)}


@dataclass(frozen=True)
class Panel:
    """One axes.

    quantity, unit : label of the ordinate; lines : (name, values) over time, or over frequency (k,) [Hz];
    least : least height of the ordinate; limits : (name of the line, value) of limits that were passed
    """

    title: str
    quantity: str
    unit: str
    lines: list[tuple[str, np.ndarray]]
    frequency: np.ndarray | None = None
    least: float = 0.0
    limits: tuple[tuple[str, float], ...] = field(default=())

    @property
    def label(self) -> str:
        """Of the ordinate."""
        return f"{self.quantity} [{self.unit}]"

    @property
    def largest(self) -> float:
        """Largest absolute value of all lines."""
        return max((float(np.abs(values).max(initial=0.0)) for _, values in self.lines), default=0.0)

    @property
    def moved(self) -> float:
        """How far the line that moves most goes."""
        return max((float(np.ptp(values)) for _, values in self.lines if values.size), default=0.0)

    @property
    def is_constant(self) -> bool:
        """No line moves, to rounding; a balance that would show it at its scale is drawn."""
        return self.least <= NOTHING and self.moved <= max(NOTHING, CONSTANT * self.largest)

    def readable(self) -> Panel:
        """The panel with equal curves as one, changes where the motion could not be seen, and a unit that
        reads well."""
        return self._without_equals()._as_changes()._in_unit()

    def scaled(self, like: Panel) -> Panel:
        """The panel in the unit of another one, which was made readable."""
        factors = {unit: factor for table in (SMALL, LARGE) for _, unit, factor in table.values()}
        factor = 1.0 if like.unit == self.unit else factors[like.unit]
        return replace(self, unit=like.unit, lines=[(name, factor * values) for name, values in self.lines])

    def _without_equals(self) -> Panel:
        found: list[tuple[list[str], np.ndarray]] = []
        for name, values in self.lines:
            for names, others in found:
                if np.abs(others - values).max(initial=0.0) <= CONSTANT * self.largest:
                    names.append(name)
                    break
            else:
                found.append(([name], values))
        return replace(self, lines=[(_all_of(names), values) for names, values in found])

    def _as_changes(self) -> Panel:
        if self.frequency is not None or self.least or not self.lines:
            return self
        low = min(float(values.min()) for _, values in self.lines)
        high = max(float(values.max()) for _, values in self.lines)
        if self.moved > INVISIBLE * (high - low) or self.moved <= CONSTANT * self.largest:
            return self
        lines = [
            (f"{name} (from {values[0]:.4g} {self.unit})", values - values[0])
            for name, values in self.lines
            if np.ptp(values) > CONSTANT * self.largest
        ]
        return replace(self, quantity=f"change of {self.quantity}", lines=lines, limits=())

    def _in_unit(self) -> Panel:
        below, small, more = SMALL.get(self.unit, (0.0, "", 1.0))
        above, large, less = LARGE.get(self.unit, (np.inf, "", 1.0))
        unit, factor = self.unit, 1.0
        if NOTHING < self.largest < below:
            unit, factor = small, more
        elif self.largest >= above:
            unit, factor = large, less
        return replace(
            self,
            unit=unit,
            lines=[(name, factor * values) for name, values in self.lines],
            least=factor * self.least,
            limits=tuple((name, factor * value) for name, value in self.limits),
        )


def _all_of(names: list[str]) -> str:
    """A label of curves that are equal."""
    if len(names) <= MOST_EQUAL:
        return " = ".join(names)
    return f"{names[0]} = … = {names[-1]} ({len(names)})"


def panels_of(trajectory: Samples, quantity: str, coordinates: Sequence[str] | None = None) -> list[Panel]:
    """Panels of one quantity of PANELS, one for each unit, in SI; only of these coordinates where they are
    given.

    Raises
    ------
    UnknownNameError
        If there is no such quantity or coordinate.
    """
    t = trajectory
    UnknownNameError.check("panel", quantity, PANELS)
    for name in coordinates or ():
        UnknownNameError.check("coordinate", name, tuple({*t.q_names, *t.v_names, *t.effort_names}))
    if quantity in ("position", "velocity", "effort"):
        return _of_coordinates(t, quantity, coordinates)
    if quantity == "deflection":
        tips = list(tip_deflections(t).items())
        return [Panel("Deflection of tips", "displacement", "m", tips)] if tips else []
    if quantity == "moment":
        roots = _root_moments(t)
        return [Panel("Moment at roots of links, by equilibrium", "moment", "N m", roots)] if roots else []
    if quantity == "spectrum":
        spectrum = spectra(t)
        if spectrum is None:
            return []
        lines = list(zip(spectrum.names, spectrum.amplitude, strict=True))
        what = "deflection" if spectrum.unit == "m" else "velocity"
        return [Panel(f"Spectrum of {what}", "amplitude", spectrum.unit, lines, spectrum.frequency)]
    if quantity == "hydraulics":
        return _hydraulic_panels(t)
    if t.energy is None:
        return []
    if quantity == "balance":
        least = BALANCE_SCALE * float(np.abs(t.energy.kinetic).max(initial=0.0))
        return [
            Panel("Energy balance", "change of E - W + D", "J", [("E - W + D", t.balance())], least=least)
        ]
    parts = [("kinetic", t.energy.kinetic), ("gravity", t.energy.gravity), ("elastic", t.energy.elastic)]
    parts += [("total", t.energy.total), ("work", t.work), ("dissipated", t.dissipated)]
    return [Panel("Energy", "energy", "J", [(name, values) for name, values in parts if values.any()])]


def _root_moments(t: Samples) -> list[tuple[str, np.ndarray]]:
    """Sizes (n,) [N m] of the section moments at the roots of flexible links; empty without robot, where
    nothing bends, and where loads are not computed."""
    bent = () if t.robot is None else t.robot.tips
    try:
        found = t.loads([0.0]) if bent else {}
    except FlexdynError:
        return []
    return [
        (tip.link, np.linalg.norm(found[tip.link].moment[:, 0], axis=-1)) for tip in bent if tip.link in found
    ]


def _of_coordinates(t: Samples, quantity: str, coordinates: Sequence[str] | None) -> list[Panel]:
    """Panels of positions, velocities or efforts, those of modes apart."""
    names, units, values = {
        "position": (t.q_names, t.q_units, t.q),
        "velocity": (t.v_names, t.v_units, t.v),
        "effort": (t.effort_names, t.effort_units, t.tau),
    }[quantity]
    if quantity == "effort" and not values.any():
        return []
    chosen = [i for i, name in enumerate(names) if coordinates is None or name in coordinates]
    passed = () if t.robot is None else departures(t, t.robot.coordinates)
    found = []
    for unit in dict.fromkeys(units[i] for i in chosen):
        kind = "attitude" if quantity == "position" and unit == "-" else quantity
        of_unit = [i for i in chosen if units[i] == unit]
        modal = [i for i in of_unit if any(f"/{field}/" in names[i] for field in MODAL)]
        others = [(names[i], values[:, i]) for i in of_unit if i not in modal]
        beyond = [one for one in passed if one.quantity == quantity and one.unit == unit]
        limits = [(one.name, one.limit) for one in beyond]
        # those of velocities hold for both directions
        limits += [(one.name, -one.limit) for one in beyond if quantity == "velocity"]
        if others:
            found.append(Panel(kind.capitalize(), kind, unit, others, limits=tuple(limits)))
        if modal:
            lines = [(names[i], values[:, i]) for i in modal]
            found.append(Panel(f"Modal {kind}", f"modal {kind}", unit, lines))
    return found


def _hydraulic_panels(t: Samples) -> list[Panel]:
    """Pressures and spools of cylinders, if they were recorded."""
    if t.hydraulics is None:
        return []
    cylinders = t.hydraulics

    def panel(title: str, quantity: str, unit: str, values: np.ndarray) -> Panel:
        return Panel(title, quantity, unit, [(name, values[:, i]) for i, name in enumerate(t.cylinder_names)])

    return [
        panel("Bore side", "absolute pressure", "bar", cylinders.pressure_bore / 1e5),
        panel("Rod side", "absolute pressure", "bar", cylinders.pressure_rod / 1e5),
        panel("Valves", "spool", "-", cylinders.spool),
    ]
