"""rk4 with added masses on modes that are too fast for the step
(flexdyn_ros/simulation/steps/mass_scaling.py)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobile_arms import arm, efforts, held

import flexdyn_ros
from flexdyn_ros.errors import SimulationError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation import FusedHydraulics, Stepper
from flexdyn_ros.simulation.steps.stiffness import bound, scaled_masses

START = np.radians([-45.0, 120.0])
DURATION = 0.05

#: a rod that stretches (about 240 Hz) and bends (15 Hz and up)
PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="rod"/>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
  <flexdyn reference="rod">
    <beam length="1" mass_per_length="1" EA="3e5" EIz="200" EIy="200"/>
    <modes axial="2" bending_z="2"{basis}/>
    <body name="weight">
      <mass value="0.2"/>
      <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>
    </body>
    {damping}
  </flexdyn>
</robot>
"""


def pendulum(basis="", damping="", **options):
    text = PENDULUM.replace("{basis}", basis).replace("{damping}", damping)
    return flexdyn_ros.load(text, options=options)


def swung(robot, method, dt, duration=0.3, **options):
    """From the horizontal, at rest."""
    return flexdyn_ros.simulate(robot, duration, robot.neutral(), method=method, dt=dt, **options)


def mobile(method, dt, **options):
    """Robot and the study of the wheeled arm from its held pose, torques stepped."""
    robot = arm()
    v = np.zeros(robot.nv)
    v[0] = 0.3
    q = held(robot, START).q
    return robot, flexdyn_ros.simulate(
        robot, DURATION, q, v, method=method, dt=dt, control=efforts(robot, 45.0, -2.0), **options
    )


@pytest.mark.parametrize("name", ["mobile_arm", "flexible_two_link", "canadarm2", "soft_arm", "stewart_1t"])
def test_it_is_rk4_to_the_bit_where_nothing_is_too_fast(name):
    robot = flexdyn_ros.load(name)
    control = np.zeros(robot.nu)
    ends = []
    for method in ("rk4", "scaled_rk4"):
        stepper = Stepper(robot, 2e-5, method)
        assert not stepper.added_mass.any()
        assert stepper.advance(20, control) == 0
        ends.append((*stepper.q, *stepper.v, *stepper.a, *stepper.effort, stepper.work, stepper.dissipated))
    assert ends[0] == ends[1]


def test_fewer_coordinates_are_scaled_at_smaller_steps_until_none_is():
    robot = arm()
    counts = [np.count_nonzero(Stepper(robot, dt, "scaled_rk4").added_mass) for dt in (5e-3, 4e-4, 1e-4)]
    assert counts == [6, 2, 0]
    names = np.array(robot.v_names)[Stepper(robot, 4e-4, "scaled_rk4").added_mass > 0.0]
    assert list(names) == ["link_1/axial/1", "link_2/axial/1"]


def test_it_stays_stable_where_rk4_diverges_and_its_error_is_bounded():
    _, exact = mobile("dop853", DURATION, rtol=1e-9, atol=1e-11)
    with pytest.raises(SimulationError):
        mobile("rk4", 4e-4)
    tip = exact.frames("link_2/tip")[-1, :3, 3]
    errors = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        _, run = mobile("scaled_rk4", dt)
        errors.append(np.abs(run.frames("link_2/tip")[-1, :3, 3] - tip).max())
    assert errors[0] < 1e-3
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 2e-5


@pytest.mark.parametrize(("dt", "most"), [(4e-4, 6e-5), (2.5e-4, 1.2e-5)])
def test_its_error_is_bounded_at_every_step_of_the_run_and_not_at_its_end_alone(dt, most):
    _, run = mobile("scaled_rk4", dt)
    _, exact = mobile("dop853", dt, rtol=1e-9, atol=1e-11)
    errors = np.abs(run.frames("link_2/tip")[:, :3, 3] - exact.frames("link_2/tip")[:, :3, 3]).max(axis=1)
    assert errors.max() < most
    assert errors.max() > 1.05 * errors[-1]


@pytest.mark.parametrize("basis", ["", ' basis="hermite"'])
def test_a_stretching_pendulum_falls_as_the_oracle_does(basis):
    robot = pendulum(basis)
    exact = swung(robot, "dop853", 0.3, rtol=1e-10, atol=1e-12)
    with pytest.raises(SimulationError):
        swung(robot, "rk4", 2e-3)
    for dt, largest in ((2e-3, 5e-4), (1e-3, 5e-6), (5e-4, 5e-7)):
        run = swung(robot, "scaled_rk4", dt)
        assert np.abs(run.frames("rod/tip")[-1, :3, 3] - exact.frames("rod/tip")[-1, :3, 3]).max() < largest


