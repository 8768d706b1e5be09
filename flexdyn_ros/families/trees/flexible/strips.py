"""Strips of a deformed flexible link: the wrench of their inertia and weight, summed outward of sections.

The motion of a point is that of docs/theory/flexible_links.md, "Kinematics of a link". With z = (delta, w),
w_p the products of modal coordinates that foreshorten the link (sigma = sum w_p S_p), it is linear in z:

    h = h_0 + sum z_i b_i,  b_i = u_k or -e S_p,   a = a_0 + [alpha + w w] h + 2 w x h' + h''

with the motion (a_0, w, alpha) of the beam frame. No stiffness enters: a course of moments does not depend on
how well a few modes describe a curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.beams.mode_shapes import gauss_legendre
from flexdyn_ros.families.trees.flexible.beams.modes import NARROW, merged_breaks, quadrature_points
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.beams.imported_modes import ImportedLink

#: what sits so little inward of a section, as a fraction of the length, counts as outward
_AT = 1e-9


class Wrenches(NamedTuple):
    """What acts at stations (p,) of a link: moment about the beam's root and force (3, n, p), beam axes."""

    station: np.ndarray
    moment: np.ndarray
    force: np.ndarray


class RootMotion(NamedTuple):
    """Rows of the motion of a beam frame, in its axes: w, alpha, acceleration less gravity, (n, 3) each."""

    w: np.ndarray
    alpha: np.ndarray
    acceleration: np.ndarray


class _Points(NamedTuple):
    """Points g of a link, beam axes: station, mass (g,), centre (g, 3); second moments m_j (g, 3) of unit
    directors (g, 3, 3), one a row; polar (g,): inertia against the rate of twist alone (rotary inertia
    `paper`); u, th (m, g, 3), S (g, m, m) as of `fields_along`."""

    station: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    second: np.ndarray
    directors: np.ndarray
    polar: np.ndarray
    u: np.ndarray
    th: np.ndarray
    S: np.ndarray


class LinkStrips:
    """Masses along a flexible link that move with its modes, and its sections at stations s (k,).

    Points are those of Gauss-Legendre rules between all sections and breaks of a beam, or the nodes of
    imported modes (those before the root count at station 0). About each, the cross section or node has
    second moments int r r^T dm = sum_j m_j r_j r_j^T; these *directors* r_j move by r + theta x r, which is
    linear as well: b_i = theta_i x r_j. Vectors of many rows have their axes first, (3, n, ...).
    """

    def __init__(self, link: FlexibleLinkModel, s: np.ndarray) -> None:
        beam = link.beam
        points = _of_beam(link, beam, s) if isinstance(beam, BeamLink) else _of_nodes(beam)
        used = np.abs(points.S).max(axis=0, initial=0.0) > 0.0
        self._pairs = np.argwhere(np.triu(used) & link.foreshortened).T
        g, j = np.nonzero(points.second)
        turned = np.cross(points.th[:, g], points.directors[g, j])
        none = np.zeros((self._pairs.shape[1], len(g), 3))
        fields = self._with_pairs(points.u, points.S), np.concatenate([turned, none])
        #: places and fields of the points and, behind them, of the directors
        place = np.concatenate([points.centre, points.directors[g, j]])
        self._motion = _Fields(place, np.concatenate(fields, axis=1))
        self._mass, self._count = np.concatenate([points.mass, points.second[g, j]]), len(points.mass)
        self._station = np.concatenate([points.station, points.station[g]])
        self._twist = points.polar * points.th[..., 0] if points.polar.any() else None
        self._at = s
        centre = np.array([beam.centre(x) for x in s.tolist()]).reshape(-1, 3)
        u, th, _, S = beam.fields_along(link.modes, s)
        self._centre, self._turn = _Fields(centre, self._with_pairs(u, S)), _Fields(0.0 * centre, th)

    def _with_pairs(self, u: np.ndarray, S: np.ndarray) -> np.ndarray:
        """b_i (m + P, k, 3) of displacements u (m, k, 3) and S (k, m, m)."""
        k, l = self._pairs
        shortening = np.zeros((len(k), u.shape[1], 3))
        shortening[..., 0] = -S[:, k, l].T
        return np.concatenate([u, shortening])

    def _amplitudes(self, d: np.ndarray, dd: np.ndarray, ddd: np.ndarray) -> tuple[np.ndarray, ...]:
        """z, z', z'' (n, m + P) of modal coordinates and their derivatives (n, m)."""
        k, l = self._pairs
        half = np.where(k == l, 0.5, 1.0)
        w = d[:, k] * d[:, l]
        dw = dd[:, k] * d[:, l] + d[:, k] * dd[:, l]
        ddw = ddd[:, k] * d[:, l] + 2.0 * dd[:, k] * dd[:, l] + d[:, k] * ddd[:, l]
        return np.hstack([d, half * w]), np.hstack([dd, half * dw]), np.hstack([ddd, half * ddw])

    def inertia(self, root: RootMotion, modal: Sequence[np.ndarray]) -> Wrenches:
        """Inertia and weight of the strips; modal: coordinates, rates and accelerations (n, m)."""
        z, dz, ddz = self._amplitudes(*modal)
        h, dh, a = self._motion.at(z), self._motion.combined(dz), self._motion.combined(ddz)
        w, alpha, acceleration = (x.T[:, :, None] for x in root)
        # a = h'' + 2 w x h' + alpha x h + w x (w x h), and what the root has
        a += cross(w, 2.0 * dh + cross(w, h))
        a += cross(alpha, h)
        a[:, :, : self._count] += acceleration
        force = -self._mass * a
        moment = cross(h, force)
        if self._twist is not None:
            moment[0, :, : self._count] -= modal[2] @ self._twist
        # the forces on the two ends of a director are opposite
        force[:, :, self._count :] = 0.0
        return Wrenches(self._station, moment, force)

    def at_sections(self, d: np.ndarray, acting: Sequence[Wrenches]) -> tuple[np.ndarray, np.ndarray]:
        """Force, and moment about the deformed centre, (3, n, k), section axes, of all that acts outward of
        each section."""
        outward = [(w.station[:, None] >= self._at - _AT).astype(float) for w in acting]
        force = sum(w.force @ x for x, w in zip(outward, acting, strict=True))
        moment = sum(w.moment @ x for x, w in zip(outward, acting, strict=True))
        centre, th = self._centre.at(self._amplitudes(d, d, d)[0]), self._turn.combined(d)
        return _into_section(th, force), _into_section(th, moment - cross(centre, force))


