"""`flexdyn` in everyday use: where runs start, what is asked before them, all mistakes, completion."""

import json
import os
import resource
import subprocess
import sys

import numpy as np
import pytest
from soft_arms import chain
from typer.testing import CliRunner

import flexdyn_ros
from flexdyn_ros.cli import app
from flexdyn_ros.cli.ros.call import shown
from flexdyn_ros.description.reader import find_mistakes
from flexdyn_ros.errors import ConvergenceError, StateError
from flexdyn_ros.simulation.plan import ADAPTIVE, FIXED

WRONG = """<robot name="broken">
  <link name="a"/>
  <link name="b"><inertial><mass value="-1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="c"><inertial><mass value="x"/></inertial></link>
  <joint name="j" type="continuos"><parent link="a"/><child link="b"/></joint>
  <joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>
  <flexdyn reference="b"><modes bendin_y="2" axial="-1"/><beem/></flexdyn>
  <flexdyn reference="zz"><modes bending_z="2"/></flexdyn>
</robot>
"""


def flexdyn(*words):
    """What a command printed, and its exit code or error."""
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output, done.exception


def simulated(tmp_path, *words):
    """The trajectory of `flexdyn simulate`."""
    path = tmp_path / "run.npz"
    code, output, error = flexdyn("simulate", *words, "--quiet", "--save", str(path))
    assert code == 0, (output, error)
    return flexdyn_ros.Trajectory.load(path)


def test_a_run_starts_at_the_speed_that_the_description_prescribes(tmp_path):
    run = simulated(tmp_path, "mobile_arm", "--duration", "0.02", "--q", "shoulder=0.1")
    assert run["base/x", "velocity"] == pytest.approx(0.3)
    assert run["shoulder"][0] == 0.1


def test_a_start_that_contradicts_a_prescribed_speed_is_refused():
    robot = flexdyn_ros.load("mobile_arm")
    with pytest.raises(StateError, match=r"v0 of 'base/x' is 0, but its motion is prescribed: expected 0\.3"):
        flexdyn_ros.simulate(robot, 0.01, v0=np.zeros(robot.nv))
    with pytest.raises(StateError, match="expected 2 m/s at t = 1 s"):
        flexdyn_ros.simulate(
            robot, 0.01, t0=1.0, v0=np.zeros(robot.nv), prescribed=lambda t: (t * t, 2 * t, 2.0)
        )
    code, _, error = flexdyn("simulate", "mobile_arm", "--duration", "0.01", "--v", "base/x=1")
    assert code != 0
    assert "prescribed" in str(error)


def test_from_rest_stands_where_it_starts(tmp_path):
    parked = ("--set", "drive.speed=0")
    dropped = simulated(tmp_path, "mobile_arm", "--duration", "0.1", *parked, "--from", "neutral")
    resting = simulated(tmp_path, "mobile_arm", "--duration", "0.1", *parked, "--from", "rest")
    assert np.ptp(dropped["base/z"]) > 1e-2
    assert np.ptp(resting["base/z"]) < 1e-9
    assert np.abs(resting.v).max() < 1e-8


def test_what_is_held_gets_the_efforts_of_rest_and_the_others_none(tmp_path):
    robot = flexdyn_ros.load("seven_joint_arm")
    q = robot.neutral()
    weight = robot.inverse_dynamics(q, np.zeros(7), np.zeros(7))
    run = simulated(tmp_path, "seven_joint_arm", "--duration", "0.01", "--hold", "all")
    assert run.tau[0] == pytest.approx(weight, abs=1e-12)
    some = simulated(tmp_path, "seven_joint_arm", "--duration", "0.01", "--hold", "elbow_pitch,wrist_pitch")
    held = [name in ("elbow_pitch", "wrist_pitch") for name in robot.effort_names]
    assert some.tau[0] == pytest.approx(np.where(held, weight, 0.0), abs=1e-12)
    code, _, error = flexdyn("simulate", "seven_joint_arm", "--hold", "elbow_pich")
    assert code != 0
    assert "did you mean elbow_pitch" in str(error)


@pytest.mark.parametrize(
    "start", [("--hold", "all"), ("--from", "rest"), ("--from", "rest", "--hold", "hoist")]
)
def test_a_boom_is_held_by_its_cylinder(tmp_path, start):
    run = simulated(tmp_path, "boom_on_cylinder", "--q", "lift=0.4", "--duration", "0.3", *start)
    assert run.tau[0].tolist() == pytest.approx([0.0, 1650.641767520537], rel=1e-10)
    assert np.abs(run.q - 0.4).max() < 1e-9


