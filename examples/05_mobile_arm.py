"""A cart on two sprung wheels carries a two-link arm over a sine road: rigid, one or both links flexible.

The torques of the source are switched on at a held pose; its figures 3 to 9 are drawn side by side, and what
they claim is checked (the source prints no numbers to read, so only relations can be compared). In the
scenario cruise no torque is switched: the motors hold the pose, and what moves is the road's doing.

    python examples/05_mobile_arm.py [default | level | cruise]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros.simulation import figure_style

#: absolute link angles at the start [deg], torques of shoulder and elbow [N m]; assumed where the source is
#: silent
SCENARIOS = {"default": ((-45.0, 120.0), (45.0, -2.0)), "level": ((30.0, 30.0), (4.5, -2.0))}
#: the third scenario: angles [deg], stiffness and damping of the motors' control, duration [s], step [s]
CRUISE = {"angles": (45.0, -20.0), "kp": (300.0, 100.0), "kd": (15.0, 5.0), "duration": 4.0, "dt": 1.5e-4}
#: dropping the flexible elements of a link makes it the rigid body of its <inertial>
MODELS = {
    "rigid": {"formulation.flexible": False},
    "rigid-flexible": {"links.link_1": None},
    "flexible": {},
}


def study(options, angles, torques):
    """Trajectory of one model, absolute angles of the links with their rates, and its robot."""
    robot = flexdyn_ros.load("mobile_arm", options=options)
    shoulder, elbow = robot.index("shoulder"), robot.index("elbow")
    slope = robot.v_names.index("link_1/bending_z/2") if "link_1/bending_z/2" in robot.v_names else None

    def absolute(z):
        """Angles of both links from pitch, relative angles and the slope at the first tip."""
        first = z[..., shoulder] - z[..., 2]
        return first, first + z[..., elbow] + (0.0 if slope is None else z[..., slope])

    rest = robot.static_equilibrium(hold="joints")
    wanted = np.radians(angles)
    for _ in range(20):
        q = rest.q.copy()
        wrong = np.array(absolute(q)) - wanted
        q[shoulder] -= wrong[0]
        q[elbow] -= wrong[1] - wrong[0]
        rest = robot.static_equilibrium(q, hold="joints")
    q = rest.q
    v = np.zeros(robot.nv)
    v[0] = robot.description.drive.speed
    joints = [shoulder, elbow]
    if torques is None:
        run, tau = cruise(robot, q, v, joints, rest.tau[joints])
    else:
        tau = np.zeros(robot.nv)
        tau[joints] = torques
        run = flexdyn_ros.simulate(
            robot, 0.25, q, v, dt=5e-4, method="dop853", rtol=1e-6, atol=1e-9, control=tau, record=()
        )
    a = robot.forward_dynamics(run.q, run.v, tau)
    return robot, run, absolute(run.q), absolute(run.v), absolute(a)


def cruise(robot, q0, v0, joints, holding):
    """4 s with the joints held by PD control around their holding torques; the torques of the samples."""
    kp, kd, reference = np.array(CRUISE["kp"]), np.array(CRUISE["kd"]), q0[joints]

    def law(t, q, v):
        tau = np.zeros(robot.nv)
        tau[joints] = holding + kp * (reference - q[joints]) - kd * v[joints]
        return tau

    run = flexdyn_ros.simulate(
        robot,
        CRUISE["duration"],
        q0,
        v0,
        dt=CRUISE["dt"],
        method="rk4",
        control=law,
        record=(),
        record_every=20,
    )
    return run, np.array([law(0.0, q, v) for q, v in zip(run.q, run.v)])


def claims(found):
    """The qualitative claims of the source's figures, each with what was found."""
    heights = [tip_height(robot, run) for robot, run, *_ in found.values()]
    apart = max(np.abs(height - heights[0]).max() for height in heights)
    force = {name: np.ptp(run.tau[1:, 0]) for name, (_, run, *_) in found.items()}
    _, run, (th3, _), (rate3, _), _ = found["flexible"]
    turns = {
        name: int(np.count_nonzero(np.diff(np.sign(rates[0][1:])))) for name, (*_, rates, _) in found.items()
    }
    robot = found["flexible"][0]
    axial, bent = (np.abs(run[f"link_2/{field}/1"]).max() for field in ("axial", "bending_z"))
    mean = run["link_1/bending_z/2"].mean()
    wheels = min(r.wheel_forces(t.q, t.v).normal.min() for r, t, *_ in found.values())
    gap = {
        name: np.abs(found[name][2][0] - found["rigid"][2][0]).max()
        for name in ("rigid-flexible", "flexible")
    }
    if run.t[-1] > 1.0:
        return cruising(found)
    rising = np.mean((np.diff(th3) > 0) == (0.5 * (rate3[1:] + rate3[:-1]) > 0))
    return [
        ("3", "same gross motion of the tip", f"{apart:.3f} m largest difference in height"),
        ("4", "force more than doubles, flexible / rigid", f"{force['flexible'] / force['rigid']:.2f}"),
        ("4", "rigid-flexible / rigid", f"{force['rigid-flexible'] / force['rigid']:.2f}"),
        ("5", "rigid-flexible nearly on rigid", ", ".join(f"{n} {x:.3f} rad" for n, x in gap.items())),
        ("7", "th3 rises where its rate is positive", f"{100 * rising:.1f} % of the samples"),
        ("7", "sign changes of th3'", ", ".join(f"{n} {x}" for n, x in turns.items())),
        ("8", "tip slope of link 3 about a mean against the motion", f"mean {mean:.4f} rad"),
        ("9", "stretch of link 4 far below its bending", f"{bent / axial:.0f} times"),
        ("-", f"both wheels stay on the road ({robot.name})", f"least force {wheels:.1f} N"),
    ]


