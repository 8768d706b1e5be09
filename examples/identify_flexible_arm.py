"""Stiffness and damping of an arm with two flexible links, from logs of its joints and a strain gauge.

    python examples/identify_flexible_arm.py FOLDER [REPORT]

FOLDER holds logs of the Quanser 2-DOF serial flexible link, as software/quanser_updated/lqg_data of
https://github.com/basta/quanser-2-dof-serial-flexible-link does (MIT licence), at 500 Hz: hub angle theta11,
deflection angle theta12 of the first stage, and X2_sim, whose name says simulated. Its first column is the
encoder of the elbow: it counts in steps of 2 pi / 4096 / 50, those of the encoder behind the elbow's gear, as
theta11 does in steps of 2 pi / 4096 / 100. The elbow yields by some 0.1 rad while the hub moves. There are
no currents: the motion of both joints is the input. The gauge has a gain and a low pass, which are fitted
too. Two runs are held out. Dimensions are those of the same repository's configuration; what they do not tell
(where masses lie) is ASSUMED.
"""

import sys
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, ModalTable, fit_output, predicted_outputs

ARM = """<robot name="two_flexible_links">
  <link name="base"/>
  <link name="link_1"/>
  <link name="link_2"/>
  <link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="link_1"/><axis xyz="0 0 1"/>
    <limit lower="-1.6" upper="1.6" effort="30" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="link_1"/><child link="link_2"/><origin xyz="0.202 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-1.6" upper="1.6" effort="10" velocity="15"/></joint>
  <joint name="mount" type="fixed"><parent link="link_2"/><child link="tip"/><origin xyz="0.20185 0 0"/>
  </joint>
  <flexdyn version="1"><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="shoulder"><rotor inertia="6.28e-6" gear_ratio="100"/></flexdyn>
  <flexdyn reference="elbow"><rotor inertia="1.03e-6" gear_ratio="50"/></flexdyn>
  <flexdyn reference="link_1">
    <beam><rectangle width="0.00127" height="0.0762"/>
      <material E="2.068427e11" density="7850" poisson="0.3"/></beam>
    <modes bending_y="1"/><damping ratio="0.02"/>
    <body name="second_stage" station="tip"><origin xyz="0.079 0 0"/><mass value="1.578"/>
      <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.003"/></body>
  </flexdyn>
  <flexdyn reference="link_2">
    <beam><rectangle width="0.000889" height="0.0381"/>
      <material E="2.068427e11" density="7850" poisson="0.3"/></beam>
    <modes bending_y="1"/><damping ratio="0.02"/>
    <body name="load" station="tip"><mass value="0.157"/>
      <inertia ixx="5e-5" ixy="0" ixz="0" iyy="5e-5" iyz="0" izz="5e-5"/></body>
  </flexdyn>
</robot>"""

#: what the gauge of the first link sees, as curvature at its root
GAUGE = "link_1@0.05.curvature_z"
NAMES = (
    "link_1/EIz",
    "link_2/EIz",
    "link_1/damping_ratio",
    "link_2/damping_ratio",
    f"{GAUGE}.factor",
    f"{GAUGE}.offset",
    f"{GAUGE}.cutoff",
    f"{GAUGE}.ratio",
)
#: where the fit starts: the frequency that the gauge shows, the filter that the rig's configuration names
FIRST = {f"{GAUGE}.factor": 0.06, f"{GAUGE}.cutoff": 2.0, "link_1/EIz": 1.8}
#: of encoder and gauge alike, above what moves [Hz]
CUTOFF = 25.0
#: what lies between such samples is not new [Hz], and steps of the simulation [s]
RATE, STEP = 250.0, 4e-3
#: of the gauge [rad]: what is left hangs together for some forty samples, each of which tells less than one
NOISE = 0.007
#: from when on the hub stands still and the links ring [s], and up to which frequency [Hz]
RINGING, HIGHEST = 2.0, 10.0
#: steps of the hub that are the same [rad]
SAME_STEP = 0.02
#: runs that are held out
HELD_OUT = 2
#: columns of a log
COLUMNS = {"theta11": "shoulder", "X2_sim[0]": "elbow", "theta12": GAUGE}
#: steps that the elbow's encoder counts, behind its gear [rad]
COUNT = 2.0 * np.pi / 4096 / 50


def read(path):
    """Angles of hub and elbow, and gauge of one log."""
    log = Measurement.read(path, names=COLUMNS)
    counts = log["elbow"] / COUNT
    if np.abs(counts - np.round(counts)).max() > 1e-3:
        sys.exit(f"{path}: X2_sim[0] does not count in steps of the elbow's encoder")
    kept = Measurement.of(log.t, {name: log[name] for name in COLUMNS.values()}, name=path.name)
    return kept.filtered(CUTOFF).resampled(RATE)


def spread(measured, predicted):
    """Root of the mean square of the residual over the range of what was measured [%]."""
    return 100.0 * np.sqrt(np.mean((measured - predicted) ** 2)) / np.ptp(measured)


def repetitions(runs):
    """(one, other, difference of their gauges [%]) of runs in which the hub takes the same step: no model is
    nearer."""
    steps = [run["shoulder"][-1] - run["shoulder"][0] for run in runs]
    for (i, one), (j, other) in combinations(enumerate(runs), 2):
        if abs(steps[i] - steps[j]) < SAME_STEP:
            yield one.name, other.name, spread(one[GAUGE], other[GAUGE])


def main(folder, report=None):
    """Fits and prints."""
    # the first run of the logs does not move
    files = [path for path in sorted(Path(folder).glob("*.mat")) if "_0deg_run01" not in path.name]
    if len(files) <= HELD_OUT:
        sys.exit(f"{folder} holds {len(files)} logs, expected more than {HELD_OUT}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        runs = [read(path) for path in files]
    how = {"inputs": "positions", "initial": "free", "dt": STEP, "noise": {GAUGE: NOISE}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        late = ModalTable.of_ringing(runs[:-HELD_OUT], GAUGE, after=RINGING, highest=HIGHEST, modes=2)
        # the elbow, which yields, damps what rings late: the table tells frequencies only
        modes = replace(late, damping_ratio=np.full(2, np.nan))
        found = fit_output(load(ARM), runs[:-HELD_OUT], NAMES, FIRST, modes=modes, **how)
        unseen = predicted_outputs(found, runs[-HELD_OUT:], **how)
    print(found.table.to_string(index=False, float_format=lambda x: f"{x:.5g}"))
    for label, samples in (("fitted", found.samples), ("unseen", unseen)):
        for name, rows in zip(samples.names, samples.parts, strict=True):
            off = spread(samples.measured[rows, 0], samples.predicted[rows, 0])
            print(f"{label:9s} {name:28s} residual {off:5.1f} % of the range")
        print(f"{label:9s} left over {100 * samples.left_over[GAUGE]:.1f} % of the gauge")
    for one, other, off in repetitions(runs):
        print(f"{one} and {other}, the same step of the hub, differ by {off:.1f} % of the range")
    of_model = found.robot.modes(found.robot.neutral(), lock="joints").frequency
    for n in range(2):
        print(
            f"frequency {n + 1}: {of_model[n]:.3f} Hz with joints locked, rings at {late.frequency[n]:.3f} Hz"
        )
    if report:
        print("wrote", found.report(report, "examples/identify_flexible_arm.py"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:3])
