"""What the extras of a platform return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Legs(NamedTuple):
    """Where six legs are and how they move.

    length (..., 6) [m]; rate (..., 6) [m/s] and acceleration (..., 6) [m/s2], None unless asked for; stroke
    (..., 6) = length - shortest length [m]; direction (..., 6, 3) from the base joint to the platform joint,
    world axes; angles (..., 6, 2) of the two axes of the universal joint, as the URDF counts them [rad].
    """

    length: np.ndarray
    rate: np.ndarray | None
    acceleration: np.ndarray | None
    stroke: np.ndarray
    direction: np.ndarray
    angles: np.ndarray


class Pose(NamedTuple):
    """The pose that belongs to six lengths.

    q (..., 7); v (..., 6), None without rates; converged (...) bool; iterations (...); residual (...), the
    largest error of a length [m]; refusal (...), why a pose is refused, "" where it is not.
    """

    q: np.ndarray
    v: np.ndarray | None
    converged: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
    refusal: np.ndarray


class LegStates(NamedTuple):
    """Motion of six legs, world axes.

    spin (..., 6) about the leg's axis [rad/s]; angular_velocity (..., 6, 3) [rad/s] and angular_acceleration
    (..., 6, 3) [rad/s2] of cylinder and rod; com_acceleration (..., 6, 2, 3) of the centres of mass of the
    cylinder (0) and the rod (1), gravity not counted [m/s2].
    """

    spin: np.ndarray
    angular_velocity: np.ndarray
    angular_acceleration: np.ndarray
    com_acceleration: np.ndarray


class Reactions(NamedTuple):
    """Forces [N] and moments [N m] in the joints of six legs, world axes.

    drive (..., 6): axial force of the cylinder on the rod; f_b (..., 6, 3): leg on the platform, at the
    spherical joint; f_p: cylinder on the rod; f_a: base on the cylinder; n_p: moment of the cylinder on the
    rod about the origin of the slider's joint; moment_a: moment of the base on the cylinder through the
    universal joint; guide_torque (..., 6): part of n_p along the leg.
    """

    drive: np.ndarray
    f_b: np.ndarray
    f_p: np.ndarray
    f_a: np.ndarray
    n_p: np.ndarray
    moment_a: np.ndarray
    guide_torque: np.ndarray


class Margins(NamedTuple):
    """How far a pose is from what limits it; each margin is the smallest of its kind, negative beyond the
    limit.

    stroke (...) to the nearer end [m]; angle (...) of the universal joints to their limits, and to |u.s| =
    0.95 [rad]; ball (...): ball_limit less the angle between a leg and its direction at home, seen from the
    platform [rad], infinite without limits; interference (...): smallest distance between legs less their
    half diameters [m]; singular_values (..., 6), falling, and determinant (...) of the leg Jacobian with its
    angular columns divided by the platform's size [-]; mask (...) of the bits of `MASK_BITS`.
    """

    stroke: np.ndarray
    angle: np.ndarray
    ball: np.ndarray
    interference: np.ndarray
    singular_values: np.ndarray
    determinant: np.ndarray
    mask: np.ndarray
