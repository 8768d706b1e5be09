"""The `flexdyn` command: exit codes, tables, JSON, files."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.cli.main import main
from flexdyn_ros.families import registry

BROKEN = """<robot name="broken">
  <link name="a"/>
  <link name="b"><inertial><mass value="-1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
</robot>
"""

PENDULUM = """<robot name="pendulum">
  <link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>
"""


@dataclass
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def in_its_own_process(*arguments):
    """The command as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "flexdyn_ros.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=550,
        env={**os.environ, "COLUMNS": "160"},
        check=False,
    )


@pytest.fixture
def flexdyn(monkeypatch, capsys):
    """The command in this process, where everything is imported already."""

    def run(*arguments):
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["flexdyn", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(ended.value.code or 0, said.out, said.err)

    return run


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM)
    return path


def test_check_prints_bodies_coordinates_and_masses():
    run = in_its_own_process("check", "seven_joint_arm")
    assert run.returncode == 0, run.stderr
    for text in ("elbow_pitch", "link_4", "3.5879", "Coordinates", "revolute"):
        assert text in run.stdout


def test_check_prints_modes_with_joints_free_and_locked(flexdyn):
    run = flexdyn("check", "flexible_two_link")
    title = "Modes at q = 0 with joints free and locked: frequency [Hz], damping ratio"
    assert title in " ".join(run.stdout.split())
    robot = flexdyn_ros.load("flexible_two_link")
    first = robot.modes(robot.neutral(), lock="joints").frequency[0]
    assert f" {first:.5g} " in run.stdout


def test_check_leaves_cells_empty_where_locked_joints_leave_fewer_modes(flexdyn):
    few = [f"links.{link}.modes.{kind}={n}" for link in ("link_1", "link_2")
           for kind, n in (("bending_y", 1), ("bending_z", 1), ("torsion", 0))]  # fmt: skip
    run = flexdyn("check", "flexible_two_link", *(word for one in few for word in ("--set", one)))
    assert run.returncode == 0, run.stderr
    table = run.stdout.partition("Modes at q = 0")[2].splitlines()
    cells = {row[0]: row[1:] for row in map(str.split, table) if row and row[0] in "123456"}
    # two joints and four modes of links, of which the last two are those of the last four with joints locked
    assert [len(cells[n]) for n in "123456"] == [5, 5, 6, 6, 3, 3]
    assert [cells[n] for n in "56"] == [cells[n][3:] for n in "34"]


def test_check_tells_the_masses_of_flexible_links_and_nothing_of_them_without_any(flexdyn, tmp_path):
    """T = B + P + R, of masses and of first moments along the beam."""
    path = tmp_path / "boom.urdf"
    path.write_text(
        '<robot name="crane"><link name="base"/><link name="boom"><inertial><origin xyz="0.75 0 0"/>'
        '<mass value="8"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="4" iyz="0" izz="4"/></inertial></link>'
        '<joint name="slew" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 0 1"/>'
        '</joint><flexdyn reference="boom"><beam length="2" mass_per_length="1.5" EIy="1e4" EIz="1e4"/>'
        '<modes bending_z="3"/><body name="drum" station="0.25"><mass value="4"/></body></flexdyn></robot>'
    )
    run = flexdyn("check", str(path))
    assert run.returncode == 0, run.stderr
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith("boom  ")]
    assert rows[1:4] == [
        ["boom", "2", *["3", "bending_z;", "eigen,", "clamped-free"]],
        ["boom", "m", "8", "3", "4", "1"],
        ["boom", "m", "x", "6", "3", "2", "1"],
    ]
    run = flexdyn("check", "two_link")
    assert run.returncode == 0, run.stderr
    assert not re.search("flexible links|remainder", run.stdout, re.IGNORECASE)


def test_check_tells_mobility_and_loads(flexdyn):
    run = flexdyn("check", "boom_on_cylinder")
    assert run.returncode == 0, run.stderr
    words = [tuple(re.split(r"\s{2,}", line.strip())) for line in run.stdout.splitlines()]
    for row in (("actuators between frames", "1", "hoist"), ("passive joints", "1", "lift")):
        assert row in words
    # the weight of 100 kg at 1.2 m, and of what swings, is held by the cylinder
    assert ("boom", "1193", "0", "0", "0") in words


