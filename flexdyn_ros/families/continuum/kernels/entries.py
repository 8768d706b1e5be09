"""What Python may call for a soft arm: one entry per verb, for one sample or for many.

All take the address of the header (views.py). The `_one` entries use the arm's own work
memory and keep the GIL, so that no two threads meet there; the `_many` entries get work memory of their own
and release it. They return status + 8 i with the index i of the first sample that is wrong, 0 if none is.
Wrenches act at points (k, 3) of slices: section (k,), eta (k,); wrenches (N, k, 6) in world axes, moment
first.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import entry, inner

from . import views
from .kinematics import add_load, arm_energies, arm_momenta, frame_of_slice, jacobian_of_slice, place_sections
from .recursions import add_resistance, forward_recursion, inverse_recursion, load_states, mass_recursion
from .section import actuator_forces, damper_force, spring_force, stop_force
from .views import all_finite, open_arm, own_work, section_numbers, section_rows, spare_vector

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_V}, {_M}, {_T}"

#: step of the complex-step derivative (Squire & Trapp 1998); its square vanishes beside one
COMPLEX_STEP = 1e-40


@inner
def arm_inverse_dynamics(arm, work, q, v, a, tau):
    """tau = M a + h."""
    inverse_recursion(arm, work, q, v, a, 1.0, tau)
    add_resistance(arm, work, q, v, tau)


@inner
def arm_forward_dynamics(arm, work, q, v, tau, extra, h, a):
    """a of `forward_recursion`; NaN where its matrix is singular."""
    if not forward_recursion(arm, work, q, v, tau, extra, h, a):
        for i in range(3 * arm.n):
            a[i] = np.nan


@inner
def load_on(arm, work, q, sections, etas, points, wrenches, tau):
    """tau += sum J^T w at q."""
    if sections.shape[0] > 0:
        load_states(arm, work, q, q)
        place_sections(arm, work)
        for k in range(sections.shape[0]):
            add_load(arm, work, sections[k], etas[k], points[k], wrenches[k], tau)


@inner
def first_not_finite(n, q, v, third, result):
    """Status of the first sample that is not finite."""
    for s in range(q.shape[0]):
        if not (
            all_finite(q[s], n)
            and all_finite(v[s], n)
            and all_finite(third[s], n)
            and all_finite(result[s], n)
        ):
            return views.NOT_FINITE + 8 * s
    return views.OK


# ---- one sample, the fast way ----


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau = M a + h."""
    arm = open_arm(address)
    n = 3 * arm.n
    if q.shape[0] != n or v.shape[0] != n or a.shape[0] != n or tau.shape[0] != n:
        return views.BAD_SHAPE
    arm_inverse_dynamics(arm, own_work(address), q, v, a, tau)
    return views.OK if all_finite(tau, n) else views.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (tau - h)."""
    arm = open_arm(address)
    n = 3 * arm.n
    if q.shape[0] != n or v.shape[0] != n or tau.shape[0] != n or a.shape[0] != n:
        return views.BAD_SHAPE
    work = own_work(address)
    extra = spare_vector(arm, work, 0)
    for i in range(n):
        extra[i] = 0.0
    arm_forward_dynamics(arm, work, q, v, tau, extra, 0.0, a)
    return views.OK if all_finite(a, n) else views.NOT_FINITE


@entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    arm = open_arm(address)
    n = 3 * arm.n
    if q.shape[0] != n or M.shape[0] != n or M.shape[1] != n:
        return views.BAD_SHAPE
    if not all_finite(q, n):
        return views.NOT_FINITE
    mass_recursion(arm, own_work(address), q, M)
    return views.OK


# ---- many samples ----


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, sections, etas, points, wrenches, tau):
    """tau = M a + h - sum J^T w for rows of q, v, a, wrenches."""
    arm = open_arm(address)
    n = 3 * arm.n
    load = spare_vector(arm, work, 1)
    for s in range(q.shape[0]):
        arm_inverse_dynamics(arm, work, q[s], v[s], a[s], tau[s])
        for i in range(n):
            load[i] = 0.0
        load_on(arm, work, q[s], sections, etas, points, wrenches[s], load)
        for i in range(n):
            tau[s, i] -= load[i]
    return first_not_finite(n, q, v, a, tau)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, sections, etas, points, wrenches, a):
    """a = M^-1 (tau - h + sum J^T w) for rows of q, v, tau, wrenches."""
    arm = open_arm(address)
    n = 3 * arm.n
    extra, force = spare_vector(arm, work, 0), spare_vector(arm, work, 1)
    for i in range(n):
        extra[i] = 0.0
    for s in range(q.shape[0]):
        for i in range(n):
            force[i] = tau[s, i]
        load_on(arm, work, q[s], sections, etas, points, wrenches[s], force)
        arm_forward_dynamics(arm, work, q[s], v[s], force, extra, 0.0, a[s])
    return first_not_finite(n, q, v, tau, a)


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M(q) for rows of q."""
    arm = open_arm(address)
    for s in range(q.shape[0]):
        if not all_finite(q[s], 3 * arm.n):
            return views.NOT_FINITE + 8 * s
        mass_recursion(arm, work, q[s], M[s])
    return views.OK


