"""What version 0.2 said of the shipped robots holds: descriptions, settings, names, numbers, recordings.

The files of test/reference/0_2 were made by test/reference/make_0_2.py and do not change.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros

FOLDER = Path(__file__).parents[1] / "reference" / "0_2"
ROBOTS = sorted(path.name.removesuffix(".urdf") for path in FOLDER.glob("*.urdf"))


def loaded(name):
    """The robot of kept files, with its settings."""
    settings = FOLDER / f"{name}.yaml"
    source = str(FOLDER / f"{name}.urdf")
    return flexdyn_ros.load(source, config=str(settings) if settings.exists() else None)


def test_every_shipped_robot_is_kept():
    assert len(ROBOTS) == 14
    assert sum((FOLDER / f"{name}.yaml").exists() for name in ROBOTS) == 2


@pytest.mark.parametrize("name", ROBOTS)
def test_names_and_parameters_are_those_of_version_0_2(name):
    robot, kept = loaded(name), json.loads((FOLDER / f"{name}.json").read_text())
    for words in ("q_names", "v_names", "effort_names", "frame_names", "actuators"):
        assert list(getattr(robot, words)) == kept[words]
    assert robot.kind == kept["kind"]
    assert robot.mass == pytest.approx(kept["mass"], rel=1e-12)
    values = {p.name: p.value for p in robot.parameters} if kept["parameters"] else {}
    assert list(values) == list(kept["parameters"])
    found, expected = (np.array([d[n] for n in kept["parameters"]]) for d in (values, kept["parameters"]))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_verbs_answer_as_those_of_version_0_2(name):
    robot = loaded(name)
    with np.load(FOLDER / f"{name}.npz") as kept:
        q, v, a, tau = (kept[word] for word in ("q", "v", "a", "tau"))
        given = [c.v_index for c in robot.coordinates if c.prescribed]
        efforts = robot.inverse_dynamics(q, v, a)
        efforts[:, given] = 0.0
        bent = robot.deflections(q, [0.0, 0.5, 1.0])
        found = {
            "tau": efforts, "M": robot.mass_matrix(q), "h": robot.bias_forces(q, v),
            "fd": robot.forward_dynamics(q, v, tau), "energy": np.stack(robot.energy(q, v), axis=-1),
            "frames": robot.frames(q), "jacobian": robot.jacobian(q, robot.frame_names[-1]),
        } | {f"deflection/{link}": d.displacement for link, d in bent.items()}  # fmt: skip
        assert {*found} == {*kept.files} - {"q", "v", "a"}
        for word, values in found.items():
            scale = np.abs(kept[word]).max(initial=1e-300)
            np.testing.assert_allclose(values, kept[word], rtol=0.0, atol=1e-9 * scale, err_msg=word)


@pytest.mark.parametrize("name", ROBOTS)
def test_runs_and_recordings_of_version_0_2_load_and_are_what_runs_give_now(name):
    robot = loaded(name)
    kept = flexdyn_ros.Trajectory.load(FOLDER / f"{name}.run.npz", robot)
    bag = flexdyn_ros.Trajectory.load(FOLDER / f"{name}.mcap", robot)
    np.testing.assert_allclose(bag.q, kept.q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(bag.t, kept.t, rtol=0.0, atol=1e-9)
    record = ("energy", "hydraulics") if robot.hydraulics is not None else ("energy",)
    run = flexdyn_ros.simulate(robot, 0.1, sample=5e-3, record=record)
    moved = np.ptp(kept.q, axis=0).max()
    # two runs with error control, each to 1e-6 of its motion
    np.testing.assert_allclose(run.q, kept.q, rtol=0.0, atol=1e-5 * moved + 1e-9)
