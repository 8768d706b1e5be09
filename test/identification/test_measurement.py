"""Measurements: files and units, filters without a shift, delays, and bad data told by name."""

import os
import time

import numpy as np
import pytest
from scipy.io import savemat

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_linear

RATE = 200.0


def motion(robot, duration=6.0, seed=0):
    """Smooth motion of a robot: t, q, v, a, tau."""
    t = np.arange(0.0, duration, 1.0 / RATE)
    rng = np.random.default_rng(seed)
    q = v = a = np.zeros((t.size, robot.nv))
    for k in (1, 2, 3):
        w = 2.0 * np.pi * 0.25 * k
        amplitude, phase = rng.uniform(0.1, 0.4, robot.nv), rng.uniform(0.0, 6.0, robot.nv)
        angle = w * t[:, None] + phase
        q = q + amplitude * np.sin(angle)
        v = v + amplitude * w * np.cos(angle)
        a = a - amplitude * w**2 * np.sin(angle)
    return t, q, v, a, robot.inverse_dynamics(q, v, a)


@pytest.fixture(scope="module")
def robot():
    return load("two_link")


@pytest.fixture
def good(robot):
    t, q, v, _, tau = motion(robot)
    return Measurement.of_motion(robot, t, q, v, tau=tau)


def changed(measurement, **columns):
    return Measurement.of(measurement.t, {**measurement.columns, **columns}, name=measurement.name)


def told(measurement, robot):
    return " / ".join(fault.text for fault in measurement.faults(robot))


# ---- files ----


def test_a_trajectory_comes_back_from_every_kind_of_file(tmp_path, robot):
    pytest.importorskip("mcap")
    run = simulate(robot, 0.2, np.array([0.3, -0.2]), sample=2e-3)
    run.to_csv(tmp_path / "run.csv")
    run.save(tmp_path / "run.npz")
    run.to_bag(tmp_path / "run.mcap")
    savemat(tmp_path / "run.mat", {"time": run.t, **{f"q{i}": run.q[:, i] for i in (0, 1)}})
    names = {f"q{i}": name for i, name in enumerate(robot.q_names)}
    for ending, options in ((".csv", {}), (".npz", {}), (".mcap", {}), (".mat", {"names": names})):
        read = Measurement.read(tmp_path / f"run{ending}", **options)
        assert read.t == pytest.approx(run.t, abs=1e-9)
        for name in robot.q_names:
            assert np.array_equal(read[name], run[name])
    assert np.array_equal(
        Measurement.read(tmp_path / "run.csv")["shoulder.effort"], run["shoulder", "effort"]
    )


def test_a_file_without_names_gets_names_units_and_motor_constants(tmp_path, robot):
    t, q, _, _, tau = motion(robot)
    path = tmp_path / "log.csv"
    np.savetxt(path, np.column_stack([t, np.rad2deg(q), tau / 0.5]), delimiter=",")
    read = Measurement.read(
        path,
        names=["time", "shoulder", "elbow", "shoulder.effort", ""],
        units={"shoulder": "deg", "elbow": "deg"},
        factors={"shoulder.effort": 0.5},
    )
    assert set(read.columns) == {"shoulder", "elbow", "shoulder.effort"}
    assert read["elbow"] == pytest.approx(q[:, 1], abs=1e-12)
    assert read["shoulder.effort"] == pytest.approx(tau[:, 0], abs=1e-12)
    with pytest.raises(errors.UnknownNameError, match="column 'wrist'"):
        Measurement.read(path, names=["time", "a", "b", "c", "d"], factors={"wrist": 2.0})


