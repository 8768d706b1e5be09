"""Plots: every panel is there, labelled, and drawn from the numbers."""

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.errors import UnknownNameError

pytest.importorskip("matplotlib")


def crossing(t, q, v):
    return t - 0.05


@pytest.fixture(scope="module")
def run():
    return flexdyn_ros.simulate(double_pendulum(), 0.2, [0.1, 1.0], control=[0.3, -0.1], events=crossing)


def test_a_picture_shows_what_happened(run, tmp_path):
    figure = run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    axes = {ax.get_title(loc="left"): ax for ax in figure.axes if ax.get_title(loc="left")}
    assert set(axes) == {"Position", "Velocity", "Effort", "Energy", "Energy balance"}
    assert axes["Position"].get_ylabel() == "position [rad]"
    assert axes["Effort"].get_ylabel() == "effort [N m]"
    line = axes["Velocity"].get_lines()[1]
    assert line.get_label() == "elbow"
    assert np.array_equal(line.get_ydata(), run["elbow", "velocity"])
    assert [text.get_text() for text in axes["Position"].get_legend().get_texts()] == ["shoulder", "elbow"]
    # an event is a vertical line
    assert len(axes["Position"].get_lines()) == 2 + len(run.events) == 3


def test_units_have_panels_of_their_own():
    free = flexdyn_ros.simulate(tumbler(), 0.02, v0=np.ones(7))
    figure = free.plot()
    labels = [ax.get_ylabel() for ax in figure.axes]
    for label in ("position [m]", "attitude [-]", "position [rad]", "velocity [rad/s]", "velocity [m/s]"):
        assert label in labels


def test_parts_of_a_picture(run):
    figure = run.plot(panels=("position",), coordinates=("elbow",), title="One")
    assert [len(ax.get_lines()) - len(run.events) for ax in figure.axes] == [1]
    assert figure.get_suptitle() == "One"
    with pytest.raises(UnknownNameError, match="wrist"):
        run.plot(coordinates=("wrist",))
    with pytest.raises(UnknownNameError, match="speed"):
        run.plot(panels=("speed",))


def test_runs_without_energy_can_be_drawn():
    bare = flexdyn_ros.simulate(double_pendulum(), 0.01, record=())
    assert [ax.get_title(loc="left") for ax in bare.plot().axes] == ["Position", "Velocity"]
