"""Poses and Jacobians of frames by the recursive Lagrangian path, as Python calls them."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import any_types

from .equations import lagrange_frame, lagrange_jacobian


@any_types
def frames_of_lagrange(ints, floats, qs, v, w, frames, offsets, poses):
    """Poses (N, k, 4, 4, unit-first) of k frames (k, 2) = (body, station) with offsets (k, 4, 4) in them, for
    rows of q; v (nv,) is zero."""
    for s in range(qs.shape[0]):
        for f in range(frames.shape[0]):
            lagrange_frame(ints, floats, qs[s], v, w, frames[f], offsets[f], poses[s, f])


@any_types
def jacobians_of_lagrange(ints, floats, qs, v, w, frame, offset, J):
    """Jacobians (N, 6, nv) of a frame, for rows of q; v (nv,) is zero."""
    for s in range(qs.shape[0]):
        lagrange_jacobian(ints, floats, qs[s], v, w, frame, offset, J[s])