def cruising(found):
    """What the road does to arms that are held."""
    period = 0.4 / 0.3
    rows = []
    for name, (robot, run, angles, *_) in found.items():
        late = run.t > run.t[-1] - period
        swing = np.ptp(tip_height(robot, run)[late])
        force = robot.wheel_forces(run.q, run.v).normal
        rows += [
            ("3", f"the road moves the tip, {name}", f"{1e3 * swing:.1f} mm in the last period of the road"),
            ("5", f"link 3 held, {name}", f"{np.degrees(np.ptp(angles[0][late])):.2f} deg"),
            ("-", f"wheels, {name}", f"least force {force.min():.1f} N, largest {force.max():.1f} N"),
        ]
    return rows


def tip_height(robot, run):
    """Height of the end of the second link."""
    return run.frames("link_2/tip")[:, 2, 3]


def draw(found, scenario):
    """Figures 3 to 9 of the source, from our simulations."""
    plt.style.use(figure_style())
    figure, axes = plt.subplots(4, 2, figsize=(9, 10.5))
    panels = axes.ravel()
    for name, (robot, run, angles, _, _) in found.items():
        panels[0].plot(run.t, tip_height(robot, run), label=name)
        panels[1].plot(run.t[1:], run.tau[1:, 0], label=name)
        panels[2].plot(run.t, np.degrees(angles[0]), label=name)
        panels[3].plot(run.t, np.degrees(angles[1]), label=name)
    titles = (
        "3: height of the tip [m]",
        "4: driving force [N]",
        "5: angle of link 3 [deg]",
        "6: angle of link 4 [deg]",
    )
    for panel, title in zip(panels, titles):
        panel.set_title(title)
        panel.legend()
    _, run, (th3, _), (rate, _), (bend, _) = found["flexible"]
    for values, label in ((th3, "th3 [rad]"), (rate / 10, "th3' / 10"), (bend / 1e4, "th3'' / 1e4")):
        panels[4].plot(run.t, values, label=label)
    panels[5].plot(run.t, run["link_1/bending_z/2"])
    for name in ("axial/1", "bending_z/1", "bending_z/2"):
        scale = 1e4 if name == "axial/1" else 1.0
        label = name + (" x 1e4" if scale > 1.0 else "")
        panels[6].plot(run.t, scale * run[f"link_2/{name}"], label=label)
    for name, (robot, r, *_) in found.items():
        panels[7].plot(r.t, robot.wheel_forces(r.q, r.v).normal[:, 0], label=f"rear, {name}")
    rest = (
        "7: motion of link 3, flexible",
        "8: tip slope of link 3 [rad]",
        "9: deflections of link 4 [m, rad]",
        "ground force [N]",
    )
    for panel, title in zip(panels[4:], rest):
        panel.set_title(title)
    for panel in (panels[4], panels[6], panels[7]):
        panel.legend()
    for panel in axes[-1]:
        panel.set_xlabel("time [s]")
    figure.suptitle(f"Wheeled flexible arm, scenario {scenario}")
    path = Path("out/examples") / (
        "05_mobile_arm.png" if scenario == "default" else f"05_mobile_arm_{scenario}.png"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def main():
    scenario = sys.argv[1] if len(sys.argv) > 1 else "default"
    angles, torques = (CRUISE["angles"], None) if scenario == "cruise" else SCENARIOS[scenario]
    found = {name: study(options, angles, torques) for name, options in MODELS.items()}
    what = "4 s, pose held" if torques is None else f"0.25 s, torques {torques} N m"
    print(f"scenario {scenario}: {what}")
    for figure, claim, value in claims(found):
        print(f"  fig. {figure}  {claim:52s} {value}")
    print(f"picture: {draw(found, scenario)}")


if __name__ == "__main__":
    main()
