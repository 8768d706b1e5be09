"""`flexdyn` whose streams are closed, full, without a reader, or of few characters."""

import os
import subprocess
import sys

import pytest

FLEXDYN = f"{sys.executable} -m flexdyn_ros.cli.main"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ARM = """<robot name="Ärmchen 関節"><link name="base"/>
<link name="glied_ö"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="gelenk_ß" type="revolute"><parent link="base"/><child link="glied_ö"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""


def shell(line, folder, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder, env=environment | variables, capture_output=True, text=True, timeout=550,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("words", ["check arm.urdf", "--version", "expand arm.urdf", "check arm.urdf --json"])
def test_a_closed_stdout_is_told(folder, words):
    done = shell(f"{FLEXDYN} {words} >&-", folder)
    assert done.returncode == 1
    assert "error: stdout is closed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_stdout_to_which_nothing_is_printed_is_no_error(folder):
    done = shell(f"{FLEXDYN} simulate arm.urdf --duration 0.01 --quiet --csv run.csv >&-", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "run.csv").read_text(encoding="utf-8").startswith("time,")


def test_a_closed_stderr_is_no_error(folder):
    done = shell(f"{FLEXDYN} simulate arm.urdf --duration 0.01 --csv run.csv 2>&-", folder)
    assert done.returncode == 0
    assert "Motion" in done.stdout
    assert (folder / "run.csv").read_text(encoding="utf-8").startswith("time,")
    done = shell(f"{FLEXDYN} check nothing.urdf 2>&-", folder)
    assert (done.returncode, done.stdout) == (3, "")


def test_all_streams_may_be_closed(folder):
    done = shell(f"{FLEXDYN} simulate arm.urdf --duration 0.01 --quiet --save run.npz <&- >&- 2>&-", folder)
    assert done.returncode == 0
    assert (folder / "run.npz").read_bytes()[:2] == b"PK"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is of Linux")
# each way to write is closed above; schema writes as expand does
@pytest.mark.parametrize(
    "words", ["check arm.urdf", "--version", pytest.param("schema", marks=pytest.mark.slow)]
)
def test_a_full_stdout_is_told(folder, words):
    done = shell(f"{FLEXDYN} {words} >/dev/full", folder)
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "check arm.urdf",
        "schema",
        *(pytest.param(x, marks=pytest.mark.slow) for x in ("--help", "expand arm.urdf")),
    ],
)
def test_a_reader_that_goes_ends_the_command_without_a_word(folder, words):
    done = shell(f"set -o pipefail; ({FLEXDYN} {words}; echo rc $? >&2) | true", folder)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert "error" not in done.stderr
    assert done.stderr.startswith("rc ")


#: commands, one after the other in one process, whose exit codes go to a file
COMMANDS = """
import shlex, sys
from flexdyn_ros.cli.main import main
for line in sys.argv[1:]:
    sys.argv = ["flexdyn", *shlex.split(line)]
    try:
        main()
    except SystemExit as ending:
        open("codes", "a").write(f"{ending.code} ")
"""
#: only the streams have few characters: a table, plain text, an error
FEW = ("check arm.urdf", "derive arm.urdf", "check nothing_ä.urdf")


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        pytest.param(ASCII, (
            "check arm.urdf", "check arm.urdf --json", "simulate arm.urdf --duration 0.01 --csv run.csv",
            "derive arm.urdf", "derive arm.urdf --as python --method lagrange",
            "identify arm.urdf --explain", "compile arm.urdf --target c --verbs energy",
            "check nothing_ä.urdf",
        ), id="locale"),
        pytest.param({"PYTHONIOENCODING": "ascii"}, FEW, id="ascii"),
        pytest.param({"PYTHONIOENCODING": "latin-1"}, FEW, id="latin-1"),
    ],
)  # fmt: skip
def test_characters_that_the_terminal_does_not_have_are_no_error(folder, variables, lines):
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines], cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))} | variables,
        capture_output=True, timeout=550,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = ["3" if "nothing" in line else "0" for line in lines]
    assert (folder / "codes").read_text().split() == expected, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_description_in_few_characters_is_the_same_description(folder):
    done = shell(f"{FLEXDYN} expand arm.urdf > again.urdf", folder, **ASCII)
    assert done.returncode == 0, done.stderr
    text = (folder / "again.urdf").read_bytes()
    assert text.isascii()
    assert b"&#246;" in text


def test_fields_and_paths_keep_their_characters_in_a_locale_of_few(folder):
    program = (
        "import sys; from pathlib import Path; from flexdyn_ros.cli.ros.call import fields_of; "
        "from flexdyn_ros.cli.ros.up import _description_of; from flexdyn_ros.description import read; "
        "print(ascii(fields_of(sys.argv[1])), "
        "ascii(_description_of(read(sys.argv[2]), None, {}, {'n': sys.argv[3]})))"
    )
    (folder / "glied_ö.urdf").write_text(ARM, encoding="utf-8")
    done = shell(f'{sys.executable} -c "{program}" "{{name: [\'ö\']}}" glied_ö.urdf ß', folder, **ASCII)
    assert done.returncode == 0, done.stderr
    assert "{'name': ['\\xf6']}" in done.stdout
    assert "glied_\\xf6.urdf" in done.stdout
    assert "'n:=\\xdf'" in done.stdout
