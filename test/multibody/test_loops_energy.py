"""Energy of closed mechanisms with beams in runs with error control: 1e-8 of its range, at rtol 1e-10."""

import warnings

import machines
import numpy as np
import pytest
from machines import body, joint
from mixtures import random_closed_mixture

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning


def welded_beams():
    """Two arms whose tips are welded: all that moves are bending, torsion and stiff axial modes."""
    beams = "".join(
        f'</flexdyn><flexdyn reference="{name}"><beam length="0.8" mass_per_length="1.5" EIy="200" EIz="300" '
        'GJ="50" EA="1e6" polar_inertia="0.001"/>'
        '<modes bending_y="2" bending_z="2" torsion="1" axial="1"/>'
        for name in ("lower", "upper")
    )
    parts = (
        '<link name="lower"/><link name="upper"/>',
        joint("a", "ground", "lower"),
        joint("b", "ground", "upper", at=(0.0, 0.0, 0.2)),
        body("plate", 0.5, (0.05, 0.02, 0.1), 0.003 * np.diag([1.0, 1.3, 1.6])),
        '<joint name="plate_joint" type="fixed"><parent link="lower"/><child link="plate"/>'
        '<origin xyz="0.8 0 0"/></joint>',
    )
    weld = '<loop name="weld" type="fixed" base="plate" base_xyz="0 0 0.2" end="upper@tip"/>'
    text = f'<gravity>0 0 -9.81</gravity>{beams}</flexdyn><flexdyn>{weld}<actuation active="a"/>'
    return flexdyn_ros.load(machines.robot("welded_beams", *parts, flexdyn=text))


def run_of(robot, seed, sizes, seconds):
    """A free run from a random state, and its residuals of positions and velocities."""
    rng = np.random.default_rng(seed)
    q, v = robot.project(robot.neutral(), sizes * rng.standard_normal(robot.nv))
    run = flexdyn_ros.simulate(robot, seconds, q, v, rtol=1e-10, sample=0.01)
    rates = np.einsum("nij,nj->ni", robot.loop_jacobian(run.q), run.v)
    assert np.abs(robot.loop_residual(run.q)).max() <= 1e-10
    assert np.abs(rates).max() <= 1e-9
    return run


def part_made(run):
    """Energy that errors make, as a part of the range of the kinetic energy."""
    return np.ptp(run.energy.total - run.work + run.dissipated) / np.ptp(run.energy.kinetic)


def test_stiff_modes_between_loops_keep_their_energy():
    """With an absolute tolerance of 1e-9 whatever rtol is, 5e-8 are lost in the first second."""
    robot = welded_beams()
    assert part_made(run_of(robot, 0, 0.4, 1.0)) < 1e-9


@pytest.mark.slow
def test_stiff_modes_between_loops_keep_their_energy_for_ten_seconds():
    assert part_made(run_of(welded_beams(), 0, 0.4, 10.0)) < 1e-8


def random_mechanism(family, seed):
    """A random mixture with loops and the sizes of its speeds; skipped where loops leave it no motion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        robot = flexdyn_ros.load(random_closed_mixture(seed, family))
    if not getattr(robot, "loops", ()) or robot.mobility == 0:
        pytest.skip("nothing moves")
    return robot, np.array([1e-3 if c.kind not in ("joint", "base") else 0.3 for c in robot.coordinates])


@pytest.mark.parametrize(
    ("family", "seed"), [("flexible", s) for s in (0, 1, 4, 9, 10)] + [("elastic", 6), ("wheeled", 6)]
)
def test_random_mechanisms_keep_their_energy(family, seed):
    robot, sizes = random_mechanism(family, seed)
    assert part_made(run_of(robot, [11, seed], sizes, 0.5)) < 1e-8


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
@pytest.mark.parametrize("seed", range(12))
def test_random_mechanisms_with_beams_keep_their_energy_for_ten_seconds(seed):
    robot, sizes = random_mechanism("flexible", seed)
    assert part_made(run_of(robot, [11, seed], sizes, 10.0)) < 1e-8
