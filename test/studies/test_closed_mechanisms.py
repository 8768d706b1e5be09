"""Studies of closed mechanisms: experiments against closed forms; points that do not assemble are rows."""

import warnings

import numpy as np
import pytest
from machines import four_bar, four_bar_urdf
from multibody.test_delta import COM, M_ARM, M_PLATFORM, G, jacobian, motor_angles

import flexdyn_ros
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.studies.experiments.registry import function_of


def experiment(name, robot, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function_of(name)(robot, **arguments)


@pytest.fixture(scope="module")
def delta():
    return flexdyn_ros.load("delta")


def holding(p, load=0.0):
    """Torques of the motors of the delta by virtual work, its platform at p with a load."""
    angles = motor_angles(p)
    lift = np.linalg.solve(jacobian(p, angles).T, [0.0, 0.0, (M_PLATFORM + load) * G])
    return lift - M_ARM * G * COM * np.cos(angles)


def test_a_fall_starts_assembled_and_keeps_its_energy():
    found = experiment("free_fall", four_bar(), pose={"crank_joint": -0.8}, duration=0.5)
    run = found["trajectory"]
    assert found["balance_error"] < 2e-5
    assert run.q[0, 0] == -0.8
    assert np.abs(four_bar().loop_residual(run.q)).max() <= 1e-10


def test_efforts_at_rest_are_those_of_actuators(delta):
    """The static torque of the crank in W3; three motors by virtual work."""
    assert experiment("static", four_bar())["largest_effort"] == pytest.approx(2.300349069209468, abs=1e-8)
    p = np.array([0.1, -0.2, -1.2])
    found = experiment("static", delta, pose=motor_angles(p).tolist())
    assert found["largest_effort"] == pytest.approx(np.abs(holding(p)).max(), abs=1e-8)
    assert abs(found["sag"]) < 1e-12


def test_a_payload_that_is_lifted_takes_the_torque_of_virtual_work(delta):
    base = delta.frames(delta.neutral(), delta.frame_names[0])[:3, 3]
    p = np.array([0.3, 0.0, -1.15])
    limit = dict.fromkeys(delta.actuators, 200.0)
    found = experiment(
        "lift", delta, frame="platform", reach=p[0] - base[0], height=p[2] - base[2], payload=4.0,
        torque_limits=limit,
    )  # fmt: skip
    assert found["torque_margin"] == pytest.approx(1.0 - np.abs(holding(p, 4.0)).max() / 200.0, abs=1e-6)


def test_a_slew_takes_the_platform_where_the_motors_are_meant_to_be(delta):
    ends = np.array([[0.2, -0.1, -1.1], [-0.1, 0.25, -1.25]])
    start, end = (motor_angles(p).tolist() for p in ends)
    found = experiment(
        "slew", delta, start=start, end=end, duration=0.8, frequency=5.0, frame="platform", settle=1.0
    )
    np.testing.assert_allclose([found[f"tip_{x}"] for x in "xyz"], ends[1], atol=1e-6)
    # feed-forward of the exact model: the servos have next to nothing to do
    assert found["largest_swing"] < 1e-3
    assert found["residual_swing"] < 1e-4


def test_slews_by_cylinders_are_refused():
    with pytest.raises(UnsupportedError, match=r"'bucket_pin'\): a slew by cylinders"):
        experiment("slew", flexdyn_ros.load("excavator"))


@pytest.fixture
def four_bar_file(tmp_path):
    file = tmp_path / "four_bar.urdf"
    file.write_text(four_bar_urdf())
    return file


def test_points_that_do_not_assemble_are_rows_and_others_are_computed(four_bar_file, tmp_path):
    for package in ("distributed", "pyarrow", "pandas"):
        pytest.importorskip(package, reason="the extra [studies] is not installed")
    from flexdyn_ros.studies import run

    study = {
        "study": "lengths",
        "robot": str(four_bar_file),
        "experiment": "static",
        "design": {"kind": "grid"},
        "parameters": {
            "ground": {"sets": ["urdf.joints.rocker_joint.origin.xyz"], "grid": ["0.9 0 0", "2.9 0 0"]},
            "load": {"sets": ["payload.coupler.mass"], "grid": [0.0, 3.0]},
            "mass": {"sets": ["urdf.links.coupler.inertial.mass.value"], "grid": [2.0, 4.0]},
        },
    }
    result = run(study, progress=False, workers=1, folder=tmp_path / "out")
    table = result.table
    assert table["failed"].tolist() == [ground != "0.9 0 0" for ground in table["ground"]]
    assert all("the loops cannot be closed" in text for text in result.failures["message"])
    for _, row in table[~table["failed"]].iterrows():
        other = flexdyn_ros.load(four_bar_urdf().replace('value="2.0"', f'value="{row["mass"]}"'))
        other = other.with_payload("coupler", row["load"])
        tau = other.inverse_dynamics(other.neutral(), np.zeros(3), np.zeros(3))
        assert row["largest_effort"] == pytest.approx(abs(tau[0]), rel=1e-8)
