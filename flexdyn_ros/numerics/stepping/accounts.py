"""What errors have made of the energy in a run with error control, and what that leaves to the next steps.

Work done and dissipated energy account for every change of the energies; what they do not account for is the
errors' doing. Where it grows, the tolerances become stricter, until a run has spent what it may.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import move
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .defect import total_energy
from .memory import DISSIPATED, WORK_DONE, open_chart, open_steps
from .places import ACCEPTED, BEGUN, MADE, OF_ENERGIES, REJECTED, RTOL, SPENT

#: share of what a step adds to an account below which its error is rounding
ROUNDED = 1e-13
#: share of the energy that errors may make in a run, and the least share of the tolerances that is left once
#: they have made it
MOST_MADE, STRICTEST = 0.7, 0.01
#: how often errors may make more, after the first steps, until a run goes on without regard to them: arms
#: that whip, and arms that creep against strong dampers, would pay for each step and win nothing
MOST_SPENT, SETTLED = 3.0, 10.0
#: steps between two looks at the energies; where stability bounds them, which are short for the motion
OFTEN, SELDOM = 2.0, 8.0
#: share that a step may take of the energy that a run may still make, and the least share of all that is left
SHARE, LEAST = 0.02, 0.01


@kernel
def begin_accounts(steps, control):
    """Note the energies where the run begins."""
    if control[ACCEPTED] + control[REJECTED] == 0.0:
        control[BEGUN], control[MADE] = balanced_energy(steps), 0.0


@kernel
def balanced_energy(steps):
    """Energies less work done, which errors alone change; memory.energies holds its parts."""
    memory = open_steps(steps)
    account = memory.account
    return total_energy(steps, memory.q, memory.v) - account[WORK_DONE] + account[DISSIPATED]


@kernel
def look_at_energies(steps, every, control):
    """Let accounts have errors of the relative tolerance times the largest kinetic energy so far, and note
    what errors have made.

    It costs an evaluation, and is asked for after the first steps and then after `every` so many.
    """
    if control[ACCEPTED] > SELDOM and control[ACCEPTED] % every != 0.0:
        return
    made = balanced_energy(steps) - control[BEGUN]
    note_energies(open_steps(steps).energies, made, control)


@kernel
def note_energies(energies, made, control):
    """Take over energies (3,) that a step ends with, and what errors have made until then.

    What is spent once cannot be won back by later steps: they begin anew.
    """
    kinetic, gravity, elastic = energies
    control[OF_ENERGIES] = max(control[OF_ENERGIES], control[RTOL] * kinetic)
    control[MADE] = made if abs(made) > ROUNDED * (kinetic + abs(gravity) + elastic) else 0.0
    if abs(control[MADE]) > control[OF_ENERGIES]:
        control[BEGUN] += control[MADE]
        control[MADE] = 0.0
        if control[ACCEPTED] > SETTLED:
            control[SPENT] += 1.0


@kernel
def strictness(control):
    """Share of the tolerances that is left for the motion: errors that are small beside them add up, times
    the forces that hold the robot."""
    allowed, made = MOST_MADE * control[OF_ENERGIES], abs(control[MADE])
    if made == 0.0 or control[SPENT] >= MOST_SPENT:
        return 1.0
    return max(STRICTEST, 1.0 - made / allowed)


@kernel
def made_until(steps, control, y):
    """Energy [J] that errors have made at the end of a step to the state y, whose own is kept."""
    memory, chart = open_steps(steps), open_chart(steps)
    nv, account = memory.nv, memory.account
    move(chart, memory.q0, window(y, 0, nv), 1.0, memory.q2)
    work = account[WORK_DONE] - account[DISSIPATED] + y[2 * nv] - y[2 * nv + 1]
    return total_energy(steps, memory.q2, window(y, nv, nv)) - work - control[BEGUN]


@kernel
def may_make(control, energies, made):
    """Whether a step that ends with energies (3,) makes little of what errors may still make in the run."""
    if control[SPENT] >= MOST_SPENT:
        return True
    allowed = max(control[OF_ENERGIES], control[RTOL] * energies[0])
    before = control[MADE]
    left = SHARE * max(allowed - abs(before), LEAST * allowed)
    rounding = ROUNDED * (energies[0] + abs(energies[1]) + energies[2])
    return abs(made - before) <= max(left, rounding)
