"""Model checks and warnings of a platform at home: geometry, forces at rest, what limits it."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description.elements.platforms import Mount
from flexdyn_ros.errors import SingularityError
from flexdyn_ros.families.platform.margins import MASK_BITS
from flexdyn_ros.families.trees.elements.checks import notes_of_supplies


def check_platform(robot: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings and notes of a platform at home."""
    q, zero = robot.neutral(), np.zeros(6)
    legs, margins = robot.inverse_kinematics(q), robot.workspace_margins(q)
    warnings = [f"at home {text}" for bit, text in MASK_BITS.items() if margins.mask & bit]
    values = margins.singular_values
    lines = [
        f"legs at home {_range(legs.length)} m long, strokes {_range(legs.stroke)} m used of "
        f"{_range(np.array([leg.stroke for leg in robot.legs]))} m",
        f"leg Jacobian at home, without units: singular values {values[0]:.4g} to {values[-1]:.4g}, "
        f"condition {values[0] / max(values[-1], 1e-300):.4g}, determinant {margins.determinant:.4g}",
        f"legs {'axisymmetric' if robot.functions.tables.axisymmetric else 'of any inertia'}, spin "
        f"{robot.description.formulation.leg_spin}",
    ]
    if values[-1] > 1e-6:
        tau = robot.inverse_dynamics(q, zero, zero)
        lines.append(f"leg forces at rest {_range(tau)} N")
        warnings += [
            f"leg '{leg.name}' carries {force:.4g} N at rest, beyond its effort limit {limit:g} N"
            for leg, force, limit in zip(robot.legs, tau, robot.effort_limits, strict=True)
            if abs(force) > limit
        ]
    if robot.hydraulics is not None:
        lines += notes_of_supplies(robot.hydraulics.model)
        springs = robot.hydraulics.stiffness(legs.length)
        lines.append(
            f"oil columns behind closed valves {_range(springs)} N/m; modes are those of the platform on them"
        )
    return tuple(warnings), tuple(lines)


def check_mounted(robot: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings and notes of platforms that are part of a tree, where it is neutral."""
    found = [_check_mount(robot, mount) for mount in robot.description.mounts]
    warnings, lines = (tuple(text for each in found for text in each[i]) for i in range(2))
    return warnings, lines


def _check_mount(robot: Any, mount: Mount) -> tuple[list[str], list[str]]:
    joint, mechanism = mount.joint, robot.mechanisms[mount.platform.link]
    q = robot.carried_pose(robot.neutral(), mount.platform.link)
    margins = mechanism.workspace_margins(q)
    warnings = [f"at home {text}" for bit, text in MASK_BITS.items() if margins.mask & bit]
    legs, values = mechanism.inverse_kinematics(q), margins.singular_values
    lines = [
        f"platform '{joint.child}' stands on '{joint.parent}': "
        f"legs at home {_range(legs.length)} m long, strokes {_range(legs.stroke)} m used of "
        f"{_range(np.array([leg.stroke for leg in mechanism.legs]))} m",
        f"leg Jacobian at home, without units: singular values {values[0]:.4g} to {values[-1]:.4g}",
    ]
    if values[-1] > 1e-6:
        still = np.zeros(robot.nv)
        try:
            tau = robot.inverse_dynamics(robot.neutral(), still, still, actuators="all")
        except SingularityError:
            return warnings, lines
        names = [leg.name for leg in mechanism.legs]
        forces = tau[[robot.effort_names.index(name) for name in names]]
        lines.append(f"leg forces at rest {_range(forces)} N")
        warnings += [
            f"leg '{name}' carries {force:.4g} N at rest, beyond its effort limit {limit:g} N"
            for name, force, limit in zip(names, forces, mechanism.effort_limits, strict=True)
            if abs(force) > limit
        ]
    return warnings, lines


def _range(values: np.ndarray) -> str:
    """One number where all agree to four digits, else smallest and largest."""
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"
