"""A controller as an FMU of its own, in co-simulation with the FMU of an arm."""

import os
import subprocess
import sys

import machines
import numpy as np
import pytest
from exported import COMPILERS, fmu_name

import flexdyn_ros
from flexdyn_ros import control, export
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError

fmpy = pytest.importorskip("fmpy")

from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no C compiler"),
    pytest.mark.usefixtures("quick_compiler"),
]

TARGET = np.array([0.4, -0.3])
LAWS = {"computed_torque": {"frequency": 6.0}, "pd": {"stiffness": 50.0, "damping": np.array([20.0, 15.0])}}


class Unit:
    """An FMU in co-simulation, by names."""

    def __init__(self, path) -> None:
        description = fmpy.read_model_description(str(path))
        self._references = {x.name: x.valueReference for x in description.modelVariables}
        self._unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), description, "CoSimulation")
        if description.fmiVersion == "2.0":
            self._unit.setupExperiment()
        self._unit.enterInitializationMode()
        self._unit.exitInitializationMode()
        self._get = getattr(self._unit, "getFloat64", None) or self._unit.getReal
        self._set = getattr(self._unit, "setFloat64", None) or self._unit.setReal

    def __getitem__(self, names):
        return list(self._get([self._references[name] for name in names]))

    def __setitem__(self, names, values) -> None:
        self._set([self._references[name] for name in names], [float(x) for x in values])

    def step(self, t, seconds):
        self._unit.doStep(t, seconds)

    def close(self):
        self._unit.terminate()
        self._unit.freeInstance()


def together(arm, controller, joints, seconds, period):
    """Let the controller drive the arm: efforts are sampled and held."""
    measured = tuple(f"{signal}.{name}" for signal in "qv" for name in joints)
    for k in range(round(seconds / period)):
        controller[measured] = arm[measured]
        arm[joints] = controller[joints]
        arm.step(k * period, period)
        controller.step(k * period, period)


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
@pytest.mark.parametrize("law", LAWS)
def test_two_fmus_move_as_simulate_does(law, fmi, tmp_path):
    """The controller knows the rigid arm, the one that it drives bends."""
    arm = flexdyn_ros.load("flexible_two_link")
    model = flexdyn_ros.load("flexible_two_link", options={"formulation.flexible": False})
    path = export.controller_fmu(model, tmp_path / "law.fmu", law, fmi=fmi, target=TARGET, **LAWS[law])
    assert validate_fmu(str(path)) == []
    units = Unit(export.fmu(arm, tmp_path / "arm.fmu", fmi=fmi)), Unit(path)
    together(*units, tuple(model.v_names), 0.5, 2e-3)
    at = [arm.index(name) for name in model.v_names]
    own = getattr(control, law)(model, TARGET, **LAWS[law])

    def efforts(t, q, v):
        tau = np.zeros(arm.nu)
        tau[at] = own(t, q[at], v[at])
        return tau

    expected = flexdyn_ros.simulate(arm, 0.5, control=efforts, dt=1e-3, sample=2e-3)
    found = np.array(units[0][[fmu_name("q", name) for name in arm.q_names]])
    assert np.ptp(expected.q, axis=0).max() > 0.2
    assert np.abs(found - expected.q[-1]).max() <= 1e-9 * np.ptp(expected.q, axis=0).max()
    for unit in units:
        unit.close()


def test_gains_and_targets_are_set_by_name(tmp_path):
    robot = flexdyn_ros.load("seven_joint_arm")
    unit = Unit(export.controller_fmu(robot, tmp_path / "law.fmu", frequency=3.0))
    rng = np.random.default_rng(0)
    q, v, q_d, v_d, a_d = rng.uniform(-1.0, 1.0, (5, robot.nv))
    w = np.arange(1.0, 8.0)
    inputs = {"q": q, "v": v, "target": q_d, "target_rate": v_d, "target_acceleration": a_d, "frequency": w}
    for signal, values in inputs.items():
        unit[[f"{signal}.{name}" for name in robot.v_names]] = values
    law = control.computed_torque(robot, lambda t: (q_d, v_d, a_d), w)
    assert unit[list(robot.effort_names)] == pytest.approx(law(0.0, q, v), rel=1e-12)
    unit.close()


