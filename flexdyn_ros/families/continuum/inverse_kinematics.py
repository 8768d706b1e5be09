"""Inverse kinematics of soft arms: a section by its closed form, several or whole poses by damped least
squares.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.families.continuum.shape import Solution

MOST_ITERATIONS = 200
#: deviation that counts as reached [m, rad]
TOLERANCE = 1e-12
ACCEPTED = 1e-9


def reach_point(section: Section, p: np.ndarray) -> np.ndarray:
    """q (..., 3) of one section whose tip is at p (..., 3) in its base axes.

    The tip lies on a circular arc from the origin along z, which sees it under half the bending angle.
    """
    across = np.hypot(p[..., 0], p[..., 1])
    half = np.arctan2(across, p[..., 2])
    sine = np.sinc(half / np.pi)
    s = np.sqrt(across**2 + p[..., 2] ** 2) / sine
    factor = np.divide(2.0 * half, across, out=np.zeros_like(across), where=across > 0.0)
    ux, uy = factor * p[..., 0], factor * p[..., 1]
    r, mean = section.radius, s - section.length
    side = 0.5 * np.sqrt(3.0) * r * uy
    return np.stack([mean - r * ux, mean + 0.5 * r * ux - side, mean + 0.5 * r * ux + side], axis=-1)


def reach_by_steps(
    pose: Callable[[np.ndarray], np.ndarray],
    jacobian: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
    q: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
) -> Solution:
    """Levenberg-Marquardt steps from q (nq,) to a point (3,) or pose (4, 4) of the tip, within limits (nq,).

    Actuators that a step would take beyond an end of their stroke stay there, and the others make the step.

    pose(q) is (4, 4), jacobian(q) (6, nq), both in world axes. Positions count in metres, turns in radians
    times the size of a step of the arm, so that neither outweighs the other by units.
    """
    whole = target.ndim == 2
    at = np.clip(q, *limits)
    reached = _deviation(pose(at), target, whole)
    damping, done = 1e-3, 0
    while done < MOST_ITERATIONS and np.abs(reached).max() > TOLERANCE:
        done += 1
        J = jacobian(at)
        J = J if whole else J[3:]
        moved = _step_within(J, reached, at, damping, limits)
        trial = _deviation(pose(moved), target, whole)
        if trial @ trial < reached @ reached:
            at, reached, damping = moved, trial, max(damping * 0.1, 1e-16)
        else:
            damping *= 10.0
            if damping > 1e8:
                break
    residual = float(np.abs(reached).max())
    return Solution(at, np.array(residual < ACCEPTED), np.array(done), np.array(residual))


def _step_within(
    J: np.ndarray, reached: np.ndarray, at: np.ndarray, damping: float, limits: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """q after a damped step; those that would leave the limits stop there, the others make up for it."""
    free, moved = np.ones(len(at), dtype=bool), at.copy()
    while free.any():
        G = J[:, free]
        missing = reached - J[:, ~free] @ (moved - at)[~free]
        size = max(float(np.linalg.norm(G, ord=2)), 1e-300)
        step = np.linalg.solve(G.T @ G + damping * size**2 * np.eye(int(free.sum())), G.T @ missing)
        wanted = moved.copy()
        wanted[free] = at[free] + step
        moved = np.clip(wanted, *limits)
        beyond = free & (wanted != moved)
        if not beyond.any():
            break
        free &= ~beyond
    return moved


def _deviation(pose: np.ndarray, target: np.ndarray, whole: bool) -> np.ndarray:
    """What is missing to the target: (rotation vector; position) in world axes, or the position alone."""
    if not whole:
        return target - pose[:3, 3]
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(target[:3, :3] @ pose[:3, :3].T).as_rotvec()
    return np.concatenate([turn, target[:3, 3] - pose[:3, 3]])
