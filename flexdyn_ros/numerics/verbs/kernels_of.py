"""The kernels that a family gives, by which every entry is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["FamilyKernels", "InterpretedKernels", "ObservedKernels"]


class FamilyKernels(NamedTuple):
    """A family's kernels for one sample. `address` is that of its model, `work` its work memory in the number
    type of the other arrays (numerics/numbers); q (nq,), v, a, tau (nv,).

    sizes : (address) -> (nq, nv)
    prepare : (address, work)
        Make fresh work memory ready for the others.
    status_of_q : (address, q) -> int
        OK, NOT_FINITE or BAD_QUATERNION (numerics/compiling/status.py).
    inverse : (address, work, q, v, a, tau)
        tau = M a + h.
    forward : (address, work, q, v, tau, a) -> int
        a = M^-1 (tau - h), tau kept; OK or a status of the family.
    mass : (address, work, q, M)
    terms : (address, work, q, v, terms)
        Parts (5, nv) of h: velocity, gravity, elastic, damping, external.
    energies : (address, work, q, v, out)
        Kinetic, gravity and elastic energy (3,).
    momenta : (address, work, q, v, out)
        Angular and linear momentum, first moment of mass, mass (10,).
    frames : (address, work, q, bodies, placements, poses)
        Poses (k, 4, 4) of frames given by body (k,) and placement in it (k, 13): rotation, origin, station.
    jacobian : (address, work, q, body, point, J)
        J (6, nv), world axes, of a point (4,) of a body: place and station.
    load : (address, work, q, bodies, points, wrenches, force)
        force += sum J^T w of wrenches (k, 6), world axes, at points (k, 4).
    displace : (address, q, r, out)
        out = q (+) r.
    point : int
        Numbers of the place of a point in its body, as `load` and `jacobian` take it.
    rate : (address, work, q, v, body, point, out)
        dJ/dt v (6,) of the point of `jacobian`; left out, that is found by `jacobian` on tangents.

    What a family has from elsewhere is None: its entry is not made.
    """

    sizes: Callable
    prepare: Callable
    status_of_q: Callable
    inverse: Callable
    forward: Callable
    mass: Callable
    terms: Callable
    energies: Callable
    momenta: Callable | None
    frames: Callable | None
    jacobian: Callable | None
    load: Callable
    displace: Callable
    point: int = 3
    rate: Callable | None = None


class ObservedKernels(NamedTuple):
    """The kernels of a family that only look at a state; see `FamilyKernels`, which has them all."""

    sizes: Callable
    prepare: Callable
    status_of_q: Callable
    mass: Callable
    terms: Callable
    energies: Callable
    momenta: Callable | None
    frames: Callable | None
    jacobian: Callable | None
    displace: Callable
    rate: Callable | None = None


class InterpretedKernels(NamedTuple):
    """The kernels of the verbs as an exporter interprets them; see `FamilyKernels`."""

    prepare: Callable
    inverse: Callable
    mass: Callable
    frames: Callable | None
