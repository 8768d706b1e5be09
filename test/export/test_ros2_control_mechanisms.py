"""Hardware of robots that cylinders without oil, legs beside joints, or joints in loops drive."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import yaml
from lxml import etree
from machines import BEAM, FLOATING, four_bar_urdf
from mixtures import random_closed_mixture, random_mixture
from ros2_control_headers import STRICT, UNCHECKED, Core, write_headers
from sampled import few

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import ConvergenceError, UnsupportedError
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
    # boom and excavator also have oil, which is left out here
    pytest.mark.filterwarnings("ignore:.*oil of its cylinders"),
]

MECHANISMS = ("boom_on_cylinder", "hexapod_arm", "delta", "boom", "excavator", "four_bar", "beam")
#: the boom is a part of the excavator
ALWAYS = {*MECHANISMS, "floating"} - {"boom"}
#: a beam on a cylinder with a load that swings below its tip
CRANE = """<robot name="crane"><link name="base"/><link name="beam"><inertial><origin xyz="1 0 0"/>
<mass value="80"/><inertia ixx="1" iyy="30" izz="30" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="load"><inertial><origin xyz="0 0 -0.8"/><mass value="50"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="beam"/><axis xyz="0 -1 0"/>
<limit lower="-0.2" upper="1" effort="0" velocity="1"/></joint>
<joint name="swing" type="revolute"><parent link="beam"/><child link="load"/><origin xyz="2 0 0"/>
<axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="0" velocity="5"/></joint>
<flexdyn version="1"><gravity>0 0 -9.81</gravity><actuation passive="swing"/>
<cylinder name="hoist" base="base" base_xyz="0.5 0 -0.6" end="beam" end_xyz="1 0 -0.1" minimum_length="0.6"
 stroke="0.6"><force maximum="1e4"/></cylinder></flexdyn></robot>"""
#: a beam that a rod holds at its tip; four bars on a base that falls
TEXTS = {"crane": CRANE, "four_bar": four_bar_urdf(), "beam": BEAM, "floating": FLOATING}
#: springs, dampers and cylinders on trees of any kind, with loops or without
MIXTURES = {
    "elastic joints": random_mixture(4, "elastic"),
    "wheels": random_mixture(7, "wheeled"),
    "links that bend": random_mixture(5, "flexible"),
    "loops": random_closed_mixture(11, "rigid"),
    "loops on wheels": random_closed_mixture(3, "wheeled"),
    "loops with links that bend": random_closed_mixture(3, "flexible"),
}
TEXTS |= MIXTURES
#: one of a kind has sanitizers: loops, legs beside joints, cylinders with a slide or a lever, links that bend
SANITIZED = ("delta", "hexapod_arm", "boom_on_cylinder", "excavator", "loops with links that bend")


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    made: dict[str, Core] = {}

    def core(name: str) -> Core:
        if name not in made:
            robot = flexdyn_ros.load(TEXTS.get(name, name))
            flags = STRICT if name in SANITIZED else UNCHECKED
            made[name] = Core(robot, tmp_path_factory.mktemp(name), flags=flags)
        return made[name]

    return core


def told(kind, values):
    """Lines that command all components."""
    lines = [f"mode {j} {kind}" for j in range(len(values))]
    return [*lines, *(f"command {j} {kind} {float(x)!r}" for j, x in enumerate(values))]


@pytest.mark.parametrize("name", few([*MECHANISMS, "floating"], ALWAYS))
def test_efforts_move_the_core_as_simulate_moves_the_robot(cores, name):
    """1e-12 after 100 steps under constant efforts, off those that hold it."""
    core = cores(name)
    robot = core.robot
    assert core.components == list(robot.actuators)
    (start,), _ = core.run("state")
    still = np.zeros(robot.nv)
    hold = robot.inverse_dynamics(start.q, still, still, actuators="all")
    places = [robot.effort_names.index(actuator) for actuator in robot.actuators]
    tau = np.zeros(robot.nu)
    tau[places] = hold[places] + (0.05 * np.abs(hold[places]).max() + 0.5) * (-1.0) ** np.arange(len(places))
    (start, end), failed = core.run(*told("effort", tau[places]), "state", "repeat 100 0.001", "state")
    assert not failed
    stepper = Stepper(robot, 1e-3, q0=start.q, v0=start.v)
    assert stepper.advance(100, tau) == 0
    assert np.abs(stepper.q - start.q).max() > 1e-3
    assert np.abs(end.q - stepper.q).max() <= 1e-12
    assert np.abs(end.v - stepper.v).max() <= 1e-12 * max(1.0, np.abs(stepper.v).max())
    assert np.array_equal(end.effort, tau[places])
    length, rate = robot.functions.effort_motion(end.q, end.v)
    assert end.position == pytest.approx(length[places], abs=1e-12)
    assert end.velocity == pytest.approx(rate[places], abs=1e-12)


@pytest.mark.parametrize("name", few(list(MIXTURES), MIXTURES.keys() - {"loops", "wheels"}))
def test_efforts_move_mixtures_as_simulate_does(cores, name):
    """1e-12 after 50 steps under small efforts; loops and wheels come together too."""
    core = cores(name)
    robot, n = core.robot, len(core.components)
    tau, small = np.zeros(robot.nu), 0.01 * (-1.0) ** np.arange(n)
    tau[[robot.effort_names.index(one) for one in core.components]] = small
    (start, end), failed = core.run(*told("effort", small), "state", "repeat 50 0.001", "state")
    assert not failed
    stepper = Stepper(robot, 1e-3, q0=start.q, v0=start.v)
    assert stepper.advance(50, tau) == 0
    assert np.abs(end.q - stepper.q).max() <= 1e-12 * max(1.0, np.abs(stepper.q).max())
    assert np.abs(end.v - stepper.v).max() <= 1e-12 * max(1.0, np.abs(stepper.v).max())


@pytest.mark.parametrize("name", few(MECHANISMS, ALWAYS))
def test_it_holds_until_the_first_command_that_is_a_number(cores, name):
    core = cores(name)
    nothing = told("position", [np.nan] * len(core.components))
    (start, held, still), failed = core.run(
        "state", "repeat 500 0.001", "state", *nothing, "repeat 500 0.001", "state"
    )
    assert not failed
    for state in (held, still):
        assert np.abs(state.q - start.q).max() < 1e-9
        assert np.abs(state.v).max() < 1e-8
    # what nothing drives is carried too: the efforts are those that the library finds
    robot, rest = core.robot, np.zeros(core.robot.nv)
    hold = robot.inverse_dynamics(start.q, rest, rest, actuators="all")
    expected = hold[[robot.effort_names.index(one) for one in core.components]]
    assert held.effort == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["boom_on_cylinder", "hexapod_arm", "delta", "excavator", "four_bar"])
def test_positions_are_reached_and_velocities_followed(cores, name):
    core = cores(name)
    n = len(core.components)
    (start,), _ = core.run("state")
    targets = start.position + 0.01 * (-1.0) ** np.arange(n)
    speeds = 0.01 * (-1.0) ** np.arange(n)
    (reached, moved), failed = core.run(
        *told("position", targets), "repeat 4000 0.001", "state",
        *told("velocity", speeds), "repeat 1000 0.001", "state",
    )  # fmt: skip
    assert not failed
    assert reached.position == pytest.approx(targets, abs=1e-5)
    assert moved.position - reached.position == pytest.approx(0.01 * (-1.0) ** np.arange(n), abs=1e-3)
    assert moved.velocity == pytest.approx(speeds, abs=1e-4)


@pytest.mark.parametrize("name", ["boom_on_cylinder", "hexapod_arm", "delta", "excavator", "four_bar"])
def test_it_starts_where_it_is_told_and_stays_there(cores, name):
    """Every third component is told nothing."""
    core = cores(name)
    robot = core.robot
    (home,), _ = core.run("state")
    places = home.position + 0.04 * (-0.5) ** np.arange(len(core.components))
    told = np.where(np.arange(len(places)) % 3 == 2, np.nan, places)
    (start, later), failed = core.run(
        "start " + " ".join(repr(float(x)) for x in told), "state", "repeat 300 0.001", "state"
    )
    assert not failed
    assert start.position == pytest.approx(np.where(np.isnan(told), home.position, told), abs=1e-10)
    if robot.functions.is_constrained:
        assert np.abs(robot.loop_residual(start.q)).max() < 1e-10
    assert np.abs(later.q - start.q).max() < 1e-9


def test_loops_that_close_in_few_poses_are_taken(tmp_path):
    """No random pose shows the least inertia of their joints: that where they are counts."""
    robot = flexdyn_ros.load(random_closed_mixture(7, "flexible"))
    with pytest.raises(ConvergenceError):
        robot.random(np.random.default_rng(0))
    assert export.ros2_control(robot, tmp_path)


def test_a_pose_that_there_is_not_is_told(cores):
    core = cores("delta")
    _, failed = core.run("start 30 30 30")
    assert len(failed) == 1
    assert re.match("failed: the joints have no pose at these positions, [0-9.]+ are left", failed[0])


def test_a_cylinder_has_the_limits_of_its_force_and_its_stroke(cores):
    core = cores("boom_on_cylinder")
    (pushed, pulled), failed = core.run(
        *told("effort", [1e5]),
        "repeat 3000 0.001",
        "state",
        *told("effort", [-1e5]),
        "repeat 3000 0.001",
        "state",
    )
    assert not failed
    assert pushed.effort == [6000.0]
    assert pulled.effort == [-6000.0]
    assert 1.29 < pushed.position[0] < 1.31
    assert 0.67 < pulled.position[0] < 0.69
    assert abs(pushed.velocity[0]) < 1e-3


def test_a_load_that_swings_does_not_let_the_cylinder_go(cores):
    """The cylinder stays where it is; alone with the efforts of rest it would follow the load."""
    core = cores("crane")
    robot = core.robot
    assert core.components == ["hoist"]
    (start,), _ = core.run("state")
    up = start.position[0] + 0.2
    (reached, later), failed = core.run(
        *told("position", [up]), "repeat 1000 0.001", "state", *["repeat 3000 0.001", "state"]
    )
    assert not failed
    swing = robot.v_names.index("swing")
    assert max(abs(reached.v[swing]), abs(later.v[swing])) > 1e-2
    for state in (reached, later):
        assert state.position[0] == pytest.approx(up, abs=1e-3)


def test_cylinders_are_components_beside_the_joints_of_the_description(cores):
    core = cores("hexapod_arm")
    (block,) = (core.folder / "description").iterdir()
    tree = etree.parse(block)
    joints = [x.get("name") for x in tree.iter("joint")]
    gpios = [x.get("name") for x in tree.iter("gpio")]
    stated = {x.get("name") for x in etree.fromstring(core.robot.description.text).iter("joint")}
    assert set(joints) <= stated
    assert [*joints, *gpios] == [*core.components, "coordinates"]
    assert "| `leg_1` | m | 0.3 to 0.45 | 400 |" in (core.folder / "README.md").read_text()


FOLLOWING = """
#include <cstdio>
#include <memory>
#include "hardware_interface/system_interface.hpp"
using namespace hardware_interface;
SystemInterface * make_plugin();
int main()
{
  HardwareInfo info;
  ComponentInfo lift, cylinder;
  lift.name = "lift";
  lift.state_interfaces = {{"position", ""}, {"velocity", ""}};
  cylinder.name = "boom_cylinder";
  cylinder.command_interfaces = {{"velocity", ""}};
  info.joints = {lift};
  info.gpios = {cylinder};
  std::unique_ptr<SystemInterface> robot(make_plugin()), other(make_plugin());
  if (robot->on_init(info) != CallbackReturn::SUCCESS) { return 2; }
  auto states = robot->export_state_interfaces();
  auto commands = robot->export_command_interfaces();
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  const double from = *states[0].value;
  robot->perform_command_mode_switch({"boom_cylinder/velocity"}, {});
  *commands[0].value = 0.05;
  for (int i = 0; i < 2000; ++i) {
    if (robot->read({}, {0.001}) != return_type::OK) { return 4; }
  }
  std::printf("%s %.9f %s %.9f\\n", states[0].name.c_str(), *states[0].value - from, states[1].name.c_str(),
    *states[1].value);
  info.joints[0].state_interfaces[1].name = "effort";
  return other->on_init(info) == CallbackReturn::ERROR ? 0 : 5;
}
"""


def test_joints_that_cylinders_move_tell_where_they_are(cores, tmp_path):
    core = cores("excavator")
    (block,) = (core.folder / "description").iterdir()
    tree = etree.parse(block)
    joints = [x.get("name") for x in tree.iter("joint")]
    assert joints == list(core.robot.v_names)
    assert [x.get("name") for x in tree.iter("gpio")] == list(core.robot.actuators[1:])
    listed = yaml.safe_load((core.folder / "config" / "controllers.yaml").read_text())
    assert listed["joint_state_broadcaster"]["ros__parameters"] == {"use_urdf_to_filter": False}
    headers = write_headers(tmp_path / "headers", with_params=False)
    program = core.hardware(FOLLOWING, headers)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    moved, refused = done.stdout.splitlines()
    assert refused == "log: joint 'lift' has no state 'effort'; expected position, velocity"
    name, angle, rate_name, rate = moved.split()
    assert (name, rate_name) == ("lift/position", "lift/velocity")
    j = core.components.index("boom_cylinder")
    (start, end), failed = core.run(
        "state", f"mode {j} velocity", f"command {j} velocity 0.05", "repeat 2000 0.001", "state"
    )
    assert not failed
    lift = core.robot.v_names.index("lift")
    assert abs(float(angle)) > 0.02
    assert float(angle) == pytest.approx(end.q[lift] - start.q[lift], abs=1e-8)
    assert float(rate) == pytest.approx(end.v[lift], abs=1e-8)


HARDWARE = """
#include <cstdio>
#include <memory>
#include "hardware_interface/system_interface.hpp"
using namespace hardware_interface;
SystemInterface * make_plugin();
static int refused(const HardwareInfo & info)
{
  std::unique_ptr<SystemInterface> made(make_plugin());
  return made->on_init(info) == CallbackReturn::ERROR;
}
int main()
{
  HardwareInfo info;
  ComponentInfo joint, leg, pose;
  joint.name = "elbow_pitch";
  joint.command_interfaces = {{"position", ""}};
  joint.state_interfaces = {{"position", "0.3"}};
  leg.name = "leg_2";
  leg.command_interfaces = {{"position", ""}, {"velocity", ""}};
  leg.state_interfaces = {{"position", ""}, {"effort", ""}};
  pose.name = "coordinates";
  pose.state_interfaces = {{"@POSE@", ""}};
  info.joints = {joint};
  info.gpios = {leg, pose};
  std::unique_ptr<SystemInterface> robot(make_plugin());
  if (robot->on_init(info) != CallbackReturn::SUCCESS) { return 2; }
  auto states = robot->export_state_interfaces();
  auto commands = robot->export_command_interfaces();
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  std::printf("%s %.6f\\n", states[0].name.c_str(), *states[0].value);
  const std::vector<std::string> both = {"leg_2/position", "leg_2/velocity"};
  if (robot->prepare_command_mode_switch(both, {}) == return_type::OK) { return 4; }
  robot->perform_command_mode_switch({"leg_2/position"}, {});
  const double from = *states[1].value, height = *states[3].value;
  *commands[1].value = from + 0.005;
  for (int i = 0; i < 3000; ++i) {
    if (robot->read({}, {0.001}) != return_type::OK) { return 5; }
  }
  std::printf("%s %.6f %d\\n", commands[1].name.c_str(), *states[1].value - from, *states[3].value != height);
  HardwareInfo placed = info, valve = info, state = info, unknown = info;
  placed.gpios[0].state_interfaces[0].initial_value = "0.6";
  valve.gpios[0].command_interfaces[0].name = "valve";
  state.gpios[0].state_interfaces[0].name = "pressure_bore";
  unknown.gpios[0].name = "leg_7";
  return refused(placed) + refused(valve) + refused(state) + refused(unknown) == 4 ? 0 : 6;
}
"""


def test_the_hardware_interface_moves_legs_beside_joints_and_refuses_by_name(cores, tmp_path):
    core = cores("hexapod_arm")
    headers = write_headers(tmp_path / "headers", with_params=False)
    program = core.hardware(HARDWARE.replace("@POSE@", core.robot.q_names[2]), headers)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    placed, moved, *refused = done.stdout.splitlines()[0:1] + [
        line for line in done.stdout.splitlines()[1:] if "at once" not in line
    ]
    assert placed == "elbow_pitch/position 0.300000"
    assert moved == "leg_2/position 0.005000 1"
    assert refused == [
        "log: gpio 'leg_2': initial_value is '0.6'; expected 0.300000 to 0.450000",
        "log: gpio 'leg_2' takes no command 'valve'; expected position, velocity, effort",
        "log: gpio 'leg_2' has no state 'pressure_bore'; expected position, velocity, effort",
        "log: gpio 'leg_7' has no state 'position'; expected a coordinate of robot hexapod_arm",
    ]


def test_what_stays_out_is_refused_by_name(tmp_path):
    idle = re.sub(r"<cylinder.*</cylinder>", "", CRANE, flags=re.S).replace(
        'passive="swing"', 'passive="lift swing"'
    )
    cylinder = (
        '<cylinder name="jack" base="ground" end="b" end_xyz="0.2 0 0" minimum_length="0.01" stroke="1"/>'
    )
    bending = BEAM.replace("<loop", cylinder + "<loop", 1)
    for text, expected in ((idle, "crane': nothing drives it"), (bending, "': its links bend, or its base")):
        with pytest.raises(UnsupportedError, match=f"target ros2_control of robot '.*{expected}"):
            export.ros2_control(flexdyn_ros.load(text), tmp_path)
    with pytest.raises(UnsupportedError, match="no cylinders with oil"):
        export.ros2_control(flexdyn_ros.load("hexapod_arm"), tmp_path, cylinders=True)
    assert not list(tmp_path.iterdir())
