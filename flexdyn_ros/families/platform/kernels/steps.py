"""Fixed steps of a platform: what its legs measure and exert (numerics/verbs/table.py), and how they move."""

from __future__ import annotations

from flexdyn_ros.families.trees.elements.kernels import standing
from flexdyn_ros.families.trees.elements.kernels.oil import SEEN_SIGNATURE
from flexdyn_ros.families.trees.elements.kernels.views import header_of
from flexdyn_ros.multibody.elements.kernels.standing_legs import dot, leg_line, point_velocity
from flexdyn_ros.numerics.algebra.rotations import matrix_of_quaternion
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .lengths import leg_rows
from .views import FIRST_LEG, LEG_NUMBERS, LEGS, carve_platform, open_platform


@kernel(forceinline=True)
def room(robot, work):
    """The platform, and work memory that no function of the tree uses."""
    address = robot_of(robot)
    header = header_of(address)
    spare = standing.spare_of(header, standing.steps_own(header, work))
    return open_platform(address), carve_platform(spare)


@callback(table.measure.signature)
def observe(robot, work, q, v, position, speed):
    """See numerics/verbs/table.py; lengths of the legs and their rates."""
    model, data = room(robot, work)
    see_legs(model, data.J, floats_at(q, 7), floats_at(v, 6), floats_at(position, 6), floats_at(speed, 6))
    return 0


@kernel
def see_legs(model, J, q, v, length, rate):
    """Lengths and rates (6,) of the legs; writes J."""
    leg_rows(model, q, J, length)
    for i in range(LEGS):
        s = 0.0
        for j in range(6):
            s += J[6 * i + j] * v[j]
        rate[i] = s


@callback(table.exert.signature)
def exert(robot, work, q, effort, force):
    """See numerics/verbs/table.py; force += J^T tau."""
    model, data = room(robot, work)
    effort, force = floats_at(effort, LEGS), floats_at(force, 6)
    leg_rows(model, floats_at(q, 7), data.J, data.x)
    for i in range(6):
        for k in range(LEGS):
            force[i] += data.J[6 * k + i] * effort[k]
    return 0


@callback(SEEN_SIGNATURE)
def see_cylinders(robot, work, q, v, a, lengths, rates, accelerations):
    """Lengths of the legs, and both derivatives of these, (6,) each."""
    model, data = room(robot, work)
    length, rate, acceleration = (
        floats_at(lengths, LEGS),
        floats_at(rates, LEGS),
        floats_at(accelerations, LEGS),
    )
    q, v, a = floats_at(q, 7), floats_at(v, 6), floats_at(a, 6)
    see_legs(model, data.J, q, v, length, rate)
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    ww = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    for i in range(LEGS):
        r, s, ell, _ = leg_line(model.f, FIRST_LEG + LEG_NUMBERS * i, R, q[0], q[1], q[2])
        ux, uy, uz = point_velocity((v[0], v[1], v[2]), (v[3], v[4], v[5]), r)
        wr, ws, rs = dot(v, r), dot(v, s), dot(r, s)
        # s . (w x (w x r)) + (|v_B|^2 - ell'^2) / ell, and J a
        x = wr * ws - ww * rs + (ux * ux + uy * uy + uz * uz - rate[i] * rate[i]) / ell
        for j in range(6):
            x += data.J[6 * i + j] * a[j]
        acceleration[i] = x
    return 0


functions = {"measure": observe, "exert": exert}
