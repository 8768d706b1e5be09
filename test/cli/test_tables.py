"""`simulate --control`, `compare`, `from-dh` and `doctor`: files in, files out, exit codes."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.identification import base_parameters
from flexdyn_ros.simulation import compare, read_efforts


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("seven_joint_arm")


@pytest.fixture(scope="module")
def run(arm):
    """A run under efforts that change every 10 ms."""

    def law(t, q, v):
        return arm.efforts({"elbow_pitch": 5.0 * np.sin(20.0 * t), "shoulder_yaw": 1.0})

    return flexdyn_ros.simulate(arm, 0.2, control=law, sample=0.01, dt=1e-3)


# ---- efforts from a file ----


@pytest.mark.parametrize("ending", [".csv", ".npz"])
def test_a_recorded_run_can_be_played(flexdyn, run, tmp_path, ending):
    recorded = tmp_path / f"run{ending}"
    (run.to_csv if ending == ".csv" else run.save)(recorded)
    played = tmp_path / "played.npz"
    options = ("--duration", 0.2, "--sample", 0.01, "--dt", 1e-3, "--quiet", "--save", played)
    code, _, err = flexdyn("simulate", "seven_joint_arm", "--control", recorded, *options)
    assert code == 0, err
    found = flexdyn_ros.Trajectory.load(played)
    assert np.abs(found.q - run.q).max() < 1e-12
    assert np.abs(run.q[-1] - run.q[0]).max() > 1e-3


def test_rows_hold_until_the_next(arm, tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("time, elbow_pitch\n0.1, 2\n0.2, -3\n\n0.5, 0.5\n")
    efforts = read_efforts(path, arm)
    i = arm.effort_names.index("elbow_pitch")
    assert [efforts(t, None, None)[i] for t in (0.0, 0.1, 0.19, 0.2, 0.4999, 0.5, 9.0)] == [
        2.0, 2.0, 2.0, -3.0, -3.0, 0.5, 0.5,
    ]  # fmt: skip
    assert np.count_nonzero(efforts(0.3, None, None)) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,elbow_pitch\n0,1\n0,2\n", ["row 2", "rise"]),
        ("time,elbow_pitch\n0,1\n1,sin(3)\n", ["table.csv:3", "sin(3)", "nothing is evaluated"]),
        ("time,elbow_pitch\n0,1,3\n", ["table.csv:2", "3 numbers", "expected 2"]),
        ("time,elbow_pitch\n0,inf\n", ["row 1", "elbow_pitch", "finite"]),
        ("elbow_pitch\n1\n", ["`time`"]),
        ("time,elbow_pitch,elbow_pitch\n0,1,1\n", ["each once"]),
        ("time,elbow_pitch\n", ["empty"]),
        ("", ["`time`"]),
    ],
)
def test_a_wrong_table_is_refused(arm, tmp_path, text, words):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(StateError) as caught:
        read_efforts(path, arm)
    for word in words:
        assert word in str(caught.value)


def test_a_column_that_is_no_actuator_is_named(arm, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("time,elbow_pich\n0,1\n")
    with pytest.raises(UnknownNameError, match="elbow_pitch"):
        read_efforts(path, arm)


def test_an_npz_that_holds_objects_is_refused_unread(arm, tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, time=np.array([0.0, 1.0]), elbow_pitch=np.array([{}, []], dtype=object))
    with pytest.raises(StateError, match="expected numbers"):
        read_efforts(path, arm)
    np.savez(path, time=np.array([0.0, 1.0]), elbow_pitch=np.zeros(3))
    with pytest.raises(StateError, match="elbow_pitch"):
        read_efforts(path, arm)


def test_a_table_and_constant_efforts_exclude_each_other(flexdyn, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("time,elbow_pitch\n0,1\n")
    code, _, err = flexdyn("simulate", "seven_joint_arm", "--control", path, "--tau", "elbow_pitch=1")
    assert code == 2
    assert "--control" in err


def test_a_picture_for_print_has_its_size(flexdyn, tmp_path):
    pytest.importorskip("matplotlib")
    options = ("--duration", 0.05, "--quiet", "--plot", tmp_path / "run.svg")
    code, _, err = flexdyn("simulate", "seven_joint_arm", *options, "--plot-size", "one-column")
    assert code == 0, err
    assert 'width="252pt"' in (tmp_path / "run.svg").read_text()  # 3.5 in
    assert flexdyn("simulate", "seven_joint_arm", *options, "--plot-size", "huge")[0] == 2
    code, _, err = flexdyn("simulate", "flexible_two_link", *options, "--beside-rigid", "--q", "elbow=0.4")
    assert code == 0, err
    assert "rigid" in (tmp_path / "run.svg").read_text()


def test_a_rigid_twin_runs_as_long_as_the_robot_from_the_same_state(flexdyn, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        flexdyn_ros.Trajectory, "plot", lambda run, path, overlay, **_: drawn.append((run, overlay["rigid"]))
    )
    options = ("--beside-rigid", "--plot", tmp_path / "run.svg", "--quiet", "--sample", "0.01")
    for number, words in enumerate((
        ("--q", "shoulder=0.3", "--q", "elbow=-0.5", "--v", "elbow=0.7", "--v", "shoulder=-0.2"),
        ("--from", tmp_path / "first.npz"),
    )):  # fmt: skip
        more = ("--save", tmp_path / "first.npz") if number == 0 else ()
        efforts = ("--tau", "elbow=0.4", "--tau", "shoulder=-0.1", "--duration", "0.05")
        code, _, error = flexdyn("simulate", "flexible_two_link", *efforts, *words, *options, *more)
        assert code == 0, error
    rigid = flexdyn_ros.load("flexible_two_link", options={"formulation.flexible": False})
    for number, (run, twin) in enumerate(drawn):
        assert run.t[0] == pytest.approx(0.05 * number)
        np.testing.assert_allclose(twin.t, run.t, atol=1e-12)
        alone = flexdyn_ros.simulate(
            rigid, 0.05,
            [run[name][0] for name in rigid.q_names],
            [run[f"{name}.velocity"][0] for name in rigid.v_names],
            control=rigid.efforts({"elbow": 0.4, "shoulder": -0.1}), sample=0.01,
        )  # fmt: skip
        assert np.abs(alone.v[-1] - alone.v[0]).max() > 1e-2
        for name in rigid.q_names:
            np.testing.assert_allclose(twin[name], alone[name], atol=1e-6)
            np.testing.assert_array_equal(twin[f"{name}.effort"], alone[f"{name}.effort"])


# ---- compare ----


def test_compare_finds_the_largest_difference(flexdyn, run, tmp_path):
    """A disturbance of known size, in one number."""
    run.save(tmp_path / "a.npz")
    code, out, _ = flexdyn("compare", tmp_path / "a.npz", tmp_path / "a.npz", "--json")
    assert (code, json.loads(out)["equal"]) == (0, True)
    other = flexdyn_ros.Trajectory.load(tmp_path / "a.npz")
    column = other.v_names.index("elbow_pitch")
    other.v[7, column] += 0.25
    other.save(tmp_path / "b.npz")
    code, out, _ = flexdyn("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--json")
    found = {(d["quantity"], d["unit"]): d for d in json.loads(out)["differences"]}
    wrong = found["velocity", "rad/s"]
    assert code == 1
    assert wrong["largest"] == pytest.approx(0.25)
    assert (wrong["column"], wrong["time"]) == ("elbow_pitch.velocity", run.t[7])
    assert wrong["relative"] == pytest.approx(0.25 / np.abs(run.v).max())
    assert all(d["largest"] == 0.0 for key, d in found.items() if key[0] != "velocity")
    assert flexdyn("compare", tmp_path / "a.npz", tmp_path / "b.npz", "--rtol", "10")[0] == 0


def test_other_samples_of_one_motion_agree_to_the_interpolation(arm):
    coarse = flexdyn_ros.simulate(arm, 0.2, sample=0.02, rtol=1e-9)
    fine = flexdyn_ros.simulate(arm, 0.2, sample=0.001, rtol=1e-9)
    assert max(d.relative for d in compare(coarse, fine)) < 1e-5
    # the other way round, chords replace arcs: h^2 / 8 of the largest acceleration
    position = next(d for d in compare(fine, coarse) if d.quantity == "position")
    steepest = np.abs(np.diff(fine.v, axis=0)).max() / 0.001
    assert 0.3 < position.largest / (0.02**2 / 8 * steepest) < 1.05


@pytest.mark.parametrize(("first", "last", "at"), [(5, 15, 5), (5, 15, 15), (0, 4, 4), (16, 20, 16)])
def test_runs_are_compared_from_the_later_start_to_the_earlier_end(run, first, last, at):
    part = dataclasses.replace(
        run, t=run.t[first : last + 1], q=run.q[first : last + 1], v=run.v[first : last + 1],
        tau=run.tau[first : last + 1], energy=None, work=run.work[first : last + 1],
        dissipated=run.dissipated[first : last + 1], saturated=run.saturated[first : last + 1],
    )  # fmt: skip
    for one, other in ((run, part), (part, run)):
        assert all(d.largest == pytest.approx(0.0, abs=1e-12) for d in compare(one, other))
    moved = part.q.copy()
    moved[at - first, 2] += 0.125
    part = dataclasses.replace(part, q=moved)
    for one, other in ((run, part), (part, run)):
        found = next(d for d in compare(one, other) if d.quantity == "position")
        assert found.largest == pytest.approx(0.125)
        assert (found.column, found.time) == (run.q_names[2], run.t[at])


def test_what_only_one_has_is_a_difference(flexdyn, run, tmp_path):
    run.save(tmp_path / "a.npz")
    for name, duration in (("seven_joint_arm", 0.1), ("canadarm2", 0.01)):
        flexdyn_ros.simulate(flexdyn_ros.load(name), duration, sample=0.01).save(tmp_path / f"{name}.npz")
    code, _, err = flexdyn("compare", tmp_path / "a.npz", tmp_path / "seven_joint_arm.npz", "--rtol", "1e9")
    assert code == 1
    assert "times differ" in err
    code, _, err = flexdyn("compare", tmp_path / "a.npz", tmp_path / "canadarm2.npz", "--rtol", "1e9")
    assert code == 1
    assert "boom_1/bending_y/1" in err
    # five are named, the others counted
    named, others = re.search(r"only the second has (.*) and (\d+) more", " ".join(err.split())).groups()
    other = flexdyn_ros.Trajectory.load(tmp_path / "canadarm2.npz")
    assert len(named.split(", ")) == 5
    assert 5 + int(others) == len({*other.q_names, *other.effort_names} - set(run.columns))


@pytest.mark.parametrize(("count", "end"), [(5, ""), (6, " and 1 more")])
def test_of_what_one_run_lacks_five_are_named(flexdyn, arm, count, end, tmp_path):
    text = (Path(flexdyn_ros.__file__).parents[1] / "urdf/seven_joint_arm.urdf").read_text(encoding="utf-8")
    names = arm.q_names[:count]
    for name in names:
        text = text.replace(f'"{name}"', f'"other_{name}"')
    for robot, file in ((arm, "a.npz"), (flexdyn_ros.load(text), "b.npz")):
        flexdyn_ros.simulate(robot, 0.01, dt=0.01).save(tmp_path / file)
    _, _, err = flexdyn("compare", tmp_path / "a.npz", tmp_path / "b.npz")
    told = " ".join(err.split())
    assert f"only the first has {', '.join(names[:5])}{end} note: only the second" in told
    assert told.endswith(f"only the second has {', '.join('other_' + name for name in names[:5])}{end}")


@pytest.mark.parametrize(
    "name", ["boom_on_cylinder", "soft_arm", "stewart_1t", "stewart_electric", "mobile_arm"]
)
def test_a_run_is_no_different_from_itself(flexdyn, name, tmp_path):
    flexdyn_ros.simulate(flexdyn_ros.load(name), 0.01, sample=0.01).save(tmp_path / "a.npz")
    code, _, err = flexdyn("compare", tmp_path / "a.npz", tmp_path / "a.npz", "--rtol", "0")
    assert (code, err) == (0, "")


def test_robots_with_nothing_in_common_cannot_be_compared(run):
    soft = flexdyn_ros.simulate(flexdyn_ros.load("soft_arm"), 0.01, sample=0.01)
    with pytest.raises(DimensionError, match="in common"):
        compare(run, soft)


# ---- from-dh ----


def test_a_table_becomes_a_robot(flexdyn, tmp_path):
    table, urdf = tmp_path / "planar.csv", tmp_path / "made" / "planar.urdf"
    table.write_text("joint, a, alpha, d, theta\nfirst, 0.4, 0, 0, 90\nsecond, 0.3, 0, 0, -90\n")
    code, _, err = flexdyn("from-dh", table, "--convention", "standard", "--degrees", "-o", urdf)
    assert code == 0, err
    robot = flexdyn_ros.load(urdf)
    assert robot.frames(np.zeros(2), "tool0")[:2, 3] == pytest.approx([0.3, 0.4])
    assert flexdyn("from-dh", table)[0] == 3  # the convention is missing
    assert "<robot" in flexdyn("from-dh", table, "--convention", "modified")[1]


# ---- identify --explain ----


def test_base_parameters_are_explained_as_numbers(flexdyn):
    code, out, err = flexdyn("identify", "two_link", "--explain", "--json")
    assert code == 0, err
    told, base = json.loads(out), base_parameters(flexdyn_ros.load("two_link"))
    assert told["rank"] == base.rank == len(told["base"])
    assert told["parameters"] == [p.name for p in base.parameters]
    np.testing.assert_allclose(told["matrix"], base.matrix)


# ---- doctor ----


def test_doctor_tells_what_is_there(flexdyn):
    code, out, err = flexdyn("doctor", "--json")
    told = json.loads(out)
    found = {(one["topic"], one["name"]): one for one in told["findings"]}
    assert code == (0 if told["healthy"] else 1), err
    assert found["packages", "numpy"]["value"] == np.__version__
    assert {one["topic"] for one in told["findings"]} == {
        "python", "packages", "compiler", "caches", "ros", "pictures",
    }  # fmt: skip
    for one in told["findings"]:
        assert one["state"] in ("found", "missing", "optional", "told")
        # whatever is not there has a remedy
        assert bool(one["remedy"]) == (one["state"] in ("missing", "optional")), one
    code, text, err = flexdyn("doctor")
    assert "[jax]" in text, (code, err)
    # a heading a topic, above what it is about
    assert len(re.findall(r"^\S", text, re.M)) == len({one["topic"] for one in told["findings"]})


def test_doctor_finds_what_is_broken(flexdyn, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "seven")
    monkeypatch.setenv("FASTDDS_DEFAULT_PROFILES_FILE", str(tmp_path / "gone.xml"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code, out, _ = flexdyn("doctor", "--json")
    states = {one["name"]: one["state"] for one in json.loads(out)["findings"]}
    assert code == 1
    assert states["domain"] == states["Fast DDS profiles"] == "missing"
    assert states["kernels"] == "optional"  # writable and empty


def test_limits_that_are_passed_are_told_and_stops_are_offered(flexdyn, tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(
        '<robot name="arm"><link name="w"/><link name="a"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link><joint name="hinge" type="revolute">'
        '<parent link="w"/><child link="a"/><axis xyz="0 1 0"/>'
        '<limit lower="-0.5" upper="0.5" effort="10" velocity="100"/></joint></robot>'
    )
    code, output, error = flexdyn("simulate", str(path), "--duration", "1")
    assert code == 0
    said = " ".join(output.split())
    assert "1 coordinate left its limits: hinge at" in said
    assert "with --limits spring they meet stops" in said
    assert error == ""
    assert " !" in output
    code, output, error = flexdyn("simulate", str(path), "--duration", "1", "--limits", "spring", "--json")
    assert abs(json.loads(output)["q_final"][0]) < 0.6
    code, output, _ = flexdyn("simulate", str(path), "--duration", "1", "--limits", "stop")
    assert (code, "left" in output) == (0, False)
    code, _, error = flexdyn("simulate", str(path), "--limits", "bounce")
    assert code == 2
    assert "spring" in error


def test_poses_of_free_bodies_have_the_names_of_positions_in_the_table(flexdyn):
    _, output, _ = flexdyn("simulate", "stewart_1t", "--duration", "0.01")
    assert all(f"platform/{part} " in output for part in ("x", "y", "z", "rx", "ry", "rz"))
    assert not any(f"platform/{part} " in output for part in ("vx", "wx"))
    assert "e-1" not in output.split("platform/z")[0]


def test_rotations_of_free_bodies_are_told_from_the_start(flexdyn, tmp_path):
    path = tmp_path / "ball.urdf"
    path.write_text(
        '<robot name="ball"><link name="ball"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><flexdyn><base type="floating"/></flexdyn></robot>'
    )
    code, output, _ = flexdyn("simulate", str(path), "--duration", "2", "--v", "base/wz=0.5")
    assert code == 0
    rows = {row.split()[0]: row.split()[1:] for row in output.splitlines() if row.startswith("base/")}
    assert rows["base/rz"] == ["rad", "0", "1", "0", "1", "0.5"]
    assert rows["base/rx"] == ["rad", "0", "0", "0", "0", "0"]
    assert len(rows) == 6
    assert {len(row) for row in rows.values()} == {6}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--split-size", "1"], "without --bag"),
        (["--split-duration", "nan", "--bag", "run.mcap"], "--split-duration"),
        (["--split-size", "inf", "--bag", "run.mcap"], "not finite"),
        (["--split-size", "1", "--bag", "there.mcap"], "there already"),
    ],
)
def test_recordings_that_cannot_be_split_are_refused_before_the_run(
    flexdyn, tmp_path, monkeypatch, words, told
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("")
    code, output, error = flexdyn("simulate", "two_link", "--duration", "0.01", *words)
    assert (code, output) == (2, "")
    assert told in " ".join(error.split())
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("split", [{"split_size": -1}, {"split_duration": float("nan")}])
def test_sizes_and_times_of_split_recordings_are_checked(run, tmp_path, split):
    pytest.importorskip("mcap")
    with pytest.raises(StateError, match="expected 0 or more"):
        run.to_bag(tmp_path / "run.mcap", **split)
    assert not list(tmp_path.iterdir())
