"""Tables on a terminal of 80 columns: no line is longer, and nothing is cut off."""

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from typer.testing import CliRunner

import flexdyn_ros
from flexdyn_ros.cli import app, machine, terminal
from flexdyn_ros.cli.machine import Finding
from flexdyn_ros.robot.coordinates import pose_name

ROBOTS = (
    "boom",
    "boom_on_cylinder",
    "canadarm2",
    "delta",
    "excavator",
    "flexible_two_link",
    "mobile_arm",
    "seven_joint_arm",
    "soft_arm_3",
    "stewart_1t",
)


def told(monkeypatch, width, *words):
    """What a command prints on so many columns."""
    monkeypatch.setattr(terminal.tables, "width", width)
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code in (0, 1), done.output
    return done.stdout


def longest(text):
    return max(len(line.rstrip()) for line in text.splitlines())


@pytest.mark.parametrize("name", ROBOTS)
def test_checks_fit_and_names_are_whole(monkeypatch, name):
    text = told(monkeypatch, 80, "check", name)
    assert longest(text) <= 80
    assert "…" not in text
    for coordinate in map(pose_name, flexdyn_ros.load(name).coordinates):
        assert f"{coordinate} " in text


@pytest.mark.parametrize("name", ["boom", "canadarm2", "excavator", "stewart_1t"])
def test_runs_and_their_comparison_fit(monkeypatch, tmp_path, name):
    for k, tau in enumerate(([], ["--hold", "all"])):
        text = told(
            monkeypatch, 80, "simulate", name, "--duration", 0.01, *tau, "--save", tmp_path / f"{k}.npz"
        )
        assert longest(text) <= 80
        for coordinate in map(pose_name, flexdyn_ros.load(name).coordinates):
            assert f"{coordinate} " in text
    text = told(monkeypatch, 80, "compare", tmp_path / "0.npz", tmp_path / "1.npz")
    assert "quantity" in text
    assert longest(text) <= 80


def test_what_is_longer_than_a_column_goes_on_below_it(monkeypatch, capsys):
    monkeypatch.setattr(terminal.tables, "width", 40)
    name = "a_long_name_of_a_link/bending_y/1"
    terminal.print_table("T", "name | n | text", [(name, "-1.23456e-05", "some words that take room")])
    text = capsys.readouterr().out
    assert longest(text) <= 40
    assert "-1.23456e-05" in text
    below = [line.split("  ")[0].split(" ")[0] for line in text.splitlines()]
    assert name in "".join(below)


@pytest.mark.parametrize("width", [20, 80, 200])
def test_tables_have_one_style(monkeypatch, capsys, width):
    monkeypatch.setattr(terminal.tables, "width", width)
    terminal.print_table("T", "name | n", [])
    terminal.print_table("T", "name | n", [("a", 1)])
    assert "name  n\n───────\na     1" in capsys.readouterr().out


def test_doctor_wraps_all_but_paths():
    program = "from flexdyn_ros.cli.main import main; import sys; sys.argv = ['flexdyn', 'doctor']; main()"
    environment = os.environ | {"COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert "Packages" in lines
    for line in lines:
        assert len(line) <= 80 or len(line.split()) <= 3, line


@pytest.mark.parametrize("width", range(48, 60))
def test_doctor_goes_on_below_only_where_a_line_is_full(monkeypatch, width):
    """Later lines of a value stand below its first, those of a remedy behind the arrow."""
    value, remedy = (
        " ".join("abcdefghijklmnopqrstuvw"),
        "an extra of pip: x y z and so on with a few short words",
    )
    findings = [
        Finding("packages", "some", "optional", value, remedy),
        Finding("ros", "other", "told", value),
    ]
    monkeypatch.setattr(machine, "findings", lambda: iter(findings))
    lines = told(monkeypatch, width, "doctor").splitlines()
    packages, ros = lines.index("Packages"), lines.index("ROS 2")
    arrow = next(i for i, line in enumerate(lines) if "->" in line)
    for part, text, indent in (
        (lines[packages + 1 : arrow], f"  none some               {value}", 26),
        (lines[arrow:ros], f"       -> {remedy}", 10),
        (lines[ros + 1 :], f"       other              {value}", 26),
    ):
        assert len(part) > 1
        assert " ".join([part[0], *(line.strip() for line in part[1:])]) == text
        assert all(len(line) - len(line.lstrip()) == indent for line in part[1:])
        assert max(map(len, part)) <= width
        for line, after in pairwise(part):
            assert len(f"{line} {after.split()[0]}") > width


@pytest.mark.parametrize(("told", "columns"), [("80", 80), ("", 200), ("many", 200), ("0", 200)])
def test_a_pipe_has_the_columns_that_it_is_told(monkeypatch, told, columns):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    monkeypatch.setenv("COLUMNS", told)
    assert terminal._columns() == columns


@pytest.mark.parametrize("columns", [64, 100])
def test_errors_wrap_between_words_on_a_terminal(tmp_path, columns):
    import fcntl
    import pty
    import struct
    import termios

    text = '<robot name="r"><link name="a"/><flexdyn><formulaton/></flexdyn></robot>'
    (tmp_path / "r.urdf").write_text(text)
    program = "import sys; from flexdyn_ros.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "check", "r.urdf"]
    piped = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    ).stderr
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    variables["TERM"] = "xterm"
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    subprocess.run(command, cwd=tmp_path, env=variables, **streams, timeout=120, check=False)
    os.close(slave)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", os.read(master, 100000).decode())
    os.close(master)
    lines = [line.rstrip() for line in shown.splitlines()]
    assert piped.count("\n") == 1
    assert len(lines) > 3
    assert all(len(line) <= columns for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(piped.split())