@pytest.mark.parametrize("start", [("--hold", "all"), ("--from", "rest")])
def test_an_arm_on_a_hexapod_is_held_by_its_legs(tmp_path, start):
    run = simulated(tmp_path, "hexapod_arm", "--q", "elbow_pitch=0.6", "--duration", "0.2", *start)
    assert np.ptp(run.q, axis=0).max() < 1e-9
    assert run.tau[0][-6:].min() > 30.0


def test_a_boom_on_shut_valves_is_held_by_its_oil(tmp_path):
    words = ("simulate", "boom", "--duration", "1", "--from", "rest", "--save", str(tmp_path / "run.npz"))
    code, output, error = flexdyn(*words)
    assert code == 0, (output, error)
    shown = {words[0]: words[1:] for line in output.splitlines() if len(words := line.split()) == 6}
    run = flexdyn_ros.Trajectory.load(tmp_path / "run.npz")
    # pressures that hold it, which stay; spools shut; the line at the margin of the pump
    for name in ("lift_cylinder/pressure_bore", "tilt_cylinder/pressure_rod", "oil/pressure"):
        assert shown[name] == ["Pa", *[f"{run[name][0]:.4g}"] * 4]
    assert shown["fold_cylinder/spool"][:2] == ["-", "0"]
    assert "lift_cylinder/spool_rate" not in shown
    assert np.abs(run.q - run.q[0]).max() < 1e-9


def test_valves_are_opened_by_name(tmp_path):
    run = simulated(tmp_path, "boom", "--duration", "0.5", "--tau", "lift_cylinder/valve=0.3")
    assert run["lift_cylinder/spool"][-1] == pytest.approx(0.3, abs=0.01)
    assert run["lift"][-1] > 0.01
    assert np.abs(run["fold_cylinder/spool"]).max() < 1e-9
    for words, said in (
        (("--tau", "lift_cylinder/valve=0.3", "--tau", "fold_cylinder=1"), "not both"),
        (("--tau", "lift_cylinder/valve=0.3", "--hold", "all"), "not both"),
        (("--tau", "lif_cylinder/valve=0.3"), "lift_cylinder/valve"),
    ):
        code, output, error = flexdyn("simulate", "boom", "--duration", "0.1", *words)
        assert code != 0
        assert said in output + str(error)


def test_a_run_goes_on_where_another_ended(tmp_path):
    first = simulated(tmp_path, "mobile_arm", "--duration", "0.02")
    (tmp_path / "run.npz").rename(tmp_path / "first.npz")
    second = simulated(
        tmp_path,
        "mobile_arm",
        "--duration",
        "0.02",
        "--from",
        str(tmp_path / "first.npz"),
        "--v",
        "elbow=0.5",
    )
    assert second.t[0] == pytest.approx(0.02)
    assert second.q[0] == pytest.approx(first.q[-1])
    assert second["elbow", "velocity"][0] == 0.5
    code, output, _ = flexdyn("simulate", "mobile_arm", "--from", "resting")
    assert code == 2
    assert "rest, neutral, or" in output


def test_pressures_that_lag_go_on_too_and_rest_is_at_rest(tmp_path):
    pressure = '<pressure area="1e-4" time_constant="0.05" maximum="4e5"/>'
    text = chain(1, 'preset="bai2022" length="0.15"', "0 0 -9.81")
    (tmp_path / "arm.urdf").write_text(text.replace('length="0.15"/>', f'length="0.15">{pressure}</section>'))
    push = ["--tau", "section_1/actuator_1=10", "--dt", "1e-3"]
    arm, q = str(tmp_path / "arm.urdf"), ["--q", "section_1/actuator_1=0.002"]
    first = simulated(tmp_path, arm, "--duration", "0.02", *push, *q)
    assert first["section_1/pressure_1"][-1] > 1.3e5
    (tmp_path / "run.npz").rename(tmp_path / "first.npz")
    second = simulated(tmp_path, arm, "--duration", "0.02", *push, "--from", str(tmp_path / "first.npz"))
    whole = simulated(tmp_path, arm, "--duration", "0.04", *push, *q)
    np.testing.assert_allclose(second.states, whole.states[20:], rtol=1e-12)
    np.testing.assert_allclose(second.q, whole.q[20:], rtol=0.0, atol=1e-14)
    # held where it starts, by pressures that are there from the start
    still = simulated(tmp_path, arm, "--duration", "0.1", "--dt", "1e-3", *q, "--from", "rest")
    assert np.abs(still.tau).min() > 0.2
    assert np.abs(still.q - still.q[0]).max() < 1e-9