@inner
def separate_resistance(arm, work, q, v, terms):
    """Rows elastic, damping and external (stops) of terms (5, nv)."""
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        k = 0.25 * P[views.BENDING_SPRING]
        bend = actuator_forces(P, (k * W[views.X], k * W[views.X + 1], 0.0))
        for j in range(3):
            at = 3 * i + j
            terms[2, at] = spring_force(P, j, q[at])
            terms[3, at] = damper_force(P, j, v[at])
            terms[4, at] = stop_force(P, j, q[at], v[at])
        terms[2, 3 * i] += bend[0]
        terms[2, 3 * i + 1] += bend[1]
        terms[2, 3 * i + 2] += bend[2]


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def bias_terms_many(address, work, q, v, terms):
    """Parts of h for rows of q, v: terms (N, 5, nv) = velocity, gravity, elastic, damping, external."""
    arm = open_arm(address)
    n = 3 * arm.n
    rest = spare_vector(arm, work, 0)
    for i in range(n):
        rest[i] = 0.0
    for s in range(q.shape[0]):
        if not (all_finite(q[s], n) and all_finite(v[s], n)):
            return views.NOT_FINITE + 8 * s
        inverse_recursion(arm, work, q[s], v[s], rest, 0.0, terms[s, 0])
        inverse_recursion(arm, work, q[s], rest, rest, 1.0, terms[s, 1])
        separate_resistance(arm, work, q[s], v[s], terms[s])
    return views.OK


@entry(f"int64(int64, {_V}, {_M}, int64[::1], {_V}, {_M}, float64[:,:,:,::1])", nogil=True)
def frames_many(address, work, q, sections, etas, placements, poses):
    """Poses (N, k, 4, 4) of frames with placements (k, 12) on slices, for rows of q."""
    arm = open_arm(address)
    for s in range(q.shape[0]):
        if not all_finite(q[s], 3 * arm.n):
            return views.NOT_FINITE + 8 * s
        load_states(arm, work, q[s], q[s])
        place_sections(arm, work)
        for f in range(sections.shape[0]):
            frame_of_slice(arm, work, sections[f], etas[f], placements[f], poses[s, f])
    return views.OK


@entry(f"int64(int64, {_V}, {_M}, int64, float64, {_V}, {_T})", nogil=True)
def jacobian_many(address, work, q, section, eta, point, J):
    """Jacobians (N, 6, nv) of a point of a slice, world axes, for rows of q."""
    arm = open_arm(address)
    for s in range(q.shape[0]):
        if not all_finite(q[s], 3 * arm.n):
            return views.NOT_FINITE + 8 * s
        load_states(arm, work, q[s], q[s])
        place_sections(arm, work)
        jacobian_of_slice(arm, work, section, eta, point, J[s])
    return views.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def energy_many(address, work, q, v, energy):
    """Kinetic, gravity and elastic energy (N, 3) for rows of q, v."""
    arm = open_arm(address)
    n = 3 * arm.n
    for s in range(q.shape[0]):
        if not (all_finite(q[s], n) and all_finite(v[s], n)):
            return views.NOT_FINITE + 8 * s
        arm_energies(arm, work, q[s], v[s], energy[s])
    return views.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def momenta_many(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (N, 10) for rows of q, v."""
    arm = open_arm(address)
    n = 3 * arm.n
    for s in range(q.shape[0]):
        if not (all_finite(q[s], n) and all_finite(v[s], n)):
            return views.NOT_FINITE + 8 * s
        arm_momenta(arm, work, q[s], v[s], out[s])
    return views.OK


# ---- derivatives by the complex step ----


@entry(f"int64(int64, complex128[::1], {_M}, {_M}, {_M}, {_WRENCHES}, {_T}, {_T})", nogil=True)
def inverse_dynamics_derivatives_many(address, work, q, v, a, sections, etas, points, wrenches, dq, dv):
    """Derivatives (N, nv, nv) of tau(q, v, a) with wrenches held, by q and by v, to machine precision."""
    arm = open_arm(address)
    n = 3 * arm.n
    x, xd, xdd, tau = (
        spare_vector(arm, work, 0),
        spare_vector(arm, work, 1),
        spare_vector(arm, work, 2),
        spare_vector(arm, work, 3),
    )
    step = COMPLEX_STEP * 1j
    for s in range(q.shape[0]):
        if not (all_finite(q[s], n) and all_finite(v[s], n) and all_finite(a[s], n)):
            return views.NOT_FINITE + 8 * s
        for i in range(n):
            x[i], xd[i], xdd[i] = q[s, i], v[s, i], a[s, i]
        for i in range(2 * n):
            c = i % n
            if i < n:
                x[c] = q[s, c] + step
            else:
                xd[c] = v[s, c] + step
            arm_inverse_dynamics(arm, work, x, xd, xdd, tau)
            for j in range(n):
                if i < n:
                    dq[s, j, c] = tau[j].imag / COMPLEX_STEP
                else:
                    dv[s, j, c] = tau[j].imag / COMPLEX_STEP
            if i < n:
                for j in range(n):
                    tau[j] = 0.0
                load_on(arm, work, x, sections, etas, points, wrenches[s], tau)
                for j in range(n):
                    dq[s, j, c] -= tau[j].imag / COMPLEX_STEP
            x[c], xd[c] = q[s, c], v[s, c]
    return views.OK
