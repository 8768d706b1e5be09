"""What `check` says of a soft arm: the numbers of its sections and where they come from, and whether it
buckles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description.elements.joints import PRESET_ORIGINS, PRESETS, Section
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.robot.verbs import Robot

#: of the numbers of a section
_UNITS = {attribute.name: attribute.unit for attribute in rule_of(Section).attributes if attribute.unit}


def check_arm(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings and notes about an arm of kind continuum."""
    straight = robot.neutral()
    slope = robot.inverse_dynamics_derivatives(straight, straight, straight)[0]
    least = float(np.linalg.eigvalsh(0.5 * (slope + slope.T))[0])
    warnings: tuple[str, ...] = ()
    if least < 0.0:
        warnings = (
            f"the straight arm buckles: the smallest slope of its forces is {least:.3g} N/m; let it hang, or "
            "make it stiffer",
        )
    return warnings, tuple(_numbers_of(section) for section in robot.description.sections)


def _numbers_of(section: Section) -> str:
    """The numbers of a section; those of a preset with their origin."""
    preset = PRESETS.get(section.preset or "", {})
    origins = PRESET_ORIGINS.get(section.preset or "", {})
    own: list[str] = []
    filled: dict[str, list[str]] = {}
    for name, unit in _UNITS.items():
        value = _shown(getattr(section, name))
        if name in preset and value == _shown(preset[name]):
            filled.setdefault(origins[name], []).append(f"{name} {value} {unit}")
        elif value != "0":
            own.append(f"{name} {value} {unit}")
    if section.pressure is not None:
        p = section.pressure
        own.append(f"pressure on {p.area:g} m2")
        own += [f"lag {p.time_constant:g} s"] * (p.time_constant > 0.0)
        own += [] if p.maximum is None else [f"at most {p.maximum:g} Pa"]
    parts = [f"{', '.join(values)} ({origin})" for origin, values in filled.items()]
    before = f"preset {section.preset}: {'; '.join(parts)}; " if parts else ""
    return f"section '{section.joint}': {before}{', '.join(own)}"


def _shown(value: Any) -> str:
    """A number, or three where they differ."""
    numbers = np.unique(np.asarray(value, dtype=float))
    if numbers.size == 1:
        return f"{numbers[0]:g}"
    return " ".join(f"{x:g}" for x in np.ravel(value))
