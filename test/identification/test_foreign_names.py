"""Names of others in what identification writes: reports, tables, descriptions, motions."""

import csv
import re

import numpy as np
import pytest
import yaml

from flexdyn_ros import load
from flexdyn_ros.bridges.denavit_hartenberg import read_table
from flexdyn_ros.identification import Measurement, excite, fit_linear
from flexdyn_ros.identification.excitation import write_joint_trajectory

NAMES = (
    "a|b",
    "=1+1",
    '"><x',
    "[x](javascript:y)",
    "<script>alert(1)</script>",
    "`a",
    "🤖",
    "x&amp;lt;y",
    "_j_",
)


def arm(name):
    quoted = name.replace("<", "&lt;").replace('"', "&quot;")
    return load(f"""<robot name="{quoted}"><link name="base"/><link name="l">
    <inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="{quoted}" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="5"/></joint></robot>""")


@pytest.mark.parametrize("name", NAMES)
def test_a_report_a_table_and_a_description_hold_the_name_as_text(name, tmp_path):
    pytest.importorskip("pandas")
    robot = arm(name)
    (joint,) = robot.v_names
    t = np.arange(0.0, 4.0, 0.01)
    q, v, a = 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t), -4.5 * np.sin(3 * t)
    tau = robot.inverse_dynamics(q[:, None], v[:, None], a[:, None])[:, 0] + 0.3 * v + 0.1 * np.sign(v)
    columns = {joint: q, f"{joint}.velocity": v, f"{joint}.acceleration": a, f"{joint}.effort": tau}
    found = fit_linear(robot, Measurement.of(t, columns))
    report = found.report(tmp_path / "report", "flexdyn").read_text(encoding="utf-8")
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", report)
    assert "<script>" not in bare
    assert "](javascript:" not in report.replace("\\[", "") or "\\[x](javascript" in report
    for line in bare.splitlines():
        if line.startswith("| ") and "damping" in line and "effort" not in line:
            assert line.count("|") in (5, 7), line
    with (tmp_path / "report/table.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "@")]
    found.write_urdf(tmp_path / "found.urdf")
    assert load(tmp_path / "found.urdf").v_names == (joint,)


@pytest.mark.parametrize("name", [*NAMES, "a: b", "- c", "{d}", "\u009b2J", "null", "1.5", "yes"])
def test_a_motion_for_ros_names_its_joint(name, tmp_path):
    robot = arm(name.replace("\u009b", "&#x9b;"))
    motion = excite(robot, 1.0, evaluations=3, sample=0.1)
    write_joint_trajectory(motion, tmp_path / "motion.yaml")
    text = (tmp_path / "motion.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["joint_names"] == list(robot.v_names)
    assert text.isascii()


@pytest.mark.parametrize("name", ['"><x', "a&b", "<j>"])
def test_a_table_of_denavit_and_hartenberg_becomes_a_description_that_can_be_read(name, tmp_path):
    table = {
        "name": name,
        "joints": [
            {"joint": name, "type": "revolute", "a": 1.0, "alpha": 0.0, "d": 0.0, "theta": 0.0, "mass": 1.0}
        ],
    }
    (tmp_path / "t.yaml").write_text(yaml.safe_dump({"convention": "standard", **table}))
    robot = load(read_table(tmp_path / "t.yaml").to_urdf())
    assert (robot.name, robot.v_names) == (name, (name,))