def test_a_crank_is_led_by_an_fmu_as_by_the_law(tmp_path):
    """Two FMUs beside `simulate`; the target of passive joints is nowhere near the loops."""
    robot, target = machines.four_bar(), machines.Q + [0.3, 1.0, 2.0]
    path = export.controller_fmu(robot, tmp_path / "law.fmu", frequency=6.0, target=target)
    assert validate_fmu(str(path)) == []
    units = Unit(export.fmu(robot, tmp_path / "bars.fmu")), Unit(path)
    arm, controller = units
    measured = tuple(f"{signal}.{name}" for signal in "qv" for name in robot.v_names)
    for k in range(250):
        controller[measured] = arm[measured]
        arm[["crank_joint"]] = controller[["crank_joint"]]
        arm.step(2e-3 * k, 2e-3)
    law = control.computed_torque(robot, target, 6.0)
    run = flexdyn_ros.simulate(robot, 0.5, control=law, dt=1e-3, sample=2e-3)
    assert np.ptp(run.q[:, 0]) > 0.1
    np.testing.assert_allclose(arm[measured[:3]], run.q[-1], atol=1e-9)
    for unit in units:
        unit.close()
    with pytest.raises(UnsupportedError, match=r"\('close'\): an FMU of pd, or of more"):
        export.controller_fmu(robot, path, "pd", stiffness=1.0, damping=1.0)
    with pytest.raises(UnsupportedError, match="cannot be controlled so"):
        export.controller_fmu(flexdyn_ros.load("excavator"), path, frequency=1.0)


def test_refusals(tmp_path):
    robot, path = flexdyn_ros.load("two_link"), tmp_path / "law.fmu"
    with pytest.raises(UnknownNameError, match="law"):
        export.controller_fmu(robot, path, "fuzzy")
    with pytest.raises(UnknownNameError, match="version"):
        export.controller_fmu(robot, path, fmi="1.0", frequency=1.0)
    with pytest.raises(StateError, match="frequency"):
        export.controller_fmu(robot, path)
    with pytest.raises(DimensionError, match="frequency"):
        export.controller_fmu(robot, path, frequency=[1.0, 2.0, 3.0])
    with pytest.raises(DimensionError, match="target"):
        export.controller_fmu(robot, path, frequency=1.0, target=[1.0])
    with pytest.raises(StateError, match="period"):
        export.controller_fmu(robot, path, frequency=1.0, period=0.0)
    for name in ("flexible_two_link", "stewart_1t"):
        with pytest.raises(UnsupportedError, match="actuator"):
            export.controller_fmu(flexdyn_ros.load(name), path, frequency=1.0)
    assert not list(tmp_path.iterdir())


ASKED = """
import sys
from pathlib import Path
import fmpy, flexdyn_ros
from flexdyn_ros import export
folder = Path(sys.argv[1])
robot = flexdyn_ros.load("two_link")
for write, name in ((export.controller_fmu, "law"), (export.fmu, "arm")):
    path = write(robot, folder / f"{name}.fmu", **({"frequency": 6.0} if name == "law" else {}))
    fmpy.simulate_fmu(str(path), stop_time=0.02, output_interval=1e-2)
print("ended")
"""


def test_no_undefined_behaviour(tmp_path):
    """Of controllers and robots: what no array holds ends the process."""
    script = tmp_path / "cc"
    trap = "-fsanitize=undefined -fsanitize-undefined-trap-on-error"
    script.write_text(f'#!/bin/sh\nexec {COMPILERS[0]} "$@" -O0 {trap}\n')
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", ASKED, tmp_path], env={**os.environ, "CC": str(script)}, capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "ended"
