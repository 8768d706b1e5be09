"""Two FMUs in co-simulation: a controller that knows the rigid arm drives the arm that bends.

The law is computed torque of the rigid model, sampled at 500 Hz; fmpy runs both units, as Simulink or another
system simulator would. The same law and arm in `flexdyn_ros.simulate` give the same motion to rounding.
Writes out/examples/10_controller_and_arm.png, and the two units beside it.
"""

from pathlib import Path

import fmpy
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros import control, export
from flexdyn_ros.simulation import figure_style

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
PERIOD, SECONDS = 2e-3, 3.0  # of the controller, of the run [s]
START, GOAL, DURATION = np.array([0.0, 0.0]), np.array([0.9, -0.7]), 1.5  # [rad], [s]
FREQUENCY = 8.0  # of the law [rad/s]

arm = flexdyn_ros.load("flexible_two_link")
model = flexdyn_ros.load("flexible_two_link", options={"formulation.flexible": False})
joints = list(model.v_names)
places = [arm.index(name) for name in joints]


def reference(t):
    """Position, velocity and acceleration of the joints: from rest to rest by a polynomial of degree five."""
    s = min(t / DURATION, 1.0)
    way = GOAL - START
    x = 10 * s**3 - 15 * s**4 + 6 * s**5
    v = (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION
    a = (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2
    return START + way * x, way * v, way * a


class Unit:
    """An FMU by the names of its variables."""

    def __init__(self, path):
        description = fmpy.read_model_description(str(path))
        self.references = {x.name: x.valueReference for x in description.modelVariables}
        self.unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), description, "CoSimulation")
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()

    def get(self, signal):
        return np.array(self.unit.getFloat64([self.references[f"{signal}{name}"] for name in joints]))

    def set(self, signal, values):
        self.unit.setFloat64([self.references[f"{signal}{name}"] for name in joints], list(values))


# the two units, and their run: measure, control, move on
OUT.mkdir(parents=True, exist_ok=True)
plant = Unit(export.fmu(arm, OUT / "arm.fmu"))
law = Unit(export.controller_fmu(model, OUT / "controller.fmu", frequency=FREQUENCY, period=PERIOD))
steps = round(SECONDS / PERIOD)
found = np.empty((steps + 1, 2))
for k in range(steps + 1):
    t = k * PERIOD
    found[k] = plant.get("q.")
    for signal in ("q.", "v."):
        law.set(signal, plant.get(signal))
    for signal, values in zip(("target.", "target_rate.", "target_acceleration."), reference(t), strict=True):
        law.set(signal, values)
    plant.set("", law.get(""))
    plant.unit.doStep(t, PERIOD)
    law.unit.doStep(t, PERIOD)

# the same in Python
own = control.computed_torque(model, reference, FREQUENCY)


def efforts(t, q, v):
    """The law on the joints of the arm that bends."""
    tau = np.zeros(arm.nu)
    tau[places] = own(t, q[places], v[places])
    return tau


run = flexdyn_ros.simulate(arm, SECONDS, control=efforts, dt=1e-3, sample=PERIOD)
difference = np.abs(found - run.q[:, places]).max(axis=1)
wanted = np.array([reference(t)[0] for t in run.t])
print(f"the two units and simulate differ by {difference.max():.1e} rad at most")
print(f"the joints end {1e3 * np.abs(found[-1] - GOAL).max():.1f} mrad from their goal")

plt.style.use(figure_style())
figure, (angles, error) = plt.subplots(2, 1, figsize=(7.0, 5.2), sharex=True)
for i, name in enumerate(joints):
    angles.plot(run.t, np.degrees(found[:, i]), label=name)
    angles.plot(run.t, np.degrees(wanted[:, i]), "k:", label="wanted" if i == 0 else None)
    error.plot(run.t, 1e3 * (found[:, i] - wanted[:, i]), label=name)
angles.set(ylabel="joint angle [deg]")
error.set(xlabel="time [s]", ylabel="tracking error [mrad]")
for axes in (angles, error):
    axes.legend()
figure.savefig(OUT / "10_controller_and_arm.png")
