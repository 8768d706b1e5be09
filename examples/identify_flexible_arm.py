"""Stiffness and damping of an arm with two flexible links, from logs of its joints and strain gauges.

    python examples/identify_flexible_arm.py FOLDER [REPORT]

FOLDER is a clone of https://github.com/basta/quanser-2-dof-serial-flexible-link (MIT licence), the Quanser
2-DOF serial flexible link at 500 Hz. Its software/quanser_updated/lqg_data has runs of one controller, and
data of another. X1_meas has hub angle, deflection angle of the first link, and their rates; X2_sim, whose
name says simulated, has the same of the elbow and the second link as they were measured: its first column
counts in steps of 2 pi / 4096 / 50, those of the encoder before the elbow's gear, and its second is the gauge
of the second link. There are no currents: the motion of both joints is the input, and the elbow yields by
some 0.1 rad while the hub moves.

The program of the rig passes the gauges through w^2 / (s^2 + 2 z w s + w^2), w = 2 pi 2 Hz, z = 0.9, by Euler
steps (software/quanser_updated/q_2dsfl_orr_lqg_quarc_win64, Filter3), and logs value and rate of the filter:
what it was given follows from them without loss. Gauges creep from run to run: their zero is the mean of the
last second, when the arm stands. Two runs, and those of the other controller, are held out.

Dimensions and masses are those of config_2dslf.m. It takes 0.079 m off where it moves inertias from a joint
to the root of its beam; that motor and fixture of the elbow, 1.368 kg, lie on its axis is ASSUMED, and that
their radius of gyration is 4.7 cm. A fit of the load beside the stiffness finds 0.158 +- 0.004 kg (0.157 kg
in config_2dslf.m).
"""

import sys
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, ModalTable, fit_output, predicted_outputs

ARM = """<robot name="two_flexible_links">
  <link name="base"/>
  <link name="link_1"/>
  <link name="link_2"/>
  <link name="second_stage"><inertial><mass value="1.368"/>
    <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.003"/></inertial></link>
  <link name="load"><inertial><mass value="0.157"/>
    <inertia ixx="5e-5" ixy="0" ixz="0" iyy="5e-5" iyz="0" izz="5e-5"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="link_1"/><axis xyz="0 0 1"/>
    <limit lower="-1.6" upper="1.6" effort="30" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="link_1"/><child link="link_2"/><origin xyz="0.281 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-1.6" upper="1.6" effort="10" velocity="15"/></joint>
  <joint name="fixture" type="fixed"><parent link="link_1"/><child link="second_stage"/>
    <origin xyz="0.281 0 0"/></joint>
  <joint name="mount" type="fixed"><parent link="link_2"/><child link="load"/><origin xyz="0.28085 0 0"/>
  </joint>
  <flexdyn version="1"><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="shoulder"><rotor inertia="6.28e-6" gear_ratio="100"/></flexdyn>
  <flexdyn reference="elbow"><rotor inertia="1.03e-6" gear_ratio="50"/></flexdyn>
  <flexdyn reference="link_1">
    <beam origin="0.079 0 0" length="0.202"><rectangle width="0.00127" height="0.0762"/>
      <material E="2.068427e11" density="7850" poisson="0.3"/></beam>
    <modes bending_y="1"/><damping ratio="0.02"/>
  </flexdyn>
  <flexdyn reference="link_2">
    <beam origin="0.079 0 0" length="0.20185"><rectangle width="0.000889" height="0.0381"/>
      <material E="2.068427e11" density="7850" poisson="0.3"/></beam>
    <modes bending_y="1"/><damping ratio="0.02"/>
  </flexdyn>
</robot>"""

#: what the gauges see, as curvature near the roots of the links
GAUGES = ("link_1@0.05.curvature_z", "link_2@0.05.curvature_z")
NAMES = (
    *(f"link_{n}/{number}" for number in ("EIz", "damping_ratio") for n in (1, 2)),
    *(f"{gauge}.{number}" for gauge in GAUGES for number in ("factor", "offset")),
)
#: where the fit starts: factors are deflection angles of the config over curvatures
FIRST = {f"{GAUGES[0]}.factor": 0.05, f"{GAUGES[1]}.factor": 0.07, "link_1/EIz": 1.8}
#: filter of the gauges: natural frequency [rad/s] and damping ratio; its steps [s]
FILTER, RATIO, EULER = 2.0 * np.pi * 2.0, 0.9, 0.002
#: of encoders and gauges alike, above what moves [Hz]
CUTOFF = 25.0
#: what lies between such samples is not new [Hz], and steps of the simulation [s]: longer ones damp
RATE, STEP = 250.0, 2e-3
#: of the gauges [rad]: what is left hangs together for some twenty samples, each of which tells less than one
NOISE = 0.004
#: at the end of a run, when the arm stands [s]
STANDS = 1.0
#: from when on the hub stands still and the links ring [s], and up to which frequency [Hz]
RINGING, HIGHEST = 2.0, 10.0
#: gauges of runs that do not move are below [rad], steps of the hub that are the same [rad]
MOVES, SAME_STEP = 0.01, 0.02
#: runs that are held out
HELD_OUT = 2
#: steps that the elbow's encoder counts, behind its gear [rad]
COUNT = 2.0 * np.pi / 4096 / 50


