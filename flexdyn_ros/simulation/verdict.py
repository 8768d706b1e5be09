"""What a run says of itself: whether its energy balances, whether the model holds for its motion, and whether
a law that is sampled explains why it went wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.robot.analysis.sampled_feedback import sampled_growth, sudden_inertia
from flexdyn_ros.robot.analysis.validity import OWN_STEPS, at_most, bearable_step, beyond_linear, warning_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.trajectory import Trajectory

#: largest balance error that is not worth a word
LARGEST_IMBALANCE = 1e-3
#: errors of the balance that are rounding: this share of the largest energy
ROUNDING = 1e-11
#: of the fixed steps
ORDERS = {"semi_implicit_euler": 1, "rosenbrock": 2, "staggered": 2, "rk4": 4, "scaled_rk4": 4}


def verdict(run: Trajectory) -> tuple[str, ...]:
    """What there is to warn of."""
    assert run.robot is not None
    found = [*_imbalance(run), *run.robot.functions.remarks(run.q, run.v, run.t), *_cavities(run)]
    bent = beyond_linear(run.robot, run.q, run.t)
    if bent:
        found.append(f"robot {run.robot_name!r}: {warning_of(bent)}")
    return tuple(found)


def _imbalance(run: Trajectory) -> list[str]:
    energy = run.energy
    if energy is None or len(run) < 2:
        return []
    off = float(np.abs(run.balance()).max())
    largest = max(float(np.abs(part).max()) for part in (*energy, run.work, run.dissipated))
    if off <= ROUNDING * largest or not run.balance_error > LARGEST_IMBALANCE:
        return []
    step = bearable_step(run.robot, run.q[-1])
    fastest = ""
    if step is not None:
        fastest = (
            f"; its fastest mode, {step[1]}, has {step[2]:.4g} Hz, and rk4 is stable up to dt = "
            f"{at_most(step[0])} s"
        )
    remedy = OWN_STEPS if run.is_fixed else "a smaller rtol makes it less"
    taken = f"with steps of {run.dt:g} s" if run.is_fixed else f"with samples every {run.dt:g} s"
    return [
        f"the energy of {run.robot_name!r} is off by {run.balance_error:.2g} of the largest kinetic energy "
        f"by method {run.method} {taken}{fastest}; {remedy}"
    ]


def _cavities(run: Trajectory) -> list[str]:
    """Chambers whose oil cavitates."""
    hydraulics = None if run.robot is None else run.robot.hydraulics
    found: list[str] = []
    if hydraulics is None:
        return found
    lowest = dict(zip(hydraulics.names, hydraulics.model.column("cavitation").tolist(), strict=True))
    for name, side in ((name, side) for name in hydraulics.names for side in ("bore", "rod")):
        state = f"{name}/pressure_{side}"
        if state not in run.state_names:
            continue
        pressure = run.states[:, run.state_names.index(state)]
        below = np.flatnonzero(pressure < lowest[name])
        if below.size:
            found.append(
                f"robot {run.robot_name!r}: oil cavitates on the {side} side of '{name}', first at t = "
                f"{run.t[below[0]]:.4g} s, with {pressure.min() / 1e5:.3g} bar at least; a load that runs "
                "ahead of the oil takes a <counterbalance>, fast motions <supply makeup_conductance=...>"
            )
    return found


def step_for(wanted: float, found: float, dt: float, method: str) -> float:
    """Fixed step [s] with which an error found at steps of dt would be half of what is wanted, by the order
    of the method."""
    return dt * min(1.0, (0.5 * wanted / found) ** (1.0 / ORDERS.get(method, 2)))


#: samples in a row whose efforts go up and down, and by how much the steps grow, that look like a fault
MOST_TURNS, GROWN = 12, 10.0
#: change of a coordinate by which the slopes of a law are taken
STEP = 1e-6
_ROTOR = "a <rotor> at the joint"
_HUB = f"{_ROTOR}, or a hub (<body station='root'>) on its flexible link"
#: shorter samples that are tried: halves of halves
HALVINGS = 16


class Feedback(NamedTuple):
    """A law linearised at a state: its efforts (nu,), and its stiffness and damping (nu, nv)."""

    robot: Robot
    q: np.ndarray
    tau: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    def growth(self, period: float) -> float:
        """Rate [1/s] of the least stable motion when sampled every `period` seconds and held."""
        return sampled_growth(self.robot, self.q, self.stiffness, self.damping, period, 0.0, self.tau)


def sampling_fault(plan: Plan, run: Trajectory, is_doubtful: bool) -> tuple[str, ...]:
    """A warning that names growth, cause and remedy, if the law of a run that went wrong explains it."""
    robot, law = plan.robot, plan.control
    if law is None or plan.is_continuous or plan.cylinders != "direct" or robot.effort_names != robot.v_names:
        return ()
    if len(run) < 2 or not (is_doubtful or _chatters(run.tau)):
        return ()
    period = plan.hold * plan.dt
    try:
        feedback = _linearised(plan, float(run.t[0]), run.q[0], run.v[0])
        if feedback.growth(period) * float(run.t[-1] - run.t[0]) < 1.0:
            return ()
        return (_explained(feedback, period),)
    except (FlexdynError, ArithmeticError, np.linalg.LinAlgError):
        return ()


def _chatters(tau: np.ndarray) -> bool:
    """True if an effort turns back at each of many samples in a row, further and further."""
    change = np.diff(tau, axis=0)
    turns = change[1:] * change[:-1] < 0.0
    for column, size in zip(turns.T, np.abs(change[1:]).T, strict=True):
        ends = np.flatnonzero(~np.append(column, False))
        starts = np.append(0, ends[:-1] + 1)
        for a, b in zip(starts, ends, strict=True):
            if b - a >= MOST_TURNS and size[a:b].max() > GROWN * size[a]:
                return True
    return False


def _linearised(plan: Plan, t: float, q: np.ndarray, v: np.ndarray) -> Feedback:
    """The law of a plan at a state, by central differences."""
    robot = plan.robot
    units = STEP * np.eye(robot.nv)
    slopes = [
        [(plan.command(t, *ahead(e)) - plan.command(t, *ahead(-e))) / (-2.0 * STEP) for e in units]
        for ahead in (lambda e: (robot.integrate(q, e, 1.0), v), lambda e: (q, v + e))
    ]
    stiffness, damping = (np.array(columns).T for columns in slopes)
    stiffness, damping = np.ascontiguousarray(stiffness), np.ascontiguousarray(damping)
    return Feedback(robot, q, plan.command(t, q, v), stiffness, damping)


def _explained(feedback: Feedback, period: float) -> str:
    robot, growth = feedback.robot, feedback.growth(period)
    start = f"robot '{robot.name}': the control law makes motion grow"
    # as good as unsampled, whatever the law is
    unsampled = feedback.growth(1e-4 * period)
    if unsampled > 0.5 * growth:
        return (
            f"{start} by {unsampled:.3g}/s even if it acts at every instant: look at the signs and sizes of "
            "its gains"
        )
    cause = _heaviest_damping(feedback, period)
    shorter = (period * 0.5**k for k in range(1, HALVINGS))
    stable = next((h for h in shorter if feedback.growth(h) * period < 1e-3), None)
    remedies = (
        (_HUB if robot.description.flexible_links else _ROTOR) if cause else "",
        "" if stable is None else f"samples of {stable:.2g} s",
        "lower gains, or flexdyn_ros.continuous(law) for feedback that is not sampled",
    )
    held = f"{start} by {growth:.3g}/s when sampled every {period:g} s and held{cause}; remedies: "
    return held + "; ".join(remedy for remedy in remedies if remedy)


def _heaviest_damping(feedback: Feedback, period: float) -> str:
    """The joint whose damping times sample is most, in inertias that move at once, if that may be the
    cause."""
    robot, D = feedback.robot, np.diagonal(feedback.damping)
    inertia = sudden_inertia(robot, feedback.q)
    i = int(np.argmax(D * period / inertia))
    if not D[i] * period > inertia[i]:
        return ""
    unit = "kg m2" if robot.coordinates[i].unit == "rad" else "kg"
    return (
        f", because damping times sample at '{robot.v_names[i]}' is {D[i] * period:.3g} {unit} and the "
        f"inertia that moves at once {inertia[i]:.3g} {unit} (at most twice that is stable)"
    )
