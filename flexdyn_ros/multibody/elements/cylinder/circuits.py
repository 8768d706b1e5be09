"""Circuits of a description: supplies of oil, and the cylinders between two frames that each one feeds."""

from __future__ import annotations

from typing import Any, NamedTuple

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import DrivenCylinder
from flexdyn_ros.description.elements.oil import CylinderHydraulics, SharedSupply
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.multibody.elements.leg import MountedLeg

#: what oil may drive
OnOil = DrivenCylinder | MountedLeg


class Circuit(NamedTuple):
    """A supply and the cylinders that it feeds, with their places among all driven elements."""

    supply: SharedSupply
    cylinders: tuple[tuple[int, OnOil], ...]

    @property
    def hydraulics(self) -> tuple[CylinderHydraulics, ...]:
        """What stands between the supply and each of the pistons."""
        return tuple(c.hydraulics for _, c in self.cylinders if c.hydraulics is not None)


def circuits_of(description: RobotDescription) -> tuple[Circuit, ...]:
    """The circuits of a description, in the order of its supplies; those that feed nothing are left out.

    Raises
    ------
    DescriptionError
        For a cylinder whose supply is missing, or named like the cylinder.
    """
    supplies: dict[str, SharedSupply] = {
        supply.name: supply
        for supply in description.extras.get("supply", ())
        if isinstance(supply, SharedSupply)
    }
    fed: dict[str, list[tuple[int, OnOil]]] = {name: [] for name in supplies}
    for i, cylinder in enumerate(x for kind in (DrivenCylinder, MountedLeg) for x in _all(description, kind)):
        if cylinder.hydraulics is None:
            continue
        place = description.place(cylinder, f"cylinder '{cylinder.name}'")
        name = cylinder.hydraulics.supply
        if name not in supplies:
            expected = "the name of a <supply>"
            message = f"there is no supply '{name}'{suggestion(name, supplies)}"
            place.fail(message, "supply", name, expected)
        if cylinder.name in supplies:
            place.fail("a supply has the same name", "name", cylinder.name, "a name of its own")
        fed[name].append((i, cylinder))
    return tuple(Circuit(supplies[name], tuple(each)) for name, each in fed.items() if each)


def _all(description: RobotDescription, record: type) -> tuple[Any, ...]:
    return description.extras.get(rule_of(record).name, ())


def unused_supplies(description: RobotDescription) -> tuple[str, ...]:
    """A warning for each supply that feeds no cylinder."""
    used = {circuit.supply.name for circuit in circuits_of(description)}
    names = [s.name for s in description.extras.get("supply", ()) if isinstance(s, SharedSupply)]
    return tuple(f"no cylinder uses supply '{name}'" for name in names if name not in used)
