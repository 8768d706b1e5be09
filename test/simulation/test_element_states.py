"""States of elements beside q and v: pressures of soft sections whose supply lags."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from soft_arms import chain

import flexdyn_ros
from flexdyn_ros import Trajectory
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.families.continuum.model import ATMOSPHERE
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer
from flexdyn_ros.simulation.live.simulation import Driven, Simulation
from flexdyn_ros.simulation.steps.stepper import Stepper

AREA, LAG, HIGHEST = 1e-4, 0.03, 4e5
TAU = np.array([20.0, 5.0, 0.0, 10.0, 15.0, 3.0])
NAMES = tuple(f"section_{i}/pressure_{k}" for i in (1, 2) for k in (1, 2, 3))
START = {"section_1/pressure_2": 1.5e5, "section_2/pressure_3": 0.8e5}
METHODS = ({"dt": 1e-4, "method": "rk4"}, {"dt": 1e-3, "method": "rosenbrock"}, {}, {"method": "bdf"})

pytestmark = pytest.mark.filterwarnings("ignore:the energy of")


def arm(*, lag=LAG):
    text = chain(2, 'preset="bai2022" length="0.15"', "0 0 9.81")
    pressure = f'<pressure area="{AREA}" time_constant="{lag}" maximum="{HIGHEST}"/>'
    return flexdyn_ros.load(text.replace('length="0.15"/>', f'length="0.15">{pressure}</section>'))


@pytest.fixture(scope="module")
def robot():
    return arm()


def start():
    return np.array([START.get(name, ATMOSPHERE) for name in NAMES])


def pressures(t, p0=None, tau=TAU):
    """p(t) of commands that are held."""
    held = ATMOSPHERE + tau / AREA
    return held + ((start() if p0 is None else p0) - held) * np.exp(-np.asarray(t) / LAG)[..., None]


def test_states_have_names_units_and_elements_and_values_at_rest(robot):
    assert tuple(state.name for state in robot.element_states) == NAMES
    assert {state.unit for state in robot.element_states} == {"Pa"}
    assert [state.element for state in robot.element_states] == ["section_1"] * 3 + ["section_2"] * 3
    q = robot.neutral()
    assert robot.rest_states(q).tolist() == [ATMOSPHERE] * 6
    found = robot.rest_states(q, np.zeros((2, 1, 6)), np.array([TAU, 2 * TAU, 3 * TAU]))
    expected = np.clip(ATMOSPHERE + np.outer([1, 2, 3], TAU) / AREA, 0.0, HIGHEST)
    np.testing.assert_allclose(found, np.broadcast_to(expected, (2, 3, 6)), rtol=1e-12)
    again = pickle.loads(pickle.dumps(robot))
    assert again.element_states == robot.element_states
    with pytest.raises(StateError):
        robot.rest_states(q, tau=np.full(6, np.nan))
    with pytest.raises(DimensionError):
        robot.rest_states(q, np.zeros(5))


def test_robots_without_such_elements_have_no_states():
    for robot in (arm(lag=0.0), flexdyn_ros.load("two_link")):
        assert robot.element_states == ()
        assert robot.rest_states(np.zeros((4, robot.nq))).shape == (4, 0)
        run = flexdyn_ros.simulate(robot, 0.01, states0={})
        assert run.states.shape == (len(run), 0)
        with pytest.raises(UnknownNameError):
            flexdyn_ros.simulate(robot, 0.01, states0={"section_1/pressure_1": 1e5})
        with pytest.raises(DimensionError, match="no elements with states"):
            flexdyn_ros.simulate(robot, 0.01, states0=[1e5])


def test_only_sections_that_lag_have_states(robot):
    prompt = {"joints.section_1.section.pressure.time_constant": 0.0}
    half = flexdyn_ros.load(robot.description.text, options=prompt)
    assert tuple(state.name for state in half.element_states) == NAMES[3:]
    run = flexdyn_ros.simulate(half, 0.02, states0=start()[3:], dt=1e-3, control=TAU)
    np.testing.assert_allclose(run.states, pressures(run.t)[:, 3:], rtol=1e-12)
    # those of the other section act at once
    assert run.tau[0, :3].tolist() == TAU[:3].tolist()


@pytest.mark.parametrize("options", METHODS)
def test_pressures_are_sampled_with_the_motion(robot, options):
    run = flexdyn_ros.simulate(robot, 0.05, states0=START, sample=2e-3, control=TAU, **options)
    assert run.state_names == NAMES
    np.testing.assert_allclose(run.states, pressures(run.t), rtol=1e-11)
    np.testing.assert_array_equal(run[NAMES[4]], run.states[:, 4])
    # a digital controller calls back between the samples; the command changes at 24 ms
    switched = flexdyn_ros.simulate(
        robot, 0.05, states0=start(), sample=2e-3, control=lambda t, q, v: TAU * (t < 0.023), **options
    )
    late = switched.t > 0.024
    np.testing.assert_allclose(switched.states[~late], pressures(switched.t[~late]), rtol=1e-11)
    at_change = pressures(0.024)
    expected = pressures(switched.t[late] - 0.024, at_change, np.zeros(6))
    np.testing.assert_allclose(switched.states[late], expected, rtol=1e-11)


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("calls_back", [False, True])
def test_a_run_continued_from_the_end_of_another_is_one_run(robot, options, calls_back):
    control = (lambda t, q, v: TAU) if calls_back else TAU
    whole = flexdyn_ros.simulate(robot, 0.06, states0=START, control=control, **options)
    first = flexdyn_ros.simulate(robot, 0.03, states0=START, control=control, **options)
    states = dict(zip(first.state_names, first.states[-1], strict=True))
    second = flexdyn_ros.simulate(
        robot, 0.03, first.q[-1], first.v[-1], states0=states, t0=0.03, control=control, **options
    )
    half = len(first) - 1
    np.testing.assert_allclose(second.states, whole.states[half:], rtol=1e-12)
    # with error control the steps of the two runs are not the same
    tolerance = 1e-12 if "dt" in options else 2e-7
    assert np.abs(second.q - whole.q[half:]).max() < tolerance
    assert np.abs(second.v - whole.v[half:]).max() < 1e2 * tolerance
    # the pressures are a part of the state: without them the motion is another one
    without = flexdyn_ros.simulate(robot, 0.03, first.q[-1], first.v[-1], t0=0.03, control=control, **options)
    assert np.abs(without.q - whole.q[half:]).max() > 1e-4


def test_compiled_chunks_record_what_single_steps_do(robot):
    # commands of the first section act at once, and are clipped
    prompt = {"joints.section_1.section.pressure.time_constant": 0.0}
    robot = flexdyn_ros.load(robot.description.text, options=prompt)
    options = {"states0": {NAMES[5]: 0.8e5}, "dt": 1e-3, "saturate": True, "record_every": 3}
    tau = 1.2 * np.array([limit or 0.0 for limit in (c.effort_limit for c in robot.coordinates)])
    chunks = flexdyn_ros.simulate(robot, 0.05, control=tau, **options)
    single = flexdyn_ros.simulate(robot, 0.05, control=tau, wrenches=lambda t, q, v: None, **options)
    for field in ("t", "q", "v", "tau", "states", "work", "dissipated", "saturated"):
        np.testing.assert_allclose(getattr(chunks, field), getattr(single, field), rtol=1e-12, atol=1e-14)
    assert chunks.saturated.any()


@pytest.mark.parametrize("options", METHODS)
def test_a_terminal_event_samples_pressures_where_it_is(robot, options):
    def passes(t, q, v):
        return t - 0.0173

    passes.terminal = True
    run = flexdyn_ros.simulate(robot, 0.05, states0=START, control=TAU, events=passes, **options)
    assert run.status == 1
    assert run.t[-1] == pytest.approx(0.0173, abs=1e-9)
    np.testing.assert_allclose(run.states, pressures(run.t), rtol=1e-11)


@pytest.mark.parametrize(
    ("states", "error", "message"),
    [
        ({"section_1/pressure_4": 1e5}, UnknownNameError, "section_1/pressure_4.*did you mean"),
        (np.full(5, 1e5), DimensionError, r"shape \(5,\), expected \(6,\): section_1/pressure_1"),
        ({"section_1/pressure_1": [1e5, 1e5]}, DimensionError, "states"),
        ({"section_1/pressure_1": np.nan}, StateError, "'section_1/pressure_1' is nan, expected a finite"),
        ({"section_2/pressure_3": 0.0}, StateError, "'section_2/pressure_3' is 0 Pa, expected an absolute"),
        ({"section_2/pressure_3": -1e5}, StateError, "above 0"),
    ],
)
def test_wrong_states_are_refused_and_change_nothing(robot, states, error, message):
    with pytest.raises(error, match=message):
        flexdyn_ros.simulate(robot, 0.01, states0=states)
    with pytest.raises(error, match=message):
        Stepper(robot, states0=states)
    stepper = Stepper(robot, states0=START)
    with pytest.raises(error, match=message):
        stepper.set_states(states)
    np.testing.assert_allclose(stepper.states, start(), rtol=1e-15)


def test_steppers_tell_take_and_keep_states(robot):
    stepper = Stepper(robot, 1e-3, states0=START)
    stepper.advance(20, TAU)
    np.testing.assert_allclose(stepper.states, pressures(0.02), rtol=1e-12)
    kept, states = stepper.snapshot(), stepper.states
    stepper.set_states({NAMES[0]: 2e5})
    assert stepper.states == pytest.approx([2e5] + [ATMOSPHERE] * 5, rel=1e-14)
    stepper.restore(kept)
    np.testing.assert_array_equal(stepper.states, states)
    stepper.set_state(np.zeros(6))
    assert stepper.states.tolist() == [ATMOSPHERE] * 6
    # vacuum, which rounding may pass, can be set again
    stepper.advance(3000, np.full(6, -50.0))
    assert (stepper.states > 0.0).all()
    assert stepper.states.max() < 1e-9
    stepper.set_states(stepper.states)


def test_simulations_keep_pressures_with_another_payload_and_after_a_refused_state(robot):
    none = np.zeros(6)
    simulation = Simulation(robot, CommandBuffer(Driven.of(robot)), none, none, none, none, dt=1e-3)
    simulation.stepper.advance(20, TAU)
    before = simulation.stepper.states
    assert before.max() > 1.5e5
    simulation.set_payload(robot.frame_names[-1], 0.1, np.zeros(3), None)
    np.testing.assert_allclose(simulation.stepper.states, before, rtol=1e-14)
    with pytest.raises(StateError):
        simulation.set_state(np.full(6, np.nan), np.zeros(6))
    np.testing.assert_allclose(simulation.stepper.states, before, rtol=1e-14)


def test_files_carry_states_by_name(robot, tmp_path):
    run = flexdyn_ros.simulate(robot, 0.02, states0=START, sample=1e-3, control=TAU)
    run.save(tmp_path / "run.npz")
    run.to_csv(tmp_path / "run.csv")
    run.to_bag(tmp_path / "run.mcap")
    for name in ("run.npz", "run.mcap"):
        loaded = Trajectory.load(tmp_path / name)
        assert loaded.state_names == NAMES
        assert loaded.state_units == ("Pa",) * 6
        np.testing.assert_array_equal(loaded.states, run.states)
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    table = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    assert set(NAMES) <= set(header)
    np.testing.assert_array_equal(table[:, [header.index(name) for name in NAMES]], run.states)
    frame = run.to_dataframe()
    assert frame.attrs["units"][NAMES[0]] == "Pa"


def test_files_of_version_0_2_have_no_states():
    folder = Path(__file__).parents[1] / "reference" / "0_2"
    for file in (folder / "soft_arm.run.npz", folder / "soft_arm.mcap"):
        run = Trajectory.load(file)
        assert run.state_names == ()
        assert run.states.shape == (len(run), 0)


def test_a_run_of_version_0_2_of_a_robot_with_states_is_recorded_without_them(robot, tmp_path):
    flexdyn_ros.simulate(robot, 0.01, control=TAU).save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        old = {name: array for name, array in file.items() if not name.startswith("state")}
    np.savez(tmp_path / "old.npz", **old)
    run = Trajectory.load(tmp_path / "old.npz", robot)
    assert run.status == 0
    run.to_bag(tmp_path / "run.mcap")
    again = Trajectory.load(tmp_path / "run.mcap", robot)
    assert again.states.shape == run.states.shape == (len(run), 0)
    assert NAMES[0] not in again.to_dataframe().attrs["units"]


@pytest.mark.parametrize("change", ["shape", "names", "kind"])
def test_a_file_whose_states_do_not_fit_is_refused(robot, tmp_path, change):
    run = flexdyn_ros.simulate(robot, 0.01, control=TAU)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        content = dict(file)
    if change == "shape":
        content["states"] = content["states"][:-1]
    elif change == "names":
        content["state_units"] = content["state_units"][:-1]
    else:
        content["states"] = content["states"].astype(str)
    np.savez(tmp_path / "other.npz", **content)
    with pytest.raises(StateError, match="no saved trajectory"):
        Trajectory.load(tmp_path / "other.npz")
