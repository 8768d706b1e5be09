"""`flexdyn simulate` tells of starts beyond limits, forces where nothing drives, and nothing to hold."""

import pytest

import flexdyn_ros

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="{effort}" velocity="2"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.format(effort=1))
    return tmp_path / "arm.urdf"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--q", "shoulder=1.5"), "shoulder starts at 1.5 rad, outside its limits -1 to 1 rad"),
        (("--v", "shoulder=-3"), "shoulder starts at -3 rad/s, faster than its limit 2 rad/s"),
        (("--tau", "shoulder=4"), "shoulder gets 4 N m, more than its limit 1 N m"),
        (("--hold", "all"), "shoulder gets -4.903 N m, more than its limit 1 N m"),
    ],
)
def test_what_passes_limits_at_the_start_is_told(flexdyn, arm, words, told):
    code, _, err = flexdyn("simulate", arm, "--duration", "0.01", *words)
    assert code == 0
    assert told in err
    code, _, err = flexdyn(
        "simulate", arm, "--duration", "0.01", "--q", "shoulder=0.5", "--tau", "shoulder=0.5"
    )
    assert (code, "warning" in err) == (0, False)


def test_an_effort_on_a_coordinate_without_actuator_is_told(flexdyn):
    words = ("simulate", "flexible_two_link", "--duration", "0.001", "--quiet")
    name = next(c.name for c in flexdyn_ros.load("flexible_two_link").coordinates if c.kind == "bending_y")
    code, _, err = flexdyn(*words, "--tau", f"{name}=1")
    assert code == 0
    assert f"{name} gets 1 N, but no actuator drives it" in err


def test_an_effort_of_a_file_on_a_coordinate_without_actuator_is_told(flexdyn, tmp_path):
    name = next(c.name for c in flexdyn_ros.load("flexible_two_link").coordinates if c.kind == "bending_y")
    (tmp_path / "u.csv").write_text(f"time,shoulder,{name}\n0,0.5,0\n0.001,0.5,-2\n")
    words = ("simulate", "flexible_two_link", "--duration", "0.002", "--quiet")
    code, _, err = flexdyn(*words, "--control", tmp_path / "u.csv")
    assert code == 0
    assert f"{name} gets 2 N, but no actuator drives it" in err
    assert "shoulder" not in err


def test_a_robot_without_actuators_has_nothing_to_hold(flexdyn, tmp_path):
    body = ARM.partition("<joint")[0].replace('<link name="base"/>', "")
    (tmp_path / "arm.urdf").write_text(body + '<flexdyn><base type="floating"/></flexdyn></robot>')
    robot = flexdyn_ros.load(tmp_path / "arm.urdf")
    assert robot.actuators == ()
    code, _, err = flexdyn("simulate", tmp_path / "arm.urdf", "--duration", "0.01", "--hold", "all")
    assert code == 0
    assert "arm has no actuators, there is nothing to hold" in err
