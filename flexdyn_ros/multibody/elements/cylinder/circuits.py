"""Circuits of a description: supplies of oil, and the cylinders between two frames that each one feeds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, NamedTuple

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import DrivenCylinder
from flexdyn_ros.description.elements.oil import (
    Chambers,
    CompensatedValve,
    CylinderHydraulics,
    SharedSupply,
)
from flexdyn_ros.description.elements.platforms import Hydraulics, Leg, Platform, prefix_of
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.multibody.elements.leg import MountedLeg

#: ends the name of the supply of the legs of a platform that states its own
OWN = "/supply"
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


def fed_by(description: RobotDescription) -> dict[str, list[DrivenCylinder | Leg]]:
    """Cylinders and legs with oil by the names of the supplies that feed them; a platform's own is
    `platform/supply`, that of one of several LINK/supply."""
    found: dict[str, list[DrivenCylinder | Leg]] = {}
    for cylinder in _all(description, DrivenCylinder):
        if cylinder.hydraulics is not None:
            found.setdefault(cylinder.hydraulics.supply, []).append(cylinder)
    for platform in description.platforms:
        own = f"{prefix_of(platform, description.platforms)}{OWN}"
        for leg in platform.legs:
            if leg.hydraulics is not None:
                found.setdefault(leg.hydraulics.supply.name or own, []).append(leg)
    return found


def without_oil(description: RobotDescription, names: Collection[str]) -> RobotDescription:
    """The description whose cylinders and legs of these names are told their forces: another process computes
    their oil. Supplies that fed them alone are left out.

    Raises
    ------
    UnknownNameError
        For a name that no cylinder with hydraulics has.
    DescriptionError
        For a cylinder whose supply feeds one that stays.
    """
    fed = fed_by(description)
    for name in names:
        known = [record.name for records in fed.values() for record in records]
        UnknownNameError.check("cylinder with <hydraulics>", name, known)
    for supply, records in fed.items():
        leaving = [record for record in records if record.name in names]
        staying = [record for record in records if record.name not in names]
        if leaving and staying:
            one, other = leaving[0].name, staying[0].name
            description.place(leaving[0], f"cylinder '{one}'").fail(
                f"another process computes '{one}' and not '{other}', which is on the same supply",
                "supply",
                supply,
                f"both in one process, or a supply of its own for '{one}'",
            )
    drop = {supply for supply, records in fed.items() if all(x.name in names for x in records)}
    # legs of a platform in a tree, and their supply, are made anew by the robot
    extras: dict[str, tuple[Any, ...]] = {
        key: values for key, values in description.extras.items() if key != rule_of(MountedLeg).name
    }
    key = rule_of(DrivenCylinder).name
    if key in extras:
        extras[key] = tuple(
            replace(each, hydraulics=None) if each.name in names else each for each in extras[key]
        )
    supplies = extras.pop("supply", ())
    own = tuple(f"{prefix_of(platform, description.platforms)}{OWN}" for platform in description.platforms)
    kept = tuple(x for x in supplies if x.name not in drop and not x.name.startswith(own))
    if kept:
        extras["supply"] = kept
    platforms = []
    for platform in description.platforms:
        legs = (replace(leg, hydraulics=None) if leg.name in names else leg for leg in platform.legs)
        told = any(leg.name in names for leg in platform.legs)
        platforms.append(replace(platform, legs=tuple(legs), hydraulics=None) if told else platform)
    return replace(description, extras=extras, platforms=tuple(platforms))


def _all(description: RobotDescription, record: type) -> tuple[Any, ...]:
    return description.extras.get(rule_of(record).name, ())


def unused_supplies(description: RobotDescription) -> tuple[str, ...]:
    """A warning for each supply that feeds no cylinder."""
    used = {circuit.supply.name for circuit in circuits_of(description)}
    names = [s.name for s in description.extras.get("supply", ()) if isinstance(s, SharedSupply)]
    return tuple(f"no cylinder uses supply '{name}'" for name in names if name not in used)


def on_supply(
    own: Hydraulics, supplies: dict[Any, SharedSupply], prefix: str = "platform"
) -> CylinderHydraulics:
    """Hydraulics of a leg as those of a cylinder; supplies: of this platform, by their records, to which its
    own is added where it names none of the robot; prefix: of its coordinates."""
    key, name = (own.supply, own.fluid), own.supply.name
    if not name and key not in supplies:
        number = "" if not supplies else f"_{len(supplies) + 1}"
        named: dict[str, Any] = {"name": f"{prefix}{OWN}{number}", "fluid": own.fluid}
        supplies[key] = SharedSupply(**named | _values(own.supply) | {"name": named["name"]})
    return CylinderHydraulics(
        supply=name or supplies[key].name,
        chambers=Chambers(**_values(own.cylinder)),
        valve=CompensatedValve(**_values(own.valve)),
        leakage=own.leakage,
        friction=own.friction,
        end_stop=own.end_stop,
        cushion=own.cushion,
        control=own.control,
    )


def supplies_of_legs(platform: Platform) -> tuple[tuple[str, ...], tuple[SharedSupply, ...]]:
    """Of a platform alone whose legs state their own supplies: the supply of each leg by name, and all of
    them."""
    supplies: dict[Any, SharedSupply] = {}
    names = tuple(on_supply(leg.hydraulics, supplies).supply for leg in platform.legs if leg.hydraulics)
    return names, tuple(supplies.values())


def _values(record: Any) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}
