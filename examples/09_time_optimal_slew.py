"""Turn a bending arm as fast as its motors can, to stand still: an optimal motion by CasADi and IPOPT.

The equations of motion are those of the robot, as symbols (`flexdyn_ros.export.casadi`). Found are the
duration and the efforts of the shortest slew between two states of rest, by the implicit midpoint rule over
100 intervals; beside it, the shortest slew of the same arm with rigid links. Both are replayed in `simulate`
on the arm with twice as many modes as the optimization knew.
Writes out/examples/09_time_optimal_slew.png.
"""

import re
from pathlib import Path

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation import figure_style

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
TURN = np.array([1.2, -0.8])  # of shoulder and elbow [rad]
SHARE = 0.3  # of the efforts that the motors have, so that links bend by less than a tenth
RATE = 30.0  # efforts go from 0 to their limit within 1/30 s: what is faster, unmodelled modes answer
INTERVALS = 60


def arm(bending):
    """The arm with so many bending modes in each link and no torsion; rigid for none."""
    text = flexdyn_ros.load("flexible_two_link").description.text
    if bending == 0:
        return flexdyn_ros.load(text, options={"formulation.flexible": False})
    return flexdyn_ros.load(re.sub(r"<modes [^>]*/>", f'<modes bending_y="{bending}"/>', text))


def shortest_slew(robot):
    """Duration [s], and efforts (n, na) of the intervals, of the shortest slew."""
    nq, joints = robot.nq, [robot.index(name) for name in robot.actuators]
    limits = SHARE * np.array([c.effort_limit for c in robot.coordinates])[joints]
    dynamics = export.casadi(robot, "forward_dynamics")
    q, v, u = (ca.SX.sym(name, n) for name, n in (("q", nq), ("v", nq), ("u", len(joints))))
    tau = ca.SX.zeros(robot.nu)
    tau[joints] = u
    acceleration = ca.Function("acceleration", [q, v, u], [dynamics(q, v, tau)])

    problem = ca.Opti()
    T = problem.variable()
    Q, V = problem.variable(nq, INTERVALS + 1), problem.variable(nq, INTERVALS + 1)
    U = problem.variable(len(joints), INTERVALS)
    dt = T / INTERVALS
    middle_q, middle_v = (Q[:, 1:] + Q[:, :-1]) / 2, (V[:, 1:] + V[:, :-1]) / 2
    problem.subject_to(Q[:, 1:] - Q[:, :-1] == dt * middle_v)
    problem.subject_to(V[:, 1:] - V[:, :-1] == dt * acceleration.map(INTERVALS)(middle_q, middle_v, U))
    end = np.zeros(nq)
    end[joints] = TURN
    # at rest at both ends: no deflection, no speed, so that no vibration is left
    problem.subject_to(Q[:, 0] == 0)
    problem.subject_to(V[:, 0] == 0)
    problem.subject_to(Q[:, -1] == end)
    problem.subject_to(V[:, -1] == 0)
    steps = ca.horzcat(ca.DM.zeros(len(joints)), U, ca.DM.zeros(len(joints)))
    for i, limit in enumerate(limits):
        problem.subject_to(problem.bounded(-limit, U[i, :], limit))
        problem.subject_to(
            problem.bounded(-RATE * limit * dt, (steps[i, 1:] - steps[i, :-1]).T, RATE * limit * dt)
        )
        top = robot.coordinates[joints[i]].velocity_limit
        problem.subject_to(problem.bounded(-top, V[joints[i], :], top))
    problem.subject_to(problem.bounded(0.1, T, 5.0))
    problem.minimize(T)
    problem.set_initial(T, 1.0)
    problem.set_initial(Q, np.outer(end, np.linspace(0.0, 1.0, INTERVALS + 1)))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 1000})
    found = problem.solve()
    return float(found.value(T)), np.atleast_2d(found.value(U)).T


def replayed(robot, duration, efforts, after=1.0):
    """The motion of a robot under the efforts, and what follows when joints are then held."""
    joints = [robot.index(name) for name in robot.actuators]
    reached = {}

    def law(t, q, v):
        if t < duration:
            return efforts[min(int(t / duration * INTERVALS), INTERVALS - 1)]
        reached.setdefault("q", q[joints])
        return -40.0 * (q[joints] - reached["q"]) - 2.0 * v[joints]

    return flexdyn_ros.simulate(robot, duration + after, control=law, sample=1e-3)


def swing_after(robot, run, duration):
    """Largest distance [m] of the tool from where it comes to rest, after the slew."""
    tool = robot.frames(run.q, ["tool0"])[:, 0, :3, 3]
    left = tool[run.t >= duration]
    return float(np.linalg.norm(left - left[-200:].mean(axis=0), axis=1).max())


truth = arm(bending=2)
plt.style.use(figure_style())
figure, (of_effort, of_swing) = plt.subplots(2, 1, figsize=(7.0, 5.2))
for name, bending, colour in (("rigid", 0, "C1"), ("bending", 1, "C0")):
    duration, efforts = shortest_slew(arm(bending))
    run = replayed(truth, duration, efforts)
    swing = swing_after(truth, run, duration)
    print(f"optimal for {name} links: {duration:.3f} s, then the tool swings by {1e3 * swing:.2f} mm")
    edges = np.linspace(0.0, duration, INTERVALS + 1)
    for column, style in enumerate((("-", "--"), (":", "-."))[bending]):
        label = f"{truth.actuators[column]}, {name}"
        of_effort.stairs(efforts[:, column], edges, baseline=None, color=colour, linestyle=style, label=label)
    tool = truth.frames(run.q, ["tool0"])[:, 0, :3, 3]
    rest = tool[-200:].mean(axis=0)
    of_swing.plot(
        run.t,
        1e3 * np.linalg.norm(tool - rest, axis=1),
        color=colour,
        linestyle=("-", "--")[bending],
        label=f"optimal for {name} links",
    )
    of_swing.axvline(duration, color=colour, linewidth=0.8, linestyle=":")
of_effort.set(ylabel="effort [N m]", xlabel="time [s]")
of_swing.set(ylabel="tool to its final position [mm]", xlabel="time [s]", yscale="log", ylim=(0.01, 1000.0))
for axes in (of_effort, of_swing):
    axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
OUT.mkdir(parents=True, exist_ok=True)
figure.savefig(OUT / "09_time_optimal_slew.png")