def test_check_tells_the_frequency_of_a_pendulum(flexdyn, pendulum):
    run = flexdyn("check", str(pendulum), "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    expected = np.sqrt(2 * 9.80665 * 0.5 / (0.1 + 2 * 0.25)) / (2 * np.pi)
    assert found["frequencies_free"][0] == pytest.approx(expected, rel=1e-9)
    assert found["coordinates"][0]["lower"] == "-inf"


def test_check_shows_overrides_with_both_values(flexdyn, pendulum):
    run = flexdyn("check", str(pendulum), "--set", "gravity=[0, 0, -1.62]", "--json")
    assert run.returncode == 0, run.stderr
    (override,) = json.loads(run.stdout)["overrides"]
    assert override["path"] == "gravity"
    assert override["new"] == [0, 0, -1.62]


def test_strict_makes_warnings_fail(flexdyn, tmp_path):
    path = tmp_path / "idle.urdf"
    path.write_text(
        PENDULUM.replace('<link name="base"/>', '<link name="base"/><link name="idle"/>').replace(
            "</robot>",
            '<joint name="k" type="continuous"><parent link="rod"/><child link="idle"/></joint></robot>',
        )
    )
    assert flexdyn("check", str(path)).returncode == 0
    run = flexdyn("check", str(path), "--strict")
    assert run.returncode == 1
    assert "idle" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["check", "no_such_robot"], 3, ["no_such_robot"]),
        (["check"], 2, ["Missing argument"]),
        (["check", "seven_joint_arm", "--set", "nonsense"], 2, ["PATH=VALUE"]),
        (["check", "seven_joint_arm", "--set", "gravitation=1"], 3, ["gravitation"]),
        (["simulate", "seven_joint_arm", "--q", "elbow=1"], 2, ["elbow_pitch"]),
        (["simulate", "seven_joint_arm", "--q", "elbow_pitch=nan"], 2, ["not a finite number"]),
        (["check", "seven_joint_arm", "--config", "no_such.yaml"], 3, ["no_such.yaml: no such file"]),
        (["simulate", "seven_joint_arm", "--dt", "-1"], 2, ["not positive"]),
        (["simulate", "seven_joint_arm", "--dt", "nan"], 2, ["--dt"]),
        (["simulate", "seven_joint_arm", "--duration", "inf"], 2, ["--duration"]),
        (["simulate", "seven_joint_arm", "--duration", "1e13"], 1, ["error"]),
        (["expand", "seven_joint_arm", "-o", os.devnull + "/x.urdf"], 1, ["error", os.devnull]),
        (["schema", "--xsd", "--table"], 2, ["--xsd"]),
        (["derive", "seven_joint_arm"], 3, ["1 to 3"]),
    ],
)
def test_mistakes_have_their_exit_code_and_name_the_culprit(flexdyn, arguments, code, words):
    run = flexdyn(*arguments)
    assert run.returncode == code, run.stderr
    for word in words:
        assert word in run.stderr
    assert "Traceback" not in run.stderr


