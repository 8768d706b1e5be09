"""What a fit writes: the user's description with other numbers and nothing else, reports, the command."""

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from identification.motions import measured, other_numbers
from identification.test_fit_output import record

from flexdyn_ros import errors, load
from flexdyn_ros.cli.main import main
from flexdyn_ros.identification import Measurement, fit_linear, fit_output

pytest.importorskip("pandas")

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

#: what users write: other quotes, comments, an inertial with rpy, a link on a fixed joint
ARM = """<?xml version='1.0'?>
<!-- an arm, with a remark: mass value="7" -->
<robot name="arm">
  <link name="world"/>
  <link   name="upper">
    <inertial> <origin rpy='0 0 0.5' xyz="0.3 0 0.01"/> <mass value = "2.0"/>
      <inertia ixx=".01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/>   </inertial>
    <visual><geometry><box size="1 0.04 0.04"/></geometry></visual>
  </link>
  <link name="lower">
    <inertial><origin xyz="0.2 0.02 0"/><mass value="1.1"/>
      <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
  </link>
  <link name="tool"><inertial><mass value="0.4"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="world"/><child link="upper"/><axis xyz="0 1 0"/>
    <dynamics damping="0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.6 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="4"/></joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0.4 0 0"/></joint>
  <flexdyn reference="elbow"><rotor inertia="1e-5" gear_ratio="100"/></flexdyn>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def fitted(robot, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(robot, data, **options)


def without_numbers(text):
    return NUMBER.sub("#", text)


def efforts(robot):
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 50, robot.nv))
    return robot.inverse_dynamics(q, v, a)


def test_only_numbers_change_and_the_file_gives_the_identified_robot(arm, tmp_path):
    start = load(arm)
    truth = other_numbers(start)
    found = fitted(
        start, measured(truth, noise=1e-3), parameters=["*/[mi]*", "shoulder/damping", "elbow/rotor"]
    )
    diff = found.write_urdf(tmp_path / "identified.urdf")
    new = (tmp_path / "identified.urdf").read_text()
    assert arm.read_text() == ARM
    # the tool's inertial has no origin, and is not identified
    assert without_numbers(new).replace(" ", "") == without_numbers(ARM).replace(" ", "")
    assert '<!-- an arm, with a remark: mass value="7" -->' in new
    assert "rpy='0 0 0.5'" in new
    read = load(tmp_path / "identified.urdf")
    assert np.abs(efforts(read) - efforts(found.robot)).max() < 1e-9
    assert diff.startswith(f"--- {arm}")
    changed = [line for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert all(line[1:] in ARM for line in changed)
    assert not list(tmp_path.glob(".identified*"))


def test_a_description_that_is_xacro_is_written_expanded(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.urdf.xacro"
    named = (
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="2"/>'
    )
    text = ARM.replace('<robot name="arm">', named).replace('value = "2.0"', 'value="${m}"')
    path.write_text(text)
    start = load(path)
    truth = start.with_parameters({"upper/mass": 2.7, "elbow/damping": 0.3})
    found = fitted(start, measured(truth), parameters=["upper/mass", "upper/izz", "elbow/damping"])
    found.write_urdf(tmp_path / "identified.urdf")
    assert path.read_text() == text
    new = (tmp_path / "identified.urdf").read_text()
    assert not re.search(r"\$\{|<xacro", new)
    read = load(tmp_path / "identified.urdf")
    assert np.abs(efforts(read) - efforts(found.robot)).max() < 1e-9
    assert np.abs(efforts(read) - efforts(start)).max() > 0.1


def test_a_file_that_got_a_document_type_since_is_not_changed_in_place(arm, tmp_path):
    start = load(arm)
    found = fitted(start, measured(other_numbers(start)), parameters="elbow/damping")
    arm.write_text(ARM.replace("<robot", "<!DOCTYPE robot>\n<robot", 1))
    with pytest.raises(errors.StateError, match="has a document type"):
        found.write_urdf(tmp_path / "identified.urdf")
    assert not (tmp_path / "identified.urdf").exists()


def test_what_the_file_lacks_is_added_where_it_belongs(arm, tmp_path):
    start = load(arm)
    truth = start.with_parameters({"elbow/friction": 0.3, "elbow/damping": 0.2, "shoulder/rotor": 0.02})
    found = fitted(start, measured(truth), parameters=["elbow/friction", "elbow/damping", "shoulder/rotor"])
    found.write_urdf(tmp_path / "identified.urdf")
    read = load(tmp_path / "identified.urdf")
    assert np.abs(efforts(read) - efforts(truth)).max() < 1e-8
    new = (tmp_path / "identified.urdf").read_text()
    assert '<flexdyn reference="shoulder"><rotor inertia="0.0' in new
    assert len(new.splitlines()) <= len(ARM.splitlines()) + 2


def test_stiffness_and_damping_go_into_flexdyn(tmp_path):
    start = load("flexible_two_link")
    truth = load("flexible_two_link", options={"links.link_2.beam.EIz": 2.1})
    names = ["link_2/EIz", "link_2/damping_ratio", "elbow/damping"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit_output(start, record(truth, 0.2), names)
    diff = found.write_urdf(tmp_path / "identified.urdf")
    read = load(tmp_path / "identified.urdf")
    assert read.modes(read.neutral()).frequency == pytest.approx(
        truth.modes(truth.neutral()).frequency, rel=1e-8
    )
    assert 'EIz="2.1' in diff or 'EIz="2.09999' in diff


def test_what_has_no_place_in_the_file_is_told(tmp_path):
    start = load("flexible_two_link")
    found = fitted(start, measured(other_numbers(start)))
    with pytest.raises(errors.UnsupportedError, match="flexible link link_"):
        found.write_urdf(tmp_path / "identified.urdf")
    assert not list(tmp_path.iterdir())


def test_the_report_has_tables_and_pictures(arm, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    start, drawn, save = load(arm), [], Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **k: (drawn.append(figure), save(figure, *a, **k))
    )
    data = [measured(other_numbers(start), noise=0.01, seed=seed, name=f"run_{seed}.csv") for seed in (0, 1)]
    found = fitted(start, data)
    report = found.report(tmp_path / "report", "flexdyn identify arm.urdf")
    text = report.read_text()
    for word in (
        "# arm: identification",
        "flexdyn identify arm.urdf",
        "run_0.csv, run_1.csv",
        "## Residuals",
    ):
        assert word in text
    assert "are not drawn" not in text
    for name in re.findall(r"\]\((\w+\.png)\)", text):
        assert (report.parent / name).stat().st_size > 10_000
    samples = found.samples
    assert [len(figure.axes) for figure in drawn] == [len(samples.channels)] * 2
    for figure, rows in zip(drawn, samples.parts, strict=True):
        for i, axis in enumerate(figure.axes):
            assert axis.get_axisbelow() is True
            measured_here, predicted = samples.measured[rows, i], samples.predicted[rows, i]
            lines = {line.get_label(): line for line in axis.lines}
            assert all(np.array_equal(line.get_xdata(), samples.t[rows]) for line in lines.values())
            values = {name: line.get_ydata() for name, line in lines.items()}
            assert values.keys() == {"measured", "predicted", "residual"}
            np.testing.assert_array_equal(values["measured"], measured_here)
            np.testing.assert_array_equal(values["predicted"], predicted)
            np.testing.assert_array_equal(values["residual"], measured_here - predicted)
    table = (report.parent / "table.csv").read_text().splitlines()
    assert table[0] == "parameter,value,standard_deviation,lower,upper,start,unit,expression"
    assert len(table) > 5


# ---- the command ----


def flexdyn(monkeypatch, capsys, *words):
    """Exit code and what was printed."""
    monkeypatch.setattr(sys, "argv", ["flexdyn", "identify", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return ended.value.code or 0, printed.out, printed.err


def write(measurement, path):
    table = np.column_stack([measurement.t, *measurement.columns.values()])
    header = ",".join(["time", *measurement.columns])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


def test_the_command_explains(monkeypatch, capsys):
    code, out, _ = flexdyn(monkeypatch, capsys, "two_link", "--explain")
    assert code == 0
    assert "6 base parameters of 20" in out
    assert "upper/izz + lower/mass [kg m2]" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_command_fits_shows_and_writes_only_when_asked(monkeypatch, capsys, arm, tmp_path):
    start = load(arm)
    runs = [
        write(measured(other_numbers(start), noise=0.01, seed=seed), tmp_path / f"run_{seed}.csv")
        for seed in (0, 1)
    ]
    before = sorted(tmp_path.iterdir())
    code, out, _ = flexdyn(monkeypatch, capsys, arm, *runs, "--cross-validate")
    assert code == 0
    assert sorted(tmp_path.iterdir()) == before
    assert max(map(len, out.splitlines())) <= 80
    assert "elbow/friction" in out
    assert "held out: run_0.csv" in out
    code, out, err = flexdyn(
        monkeypatch, capsys, arm, runs[0], "-o", tmp_path / "new.urdf", "--report", tmp_path / "report"
    )
    assert code == 0
    assert "+++" in out
    assert "wrote" in err
    assert load(tmp_path / "new.urdf").nv == 2
    assert (tmp_path / "report" / "report.md").is_file()
    assert arm.read_text() == ARM


def test_the_command_cuts_long_names_and_keeps_its_columns(monkeypatch, capsys, tmp_path):
    named, long = tmp_path / "named.urdf", "elbow_of_the_second_robot_in_the_hall_of_tests"
    named.write_text(ARM.replace('"elbow"', f'"{long}"'))
    path = write(measured(other_numbers(load(named)), noise=0.01, duration=1.0), tmp_path / "run.csv")
    code, out, err = flexdyn(monkeypatch, capsys, named, path)
    assert code == 0, err
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    head = next(i for i, line in enumerate(lines) if line.startswith("parameter "))
    *_, value, deviation, before, unit = re.finditer(r"\S+", lines[head])
    rows, cut = lines[head + 1 : lines.index("", head)], []
    for row in rows:
        # right below the titles of their columns
        assert {value.end(), deviation.end(), before.end()} < {
            cell.end() for cell in re.finditer(r"\S+", row)
        }
        assert row[unit.start() - 1] == " " != row[unit.start()]
        if "..." in row:
            cut.append(row.partition("...")[0])
    assert len(cut) >= 2
    assert all(long.startswith(name) for name in cut)


def test_the_command_takes_windows_rows_and_what_is_known(monkeypatch, capsys, tmp_path):
    robot = load("two_link")
    data = measured(other_numbers(robot), noise=0.01)
    path = write(data, tmp_path / "run.csv")

    def answer(*words):
        code, out, err = flexdyn(monkeypatch, capsys, "two_link", path, "--json", *words)
        assert code == 0, err
        return json.loads(out)

    expected = fitted(robot, data.between(1.0, 4.0))
    assert answer("--time", "1:4")["rms"] == pytest.approx(expected.rms, rel=1e-6)
    assert answer("--time", "1:4")["left_over"] == pytest.approx(expected.left_over, rel=1e-6)
    expected = fitted(robot, data.rows(100, 700))
    assert len(expected.samples.t) == 600
    assert answer("--rows", "100:700")["rms"] == pytest.approx(expected.rms, rel=1e-6)
    words = ("--prior", "*/mass=9:0.01", "--bound", "elbow/damping=0.5:0.6", "--offset", "*")
    found = answer(*words, "--asymmetric", "elbow")["values"]
    assert found["upper/mass"] + found["lower/mass"] == pytest.approx(9.0, abs=0.05)
    assert 0.5 - 1e-6 <= found["elbow/damping"] <= 0.6 + 1e-6
    assert {"shoulder/offset", "elbow/friction_asymmetry"} < set(found)


def test_tables_name_base_parameters_shortly_and_the_file_in_full(tmp_path):
    start = load("seven_joint_arm")
    found = fitted(start, measured(other_numbers(start), noise=0.01))
    assert max(map(len, found.table["parameter"])) <= 34
    assert list(found.table["expression"]) == list(found.base.names)
    assert found.table["parameter"].is_unique
    long = next(name for name in found.base.names if len(name) > 60)
    lead, count = long.split(" ")[0], len(re.split(r" [+-] ", long)) - 1
    assert f"{lead} + {count} more" in set(found.table["parameter"])
    report = found.report(tmp_path / "report")
    assert long in (report.parent / "table.csv").read_text()
    assert long not in report.read_text()
    # every number of the description stands in a row of its own, with whether the data tell it
    alone = report.read_text().partition("## Numbers of the description")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| (\S+) \| .* \| (alone|in combination|no) \|$", alone, re.MULTILINE))
    assert set(rows) == set(found.values)
    assert {name for name, told in rows.items() if told == "alone"} == set(found.base.single)
    assert {name for name, told in rows.items() if told == "no"} == set(found.base.without_effect)


@pytest.mark.parametrize(("option", "held"), [("--held", True), ("--not-held", False)])
@pytest.mark.parametrize("told", [0.0, 1.0])
def test_the_command_takes_efforts_as_it_is_told(monkeypatch, capsys, tmp_path, option, held, told):
    """Whatever the file says, and as a fit to the same measurement."""
    data = measured(load("two_link"), duration=2.0)
    path = write(data, tmp_path / "run.csv")
    lines = path.read_text().splitlines()
    rows = [f"{line},{told}" for line in lines[1:]]
    path.write_text("\n".join([f"{lines[0]},efforts_held", *rows]))
    code, out, _ = flexdyn(monkeypatch, capsys, "two_link", path, option, "--json")
    assert code == 0
    expected = fitted(load("two_link"), Measurement.of(data.t, dict(data.columns), held=held))
    other = fitted(load("two_link"), Measurement.of(data.t, dict(data.columns), held=not held))
    rms = json.loads(out)["rms"]
    assert rms == pytest.approx(expected.rms, rel=1e-6)
    assert rms != pytest.approx(other.rms, rel=1e-2)


def test_the_command_fits_by_simulation(monkeypatch, capsys, tmp_path):
    truth = load("flexible_two_link", options={"links.link_2.beam.EIz": 2.1})
    run = write(record(truth, 0.2, noise=1e-3), tmp_path / "run.csv")
    code, out, _ = flexdyn(
        monkeypatch,
        capsys,
        "flexible_two_link",
        run,
        "--parameters",
        "link_2/EIz",
        "--start",
        "link_2/EIz=2.5",
        "--held",
    )
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("link_2/EIz")]
    assert float(line.split()[1]) == pytest.approx(2.1, rel=0.01)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "files with measurements"),
        (("--method", "magic"), 2, "magic"),
        (("run.csv", "--unit", "elbow"), 2, "NAME=VALUE"),
        (("run.csv", "--parameters", "elbow/dampin", "--method", "linear"), 2, "elbow/damping"),
        (("run.csv", "--column", "nothing=elbow"), 2, "nothing"),
        (("bad.csv",), 1, "expected a number"),
        (("short.csv",), 1, "too short"),
        (("missing.csv",), 1, "missing.csv"),
        (("run.csv", "--time", "3"), 2, "two numbers with ':'"),
        (("run.csv", "--rows", "0:x"), 2, "two numbers with ':'"),
        (("run.csv", "--rows", "0:5"), 1, "too short"),
        (("run.csv", "--prior", "elbow/damping=1"), 2, "two numbers with ':'"),
        (("run.csv", "--prior", "elbow/dampin=1:1"), 2, "elbow/damping"),
        (("run.csv", "--bound", "elbow/damping=2:1"), 1, "expected (least, most)"),
        (("run.csv", "--offset", "wrist"), 2, "elbow"),
    ],
)
def test_mistakes_have_their_exit_code_and_name_the_culprit(
    monkeypatch, capsys, arm, tmp_path, words, code, said
):
    start = load(arm)
    write(measured(start), tmp_path / "run.csv")
    write(measured(start).between(0.0, 0.02), tmp_path / "short.csv")
    Path(tmp_path / "bad.csv").write_text("time,elbow\n0,1\n1,x\n")
    monkeypatch.chdir(tmp_path)
    found, out, err = flexdyn(monkeypatch, capsys, arm, *words)
    assert found == code, err
    assert said in out + err


def test_a_robot_without_parameters_is_told_what_its_family_must_offer():
    from types import SimpleNamespace

    from flexdyn_ros.errors import UnsupportedError
    from flexdyn_ros.identification.linear.models import linear_model

    class Bare(SimpleNamespace):
        @property
        def parameters(self):
            raise UnsupportedError("not here")

    with pytest.raises(UnsupportedError, match=r"'toy' of kind tree.*`regressor` and `with_parameters`"):
        linear_model(Bare(name="toy", kind="tree"))
