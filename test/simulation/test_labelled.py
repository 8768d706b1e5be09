"""Trajectories in pandas and xarray: every column, with its unit."""

import sys

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import MissingExtraError


@pytest.fixture(scope="module", params=["flexible_two_link", "stewart_1t"])
def run(request):
    record = ("energy", "hydraulics") if request.param == "stewart_1t" else ("energy",)
    return flexdyn_ros.simulate(flexdyn_ros.load(request.param), 0.2, sample=0.01, record=record)


def test_a_dataframe_has_every_column_and_its_unit(run):
    pytest.importorskip("pandas")
    table = run.to_dataframe()
    assert tuple(table.columns) == run.columns[1:]
    assert np.array_equal(table.index, run.t)
    for name in table.columns:
        assert np.array_equal(table[name], run[name])
    units = table.attrs["units"]
    for names, expected, ending in (
        (run.q_names, run.q_units, ""),
        (run.v_names, run.v_units, ".velocity"),
        (run.effort_names, run.effort_units, ".effort"),
    ):
        assert tuple(units[name + ending] for name in names) == expected
    assert units["energy.kinetic"] == units["work"] == "J"
    assert set(units) <= set(run.columns)


def test_a_dataset_says_units_with_every_variable(run):
    pytest.importorskip("xarray")
    data = run.to_xarray()
    assert set(data.variables) == set(run.columns)
    assert data["time"].attrs["units"] == "s"
    name = run.v_names[0]
    assert data[f"{name}.velocity"].attrs["units"] == run.v_units[0]
    assert np.array_equal(data[f"{name}.velocity"].sel(time=run.t[3]), run[name, "velocity"][3])
    assert data.attrs["robot"] == run.robot_name


def test_pressures_are_in_pascal():
    robot = flexdyn_ros.load("stewart_1t")
    run = flexdyn_ros.simulate(robot, 0.1, sample=0.05, record=("energy", "hydraulics"))
    pytest.importorskip("xarray")
    units = run.to_xarray()["leg_1.pressure_bore"].attrs
    assert units == {"units": "Pa"}
    assert run["leg_1.pressure_bore"][0] > 1e5  # absolute: more than the air


def into_jax():
    from flexdyn_ros.bridges import jax_functions

    jax_functions(flexdyn_ros.load("seven_joint_arm"))


def into_control():
    from flexdyn_ros.bridges import linear_system

    robot = flexdyn_ros.load("seven_joint_arm")
    linear_system(robot, robot.neutral()).to_control()


def run_of_an_arm():
    return flexdyn_ros.simulate(flexdyn_ros.load("seven_joint_arm"), 0.1, sample=0.01)


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("pandas", "data", lambda: run_of_an_arm().to_dataframe()),
        ("xarray", "data", lambda: run_of_an_arm().to_xarray()),
        ("control", "control", into_control),
        ("jax", "jax", into_jax),
    ],
)
def test_a_missing_extra_is_named(package, extra, call, monkeypatch):
    """As if the package was not installed."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"flexdyn_ros\[{extra}\]"):
        call()
