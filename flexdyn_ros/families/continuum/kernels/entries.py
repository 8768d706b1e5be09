"""What Python may call for a soft arm: `verbs`, one entry per verb (numerics/verbs).

All take the address of the header (views.py). Places on the arm are given by a section and four numbers, a
point in the axes of a slice and the slice's station.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling import status
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.verbs.functions_of import functions_of

from . import views
from .kinematics import add_load, arm_energies, arm_momenta, frame_of_slice, jacobian_of_slice, place_sections
from .recursions import (
    add_resistance,
    forward_recursion,
    inverse_recursion,
    load_states,
    mass_recursion,
    spread_nan,
)
from .section import actuator_forces, damper_force, spring_force, stop_force
from .views import all_finite, open_arm, section_numbers, section_rows, spare_vector


@kernel
def sizes(address):
    """nq, nv."""
    n = 3 * open_arm(address).n
    return n, n


@kernel
def ready(address, work):
    """Nothing to make ready: work memory keeps nothing between calls."""


@kernel
def state_of_q(address, q):
    """OK or NOT_FINITE."""
    return status.OK if all_finite(q, q.shape[0]) else status.NOT_FINITE


@inlined
def inverse(address, work, q, v, a, tau):
    """tau = M a + h."""
    arm = open_arm(address)
    inverse_recursion(arm, work, q, v, a, 1.0, tau)
    add_resistance(arm, work, q, v, tau)


@inlined
def forward(address, work, q, v, tau, a):
    """a = M^-1 (tau - h); NaN where M is singular."""
    arm = open_arm(address)
    extra = spare_vector(arm, work, 0)
    for i in range(3 * arm.n):
        extra[i] = 0.0
    forward_recursion(arm, work, q, v, tau, extra, 0.0, a)
    spread_nan(a)
    return status.OK


@inlined
def mass(address, work, q, M):
    """M(q)."""
    mass_recursion(open_arm(address), work, q, M)


@inlined
def load(address, work, q, sections, points, wrenches, force):
    """force += sum J^T w."""
    arm = open_arm(address)
    load_states(arm, work, q, q)
    place_sections(arm, work)
    for k in range(sections.shape[0]):
        add_load(arm, work, sections[k], points[k, 3], points[k], wrenches[k], force)


@kernel
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


@inlined
def terms(address, work, q, v, terms):
    """Parts (5, nv) of h: velocity, gravity, elastic, damping, external."""
    arm = open_arm(address)
    rest = spare_vector(arm, work, 0)
    for i in range(3 * arm.n):
        rest[i] = 0.0
    for k in range(2):
        inverse_recursion(arm, work, q, v if k == 0 else rest, rest, float(k), terms[k])
    separate_resistance(arm, work, q, v, terms)


@inlined
def frames(address, work, q, sections, placements, poses):
    """Poses (k, 4, 4) of frames with placements (k, 13) on slices: rotation, origin, station."""
    arm = open_arm(address)
    load_states(arm, work, q, q)
    place_sections(arm, work)
    for f in range(sections.shape[0]):
        frame_of_slice(arm, work, sections[f], placements[f, 12], placements[f], poses[f])


@inlined
def jacobian(address, work, q, section, point, J):
    """J (6, nv) of a point (4,) of a section, world axes."""
    arm = open_arm(address)
    load_states(arm, work, q, q)
    place_sections(arm, work)
    jacobian_of_slice(arm, work, section, point[3], point, J)


@inlined
def energies(address, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    arm_energies(open_arm(address), work, q, v, out)


@inlined
def momenta(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (10,)."""
    arm_momenta(open_arm(address), work, q, v, out)


@kernel
def displace(address, q, r, out):
    """out = q + r."""
    for i in range(out.shape[0]):
        out[i] = q[i] + r[i]


functions = functions_of(
    __name__,
    sizes=sizes,
    prepare=ready,
    status_of_q=state_of_q,
    inverse=inverse,
    forward=forward,
    mass=mass,
    terms=terms,
    energies=energies,
    momenta=momenta,
    frames=frames,
    jacobian=jacobian,
    load=load,
    displace=displace,
    point=4,
)
