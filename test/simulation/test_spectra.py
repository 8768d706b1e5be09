"""Spectra of what moves and does not bend: of its speeds, with peaks where it swings."""

import dataclasses

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.simulation import modal_frequencies, tip_deflections
from flexdyn_ros.simulation.plots.spectra import spectra

AMPLITUDES, FREQUENCIES = np.array([0.3, 1.1]), np.array([4.0, 7.0])


def swinging(robot, t, v):
    """A run of a robot with these speeds (n, nv)."""
    run = flexdyn_ros.simulate(robot, 0.002, dt=1e-3)
    zero = np.zeros((t.size, robot.nu))
    return dataclasses.replace(
        run, t=t, q=np.tile(robot.neutral(), (t.size, 1)), v=v, tau=zero, energy=None,
        work=0 * t, dissipated=0 * t, saturated=t < 0,
    )  # fmt: skip


@pytest.mark.parametrize("even", [True, False])
def test_speeds_of_what_does_not_bend_are_peaks_of_their_amplitudes(even):
    robot = double_pendulum()
    t = np.linspace(2.0, 12.0, 4001)
    if not even:
        t = t + 1e-3 * np.sin(t)
    v = 5.0 + AMPLITUDES * np.sin(2.0 * np.pi * FREQUENCIES * t[:, None])
    run = swinging(robot, t, v)
    assert tip_deflections(run) == {}
    found = spectra(run)
    assert found.names == robot.v_names
    assert found.unit == "rad/s"
    assert found.amplitude.shape == (2, found.frequency.size)
    peaks = found.amplitude.argmax(axis=1)
    np.testing.assert_allclose(found.frequency[peaks], FREQUENCIES, atol=0.05)
    np.testing.assert_allclose(found.amplitude.max(axis=1), AMPLITUDES, rtol=0.02)
    # no mean, and half the rate of the samples
    assert found.amplitude[:, 0].max() < 1e-3
    assert found.frequency[-1] == pytest.approx(0.5 * 4000 / np.ptp(t), rel=1e-3)


def test_only_speeds_of_the_unit_of_the_first_are_shown():
    robot = tumbler()
    t = np.linspace(0.0, 1.0, 16)
    run = swinging(robot, t, np.outer(np.sin(20.0 * t), np.arange(1.0, 8.0)))
    found = spectra(run)
    assert found.names == ("base/wx", "base/wy", "base/wz", "hinge")
    np.testing.assert_allclose(found.amplitude / found.amplitude[0], np.outer([1, 2, 3, 7], np.ones(9)))


def test_runs_that_are_short_or_stand_have_none():
    robot = double_pendulum()
    t = np.linspace(0.0, 1.0, 15)
    assert spectra(swinging(robot, t, np.zeros((15, 2)))) is None
    assert spectra(swinging(robot, np.zeros(16), np.zeros((16, 2)))) is None
    assert modal_frequencies(swinging(robot, t[:1], np.zeros((1, 2)))).size == 0