def before_filter(value, rate):
    """What the filter was given, of its values and rates: Euler steps, solved for their input."""
    change = np.diff(rate) / EULER
    return value[:-1] + (2.0 * RATIO * FILTER * rate[:-1] + change) / FILTER**2


def read(path):
    """Angles of hub and elbow, and gauges of one log."""
    log = Measurement.read(path)
    counts = log["X2_sim[0]"] / COUNT
    if np.abs(counts - np.round(counts)).max() > 1e-3:
        sys.exit(f"{path}: X2_sim[0] does not count in steps of the elbow's encoder")
    columns = {"shoulder": log["X1_meas[0]"][:-1], "elbow": log["X2_sim[0]"][:-1]}
    stands = log.t[:-1] > log.t[-1] - STANDS
    for gauge, source in zip(GAUGES, ("X1_meas", "X2_sim"), strict=True):
        seen = before_filter(log[f"{source}[1]"], log[f"{source}[3]"])
        columns[gauge] = seen - seen[stands].mean()
    return Measurement.of(log.t[:-1], columns, name=path.stem).filtered(CUTOFF).resampled(RATE)


def moving(folder):
    """The logs of a folder in which the arm moves."""
    files = sorted(folder.glob("*.mat"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return [run for path in files if np.ptp((run := read(path))[GAUGES[0]]) > MOVES]


def spread(measured, predicted):
    """Root of the mean square of the residual over the range of what was measured [%]."""
    return 100.0 * np.sqrt(np.mean((measured - predicted) ** 2)) / np.ptp(measured)


def repetitions(runs):
    """(one, other, differences of their gauges [%]) of runs in which the hub takes the same step: no model is
    nearer."""
    steps = [run["shoulder"][-1] - run["shoulder"][0] for run in runs]
    for (i, one), (j, other) in combinations(enumerate(runs), 2):
        if abs(steps[i] - steps[j]) < SAME_STEP:
            yield one.name, other.name, [spread(one[gauge], other[gauge]) for gauge in GAUGES]


def show(label, samples):
    """Print what is left of both gauges, by run and in all."""
    for name, rows in zip(samples.names, samples.parts, strict=True):
        off = [spread(samples.measured[rows, k], samples.predicted[rows, k]) for k in range(2)]
        print(f"{label:17s} {name:25s} residuals {off[0]:4.1f}, {off[1]:4.1f} % of the ranges")
    left = ", ".join(f"{100 * samples.left_over[gauge]:.1f}" for gauge in GAUGES)
    print(f"{label:17s} left over {left} % of the gauges")


def main(clone, report=None):
    """Fits and prints."""
    logs = Path(clone) / "software" / "quanser_updated"
    runs, others = moving(logs / "lqg_data"), moving(logs / "data")
    if len(runs) <= HELD_OUT:
        sys.exit(f"{logs / 'lqg_data'} holds {len(runs)} logs that move, expected more than {HELD_OUT}")
    how = {"inputs": "positions", "initial": "free", "dt": STEP, "noise": dict.fromkeys(GAUGES, NOISE)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit_output(load(ARM), runs[:-HELD_OUT], NAMES, FIRST, progress=print, **how)
        unseen = predicted_outputs(found, runs[-HELD_OUT:], **how)
        other = predicted_outputs(found, others, **how) if others else None
        rings = ModalTable.of_ringing(runs, GAUGES[1], after=RINGING, highest=HIGHEST, modes=2)
    print(found.table.to_string(index=False, float_format=lambda x: f"{x:.5g}"))
    show("fitted", found.samples)
    show("unseen", unseen)
    if other is not None:
        show("other controller", other)
    for one, two, off in repetitions(runs):
        print(f"{one} and {two}, the same step of the hub, differ by {off[0]:.1f}, {off[1]:.1f} % of ranges")
    of_model = found.robot.modes(found.robot.neutral(), lock="joints").frequency
    for n in range(2):
        told = f"rings at {rings.frequency[n]:.3f} Hz, damping ratio {100 * rings.damping_ratio[n]:.1f} %"
        print(f"frequency {n + 1}: {of_model[n]:.3f} Hz with joints locked; {told}, while the elbow yields")
    if report:
        print("wrote", found.report(report, "examples/identify_flexible_arm.py"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:3])
