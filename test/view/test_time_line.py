"""What the page shows of a run that is played: its time line, its plots, its pace."""

import dataclasses
import time

import numpy as np
import pytest
from pendulums import double_pendulum

pytest.importorskip("viser")

from view.test_viewer import until

import flexdyn_ros
from flexdyn_ros.view import Viewer
from flexdyn_ros.view.panels.live_plots import LivePlot, samples_of


@pytest.fixture(scope="module")
def run():
    return flexdyn_ros.simulate(double_pendulum(), 0.2, [0.3, 0.0], sample=0.01)


@pytest.fixture
def made(monkeypatch):
    """A viewer, and folders and buttons of its page by the labels that they begin with."""
    from viser import GuiApi

    parts = {}

    def noting(add):
        def noted(gui, label, *more, **options):
            parts[label] = add(gui, label, *more, **options)
            return parts[label]

        return noted

    for name in ("add_folder", "add_button"):
        monkeypatch.setattr(GuiApi, name, noting(getattr(GuiApi, name)))
    viewer = Viewer(double_pendulum(), port=8480)
    yield viewer, parts
    viewer.close()


def test_a_time_line_appears_with_the_first_run_and_has_its_times(made, run):
    viewer, parts = made
    line, folder = viewer.panels.time_line, parts["Time line"]
    assert not folder.visible
    late = dataclasses.replace(run, t=run.t + 3.0)
    line.speed.value, line.loop.value = "0.1", False
    viewer.play(late)
    assert folder.visible
    assert (line.time.min, line.time.max) == pytest.approx((3.0, 3.2))
    assert line.time.step == pytest.approx(0.2 / 1000.0)
    assert (viewer.playback.speed, viewer.playback.loop) == (0.1, False)
    assert f"{len(run)} samples, 0.2 s" in viewer.message
    assert parts["Play"].label == "Pause"
    until(lambda: line.time.value > 3.0)
    assert line.time.value <= viewer.playback.time
    # what is chosen meanwhile holds at once
    line.speed.value, line.loop.value = "5", True
    assert (viewer.playback.speed, viewer.playback.loop) == (5.0, True)


def test_a_run_at_its_end_is_played_from_its_beginning(made, run):
    viewer, parts = made
    line, button = viewer.panels.time_line, parts["Play"]
    line.speed.value, line.loop.value = "5", False
    viewer.play(run)
    until(lambda: not viewer.playback.playing)
    assert viewer.playback.time == run.t[-1]
    until(lambda: button.label == "Play")
    line.speed.value = "0.1"
    line.toggle()
    assert viewer.playback.playing
    assert button.label == "Pause"
    assert viewer.playback.time < 0.1
    # paused and played again it goes on
    viewer.show_time(0.15)
    line.toggle()
    assert not viewer.playback.playing
    assert button.label == "Play"
    line.toggle()
    assert viewer.playback.playing
    assert viewer.playback.time >= 0.15
    # a run that another motion has taken the place of is shown again
    viewer.pose(viewer.robot.neutral())
    line.toggle()
    assert viewer.source == "run"
    assert viewer.playback.playing


def test_the_slider_of_time_moves_ten_times_a_second(made, run):
    viewer, _ = made
    line, moments = viewer.panels.time_line, []
    line.time.on_update(lambda _: moments.append(time.monotonic()))
    line.speed.value = "0.1"
    viewer.play(run)
    until(lambda: len(moments) >= 5 and np.diff(moments).min() < 0.2)
    # one may be noted a little late, the next one not
    assert np.diff(moments).min() > 0.07


def test_a_plot_appears_as_soon_as_there_is_a_line_to_draw(made, run):
    viewer, parts = made
    plot = LivePlot(viewer.server, viewer.robot, "energies")
    folder = parts["Plot of energies"]
    plot.show([x[:1] for x in samples_of(run)], None, fresh=True)
    assert not folder.visible
    plot.show(samples_of(run), 0.1, fresh=True)
    assert folder.visible


def test_thirty_pictures_of_a_run_are_drawn_in_a_second(made, run, monkeypatch):
    viewer, _ = made
    elapsed = []
    viewer.play(run)
    monkeypatch.setattr(viewer.playback, "advance", elapsed.append)
    # a busy machine draws late, but never early
    until(lambda: len(elapsed) > 10 and min(elapsed) < 1.03 / 30.0, 10.0)
    assert min(elapsed) > 0.98 / 30.0
