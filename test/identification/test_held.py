"""Efforts that a controller holds: which runs do, how files say so, and what fits make of it."""

import numpy as np
import pytest
from identification.motions import sums_of_sines

from flexdyn_ros import continuous, load, simulate
from flexdyn_ros.identification import Measurement, fit_linear, fit_output
from flexdyn_ros.identification.output.experiments import inputs_of
from flexdyn_ros.simulation.trajectory import Trajectory

pytest.importorskip("pandas")
# the runs are sampled coarsely: residuals are not white
pytestmark = pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
STEP = 0.01


@pytest.fixture(scope="module")
def robot():
    return load("two_link")


def law(robot):
    """Follows a motion; asked for whatever time, it answers at once."""
    t, q, v, a = sums_of_sines(robot, 2.0)
    tau = robot.inverse_dynamics(q, v, a)
    start = q[0], v[0]

    def control(time, _, rate):
        i = min(round(200.0 * time), len(t) - 1)
        return tau[i] + 5.0 * (v[i] - rate)

    return start, control


def run_of(robot, **options):
    (q0, v0), control = law(robot)
    wrapped = continuous(control) if options.pop("without_sampling", False) else control
    return simulate(robot, 1.5, q0, v0, control=wrapped, **options)


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"sample": STEP}, True),
        ({"dt": STEP}, True),
        ({"dt": 1e-3, "sample": STEP}, True),
        ({"dt": 1e-3, "record_every": 10}, False),
        ({"sample": 1e-3, "record_every": 10}, False),
        ({"sample": STEP, "without_sampling": True}, False),
        ({"dt": STEP, "without_sampling": True}, True),
    ],
)
def test_runs_say_whether_efforts_were_held_until_the_next_sample(robot, options, held):
    assert run_of(robot, **options).held is held


def test_constant_efforts_are_held_however_few_samples_are_kept(robot):
    assert simulate(robot, 0.1, sample=0.02, record_every=3, control=[1.0, 2.0]).held
    assert simulate(robot, 0.1, dt=1e-3, record_every=3).held


@pytest.mark.parametrize("ending", ["csv", "npz", "mcap"])
@pytest.mark.parametrize("options", [{"sample": STEP}, {"dt": STEP}, {"sample": 1e-3, "record_every": 10}])
def test_a_fit_to_a_file_is_that_to_its_trajectory(robot, tmp_path, ending, options):
    run = run_of(robot, **options)
    path = tmp_path / f"run.{ending}"
    {"csv": run.to_csv, "npz": run.save, "mcap": run.to_bag}[ending](path)
    read = Measurement.read(path)
    assert read.held is run.held
    one, other = (fit_linear(robot, data, parameters=["*"]) for data in (run, read))
    # stamps of recordings are whole nanoseconds
    assert other.table["value"].to_numpy() == pytest.approx(one.table["value"].to_numpy(), rel=1e-5, abs=1e-6)
    assert "efforts_held" not in read.columns
    if ending != "csv":
        assert Trajectory.load(path).held is run.held
        assert Trajectory.load(path).is_fixed is run.is_fixed


@pytest.mark.parametrize("kept", [("velocity", "effort"), ("effort",)])
@pytest.mark.parametrize("cutoff", [None, 12.0])
def test_held_efforts_are_taken_in_the_middle_of_their_steps(robot, kept, cutoff):
    """Otherwise they come half a sample early, with a filter and with positions alone too."""
    full = Measurement.of_trajectory(run_of(robot, sample=STEP))
    data = Measurement.of(
        full.t, {n: x for n, x in full.columns.items() if "." not in n or n.endswith(kept)}, held=True
    )
    early = Measurement.of(data.t, dict(data.columns))
    off, less = (max(fit_linear(robot, one, cutoff=cutoff).rms.values()) for one in (early, data))
    assert less < 0.25 * off


def test_grids_and_delays_keep_what_was_held():
    t = np.arange(40) * STEP
    tau = np.sin(np.arange(40.0))
    log = Measurement.of(t, {"x": t**2, "elbow.effort": tau, "shoulder.effort": 2.0 * tau}, held=True)
    slow = log.resampled(50.0)
    assert slow.held
    assert slow["elbow.effort"] == pytest.approx(0.5 * (tau[::2] + tau[1::2]))
    assert log.resampled(200.0)["elbow.effort"] == pytest.approx(np.repeat(tau, 2)[:-1])
    assert slow["x"] == pytest.approx(t[::2] ** 2)
    moved = log.shifted({"elbow.effort": -0.5 * STEP})
    assert not moved.held
    assert moved["shoulder.effort"][1:] == pytest.approx(tau[1:] + tau[:-1])
    # a grid has its last sample whatever rounding makes of the number of steps
    for n in (4, 7, 30):
        assert len(Measurement.of(np.arange(n) / 10.0, {"x": np.ones(n)}).resampled(10.0)) == n
    assert log.shifted({"x": 0.02}).held
    assert log.between(0.1, 0.2).held
    assert log.filtered(10.0).held