def test_robots_on_springs_start_at_rest_unless_told(tmp_path):
    robot = flexdyn_ros.load("mobile_arm")
    rest = robot.static_equilibrium(robot.neutral(), hold="joints")
    assert simulated(tmp_path, "mobile_arm", "--duration", "0.01").q[0] == pytest.approx(rest.q)
    told = simulated(tmp_path, "mobile_arm", "--duration", "0.01", "--from", "neutral")
    assert told.q[0] == pytest.approx(robot.neutral())


def test_a_robot_on_springs_that_has_no_rest_starts_as_described_and_says_so(tmp_path, monkeypatch, flexdyn):
    def fails(*_):
        raise ConvergenceError("no rest near the start")

    monkeypatch.setattr("flexdyn_ros.cli.starts._rest", fails)
    code, _, error = flexdyn("simulate", "mobile_arm", "--duration", "0.01")
    assert code == 0
    assert "starts at neutral: no rest near the start" in " ".join(error.split())
    code, _, _ = flexdyn("simulate", "mobile_arm", "--duration", "0.01", "--from", "rest")
    assert code != 0


def test_a_picture_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    code, output, _ = flexdyn(
        "simulate", "seven_joint_arm", "--duration", "1e9", "--plot", str(tmp_path / "x.docx")
    )
    assert code == 2
    assert ".svg" in output


def test_files_of_a_run_go_into_new_folders_and_then_into_the_same(tmp_path):
    place = tmp_path / "runs" / "of today"
    options = ("--quiet", "--save", str(place / "run.npz"), "--csv", str(place / "tables" / "run.csv"))
    for angle in (0.1, 0.2):
        code, output, error = flexdyn(
            "simulate", "two_link", "--duration", "0.01", "--q", f"elbow={angle}", *options
        )
        assert code == 0, (output, error)
        run = flexdyn_ros.Trajectory.load(place / "run.npz")
        assert run["elbow"][0] == angle
        rows = (place / "tables" / "run.csv").read_text().splitlines()
        assert len(rows) == 1 + len(run)


def test_methods_are_named_by_the_help_and_wrong_ones_refused():
    _, output, _ = flexdyn("simulate", "--help")
    for name in (*FIXED, *ADAPTIVE):
        assert name in output
    code, _, error = flexdyn("simulate", "seven_joint_arm", "--method", "rk5")
    assert code != 0
    assert "did you mean rk4" in str(error)


