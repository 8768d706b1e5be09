"""The platform as kernels see it: a tree of one free body on six legs, and named places in one packed array
beside that, behind one address.

Leg axes are those of multibody/elements/kernels/standing_legs.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.multibody.elements.kernels.standing_legs import STANDING_LEG
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window

LEGS = 6
#: words of the header behind those of a tree and its elements
PLATFORM = 40
PLATFORM_HEADER = PLATFORM + 2
UNIVERSAL, NUMBERS = range(PLATFORM, PLATFORM_HEADER)

# places in the array of numbers
GRAVITY = 0  # (3) acceleration of free fall, world axes [m/s2]
MASS = 3  # platform with payload [kg]
MOMENT = 4  # (3) its first moment, platform axes [kg m]
INERTIA = 7  # (6) its inertia about the platform's origin xx xy xz yy yz zz, platform axes [kg m2]
REACH = 13  # root-mean-square distance of the upper joints from the platform's origin [m]
FIRST_LEG = 14
# places in the numbers of one leg, behind those of its motion (multibody/elements/kernels/standing_legs.py)
ANGLE_Y = STANDING_LEG  # (3) direction of the second axis at angle zero of the first, world
ANGLE_Z = STANDING_LEG + 3  # (3) u x ANGLE_Y
SIGN = STANDING_LEG + 6  # +1 or -1: the second axis of the joint is that times y
ANGLE_OFFSET = STANDING_LEG + 7  # second angle at which the leg is perpendicular to u [rad]
ROD_INERTIA = STANDING_LEG + 8  # (6) rod about the platform joint, leg axes [kg m2]
GUIDE = STANDING_LEG + 14  # distance of the guide from the base joint [m]
LEG_NUMBERS = STANDING_LEG + 15
PLATFORM_NUMBERS = FIRST_LEG + LEGS * LEG_NUMBERS

#: numbers of work memory: Jacobian by rows (36), system (42), vectors (24)
WORK_NUMBERS = 36 + 42 + 24


class PlatformModel(NamedTuple):
    """A platform on six legs; constant, shared by threads.

    universal : 1 if the legs spin as their universal joints make them, 0 if spin is neglected
    f : (PLATFORM_NUMBERS,) numbers at the places named in this module
    """

    universal: int
    f: np.ndarray


class PlatformData(NamedTuple):
    """Work arrays of one thread.

    J : (36,) leg Jacobian by rows: lengths' = J v, angular columns first
    A : (42,) a 6 x 7 system by rows
    x : (24,) vectors
    """

    J: np.ndarray
    A: np.ndarray
    x: np.ndarray


@kernel(forceinline=True)
def open_platform(address):
    """PlatformModel seen through the header at `address`."""
    head = ints_at(address, PLATFORM_HEADER)
    return PlatformModel(head[UNIVERSAL], floats_at(head[NUMBERS], PLATFORM_NUMBERS))


@kernel(forceinline=True)
def carve_platform(w):
    """PlatformData whose arrays are consecutive pieces of w (WORK_NUMBERS,)."""
    return PlatformData(window(w, 0, 36), window(w, 36, 42), window(w, 78, 24))