class _Fields:
    """Vectors linear in amplitudes: place (g, 3) + sum_i z_i b_i, b (i, g, 3). Of each axis, the fields that
    vanish are left out: bending in a plane, say, moves points along one axis only."""

    def __init__(self, place: np.ndarray, b: np.ndarray) -> None:
        self._place = place.T[:, None]
        used = [np.flatnonzero(b[:, :, axis].any(axis=1)) for axis in range(3)]
        self._axes = [(i, np.ascontiguousarray(b[i, :, axis])) for axis, i in enumerate(used)]

    def combined(self, z: np.ndarray) -> np.ndarray:
        """sum_i z_i b_i (3, n, g) of amplitudes (n, i)."""
        return np.stack([z[:, i] @ field for i, field in self._axes])

    def at(self, z: np.ndarray) -> np.ndarray:
        """The same with the places."""
        return self._place + self.combined(z)


def _of_beam(link: FlexibleLinkModel, beam: BeamLink, s: np.ndarray) -> _Points:
    whole, line, more = beam.beam, beam.line, link.density - 1.0
    edges = merged_breaks(link.modes, (0.0, 1.0, *beam.breaks, *s.tolist()))
    rules = [_rule(a, b, quadrature_points(link.modes)) for a, b in pairwise(edges)]
    s, w = np.concatenate(rules, axis=1)
    w = w * whole.length
    u, th, _, S = beam.fields_along(link.modes, s)
    second, polar = np.zeros((len(s), 3)), np.zeros(len(s))
    if link.rotary == "consistent":
        second[:, 1] = w * (whole.Jzz(s) + more * line.Jzz(s))
        second[:, 2] = w * (whole.Jyy(s) + more * line.Jyy(s))
    elif link.rotary == "paper":
        polar = w * (whole.Jx(s) + more * line.Jx(s))
    return _Points(
        station=s,
        mass=w * (whole.mu(s) + more * line.mu(s)),
        centre=np.outer(whole.length * s, [1.0, 0.0, 0.0]),
        second=second,
        directors=np.broadcast_to(np.eye(3), (len(s), 3, 3)),
        polar=polar,
        u=u,
        th=th,
        S=S,
    )


def _of_nodes(beam: ImportedLink) -> _Points:
    second, axes = np.linalg.eigh(beam.node_P[:, 1:, 1:])
    return _Points(
        station=np.clip(beam.nodes[:, 0] / beam.beam.length, 0.0, 1.0),
        mass=beam.node_P[:, 0, 0],
        centre=beam.nodes,
        second=second,
        directors=np.swapaxes(axes, 1, 2),
        polar=np.zeros(len(second)),
        u=beam.displacement,
        th=beam.rotation,
        S=beam.shortening,
    )


def _rule(a: float, b: float, points: int) -> np.ndarray:
    """Gauss-Legendre rule (2, n) on a part of a beam whose modes take so many points in all."""
    s, w = gauss_legendre(4 if b - a < NARROW else 4 + int(np.ceil(points * (b - a))))
    return np.stack([a + (b - a) * s, (b - a) * w])


def _into_section(th: np.ndarray, x: np.ndarray) -> np.ndarray:
    """exp(-[th]x) x of vectors (3, ...)."""
    f = np.sqrt((th * th).sum(axis=0)) / np.pi
    once = cross(th, x)
    return x - np.sinc(f) * once + 0.5 * np.sinc(0.5 * f) ** 2 * cross(th, once)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b of vectors (3, ...)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