def test_files_of_others_hold_efforts_where_the_reader_says_so(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,x,x.effort\n0,1,2\n1,2,3\n")
    assert not Measurement.read(path).held
    assert Measurement.read(path, held=True).held
    path.write_text("t,x,x.effort,efforts_held\n0,1,2,1\n1,2,3,1\n")
    assert Measurement.read(path, names=["t", "y", "y.effort"]).held
    assert not Measurement.read(path, held=False).held


def test_files_of_earlier_versions_are_read_as_they_were_meant(robot, tmp_path):
    """Without the fact: efforts of fixed steps were held, others not."""
    for options, held in (({"dt": STEP}, True), ({"sample": STEP}, False)):
        run_of(robot, **options).save(tmp_path / "run.npz")
        with np.load(tmp_path / "run.npz") as content:
            np.savez(tmp_path / "old.npz", **{name: content[name] for name in content if name != "held"})
        assert Trajectory.load(tmp_path / "old.npz").held is held


def shaken(t, q=None, v=None):
    """Efforts without breaks."""
    return {"shoulder": 30.0 + 8.0 * np.sin(9.0 * t), "elbow": 8.0 + 3.0 * np.sin(14.0 * t + 1.0)}


DAMPING = {"shoulder/damping": 3.0, "elbow/damping": 1.0}


@pytest.fixture(scope="module")
def damped(robot):
    return robot.with_parameters(DAMPING)


def error_of_damping(robot, data):
    """Of a fit that begins at half as much, as a share."""
    found = fit_output(robot, data, list(DAMPING), {n: 0.5 * x for n, x in DAMPING.items()}, dt=4e-3)
    return max(abs(found.values[name] / value - 1.0) for name, value in DAMPING.items())


def test_outputs_are_fitted_with_efforts_on_lines_between_samples_where_they_were_not_held(damped):
    data = Measurement.of_trajectory(simulate(damped, 1.2, control=continuous(shaken), sample=0.02))
    assert not data.held
    stepped = Measurement.of(data.t, dict(data.columns), held=True)
    late, on_time = (error_of_damping(damped, one) for one in (stepped, data))
    # 1.6 %, late by half a sample; lines miss what bends between samples, the square of that
    assert late > 0.01
    assert on_time < 0.2 * late


def test_outputs_of_data_that_do_not_say_are_fitted_with_held_efforts(damped):
    data = Measurement.of_trajectory(simulate(damped, 1.2, control=shaken, sample=0.04))
    silent = Measurement.of(data.t, dict(data.columns))
    assert silent.held is None
    assert error_of_damping(damped, silent) == error_of_damping(damped, data)


def test_outputs_are_fitted_with_held_efforts_as_they_were(damped):
    data = Measurement.of_trajectory(simulate(damped, 1.2, control=shaken, sample=0.04))
    assert data.held
    between = Measurement.of(data.t, dict(data.columns), held=False)
    off, right = (error_of_damping(damped, one) for one in (between, data))
    assert right < 1e-3
    assert right < 0.1 * off


@pytest.mark.parametrize("held", [True, False])
def test_what_is_known_of_efforts_moves_no_robot_beside_valves_neither(held):
    robot, t = load("excavator"), STEP * np.arange(6.0)
    swing, valve = 40.0 * t**2 - 1.0, {"boom_cylinder.valve_command": np.sin(t)}
    columns = {"swing.effort": swing + t, "swing.known_effort": t}
    alone = inputs_of(robot, Measurement.of(t, columns, held=held), "efforts", 1)
    assert alone.tau[:, 0] == pytest.approx(swing)
    assert not alone.tau[:, 1:].any()
    beside = inputs_of(robot, Measurement.of(t, columns | valve, held=held), "efforts", 1).values.T
    assert beside[robot.effort_names.index("boom_cylinder")] == pytest.approx(np.sin(t))
    # efforts on lines between samples act by their means until the next
    between = swing if held else np.append(0.5 * (swing[:-1] + swing[1:]), swing[-1])
    assert beside[0] == pytest.approx(between)