def test_links_of_any_stiffness_and_damping_stay_stable():
    for damping in ("", '<damping ratio="0.3"/>', '<damping rayleigh_stiffness="1e-3"/>'):
        for basis in ("", ' basis="hermite"'):
            robot = pendulum(basis, damping, **{"links.rod.beam.EA": 3e8, "links.rod.beam.EIy": 2e5})
            run = swung(robot, "scaled_rk4", 2e-3, 2.0)
            # without a motor it cannot rise above where it began
            assert np.abs(run.energy.total).max() < 0.05, (damping, basis)


def test_an_equilibrium_is_the_same_with_added_masses():
    robot = arm()
    rest = held(robot, START)
    stepper = Stepper(robot, 2e-3, "scaled_rk4", q0=rest.q)
    assert np.count_nonzero(stepper.added_mass) == 5
    assert stepper.advance(250, rest.tau) == 0
    assert np.abs(stepper.q - rest.q).max() < 1e-9


def test_what_added_masses_hold_is_in_the_account_to_order_four():
    robot = pendulum()
    added = Stepper(robot, 2e-3, "scaled_rk4").added_mass
    assert added.any()
    drifts = []
    for dt in (1e-4, 5e-5):
        v0 = np.zeros(robot.nv)
        v0[robot.index("rod/axial/1")] = 0.1
        stepper = Stepper(robot, dt, "scaled_rk4", v0=v0)
        # as for longer steps, so that these are short enough to see the order
        stepper._workspace["scaled"][:] = added
        start, drift, held_back = stepper.energy().total, 0.0, 0.0
        for _ in range(round(0.1 / dt)):
            assert stepper.advance(1) == 0
            drift = max(drift, abs(stepper.energy().total - stepper.work + stepper.dissipated - start))
            held_back = max(held_back, 0.5 * added @ stepper.v**2)
        assert drift < 1e-2 * held_back
        drifts.append(drift)
    assert drifts[1] < drifts[0] / 12.0


def test_motions_without_compiled_steps_refuse_it_by_name(monkeypatch):
    robot = flexdyn_ros.load("canadarm2")
    monkeypatch.setattr(type(robot), "motion", None)
    with pytest.raises(UnsupportedError, match="scaled_rk4"):
        flexdyn_ros.simulate(robot, 0.01, method="scaled_rk4")


def test_unknown_methods_are_refused_with_the_list_that_holds_it():
    with pytest.raises(UnknownNameError, match="scaled_rk4"):
        flexdyn_ros.simulate(flexdyn_ros.load("canadarm2"), 0.01, method="scaled")


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_the_bound_is_one_and_the_diagonal_where_there_is_only_that(m, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, rng.integers(1, m + 1))) * 10.0 ** rng.uniform(-3, 3, size=(m, 1))
    S = A @ A.T
    d = bound(S)
    unit = 1.0 / np.sqrt(np.diagonal(S))
    assert np.linalg.eigvalsh((np.diag(d) - S) * np.outer(unit, unit))[0] >= -1e-12
    assert bound(np.diag(np.diagonal(S))) == pytest.approx(np.diagonal(S), rel=1e-15)


def test_rigid_twins_need_no_mass():
    motion = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False}).motion
    assert motion.modal == ()
    assert (scaled_masses(motion, np.eye(3), 1.0) == 0.0).all()


def test_modes_beside_cylinders_are_scaled():
    robot, ends = flexdyn_ros.load("boom"), []
    for method in ("scaled_rk4", "rosenbrock"):
        stepper = Stepper(robot, 2e-3, method)
        FusedHydraulics(stepper, "valve")
        assert stepper.advance(300) == 0
        scaled = [name for name, mass in zip(robot.v_names, stepper.added_mass, strict=True) if mass > 0.0]
        assert scaled == (["boom_2/bending_z/1", "boom_2/bending_z/2"] if method == "scaled_rk4" else [])
        ends.append(stepper.q.copy())
    # swinging behind shut valves
    assert np.abs(ends[1]).max() > 2e-3
    assert np.abs(ends[0] - ends[1]).max() < 2e-4
