"""Inertias and friction of a UR10e from logs of its joints and motor currents.

    python examples/identify_ur10e.py FOLDER [REPORT]

FOLDER is a clone of https://github.com/shamilmamedov/dynamic_calibration (no licence is stated there: read
its data, do not pass them on): dataset_ur10e/identification_data holds the logs, URe/urdf/ur10e.urdf the
robot. The drive gains that turn currents into efforts are those that its main.m quotes.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, fit_linear

#: torque over current by joint [N m/A]
DRIVE_GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)
#: of the zero-phase filter [Hz]
CUTOFF = 10.0


def read(path, joints):
    """Positions, rates and efforts of one log: time, q, qd, currents, and two sets of set-points."""
    names = [
        "time",
        *joints,
        *(f"{j}.velocity" for j in joints),
        *(f"{j}.effort" for j in joints),
        *[""] * 12,
    ]
    gains = {f"{joint}.effort": gain for joint, gain in zip(joints, DRIVE_GAINS, strict=True)}
    return Measurement.read(path, names=names, factors=gains)


def main(folder, report=None):
    """Fits with and without physical consistency, and prints what that costs."""
    data = Path(folder) / "dataset_ur10e" / "identification_data"
    robot = load(Path(folder) / "URe" / "urdf" / "ur10e.urdf")
    files = sorted(path for path in data.glob("*harm*.csv") if "Load" not in path.name)
    if not files:
        sys.exit(f"{data} holds no logs")
    logs = [read(path, robot.v_names) for path in files]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        began = time.perf_counter()
        found = fit_linear(robot, logs, cutoff=CUTOFF)
        took = time.perf_counter() - began
        plain = fit_linear(robot, logs, consistent=False, cutoff=CUTOFF)
    count = len(found.samples.t)
    print(f"{len(found.table)} base parameters, {count} samples of {len(logs)} logs: {took:.1f} s")
    spread = np.nanstd(found.samples.measured, axis=0)
    for (name, rms), size in zip(found.rms.items(), spread, strict=True):
        told = f"{rms:6.3f} N m, {100 * rms / size:4.1f} % of the deviation"
        print(f"{name.removesuffix('.effort'):20s} {told}, plain least squares {plain.rms[name]:6.3f} N m")
    cost = np.sqrt(np.nanmean(found.residuals**2) / np.nanmean(plain.residuals**2)) - 1.0
    print(f"physical inertias raise the residual by {100 * cost:.2f} %")
    masses = [value for name, value in found.values.items() if name.endswith("/mass")]
    print(f"masses of the links {np.round(masses, 1)}, {sum(masses):.1f} kg in all")
    if report:
        print("wrote", found.report(report, "examples/identify_ur10e.py"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:3])
