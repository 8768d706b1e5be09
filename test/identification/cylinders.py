"""Cylinders of a platform and supplies of a soft section that the tests of identification share."""

import warnings

import numpy as np

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement

STEP = 1e-3
#: numbers of the cylinders: bulk modulus, leakage, gain of the valves, friction of the seals
CYLINDERS = {
    "platform.hydraulics.fluid.bulk_modulus": 1.2e9,
    "platform.hydraulics.leakage.internal": 8e-13,
    "platform.hydraulics.valve.rated_flow": 6e-4,
    "platform.hydraulics.friction.viscous": 750.0,
}
RATES = 2.0 * np.pi * np.array([3.0, 4.0, 5.0, 3.5, 4.5, 5.5])
LEGS = tuple(f"leg_{n}" for n in range(1, 7))
#: of the actuators of the soft section
SUPPLY = {"area": 8e-4, "time_constant": 0.02}
ATMOSPHERE = 101325.0


def openings(t, q, v):
    """Of the valves of a platform."""
    return 0.15 * np.sin(RATES * t + np.arange(6))


def soft_arm(**section):
    """A section whose pressures lag, with other attributes."""
    pressure = " ".join(f'{key}="{value}"' for key, value in SUPPLY.items())
    given = " ".join(f'{key}="{value}"' for key, value in section.items())
    return load(f"""<robot name="soft">
      <link name="base_link"/><link name="tip"><inertial><origin xyz="0 0 0.01"/><mass value="0.05"/>
        <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
      <joint name="section_1" type="fixed"><parent link="base_link"/><child link="tip"/>
        <origin xyz="0 0 0.15"/></joint>
      <flexdyn reference="section_1"><section preset="bai2022" {given}><pressure {pressure}/></section>
      </flexdyn></robot>""")


def commanded(t):
    """Forces that the supplies are asked for."""
    return 15.0 + 12.0 * np.sin(np.multiply.outer(t, [19.0, 23.0, 29.0]))


def supplied(robot, duration):
    """Measurement of the pressures, which follow T f' = c - f exactly, and of where the tip then is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        run = simulate(robot, duration, dt=STEP, control=lambda t, q, v: commanded(t))
    command, force = commanded(run.t), np.zeros((run.t.size, 3))
    for i in range(run.t.size - 1):
        force[i + 1] = command[i] + (force[i] - command[i]) * np.exp(-STEP / SUPPLY["time_constant"])
    columns = {}
    for i, name in enumerate(robot.effort_names):
        columns[f"{name}.pressure"] = ATMOSPHERE + force[:, i] / SUPPLY["area"]
        columns[f"{name}.effort"] = command[:, i]
    tip = run.frames("tip")[:, :3, 3]
    columns |= {f"tip.{axis}": tip[:, i] for i, axis in enumerate("xyz")}
    return Measurement.of(run.t, columns, held=run.held)
