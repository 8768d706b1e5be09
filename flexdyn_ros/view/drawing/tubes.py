"""What bends, as a tube along its section frames: a smooth surface, and short pieces that have a colour
each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.expanded.appearance import Appearance

#: pieces of a tube; sections at both ends of each
PIECES = 60
#: neighbouring pieces reach into each other by this share of their length where nothing bends
OVERLAP = 0.004
#: an outline of fewer points has edges that stay sharp
CORNERS = 8


class Tube(NamedTuple):
    """A bending link or soft section: its name, the names of its section frames, its outline (n, 2) [m]
    across the axis `along` of these frames."""

    name: str
    frames: tuple[str, ...]
    outline: np.ndarray
    along: int

    @property
    def radius(self) -> float:
        """Largest extent across [m]."""
        return float(np.max(np.abs(self.outline)))

    def surface(self, T: np.ndarray) -> np.ndarray:
        """Vertices (m, 3) of the surface through section frames T (k, 4, 4); `surface_faces` joins them."""
        around = self._around()
        rings = T[:, None, :3, 3] + np.einsum("kij,nj->kni", T[:, :3, :3], around)
        ends = np.concatenate((rings[0], T[0, :3, 3][None], rings[-1], T[-1, :3, 3][None]))
        return np.concatenate((rings.reshape(-1, 3), ends))

    def surface_faces(self, sections: int = PIECES + 1) -> np.ndarray:
        """Triangles (f, 3), looking outwards, of the surface through so many section frames."""
        n = len(self._around())
        sharp = len(self.outline) < CORNERS
        i = np.arange(0, n, 2) if sharp else np.arange(n)
        i, j = (np.arange(sections - 1)[:, None] * n + x for x in (i, (i + 1) % n))
        sides = np.stack((i, j, n + j, i, n + j, n + i), -1).reshape(-1, 3)
        a = np.arange(n)
        b = (a + 1) % n
        first, last = n * sections, n * sections + n + 1
        caps = [np.stack((first + b, first + a, np.full(n, first + n)), -1)]
        caps.append(np.stack((last + a, last + b, np.full(n, last + n)), -1))
        return np.concatenate((sides, *caps))

    def _around(self) -> np.ndarray:
        """Points (n, 3) of the outline in a section frame; each corner twice where edges are sharp."""
        ring = self.outline
        if len(ring) < CORNERS:
            ring = np.stack((ring, np.roll(ring, -1, axis=0)), axis=1).reshape(-1, 2)
        points = np.zeros((len(ring), 3))
        points[:, _across(self.along)] = ring
        return points

    def scales(self, state: TubeState) -> np.ndarray:
        """Lengths (k, 3) of pieces whose own is one; longer where the tube bends, by what opens between their
        edges."""
        a, b = state.rotation[:-1, :, self.along], state.rotation[1:, :, self.along]
        turn = np.linalg.norm(b - a, axis=-1)
        gap = np.maximum(np.append(turn, 0.0), np.append(0.0, turn))
        scales = np.ones((len(state.length), 3), dtype=np.float32)
        scales[:, self.along] = state.length * (1.0 + OVERLAP) + 1.1 * self.radius * gap
        return scales


class TubeState(NamedTuple):
    """Where the pieces of a tube are: section frames (k + 1, 4, 4), positions (k, 3), rotations (k, 3, 3),
    lengths (k,) [m], and what they are coloured by (k,)."""

    frames: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    length: np.ndarray
    value: np.ndarray


def tube_of(appearance: Appearance, name: str, frames: Sequence[str], T: np.ndarray) -> Tube:
    """The tube of a bending link or soft section with section frames T (k, 4, 4) at rest."""
    along = T[0, :3, :3].T @ (T[1, :3, 3] - T[0, :3, 3])
    length = float(np.sum(np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1)))
    return Tube(name, tuple(frames), appearance.outline(name, length), int(np.argmax(np.abs(along))))


def state_of(T: np.ndarray, value: np.ndarray) -> TubeState:
    """Pieces between the section frames T (k + 1, 4, 4)."""
    p = T[:, :3, 3]
    length = np.linalg.norm(np.diff(p, axis=0), axis=1)
    u, _, vt = np.linalg.svd(T[:-1, :3, :3] + T[1:, :3, :3])
    return TubeState(T, 0.5 * (p[:-1] + p[1:]), u @ vt, length, value)


def prism(tube: Tube) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a closed piece of unit length about the origin, looking
    outwards."""
    T = np.tile(np.eye(4), (2, 1, 1))
    T[:, tube.along, 3] = -0.5, 0.5
    return tube.surface(T), tube.surface_faces(2)


def _across(axis: int) -> list[int]:
    """The two axes across another, in cyclic order: faces then look outwards."""
    return [(axis + 1) % 3, (axis + 2) % 3]