def test_empty_cells_are_missing_and_are_filled_by_lines(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("t,x,y\n0,1,5\n1,,6\n2,3,\n3,4,8\n")
    read = Measurement.read(path)
    assert np.isnan(read["x"][1])
    assert read.resampled()["x"] == pytest.approx([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("t,x\n0,1\n1,two\n", ":3: column 2 is 'two', expected a number"),
        ("t,x\n0,1\n1,2,3\n", ":3: 3 cells, expected 2"),
        ("t,t\n0,1\n1,2\n", "twice"),
    ],
)
def test_a_bad_table_is_told_with_its_line(tmp_path, content, said):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(errors.StateError, match=said):
        Measurement.read(path)


def test_files_that_are_none_are_refused(tmp_path):
    for ending in ("npz", "mat", "mcap"):
        path = tmp_path / f"garbage.{ending}"
        path.write_bytes(b"garbage" * 40)
        with pytest.raises(errors.StateError, match=f"garbage.{ending}"):
            Measurement.read(path)
    with pytest.raises(errors.UnknownNameError, match=r"\.xls"):
        Measurement.read(tmp_path / "table.xls")


class Command:
    """Unpickled, it makes a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_nothing_in_a_file_is_executed(tmp_path):
    objects = np.array([Command(tmp_path / "made")], dtype=object)
    np.savez(tmp_path / "pickled.npz", t=np.arange(30.0), x=objects)
    with pytest.raises(errors.StateError, match="x"):
        Measurement.read(tmp_path / "pickled.npz")
    (tmp_path / "eval.csv").write_text("t,x\n0,__import__('os').system('touch made')\n")
    with pytest.raises(errors.StateError, match="expected a number"):
        Measurement.read(tmp_path / "eval.csv")
    assert not (tmp_path / "made").exists()


def test_a_mat_file_that_promises_too_much_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.mat"
    savemat(path, {"x": np.arange(100.0)})
    content = bytearray(path.read_bytes())
    place = content.index(np.array([1, 100], "<i4").tobytes())
    content[place : place + 8] = np.array([30_000, 30_000], "<i4").tobytes()
    path.write_bytes(content)
    began = time.process_time()
    with pytest.raises(errors.StateError, match=r"large\.mat"):
        Measurement.read(path)
    assert time.process_time() - began < 2.0


def test_unknown_columns_and_units_are_told(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,x\n0,1\n1,2\n")
    with pytest.raises(errors.UnknownNameError, match="'z'"):
        Measurement.read(path, names={"z": "shoulder"})
    with pytest.raises(errors.UnknownNameError, match="furlong"):
        Measurement.read(path, units={"x": "furlong"})


# ---- signals ----


def test_the_filter_keeps_what_is_slow_in_its_place_and_takes_what_is_fast():
    t = np.arange(0.0, 10.0, 0.002)
    slow, fast = np.sin(2 * np.pi * 1.0 * t), np.sin(2 * np.pi * 60.0 * t)
    both = Measurement.of(t, {"x": slow + fast}).filtered(10.0)
    inner = slice(500, -500)
    # |H|^2 of two passes of order 4: 1 / (1 + (f/fc)^8) is 1 - 1e-8 at 1 Hz, 6e-7 at 60 Hz
    assert both["x"][inner] == pytest.approx(slow[inner], abs=2e-6)
    with pytest.raises(errors.StateError, match="between 0 and 250 Hz"):
        Measurement.of(t, {"x": slow}).filtered(300.0)


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.0173, -0.009])
def test_the_delay_of_a_column_is_found_within_a_tenth_of_a_sample(delay):
    t = np.arange(0.0, 8.0, 0.005)

    def signal(t):
        return np.sin(5.0 * t) + 0.5 * np.sin(13.0 * t + 1.0) + 0.2 * np.cos(29.0 * t)

    late = Measurement.of(t, {"x": signal(t), "y": signal(t - delay)})
    assert late.delay("y", "x") == pytest.approx(delay, abs=5e-4)
    mended = late.shifted({"y": late.delay("y", "x")}).between(0.2, 7.8)
    assert np.abs(mended["y"] - mended["x"]).max() < 0.02


@pytest.mark.parametrize("delay", [0.052, -0.052])
def test_delays_are_looked_for_up_to_the_longest_either_way(delay):
    t = np.arange(0.0, 8.0, 0.005)
    late = Measurement.of(t, {"x": np.sin(5.0 * t), "y": np.sin(5.0 * (t - delay))})
    assert late.delay("y", "x", 0.0521) == pytest.approx(delay, abs=5e-4)
    assert late.delay("y", "x", 0.033) == pytest.approx(np.copysign(0.033, delay), rel=1e-12)


@pytest.mark.parametrize("late", [11, 12, 30])
def test_an_echo_later_than_the_longest_delay_is_not_taken_for_it(late):
    noise, step = np.random.default_rng(1).standard_normal(2100), 0.01
    for sign in (1, -1):
        heard = 0.4 * np.roll(noise, sign * 3) + np.roll(noise, sign * late)
        data = Measurement.of(step * np.arange(2000), {"x": noise[50:-50], "y": heard[50:-50]})
        for longest in (9.9 * step, 10 * step):
            assert data.delay("y", "x", longest) == pytest.approx(sign * 3 * step, abs=0.1 * step)
        assert data.delay("y", "x", (late + 0.9) * step) == pytest.approx(sign * late * step, abs=0.1 * step)


def test_a_longest_delay_is_a_time_and_may_be_as_long_as_the_data():
    noise = np.random.default_rng(1).standard_normal(400)
    data = Measurement.of(0.01 * np.arange(400), {"x": noise, "y": np.roll(noise, 3)})
    for longest in (-0.05, -1e-3, np.nan):
        with pytest.raises(errors.StateError, match=r"longest delay is .* expected at least 0"):
            data.delay("y", "x", longest)
    assert data.delay("y", "x", 0.0) == 0.0
    for longest in (1e300, np.inf):
        assert data.delay("y", "x", longest) == pytest.approx(0.03, abs=1e-3)


def test_jitter_goes_and_the_rate_is_that_asked_for():
    rng = np.random.default_rng(1)
    t = np.sort(np.arange(0.0, 4.0, 0.01) + rng.uniform(-2e-3, 2e-3, 400))
    jittered = Measurement.of(t, {"x": np.sin(t)})
    assert not jittered.is_uniform
    regular = jittered.resampled(50.0)
    assert regular.is_uniform
    assert regular.step == pytest.approx(0.02)
    assert regular["x"] == pytest.approx(np.sin(regular.t), abs=1e-4)


# ---- bad data ----


def test_good_data_have_no_faults(good, robot):
    assert good.faults(robot) == ()


def test_gaps_nan_and_times_that_do_not_rise_are_told(good, robot):
    hole = Measurement.of(np.where(good.t > 3.0, good.t + 0.4, good.t), dict(good.columns), name="hole")
    assert "1 gap(s), the longest 0.405 s after t = 3 s" in told(hole, robot)
    # more than a tenth of the whole is too much
    wide = Measurement.of(np.where(good.t > 3.0, good.t + 0.8, good.t), dict(good.columns))
    fatal = [[one.fatal for one in x.faults(robot) if "gap" in one.text] for x in (hole, wide)]
    assert fatal == [[False], [True]]
    x = good["elbow"].copy()
    x[100:130] = np.nan
    assert "elbow: 2.5 % of the samples are missing or NaN, from t = 0.5 s on" in told(
        changed(good, elbow=x), robot
    )
    backward = good.t.copy()
    backward[50] = backward[48]
    back = Measurement.of(backward, dict(good.columns))
    assert "times do not rise" in told(back, robot)
    with pytest.raises(errors.StateError, match="times do not rise"):
        fit_linear(robot, back)
    assert "too short: 9 samples" in told(good.between(0.0, 0.04), robot)


def test_degrees_are_told_wherever_they_stand(good, robot):
    fast = np.rad2deg(np.linspace(-2.0, 2.0, len(good)))
    assert "elbow: reaches 114.6 rad, likely degrees" in told(changed(good, elbow=fast), robot)
    rates = {"elbow.velocity": np.rad2deg(good["elbow.velocity"])}
    assert "elbow.velocity is 57.3 times the rate of elbow" in told(changed(good, **rates), robot)
    signs = {"elbow.velocity": -good["elbow.velocity"]}
    assert "elbow.velocity has the opposite sign" in told(changed(good, **signs), robot)


def test_other_units_are_told(good, robot):
    late = Measurement.of(1e3 * good.t, dict(good.columns))
    assert "velocity is 1e+03 times the rate of shoulder: times in ms" in told(late, robot)
    small = {"elbow.effort": 1e3 * good["elbow.effort"]}
    assert "elbow.effort is 1e+03 times what two_link needs: likely mN m" in told(
        changed(good, **small), robot
    )
    platform = load("stewart_1t")
    bars = Measurement.of(good.t, {"leg_1.pressure_bore": 80.0 + 10.0 * np.sin(good.t)})
    assert "leg_1.pressure_bore: reaches 90 Pa, likely bar or kPa" in told(bars, platform)
    assert (
        told(Measurement.of(good.t, {"leg_1.pressure_bore": 1e5 * bars["leg_1.pressure_bore"]}), platform)
        == ""
    )


def test_swapped_columns_are_told(good, robot):
    for part in ("velocity", "effort"):
        swapped = {
            f"shoulder.{part}": good[f"elbow.{part}"], f"elbow.{part}": good[f"shoulder.{part}"],
        }  # fmt: skip
        assert f"shoulder.{part} and elbow.{part} are swapped" in told(changed(good, **swapped), robot)


def test_saturated_sensors_and_joints_that_stand_still_are_told(good, robot):
    x = good["elbow.effort"]
    clipped = np.clip(x, -0.7 * np.abs(x).max(), 0.7 * np.abs(x).max())
    assert "elbow.effort: saturated" in told(changed(good, **{"elbow.effort": clipped}), robot)
    still = changed(good, elbow=np.full(len(good), 0.2), **{"elbow.velocity": np.zeros(len(good))})
    assert "elbow: constant" in told(still, robot)


def test_columns_of_another_robot_are_told(good):
    other = load("seven_joint_arm")
    assert "no column is a coordinate of seven_joint_arm" in told(
        Measurement.of(good.t, {"x": good["elbow"]}), other
    )
