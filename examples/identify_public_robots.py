"""Physically consistent inertias of five industrial arms from public logs, beside plain least squares.

    python examples/identify_public_robots.py FOLDER [ROBOT ...]

FOLDER holds clones of the repositories below, which are not part of this one. The program prints where each
log comes from, what physical consistency costs, and the mass of the links that move with a published mass as
a prior. ROBOT: ur10e, panda, tx40, xmate, med7; default all.
"""

import sys
import time
import warnings
from dataclasses import dataclass
from math import pi
from pathlib import Path

import numpy as np
from identify_ur10e import read as read_ur10e

from flexdyn_ros import errors, load
from flexdyn_ros.bridges import DenavitHartenberg
from flexdyn_ros.identification import Measurement, fit_linear

#: of a link of which nothing is known: mass [kg], radius of gyration [m]
LINK, GYRATION = 2.0, 0.1


@dataclass(frozen=True)
class Arm:
    """A robot with logs: repository, licence, cut-off of positions and efforts [Hz], published mass [kg] and
    that of the base in it, where both are from, and the function that reads robot and logs of a clone."""

    repository: str
    licence: str
    cutoff: float
    mass: float | None
    base: float
    source: str
    read: object


def of_table(name, a, alpha, d):
    """A robot by modified Denavit-Hartenberg parameters (Craig), links of no known inertia."""
    inertia = {**dict.fromkeys(("ixx", "iyy", "izz"), LINK * GYRATION**2), "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
    known = {"type": "revolute", "theta": 0.0, "lower": -pi, "upper": pi, "velocity": 3.0, "effort": 200.0}
    body = {"mass": LINK, "x": 0.0, "y": 0.0, "z": 0.0, **inertia}
    rows = [
        {"joint": f"joint_{i}", "a": a[i - 1], "alpha": alpha[i - 1], "d": d[i - 1], **known, **body}
        for i in range(1, len(d) + 1)
    ]
    return load(DenavitHartenberg(name, "modified", tuple(rows)).to_urdf())


def columns(robot, t, position, effort, velocity=None):
    """One log of arrays (n, nv)."""
    found = {}
    for k, joint in enumerate(robot.v_names):
        found |= {joint: position[:, k], f"{joint}.effort": effort[:, k]}
        found |= {} if velocity is None else {f"{joint}.velocity": velocity[:, k]}
    return [Measurement.of(t, found, name=robot.name)]


def ur10e(clone):
    """Ten free motions; motor currents times drive gains."""
    robot = load(clone / "URe" / "urdf" / "ur10e.urdf")
    files = sorted((clone / "dataset_ur10e" / "identification_data").glob("*harm*.csv"))
    return robot, [read_ur10e(path, robot.v_names) for path in files if "Load" not in path.name]


def panda(clone):
    """21 s at 1 kHz, torques of the joint sensors; kinematics of the manufacturer."""
    quarter = pi / 2
    robot = of_table(
        "panda",
        (0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088),
        (0.0, -quarter, quarter, quarter, -quarter, quarter, quarter),
        (0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0),
    )
    logs = clone / "matlab" / "data" / "Exciting_Traj" / "Trajectory_1" / "rbt_log"

    def numbers(name):
        return np.loadtxt(logs / f"exciting_traj_{name}.txt")

    q, v, tau = (numbers(name).reshape(-1, 7) for name in ("positions", "velocity", "torques"))
    return robot, columns(robot, numbers("time"), q, tau, v)


def tx40(clone):
    """9 s at 5 kHz; motor angles and torques. The wrist's drives are coupled: the friction of motor 6, which
    turns with both joints, acts on both. Gears and that friction are those of the repository."""
    folder = clone / "examples" / "staubli_TX40"
    robot = load(folder / "urdf" / "tx40_mdh_modified.urdf")
    gears = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    turns, pulls = gears.copy(), gears.copy()
    turns[5, 4] = pulls[4, 5] = 32.0
    motor, torque = (
        np.loadtxt(folder / "data" / name, delimiter=",", skiprows=1)
        for name in ("pos_read_data.csv", "curr_data.csv")
    )
    q = np.linalg.solve(turns, motor.T).T + [0.0, -pi / 2, pi / 2, 0.0, 0.0, 0.0]
    (log,) = columns(robot, 2e-4 * np.arange(len(q)), q, torque @ pulls.T)
    smooth = log.filtered(20.0)
    turning = np.gradient(smooth["joint_5"] + smooth["joint_6"], log.t)
    known = dict.fromkeys(
        (f"joint_{i}.known_effort" for i in (5, 6)), 0.616 * turning + 1.95 * np.sign(turning)
    )
    return robot, [Measurement.of(log.t, {**log.columns, **known}, name="tx40")]


def xmate(clone):
    """20 s at 1 kHz, torques of the joint sensors."""
    quarter = pi / 2
    robot = of_table(
        "xmate",
        (0.0,) * 7,
        (0.0, -quarter, quarter, -quarter, quarter, -quarter, quarter),
        (0.3415, 0.0, 0.394, 0.0, 0.366, 0.0, 0.2503),
    )
    logs = clone / "filtering" / "data" / "excit"
    q, v, tau = (np.loadtxt(logs / f"excit_{name}_record.txt") for name in ("ang", "vel", "torque"))
    return robot, columns(robot, 1e-3 * np.arange(len(q)), q, tau, v)


def med7(clone):
    """16 s at 100 Hz, torques of the joint sensors, which this controller counts as loads: the other sign."""
    robot = load(clone / "urdf" / "med" / "med7dock.urdf")
    log = np.genfromtxt(clone / "src" / "test" / "measurements.csv", delimiter=",", names=True)
    q, tau = (np.stack([log[f"{name}_{k}"] for k in range(7)], axis=-1) for name in ("q", "tau"))
    return robot, columns(robot, 1e-2 * np.arange(len(q)), q, -tau)


#: where published masses are from
OWN = "the URDF of this repository"
GAZ = "moving links of Gaz et al. 2019"
ARMS = {
    "ur10e": Arm("shamilmamedov/dynamic_calibration", "none stated", 10.0, 32.7, 4.0, OWN, ur10e),
    "panda": Arm("marcocognetti/FrankaEmikaPandaDynModel", "GPL-3.0", 5.0, 16.8, 0.0, GAZ, panda),
    "tx40": Arm("thanhndv212/figaroh-examples", "Apache-2.0 in its files", 20.0, 27.2, 4.2, OWN, tx40),
    "xmate": Arm(
        "NEUer02/Dynamic_Parameter_Identification_for_Rokae_xMate", "none stated", 5.0, None, 0.0, "", xmate
    ),
    "med7": Arm("lbr-stack/dynamic_parameter_identification", "MIT", 2.0, 25.8, 7.1, OWN, med7),
}
#: of a published mass, as a share: cables, covers, what counts as base
UNCERTAIN = 0.05


def fitted(robot, logs, **options):
    """A fit, and what it warns of but for white residuals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit_linear(robot, logs, **options)
    return found, [text for text in found.warnings if "not white" not in text]


def rms(fit):
    """Of all residuals, each as a share of the deviation of its effort."""
    return float(np.sqrt(np.nanmean((fit.residuals / np.nanstd(fit.samples.measured, axis=0)) ** 2)))


def total(fit):
    """Mass of the links that move [kg]."""
    return sum(value for name, value in fit.values.items() if name.endswith("/mass"))


def report(name, arm, folder):
    """Fit an arm in three ways, and print."""
    clone = Path(folder) / arm.repository.rpartition("/")[2]
    print(f"{name}: https://github.com/{arm.repository}, licence {arm.licence}")
    if not clone.is_dir():
        print(f"  no clone in {clone}")
        return
    robot, logs = arm.read(clone)
    began = time.perf_counter()
    plain, _ = fitted(robot, logs, consistent=False, cutoff=arm.cutoff)
    found, told = fitted(robot, logs, cutoff=arm.cutoff)
    took = time.perf_counter() - began
    cost = rms(found) / rms(plain)
    left = ", ".join(f"{100 * share:.1f}" for share in found.left_over.values())
    print(f"  {len(found.samples.t)} samples, {len(found.table)} base parameters, both fits {took:.0f} s")
    print(f"  left over of each effort {left} %; {cost:.3f} of plain least squares; {total(found):.1f} kg")
    print("".join(f"  warning: {text}\n" for text in told), end="")
    if arm.mass is None:
        return
    moving = arm.mass - arm.base
    prior = {"priors": {"*/mass": (moving, UNCERTAIN * arm.mass)}}
    with_prior, told = fitted(robot, logs, cutoff=arm.cutoff, **prior)
    whole = total(with_prior)
    print(
        f"  prior {moving:.1f} +- {UNCERTAIN * arm.mass:.1f} kg ({arm.source}): {whole:.1f} kg found, "
        f"{100 * (whole / moving - 1):+.1f} %; {rms(with_prior) / rms(plain):.3f} of plain least squares"
    )


def main(folder, *names):
    """Report all, or those that are named."""
    for name in names or ARMS:
        report(name, ARMS[name], folder)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(ARMS):
        sys.exit(__doc__)
    main(*sys.argv[1:])