def test_check_shows_all_mistakes_of_a_file(tmp_path):
    path = tmp_path / "wrong.urdf"
    path.write_text(WRONG)
    found = find_mistakes(path)
    assert [error.line for error in found] == [3, 5, 6, 8, 8, 8, 9]
    assert [error.attribute for error in found][:3] == ["value", "value", "type"]
    run = subprocess.run(
        [sys.executable, "-m", "flexdyn_ros.cli.main", "check", str(path)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert run.returncode == 3
    assert run.stderr.count("error:") == 7
    for words in ("mass is negative", "unknown joint type", "did you mean 'beam'", "bending_y", "'zz'"):
        assert words in run.stderr
    assert find_mistakes("canadarm2") == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_check_shows_each_mistake_once_however_few(count, tmp_path, flexdyn):
    text = flexdyn_ros.load("two_link").description.text
    mistakes = [
        ('<mass value="1"/>', '<mass value="-1"/>', "mass is negative"),
        ('name="elbow" type="continuous"', 'name="elbow" type="bent"', "unknown joint type"),
        ("0 0 -9.81", "0 0 down", "wrong value of gravity"),
    ][:count]
    for right, wrong, _ in mistakes:
        text = text.replace(right, wrong, 1)
    (path := tmp_path / "wrong.urdf").write_text(text)
    code, _, told = flexdyn("check", path)
    assert code == 3
    assert told.count("error:") == count
    for *_, words in mistakes:
        assert told.count(words) == 1, told


def test_mistakes_of_one_block_do_not_hide_behind_each_other(tmp_path):
    text = flexdyn_ros.load("flexible_two_link").description.text
    wrong = text.replace("bending_y", "bendng_y")
    assert wrong != text
    assert len(find_mistakes(wrong)) == wrong.count("bendng_y=")


def test_mistakes_of_one_joint_do_not_hide_behind_each_other():
    joint = """<joint name="j" type="{}"><parent link="a"/><child link="b"/><axis xyz="{}"/>
      <limit lower="1" upper="-1" effort="1" velocity="1"/><dynamics damping="{}"/></joint>"""
    robot = '<robot name="r"><link name="a"/><link name="b"/>{}</robot>'
    found = find_mistakes(robot.format(joint.format("revolut", "0 1", "-2")))
    assert [error.attribute for error in found] == ["type", "xyz", "lower", "damping"]
    (last,) = find_mistakes(robot.format(joint.format("revolute", "0 1 0", "2")))
    assert last.attribute == "lower"


def test_a_name_that_is_nearly_right_is_guessed_and_a_folder_called_one(tmp_path):
    _, _, error = flexdyn("check", "canadarm")
    assert "did you mean 'canadarm2'" in str(error)
    _, _, error = flexdyn("check", str(tmp_path))
    assert "a folder, not a file" in str(error)
    assert "no such file" not in str(error)


def test_check_names_what_drives_the_robot():
    _, output, _ = flexdyn("check", "stewart_electric")
    assert "driven by 6 actuators: leg_1, leg_2" in output
    assert " yes " not in output.partition("Coordinates")[2].partition("driven by")[0]
    code, output, _ = flexdyn("check", "flexible_two_link", "--json")
    assert code == 0
    assert json.loads(output)["actuators"] == ["shoulder", "elbow"]


def test_matrices_of_answers_are_printed_row_by_row():
    answer = {"success": True, "message": "", "rows": 2, "cols": 2, "values": [1.0, 0.5, 0.5, 20.25]}
    text = shown(answer)
    assert text.splitlines()[-3:] == ["values (2 x 2):", "    1    0.5", "  0.5  20.25"]
    two = shown({**answer, "values": answer["values"] * 2})
    assert "values (2 x 2, sample 1):" in two
    lines = shown({"success": True, "rows": 2, "cols_a": 2, "a": [0.0, 1, 2, 3], "cols_b": 1, "b": [4.0, 5]})
    assert "a (2 x 2):" in lines
    assert "b (2 x 1):\n  4\n  5" in lines
    assert "frequencies: [1.0, 2.0]" in shown(
        {"frequencies": [1.0, 2.0], "rows": 1, "cols": 2, "shapes": [3.0, 4.0]}
    )


def test_the_shell_completes_commands_robots_and_methods():
    def completed(words):
        environment = {**os.environ, "_FLEXDYN_COMPLETE": "complete_bash", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
        run = subprocess.run(
            [sys.executable, "-m", "flexdyn_ros.cli.main"],
            env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        return run.stdout.split()

    assert completed("flexdyn check can") == ["canadarm2", "canadarm2_7"]
    assert completed("flexdyn sim") == ["simulate"]
    assert completed("flexdyn simulate canadarm2 --method ro") == ["rosenbrock"]


def test_the_version_is_printed_without_imports():
    probe = "import sys; sys.argv = ['flexdyn', '--version']\nfrom flexdyn_ros.cli.main import main\n"
    probe += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    probe += "print([m for m in ('numpy', 'typer', 'rich', 'lxml') if m in sys.modules])"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.stdout.splitlines() == [f"flexdyn_ros {flexdyn_ros.__version__}", "[]"]
    # processor time: others may be at work beside
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


def test_a_recording_is_split_where_that_is_asked_for(tmp_path):
    words = ("simulate", "seven_joint_arm", "--duration", "0.04", "--quiet", "--split-duration", "0.02")
    code, output, error = flexdyn(*words, "--bag", str(tmp_path / "run.mcap"))
    assert code == 0, (output, error)
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert names == {"metadata.yaml", "run_0.mcap", "run_1.mcap", "run_2.mcap"}
    assert flexdyn_ros.Trajectory.load(tmp_path / "run").t[-1] == 0.04
    # what is there stays
    code, output, _ = flexdyn(*words, "--bag", str(tmp_path / "run.mcap"))
    assert code == 2
    assert "folder" in output
