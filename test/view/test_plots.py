"""Plots: every panel is there, labelled, and drawn from the numbers."""

import dataclasses
import struct

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation import modal_frequencies, tip_deflections
from flexdyn_ros.simulation.plots.panels import LARGE, PANELS, SMALL, Panel, panels_of
from flexdyn_ros.simulation.plots.spectra import spectra
from flexdyn_ros.simulation.plots.style import COLOURS, DASHES

pytest.importorskip("matplotlib")


def crossing(t, q, v):
    return t - 0.05


@pytest.fixture(scope="module")
def run():
    def law(t, q, v):
        return [0.3 * np.cos(20.0 * t), -0.1]

    return flexdyn_ros.simulate(double_pendulum(), 0.2, [0.1, 1.0], control=law, events=crossing)


def test_a_picture_shows_what_happened(run, tmp_path):
    figure = run.plot(tmp_path / "run.png", panels=("position", "velocity", "effort", "energy", "balance"))
    picture = (tmp_path / "run.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    # width and height, of 150 dots per inch
    assert struct.unpack(">II", picture[16:24]) == pytest.approx(150.0 * figure.get_size_inches(), abs=1.0)
    coarse = run.plot(tmp_path / "coarse.png", panels=("position",), dpi=40)
    picture = (tmp_path / "coarse.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == pytest.approx(40.0 * coarse.get_size_inches(), abs=1.0)
    axes = {ax.get_title(loc="left"): ax for ax in figure.axes if ax.get_title(loc="left")}
    assert set(axes) == {"Position", "Velocity", "Effort", "Energy", "Energy balance"}
    assert axes["Position"].get_ylabel() == "position [rad]"
    assert axes["Effort"].get_ylabel() == "effort [N m]"
    assert all(ax.get_axisbelow() is True for ax in axes.values())
    # numbers of times only where they are named: at the lowest panel of each column
    assert {ax.get_xlabel() for ax in axes.values()} == {"", "time [s]"}
    for ax in axes.values():
        numbered = ax.xaxis.get_tick_params()["labelbottom"]
        below = [other for other in axes.values() if other.get_position().x0 == ax.get_position().x0]
        is_lowest = ax.get_position().y0 == min(other.get_position().y0 for other in below)
        assert (ax.get_xlabel() == "time [s]") == numbered == is_lowest
    line = axes["Velocity"].get_lines()[1]
    assert line.get_label() == "elbow"
    assert np.array_equal(line.get_ydata(), run["elbow", "velocity"])
    assert [text.get_text() for text in axes["Position"].get_legend().get_texts()] == ["shoulder", "elbow"]
    # an event is a vertical line
    assert len(axes["Position"].get_lines()) == 2 + len(run.events) == 3


def test_units_have_panels_of_their_own():
    free = flexdyn_ros.simulate(tumbler(), 0.02, v0=np.ones(7))
    figure = free.plot(panels=("position", "velocity"))
    labels = [ax.get_ylabel() for ax in figure.axes]
    for label in (
        "position [mm]",
        "change of attitude [-]",
        "position [rad]",
        "velocity [rad/s]",
        "velocity [m/s]",
    ):
        assert label in labels


def test_parts_of_a_picture(run):
    figure = run.plot(panels=("position",), coordinates=("elbow",), title="One")
    assert [len(ax.get_lines()) - len(run.events) for ax in figure.axes] == [1]
    assert figure.get_suptitle() == "One"
    with pytest.raises(UnknownNameError, match="wrist"):
        run.plot(coordinates=("wrist",))
    with pytest.raises(UnknownNameError, match="speed"):
        run.plot(panels=("speed",))


def test_what_stays_zero_is_named_and_not_drawn_at_full_scale():
    still = flexdyn_ros.simulate(double_pendulum(), 0.01)
    figure = still.plot(panels=("position", "velocity", "effort", "energy"))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert "Velocity" not in titles
    assert "Effort" not in titles
    assert "velocity [rad/s]" in figure.get_supxlabel()
    # rounding on a constant value is no motion either
    for step in (1e-17, 1e-14, 1e-12, 1e-10):
        noisy = dataclasses.replace(still, q=0.2 + step * np.arange(still.q.size).reshape(still.q.shape))
        low, high = next(ax for ax in noisy.plot().axes if ax.get_title(loc="left") == "Position").get_ylim()
        assert high - low >= 1e-7
        assert low < noisy.q.min() <= noisy.q.max() < high
        assert 0.5 * (low + high) == pytest.approx(0.5 * (noisy.q.min() + noisy.q.max()), abs=1e-9)


def test_what_is_constant_is_named_and_left_out():
    pushed = flexdyn_ros.simulate(double_pendulum(), 0.05, [0.1, 1.0], control=[0.3, -0.1])
    figure = pushed.plot(panels=("position", "effort"))
    assert "Effort" not in [ax.get_title(loc="left") for ax in figure.axes]
    assert "effort [N m]" in figure.get_supxlabel()


@pytest.mark.parametrize(("size", "width"), [("one-column", 89.0), ("two-column", 183.0)])
def test_pictures_for_print_have_the_width_of_columns_and_text_as_text(run, tmp_path, size, width):
    panels = ("position", "velocity", "energy")
    figure = run.plot(tmp_path / "run.svg", size=size, panels=panels)
    assert not figure.get_suptitle()
    assert figure.get_figwidth() * 25.4 == pytest.approx(width, abs=0.5)
    text = (tmp_path / "run.svg").read_text()
    assert "velocity [rad/s]" in text
    run.plot(tmp_path / "again.svg", size=size, panels=panels)
    undated = [line for line in text.splitlines() if "<dc:date>" not in line]
    again = (tmp_path / "again.svg").read_text().splitlines()
    assert undated == [line for line in again if "<dc:date>" not in line]
    figure.draw_without_rendering()
    for ax in (ax for ax in figure.axes if ax.get_legend() is not None):
        assert ax.get_window_extent().width > 0.4 * figure.bbox.width / (2 if size == "two-column" else 1)
        assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())


def test_panels_have_letters_and_settings_come_back(run):
    import matplotlib

    before = dict(matplotlib.rcParams)
    every = run.plot(panels=("position", "velocity", "effort", "energy", "balance")).axes
    letters = [ax.texts[0].get_text() for ax in every if ax.get_title(loc="left")]
    assert sorted(letters) == [f"({letter})" for letter in "abcde"]  # down the columns
    assert not any("(" in text.get_text() for text in run.plot(panels=("position",)).axes[0].texts)
    assert dict(matplotlib.rcParams) == before
    with pytest.raises(UnknownNameError, match="two-column"):
        run.plot(size="two-columns")


def test_rates_of_bending_and_frequencies_of_free_joints_are_drawn():
    robot = flexdyn_ros.load("flexible_two_link")
    run = flexdyn_ros.simulate(robot, 2.0, v0=0.1 * np.ones(robot.nv), dt=2e-3)
    figure = run.plot(panels=("velocity", "spectrum"))
    assert "Modal velocity" in [ax.get_title(loc="left") for ax in figure.axes]
    free = robot.modes(run.q[run.t.size // 2]).frequency
    marked = modal_frequencies(run)
    assert marked.size
    assert np.abs(marked[:, None] - free).min(axis=1).max() < 1e-9
    axes = next(ax for ax in figure.axes if ax.get_title(loc="left").startswith("Spectrum"))
    assert "free joints" in axes.get_xlabel()


def test_runs_without_energy_can_be_drawn():
    bare = flexdyn_ros.simulate(double_pendulum(), 0.01, [0.1, 0.2], record=())
    figure = bare.plot(panels=("position", "velocity", "energy"))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Position", "Velocity"]


def test_a_steady_oscillation_is_a_peak_of_its_amplitude_at_its_frequency():
    robot = flexdyn_ros.load("canadarm2")
    link = robot.coordinates[robot.index("boom_1/bending_z/1")]
    t = np.linspace(0.0, 10.0, 2001)
    q = np.tile(robot.neutral(), (t.size, 1))
    q[:, link.q_index] = 0.01 * np.sin(2.0 * np.pi * 3.0 * t)
    run = flexdyn_ros.simulate(robot, 0.002, dt=1e-3)
    run = dataclasses.replace(
        run, t=t, q=q, v=np.zeros((t.size, 23)), tau=np.zeros((t.size, 23)), energy=None,
        work=0 * t, dissipated=0 * t, saturated=t < 0,
    )  # fmt: skip
    found = spectra(run)
    assert found.unit == "m"
    row = found.amplitude[found.names.index("boom_1 z")]
    k = int(np.argmax(row))
    assert found.frequency[k] == pytest.approx(3.0, abs=0.11)
    amplitude = np.ptp(tip_deflections(run)["boom_1 z"]) / 2
    assert row[k] == pytest.approx(amplitude, rel=0.02)

    figure = run.plot(panels=("deflection", "spectrum"))
    axes = {ax.get_title(loc="left"): ax for ax in figure.axes if ax.get_title(loc="left")}
    assert {"Deflection of tips", "Spectrum of deflection"} <= set(axes)
    spectrum = axes["Spectrum of deflection"]
    assert spectrum.get_xlabel().startswith("frequency [Hz]")
    # the run had free joints; what does not swing once in its ten seconds is not marked
    free = robot.modes(q[1000]).frequency
    expected = free[free > 0.1][:6]
    assert len(expected) == 6
    marks = [line.get_xdata()[0] for line in spectrum.get_lines() if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(marks, expected)


def test_another_run_is_drawn_beside_it(run):
    other = flexdyn_ros.simulate(double_pendulum(), 0.1, [0.2, 0.5])
    figure = run.plot(panels=("position",), overlay={"twin": other})
    labels = {line.get_label(): line for line in figure.axes[0].get_lines()}
    assert np.array_equal(labels["elbow, twin"].get_ydata(), other["elbow"])
    assert np.array_equal(labels["elbow, twin"].get_xdata(), other.t)
    assert labels["elbow, twin"].get_marker() == "o" != labels["elbow"].get_marker()


def test_legends_do_not_cover_the_data(run):
    figure = run.plot()
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None:
            assert not legend.get_window_extent().overlaps(ax.get_window_extent())


def of(values, unit="m", quantity="position", title="Position"):
    return Panel(title, quantity, unit, [(name, np.array(x)) for name, x in values.items()])


def test_the_usual_panels_are_positions_deflections_and_energies():
    robot = flexdyn_ros.load("flexible_two_link")
    figure = flexdyn_ros.simulate(robot, 0.05, v0=0.1 * np.ones(robot.nv)).plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["Position", "Deflection of tips", "Energy"]


def test_equal_curves_are_drawn_once():
    legs = {f"leg_{i}": [0.0, 1.0, 2.0] for i in range(1, 7)}
    panel = of(legs | {"other": [0.0, 2.0, 1.0]}).readable()
    assert [name for name, _ in panel.lines] == ["leg_1 = … = leg_6 (6)", "other"]


def test_motions_too_small_to_be_seen_beside_their_values_are_drawn_as_changes():
    panel = of({"x": [0.0, 0.0], "z": [1.147, 1.1485]}).readable()
    assert panel.label == "change of position [mm]"
    assert [name for name, _ in panel.lines] == ["z (from 1.147 m)"]
    assert panel.lines[0][1] == pytest.approx([0.0, 1.5])


@pytest.mark.parametrize(
    ("unit", "value", "label", "shown"),
    [
        ("m", 0.02, "position [mm]", 20.0),
        ("m", 0.2, "position [m]", 0.2),
        ("N", 2e4, "position [kN]", 20.0),
        ("rad", 2.0, "position [rad]", 2.0),
    ],
)
def test_small_and_large_numbers_have_units_that_read_well(unit, value, label, shown):
    panel = of({"x": [0.0, value]}, unit).readable()
    assert panel.label == label
    assert panel.lines[0][1][1] == pytest.approx(shown)


def test_the_panel_of_moments_has_those_that_the_root_joints_transmit():
    robot = flexdyn_ros.load("canadarm2")
    run = flexdyn_ros.simulate(robot, 0.02, dt=1e-3)
    (panel,) = panels_of(run, "moment")
    reactions = robot.joint_reactions(run.q, run.v, robot.forward_dynamics(run.q, run.v, run.tau))
    assert [name for name, _ in panel.lines] == ["boom_1", "boom_2"]
    for (_, values), joint in zip(panel.lines, ("shoulder_pitch", "elbow_pitch"), strict=True):
        moment = np.linalg.norm(reactions.of(joint)[:, :3], axis=1)
        np.testing.assert_allclose(values, moment, rtol=1e-9)
    assert panels_of(flexdyn_ros.simulate(flexdyn_ros.load("two_link"), 0.02, dt=1e-3), "moment") == []


def test_limits_that_are_passed_and_events_are_named():
    run = flexdyn_ros.simulate(flexdyn_ros.load("seven_joint_arm"), 0.5, limits="report")
    texts = [text.get_text() for text in run.plot().axes[0].texts]
    assert any(text.startswith("limit of") for text in texts)
    assert any(mathtext(run.events[0].name) in text for text in texts)


def test_colours_differ_and_stand_out_on_white():
    """WCAG 2: relative luminance; a contrast of 3 for graphics."""
    from matplotlib.colors import to_rgb

    rows = np.array([to_rgb(colour) for colour in COLOURS])
    linear = np.where(rows <= 0.04045, rows / 12.92, ((rows + 0.055) / 1.055) ** 2.4)
    contrast = 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    assert contrast.min() >= 3.0
    assert len({str(dashes) for dashes in DASHES}) == len(DASHES) >= 6


def test_pictures_for_print_fit_a_page_and_have_300_dots_per_inch(run, tmp_path):
    from PIL import Image

    robot = flexdyn_ros.load("canadarm2")
    figure = flexdyn_ros.simulate(robot, 0.02, dt=1e-3).plot(size="one-column", panels=PANELS)
    assert figure.get_figheight() * 25.4 < 240.0
    run.plot(tmp_path / "run.png", size="one-column")
    assert Image.open(tmp_path / "run.png").width == pytest.approx(3.5 * 300.0, abs=2)


def test_titles_are_no_wider_than_the_figure(run):
    figure = run.plot(title="A title " * 30)
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.width


def test_units_of_panels_are_larger_and_smaller_by_their_prefixes():
    for table, prefix, factor in ((SMALL, "m", 1e3), (LARGE, "k", 1e-3)):
        for unit, (_, name, shown) in table.items():
            assert (name, shown) == (prefix + unit, factor)
