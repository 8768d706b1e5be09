"""The mass of a flexible link, exactly once: what `<inertial>` says beyond the beam and its bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import NoReturn

import numpy as np

from flexdyn_ros.description import Inertial, RobotDescription
from flexdyn_ros.description.elements.links import Body, FlexibleLink
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import pseudo_inertia
from flexdyn_ros.numerics.algebra.placement import Placement, rotation_of_rpy

#: the remainder of the mass rule counts as rounding below this fraction of the whole
ROUNDING = 1e-3


@dataclass(frozen=True)
class StationBody:
    """A rigid body on a section: pseudo-inertia P about the undeformed section's centre, beam axes."""

    name: str
    station: float
    P: np.ndarray


@dataclass(frozen=True)
class MassBalance:
    """T = B + P + R of a link: pseudo-inertias (4, 4) about the beam's root, beam axes.

    T: `<inertial>`, zero without one; B: undeformed beam; P: its `<body>` elements; R: the remainder. bodies:
    those on the sections, a remainder that rides along among them. outcome: what became of `<inertial>`.
    notes, warnings: what to say about it.
    """

    T: np.ndarray
    B: np.ndarray
    P: np.ndarray
    R: np.ndarray
    bodies: tuple[StationBody, ...]
    outcome: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def settle_mass(
    description: RobotDescription,
    link: FlexibleLink,
    frame: Placement,
    length: float,
    centre: Callable[[float], np.ndarray],
    B: np.ndarray,
) -> MassBalance:
    """Bodies of a link with the remainder R = T - B - P of `<inertial>` among them, by the contract's 1.3.

    frame: beam frame in the link frame. centre: centre (3,) of a station's undeformed section, beam axes.
    B: pseudo-inertia (4, 4) of the undeformed beam about its root.

    Raises
    ------
    DescriptionError
        If the remainder is no body; says T, B, P and R.
    """
    bodies = tuple(StationBody(b.name, float(b.station), _inertia_of(b)) for b in link.bodies)
    P = sum((_carry(b.P, centre(b.station)) for b in bodies), np.zeros((4, 4)))
    inertial = description.link(link.link).inertial
    if inertial is None:
        zero = np.zeros((4, 4))
        return MassBalance(zero, B, P, zero, bodies, "no <inertial>: beam and bodies")
    H = np.eye(4)
    H[1:, 0], H[1:, 1:] = -frame.R.T @ frame.p, frame.R.T
    T = H @ _inertia_of(inertial) @ H.T
    R = T - B - P
    balance = MassBalance(T, B, P, R, bodies, "")
    if link.remainder == "none":
        return _without_remainder(description, link, balance)
    scale = np.sqrt(np.diag(T))
    lengths = np.array([1.0, length, length, length])
    floor = 1e-9 * T[0, 0] * np.outer(lengths, lengths)
    if np.all(np.abs(R) <= ROUNDING * np.outer(scale, scale) + floor):
        outcome = "<inertial> equals beam and bodies up to rounding; beam and bodies are used"
        notes = (f"link '{link.link}': {outcome}",) if np.abs(R).max() > 0.0 else ()
        return replace(balance, outcome=outcome, notes=notes)
    scale = np.where(scale > 0.0, scale, np.sqrt(np.diag(floor)))
    scaled = R / np.outer(scale, scale)
    if not (R[0, 0] > 0.0 and np.linalg.eigvalsh(scaled)[0] >= -1e-6):
        _refuse(description, link, balance, "the remainder is not a body")
    return _with_remainder(link, balance, length, centre)


def _without_remainder(
    description: RobotDescription, link: FlexibleLink, balance: MassBalance
) -> MassBalance:
    T, R = balance.T, balance.R
    if abs(R[0, 0]) > 0.01 * T[0, 0]:
        _refuse(description, link, balance, "their masses differ by more than 1 %")
    warnings: tuple[str, ...] = ()
    if np.abs(R).max() > 0.0:
        warnings = (f"link '{link.link}': <inertial> is not used; {_list(R, 'T - B - P')}",)
    return replace(balance, outcome="<inertial> is not used", warnings=warnings)


def _with_remainder(
    link: FlexibleLink, balance: MassBalance, length: float, centre: Callable[[float], np.ndarray]
) -> MassBalance:
    R = balance.R
    mass, along = R[0, 0], R[1, 0] / R[0, 0]
    gyration = sqrt(max(R[1, 1] / mass - along**2, 0.0))
    warnings: tuple[str, ...] = ()
    if gyration > 0.1 * length:
        warnings = (
            f"link '{link.link}': the {mass:.6g} kg of <inertial> beyond the beam spread over "
            f"{gyration:.3g} m along it; give them as several <body> elements",
        )
    station = min(max(along / length, 0.0), 1.0) if link.remainder == "auto" else float(link.remainder)
    rest = StationBody("remainder", station, _carry(R, -centre(station)))
    outcome = f"{mass:.6g} kg ride on the section at station {station:.4g}"
    return replace(balance, bodies=(*balance.bodies, rest), outcome=outcome, warnings=warnings)


def _refuse(description: RobotDescription, link: FlexibleLink, balance: MassBalance, why: str) -> NoReturn:
    named = (
        (balance.T, "<inertial> T"),
        (balance.B, "beam B"),
        (balance.P, "bodies P"),
        (balance.R, "remainder R = T - B - P"),
    )
    text = "; ".join(_list(X, name) for X, name in named)
    message = f"link '{link.link}': <inertial> does not fit beam and bodies: {why}. About the beam's root, "
    message += f"beam axes: {text}"
    place = description.place(link, "inertial")
    place.fail(message, value=float(balance.T[0, 0]), expected=_remedy(balance))


def _remedy(balance: MassBalance) -> str:
    """What would fit: `<inertial>` stands for the whole link, beam and bodies (payloads too) included."""
    whole, parts = balance.T[0, 0], balance.B[0, 0] + balance.P[0, 0]
    named = f"beam and bodies, {balance.B[0, 0]:.6g} + {balance.P[0, 0]:.6g} kg"
    if whole < parts * (1.0 - 1e-9):
        text = f"an <inertial> of the whole link, which includes {named}, so at least {parts:.6g} kg, "
        text += "of which the rest is the remainder; "
        return (
            text + "or no <inertial>, so that beam and bodies alone count; "
            "or a lighter beam (density, mass_per_length) or body"
        )
    text = f"an <inertial> of {named}, and what else there is, at their places; or no <inertial>"
    if abs(balance.R[0, 0]) <= 0.01 * whole:
        text += ', or <remainder station="none"/>, so that beam and bodies alone count'
    return text


def _inertia_of(body: Body | Inertial) -> np.ndarray:
    """Pseudo-inertia of an `<inertial>` or a `<body>`, in the axes in which its rpy is."""
    xx, xy, xz, yy, yz, zz = body.inertia
    R = rotation_of_rpy(body.rpy)
    tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return pseudo_inertia(body.mass, body.xyz, tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def _list(X: np.ndarray, name: str) -> str:
    """A pseudo-inertia in words."""
    second = [X[1, 1], X[2, 2], X[3, 3], X[1, 2], X[1, 3], X[2, 3]]
    moment = " ".join(f"{x:.6g}" for x in X[0, 1:])
    return f"{name}: mass {X[0, 0]:.6g}, moment {moment}, xx yy zz xy xz yz " + " ".join(
        f"{x:.6g}" for x in second
    )


def _carry(P: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """A pseudo-inertia about a point, seen from one that lies `offset` (3,) before it."""
    H = np.eye(4)
    H[1:, 0] = offset
    return H @ P @ H.T
