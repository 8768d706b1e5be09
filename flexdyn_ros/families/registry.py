"""The families of robots, in the order in which they are asked whether a description is theirs.

A family outside this package names itself in the environment variable FLEXDYN_FAMILIES, `package.module:NAME`
separated by commas, in its entry points of the group `flexdyn_ros.families`, or calls `register`.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language import schema
from flexdyn_ros.errors import FlexdynError, FlexdynWarning
from flexdyn_ros.families.continuum.family import CONTINUUM
from flexdyn_ros.families.platform.family import STEWART, mounted
from flexdyn_ros.families.record import Family
from flexdyn_ros.families.trees.family import TREES
from flexdyn_ros.families.wheeled.family import WHEELED

VARIABLE = "FLEXDYN_FAMILIES"

#: trees take what no other family claims
_FAMILIES = [STEWART, mounted(WHEELED), mounted(TREES), CONTINUUM, WHEELED, TREES]
for _element in (element for family in _FAMILIES for element in family.elements):
    schema.add_element(_element)


def families() -> tuple[Family, ...]:
    """All families that are known.

    Raises
    ------
    FlexdynError
        If the environment names one that cannot be imported.
    """
    _register_named()
    return tuple(_FAMILIES)


def family_of(description: RobotDescription) -> Family:
    """The family that has a description."""
    return next(family for family in families() if family.claims(description))


def register(family: Family) -> None:
    """Make a family known, before those that are; the schema learns its elements. Twice is once.

    Raises
    ------
    ValueError
        If another family of that kind is known, or another element of a name.
    """
    if family in _FAMILIES:
        return
    if any(family.kind == other.kind for other in _FAMILIES):
        raise ValueError(f"family '{family.kind}' is known already, expected another kind")
    for element in family.elements:
        schema.add_element(element)
    _FAMILIES.insert(0, family)


def unregister(family: Family) -> None:
    """Forget a family that `register` has added."""
    _FAMILIES.remove(family)
    for element in family.elements:
        schema.remove_element(element)


@cache
def _register_named() -> None:
    for place in filter(None, os.environ.get(VARIABLE, "").split(",")):
        register(_imported(place))


def find_installed() -> bool:
    """Register the families of installed packages; whether one was new. Looking takes some 30 ms: `load` does
    it only for a description that it cannot read otherwise, and once.

    Warns
    -----
    FlexdynWarning
        For a family that cannot be had; the others are registered.
    """
    places = _installed()
    before = len(_FAMILIES)
    while places:
        try:
            register(_imported(places.pop()))
        except (FlexdynError, ValueError) as error:
            warnings.warn(str(error), FlexdynWarning, stacklevel=3)
    return len(_FAMILIES) > before


@cache
def _installed() -> list[str]:
    """Places of the families of installed packages that were not looked at yet."""
    from importlib.metadata import entry_points

    return [entry.value for entry in entry_points(group="flexdyn_ros.families")]


def _imported(place: str) -> Family:
    module, _, name = place.partition(":")
    try:
        family = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise FlexdynError(f"family '{place}': {error}; expected package.module:NAME of a Family") from error
    if not isinstance(family, Family):
        raise FlexdynError(f"family '{place}' is {type(family).__name__}, expected a Family")
    return family
