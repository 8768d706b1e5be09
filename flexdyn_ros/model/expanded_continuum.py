"""Soft sections, cut into rigid segments for showing.

On the link below each section SECTION stands `SECTION/base` (fixed), on it segments `SECTION/segment_k` at
stations (k - 1/2)/K and `SECTION/tip`, each on six one-axis joints; the section's own fixed joint hangs on
its tip. The lengths of actuators are no joints of this robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from flexdyn_ros.description.elements import Section
from flexdyn_ros.errors import DimensionError
from flexdyn_ros.kernels.continuum_series import POLYNOMIALS
from flexdyn_ros.model.expanded_frames import (
    add_fixed,
    add_moving,
    add_visual,
    angle_rates,
    rotation_of_vector,
    set_origin,
    spatial_rate,
    yaw_pitch_roll,
)
from flexdyn_ros.model.placement import Placement

__all__ = ["SoftSegments", "cut_sections"]

SEGMENTS = 8
#: segments share their length with the next ones, so that bends show no gaps
OVERLAP = 1.05


@dataclass(frozen=True)
class SoftSegments:
    """The joints of all segments and tips of an arm; stations (k,) are the same in every section."""

    names: tuple[str, ...]
    sections: tuple[Section, ...]
    stations: np.ndarray

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., joints) [m, rad] for q (..., nq)."""
        eta, u, s = self.stations, *self._bending(q, 1.0)
        S, B, _ = self._functions(u)
        p = self._point(eta, u, s[..., None], S, B)
        p[..., 2] -= eta * self._lengths
        angles = yaw_pitch_roll(rotation_of_vector(self._turn(u)))
        return self._row(p, angles)

    def velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities (..., joints) [m/s, rad/s] for q (..., nq), v (..., nv)."""
        eta = self.stations
        (u, s), (ud, sd) = self._bending(q, 1.0), self._bending(v, 0.0)
        S, B, B1 = self._functions(u)
        S1 = self._value("C", u) - B
        s, sd = s[..., None], sd[..., None]
        rate = eta**2 * np.einsum("...ni,...ni->...n", u, ud)[..., None]
        carried = self._point(eta, u, sd, S, B)
        carried[..., :2] += (s * eta**2)[..., None] * (
            (B1 * rate)[..., None] * u[..., None, :] + B[..., None] * ud[..., None, :]
        )
        carried[..., 2] += s * eta * S1 * rate
        turn, turning = self._turn(u), self._turn(ud)
        angles = yaw_pitch_roll(rotation_of_vector(turn))
        return self._row(carried, angle_rates(angles, spatial_rate(turn, turning)))

    @property
    def _lengths(self) -> np.ndarray:
        return np.array([section.length for section in self.sections])[:, None]

    def _bending(self, q: np.ndarray, still: float) -> tuple[np.ndarray, np.ndarray]:
        """u (..., n, 2) and s (..., n), or their rates (still = 0)."""
        l = q.reshape(*q.shape[:-1], len(self.sections), 3)
        r = np.array([section.radius for section in self.sections])
        ux = (l[..., 1] + l[..., 2] - 2.0 * l[..., 0]) / (3.0 * r)
        uy = (l[..., 2] - l[..., 1]) / (np.sqrt(3.0) * r)
        return np.stack((ux, uy), axis=-1), still * self._lengths[:, 0] + l.mean(axis=-1)

    def _value(self, name: str, u: np.ndarray) -> np.ndarray:
        """A function of the slices (..., n, k); the polynomials serve for showing up to a full turn."""
        y = self.stations**2 * np.einsum("...ni,...ni->...n", u, u)[..., None]
        return np.polynomial.polynomial.polyval(y, POLYNOMIALS[name])

    def _functions(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y = self.stations**2 * np.einsum("...ni,...ni->...n", u, u)[..., None]
        return 1.0 - y * self._value("C", u), self._value("B", u), self._value("B1", u)

    @staticmethod
    def _point(eta: np.ndarray, u: np.ndarray, s: np.ndarray, S: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Centres of slices (..., n, k, 3)."""
        across = (s * eta**2 * B)[..., None] * u[..., None, :]
        return np.concatenate((across, (s * eta * S)[..., None]), axis=-1)

    def _turn(self, u: np.ndarray) -> np.ndarray:
        """Rotation vectors (..., n, k, 3)."""
        w = np.stack((-u[..., 1], u[..., 0], 0.0 * u[..., 0]), axis=-1)
        return self.stations[:, None] * w[..., None, :]

    @staticmethod
    def _row(p: np.ndarray, angles: np.ndarray) -> np.ndarray:
        both = np.concatenate((p, angles), axis=-1)
        return both.reshape(*both.shape[:-3], -1)


def cut_sections(root: etree._Element, robot: Any, segments: int | None) -> SoftSegments:
    """Write the frames of the sections into the tree of elements; returns their joints."""
    if segments is not None and not (isinstance(segments, int) and 1 <= segments <= 1000):
        raise DimensionError(f"segments is {segments!r}, expected an integer from 1 to 1000")
    count = segments or SEGMENTS
    stations = np.append((np.arange(count) + 0.5) / count, 1.0)
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    sections = robot.description.sections
    names: list[str] = []
    for section in sections:
        names += _cut(root, robot.description.joint(section.joint), joints[section.joint], section, stations)
    return SoftSegments(tuple(names), sections, stations)


def _cut(
    root: etree._Element, said: Any, joint: etree._Element, section: Section, stations: np.ndarray
) -> list[str]:
    """Frames of one section, whose fixed joint then hangs on its tip."""
    name, L = section.joint, section.length
    down = Placement(np.eye(3), np.array([0.0, 0.0, -L]))
    base = f"{name}/base"
    add_fixed(root, f"{name}/base_joint", said.parent, base, Placement.of(said.xyz, said.rpy) @ down)
    count = len(stations) - 1
    names: list[str] = []
    for k, eta in enumerate(stations, 1):
        frame = f"{name}/segment_{k}" if k <= count else f"{name}/tip"
        at = Placement(np.eye(3), np.array([0.0, 0.0, float(eta) * L]))
        names += add_moving(root, frame, base, at)
        if k <= count:
            size = {"radius": repr(section.disc_radius), "length": repr(OVERLAP * L / count)}
            add_visual(root, frame, "cylinder", Placement(np.eye(3), np.zeros(3)), **size)
    parent = joint.find("parent")
    assert parent is not None
    parent.set("link", f"{name}/tip")
    set_origin(joint, Placement(np.eye(3), np.zeros(3)))
    return names