def test_a_broken_description_is_refused_with_file_line_and_value(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text(BROKEN)
    run = in_its_own_process("check", str(path))
    assert run.returncode == 3
    for word in ("broken.urdf:3", "mass", "-1"):
        assert word in run.stderr


def test_simulate_writes_table_picture_and_files(pendulum, tmp_path):
    picture, saved, text = tmp_path / "p" / "a.png", tmp_path / "a.npz", tmp_path / "a.csv"
    run = in_its_own_process(
        "simulate",
        str(pendulum),
        "--duration",
        "1",
        "--q",
        "hinge=0.5",
        "--plot",
        str(picture),
        "--save",
        str(saved),
        "--csv",
        str(text),
    )
    assert run.returncode == 0, run.stderr
    assert "hinge" in run.stdout
    assert "x real time, dop853, rtol 1e-6); energy error" in run.stdout
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    trajectory = flexdyn_ros.Trajectory.load(saved)
    assert trajectory.q[0, 0] == 0.5
    assert trajectory.t[-1] == pytest.approx(1.0)
    assert text.read_text().splitlines()[0].startswith("time,")


def test_simulate_in_json_balances_energy(flexdyn, pendulum):
    run = flexdyn("simulate", str(pendulum), "--duration", "1", "--q", "hinge=1", "--json")
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["energy_balance_error"] < 1e-6 * found["peak_kinetic_energy"]
    assert found["method"] == "dop853"
    fixed = json.loads(flexdyn("simulate", str(pendulum), "--duration", "1", "--dt", "1e-3", "--json").stdout)
    assert fixed["method"] == "rk4"


def test_simulate_keeps_the_cylinders_of_a_platform(flexdyn, tmp_path):
    saved = tmp_path / "platform.npz"
    pushed = [part for i in range(1, 7) for part in ("--tau", f"leg_{i}=2300")]
    run = flexdyn("simulate", "stewart_1t", "--duration", "0.2", *pushed, "--save", str(saved), "--quiet")
    assert run.returncode == 0, run.stderr
    trajectory = flexdyn_ros.Trajectory.load(saved)
    assert trajectory.method == "adaptive_staggered"
    np.testing.assert_allclose(trajectory.hydraulics.force[-1], 2300.0, rtol=0.02)


def test_schema_prints_or_writes_an_xml_schema(flexdyn, tmp_path):
    from lxml import etree

    run = flexdyn("schema", "--xsd")
    assert run.returncode == 0, run.stderr
    etree.XMLSchema(etree.fromstring(run.stdout.encode()))
    assert flexdyn("schema", "--xsd", "-o", str(tmp_path / "flexdyn.xsd")).returncode == 0
    assert (tmp_path / "flexdyn.xsd").read_text().strip() == run.stdout.strip()


def test_the_reference_has_the_elements_of_families_that_the_environment_names(
    flexdyn, tmp_path, monkeypatch
):
    (tmp_path / "ducted.py").write_text(
        "from dataclasses import replace\n"
        "from flexdyn_ros.description.language.vocabulary import element, positive\n"
        "from flexdyn_ros.families.trees.family import TREES\n"
        '@element("duct", "A fan in a ring.")\n'
        "class Duct:\n"
        '    swept: float = positive("m2", "area of the fan")\n'
        'DUCTED = replace(TREES, kind="ducted", elements=(Duct,))\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(registry.VARIABLE, "ducted:DUCTED")
    # the environment is read once in a process
    registry._register_named.cache_clear()
    known = len(registry._FAMILIES)
    try:
        table, xsd = (flexdyn("schema", form) for form in ("--table", "--xsd"))
    finally:
        for family in registry._FAMILIES[:-known]:
            registry.unregister(family)
    for run in (table, xsd):
        assert run.returncode == 0, run.stderr
        assert "area of the fan" in run.stdout
    assert "area of the fan" not in flexdyn("schema").stdout


def test_the_version_is_printed():
    assert in_its_own_process("--version").stdout.strip() == f"flexdyn_ros {flexdyn_ros.__version__}"


def test_names_with_brackets_are_printed_as_they_are(flexdyn, tmp_path):
    path = tmp_path / "brackets.urdf"
    path.write_text('<robot name="a[/b]"><link name="[red]base"/></robot>')
    run = flexdyn("check", str(path))
    assert run.returncode == 0, run.stderr
    assert "a[/b]" in run.stdout
    assert "[red]base" in run.stdout


def test_expand_writes_a_description_without_inertia(flexdyn, pendulum, tmp_path):
    target = tmp_path / "expanded.urdf"
    run = flexdyn("expand", str(pendulum), "-o", str(target))
    assert run.returncode == 0, run.stderr
    assert "<inertial" not in target.read_text()
    assert flexdyn_ros.load(target).v_names == ("hinge",)


def test_derive_prints_both_derivations(flexdyn, pendulum):
    run = flexdyn("derive", str(pendulum), "--numbers")
    assert run.returncode == 0, run.stderr
    assert "newton_euler" in run.stdout
    assert "lagrange" in run.stdout
    assert "sin" in run.stdout
