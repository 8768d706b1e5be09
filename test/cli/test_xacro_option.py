"""`--xacro NAME:=VALUE` of the commands that take a robot."""

import subprocess
import sys

import pytest
import typer

from flexdyn_ros.cli.terminal import xacro_of

pytest.importorskip("xacro")
FILE = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="load" default="1"/>
<link name="w"/><link name="b"><inertial><mass value="$(arg load)"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="w"/><child link="b"/></joint></robot>"""


def run(*arguments):
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_check_takes_arguments_and_refuses_unknown_ones(tmp_path):
    file = tmp_path / "x.urdf.xacro"
    file.write_text(FILE)
    found = run("check", str(file), "--xacro", "load:=4")
    assert found.returncode == 0
    assert "4 kg" in found.stdout
    refused = run("check", str(file), "--xacro", "lod:=4")
    assert refused.returncode != 0
    assert "no argument 'lod'" in refused.stderr


def test_arguments_come_one_by_one_or_as_the_list_of_a_launch_file():
    assert xacro_of(["a:=1", "b:=x:=y"]) == {"a": "1", "b": "x:=y"}
    assert xacro_of(["['a:=1', 'b:=2']"]) == {"a": "1", "b": "2"}
    assert xacro_of(["['']"]) is None
    assert xacro_of(None) is None


@pytest.mark.parametrize("text", ["a=1", ":=1", "['a=1']"])
def test_another_form_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is not NAME:=VALUE"):
        xacro_of([text])
