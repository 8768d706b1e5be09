"""The package for ros2_control: its core against `simulate`, its hardware interface with stand-in headers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from lxml import etree
from ros2_control_headers import OPTIMIZED, STRICT, UNCHECKED, Core, write_headers

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    made: dict[str, Core] = {}

    def core(name: str) -> Core:
        if name not in made:
            # joints with links that bend, and without, have sanitizers
            flags = STRICT if name in ("mobile_arm", "seven_joint_arm") else UNCHECKED
            made[name] = Core(flexdyn_ros.load(name), tmp_path_factory.mktemp(name), flags=flags)
        return made[name]

    return core


@pytest.mark.parametrize("name", ["seven_joint_arm", "flexible_two_link", "mobile_arm", "soft_arm"])
def test_efforts_move_the_core_as_simulate_moves_the_robot(cores, name):
    """1e-12 after 100 steps under constant efforts."""
    core = cores(name)
    robot = core.robot
    joints = [c for c in robot.coordinates if c.name in robot.actuators]
    # between the stops
    places = [0.4 * c.lower + 0.6 * c.upper if np.isfinite(c.lower + c.upper) else 0.1 for c in joints]
    told = ["start " + " ".join(map(repr, places)), *(f"mode {j} effort" for j in range(len(joints)))]
    tau, at = np.zeros(robot.nu), robot.neutral()
    at[[c.q_index for c in joints]] = places
    h = robot.bias_forces(at, np.zeros(robot.nv))
    for j, c in enumerate(joints):
        tau[c.v_index] = h[c.v_index] + 0.1 * (np.abs(h).max() + 0.1) * (-1) ** j
        told.append(f"command {j} effort {float(tau[c.v_index])!r}")
    (start, end), failed = core.run(*told, "state", "repeat 100 0.001", "state")
    assert not failed
    stepper = Stepper(robot, 1e-3, q0=start.q, v0=start.v)
    assert stepper.advance(100, tau) == 0
    scale = np.abs(stepper.v).max()
    assert np.abs(end.q - stepper.q).max() <= 1e-12 * max(1.0, np.abs(stepper.q).max())
    assert np.abs(end.v - stepper.v).max() <= 1e-12 * max(1.0, scale)
    assert np.array_equal(end.effort, tau[[c.v_index for c in joints]])


@pytest.mark.parametrize("name", ["seven_joint_arm", "mobile_arm", "flexible_two_link"])
def test_a_robot_holds_until_the_first_command_that_is_a_number(cores, name):
    core = cores(name)
    limits = {c.name: (c.lower, c.upper) for c in core.robot.coordinates}
    joints = [name for name in core.robot.q_names if name in core.robot.actuators]
    start = [np.clip(0.3 + 0.1 * j, *limits[name]) for j, name in enumerate(joints)]
    nothing = [f"command {j} position nan" for j in range(len(joints))]
    told = [f"mode {j} position" for j in range(len(joints))]
    run = ("start " + " ".join(map(repr, map(float, start))), "state", "repeat 500 0.001", "state")
    (first, second, third), failed = core.run(*run, *told, *nothing, "repeat 500 0.001", "state")
    assert not failed
    at = [core.robot.q_names.index(name) for name in joints]
    assert np.array_equal(first[0][at], start)
    for state in (second, third):
        assert np.abs(state.q - first.q).max() < 1e-9
        assert np.abs(state.v).max() < 1e-8


def test_links_start_in_equilibrium_under_their_weight(cores):
    """The modal forces of the start are nothing beside the weight."""
    core = cores("mobile_arm")
    robot = core.robot
    (start,), failed = core.run("start 0.4 0.2", "state")
    h = robot.bias_forces(start.q, start.v)
    modal = [c.v_index for c in robot.coordinates if c.name not in robot.actuators and not c.prescribed]
    assert not failed
    assert np.abs(h[modal]).max() < 1e-9 * np.abs(h).max()
    assert np.abs(start.q[modal]).max() > 1e-4


def test_positions_are_reached_and_velocities_followed(cores):
    core = cores("seven_joint_arm")
    (_, reached, moved), failed = core.run(
        "state", "mode 1 position", "command 1 position 0.5", "repeat 2000 0.001", "state",
        "mode 3 velocity", "command 3 velocity -0.4", "repeat 1000 0.001", "state",
    )  # fmt: skip
    assert not failed
    assert reached[0][1] == pytest.approx(0.5, abs=1e-4)
    assert moved[0][3] - reached[0][3] == pytest.approx(-0.4, abs=0.02)
    assert moved[1][3] == pytest.approx(-0.4, abs=5e-3)


def test_efforts_are_clipped_and_stops_push_back(cores):
    core = cores("seven_joint_arm")
    c = core.robot.coordinates[1]
    (_, pushed), failed = core.run(
        "state", "mode 1 effort", f"command 1 effort {10 * c.effort_limit}", "repeat 3000 0.001", "state"
    )
    assert not failed
    assert pushed[2][1] == c.effort_limit
    assert c.upper < pushed[0][1] < c.upper + 0.1
    assert abs(pushed[1][1]) < 1e-3


def test_time_that_is_left_over_counts_for_the_next_call(cores):
    core = cores("seven_joint_arm")
    told = ("mode 0 effort", "command 0 effort 1.5")
    ((one, *_),), _ = core.run(*told, "repeat 120 0.001", "state")
    for n, period in ((48, 0.0025), (40, 0.003), (400, 0.0003)):
        ((other, *_),), failed = core.run(*told, f"repeat {n} {period}", "state")
        assert not failed
        assert np.array_equal(one, other), period
    # a pause of the process is not made up for
    done = subprocess.run(
        [core.program], input="repeat 1 3600\nstate\n", capture_output=True, text=True, timeout=300
    )
    assert done.stdout.startswith("steps 1000\n")


def test_a_step_without_a_finite_state_is_told(cores):
    core = cores("seven_joint_arm")
    _, failed = core.run("start 0 0 0 0 0 0 1e308", "repeat 5 0.001", "state")
    assert failed
    assert "finite" in failed[0] or "equilibrium" in failed[0]


HARDWARE = """
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include "hardware_interface/system_interface.hpp"
using namespace hardware_interface;
SystemInterface * make_plugin();
static ComponentInfo joint(const std::string & name, const std::string & start)
{
  ComponentInfo found;
  found.name = name;
  for (const char * kind : {"position", "velocity", "effort"}) {
    found.command_interfaces.push_back({kind, ""});
    found.state_interfaces.push_back({kind, std::string(kind) == "position" ? start : ""});
  }
  return found;
}
static int try_description(HardwareInfo info)
{
  std::unique_ptr<SystemInterface> made(make_plugin());
#ifdef WITH_PARAMS
  HardwareComponentInterfaceParams given{info};
#else
  HardwareInfo given = info;
#endif
  return made->on_init(given) == CallbackReturn::SUCCESS ? 0 : 1;
}
int main()
{
  std::unique_ptr<SystemInterface> robot(make_plugin());
  HardwareInfo info;
  info.hardware_parameters["step"] = "0.0005";
  info.joints = {joint("shoulder", "0.4"), joint("elbow", "")};
  ComponentInfo modes;
  modes.name = "coordinates";
  modes.state_interfaces = {{"@MODE@", ""}};
  info.gpios = {modes};
#ifdef WITH_PARAMS
  HardwareComponentInterfaceParams given{info};
#else
  HardwareInfo given = info;
#endif
  if (robot->on_init(given) != CallbackReturn::SUCCESS) { return 2; }
  std::map<std::string, double *> states, commands;
  for (auto & x : robot->export_state_interfaces()) { states[x.name] = x.value; }
  for (auto & x : robot->export_command_interfaces()) { commands[x.name] = x.value; }
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  std::printf("start %.17g %.17g\\n", *states.at("shoulder/position"), *states.at("coordinates/@MODE@"));
  auto spin = [&](int n) {
    for (int i = 0; i < n; ++i) {
      if (robot->read({}, {0.002}) != return_type::OK) { return false; }
      if (robot->write({}, {0.002}) != return_type::OK) { return false; }
    }
    return true;
  };
  if (!spin(500)) { return 4; }
  std::printf("held %.17g\\n", *states.at("shoulder/position"));
  if (robot->prepare_command_mode_switch({"shoulder/position", "shoulder/effort"}, {}) == return_type::OK) {
    return 5;
  }
  if (robot->prepare_command_mode_switch({"shoulder/position"}, {}) != return_type::OK) { return 6; }
  robot->perform_command_mode_switch({"shoulder/position", "other/position"}, {});
  *commands.at("shoulder/position") = 0.9;
  if (!spin(2000)) { return 7; }
  std::printf("moved %.17g\\n", *states.at("shoulder/position"));
  if (robot->prepare_command_mode_switch({"shoulder/effort"}, {}) == return_type::OK) { return 8; }
  robot->perform_command_mode_switch({}, {"shoulder/position"});
  if (!spin(500)) { return 9; }
  std::printf("stopped %.17g\\n", *states.at("shoulder/position"));
  HardwareInfo wrong = info;
  wrong.joints[0].name = "shulder";
  HardwareInfo state = info;
  state.joints[0].state_interfaces[0].name = "positon";
  HardwareInfo value = info;
  value.joints[0].state_interfaces[0].initial_value = "0.4 rad";
  HardwareInfo step = info;
  step.hardware_parameters["step"] = "1";
  HardwareInfo short_step = info;
  short_step.hardware_parameters["step"] = "1e-300";
  HardwareInfo mode = info;
  mode.gpios[0].state_interfaces[0].name = "bend";
  std::printf("refused %d\\n", try_description(wrong) + try_description(state) + try_description(value)
    + try_description(step) + try_description(short_step) + try_description(mode));
  return 0;
}
"""


@pytest.mark.parametrize("with_params", [False, True], ids=["on_init(info)", "on_init(params)"])
def test_the_hardware_interface_holds_switches_and_refuses(cores, tmp_path, with_params):
    """One with sanitizers, the other with what the optimizer warns of."""
    robot = flexdyn_ros.load("mobile_arm")
    core = cores("mobile_arm") if with_params else Core(robot, tmp_path / "optimized", flags=OPTIMIZED)
    headers = write_headers(tmp_path / "headers", with_params=with_params)
    mode = next(name for name in robot.q_names if "bending" in name)
    shoulder, elbow = robot.actuators
    text = HARDWARE.replace("@MODE@", mode).replace('"elbow"', f'"{elbow}"')
    text = text.replace('"shoulder"', f'"{shoulder}"').replace('"shoulder/', f'"{shoulder}/')
    program = core.hardware("#define WITH_PARAMS\n" * with_params + text, headers)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    told = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert float(told["start"][0]) == 0.4
    assert abs(float(told["start"][1])) > 1e-5
    assert float(told["held"][0]) == pytest.approx(0.4, abs=1e-8)
    assert float(told["moved"][0]) == pytest.approx(0.9, abs=0.1)
    assert float(told["stopped"][0]) == pytest.approx(float(told["moved"][0]), abs=0.1)
    assert told["refused"] == ["6"]
    for words in ("'shulder'", "'positon'", "'0.4 rad'", "'step'", "'bend'"):
        assert words in done.stdout


def test_the_package_says_what_colcon_and_the_controller_manager_ask_for(cores):
    core = cores("seven_joint_arm")
    names = {str(path.relative_to(core.folder)) for path in core.files}
    assert {"package.xml", "CMakeLists.txt", "config/controllers.yaml", f"{core.package}.xml"} <= names
    block = etree.parse(core.folder / "description" / "seven_joint_arm.ros2_control.xacro")
    assert [x.get("name") for x in block.iter("joint")] == list(core.robot.actuators)
    assert block.find(".//plugin").text == f"{core.package}/System"
    assert etree.parse(core.folder / "package.xml").findtext("name") == core.package
    assert not [p for p in core.files if re.search(r"@[A-Z_]+@", p.read_text())]


def test_names_are_text_in_every_file(tmp_path):
    """Of a robot that is called like a path, and of joints with the signs of YAML, Markdown, XML and C."""
    folder = tmp_path / "inside"
    names = {"shoulder": "a: # | `b`", "elbow": "c&quot; \\"}
    text = (Path(flexdyn_ros.__file__).parents[1] / "urdf" / "two_link.urdf").read_text()
    text = re.sub(r'<robot name="[^"]*"', '<robot name="../../out"', text)
    for old, new in names.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    robot = flexdyn_ros.load(text)
    files = export.ros2_control(robot, folder)
    assert all(folder in path.resolve().parents for path in files)
    assert {path.name for path in tmp_path.iterdir()} == {"inside"}
    listed = yaml.safe_load((folder / "config" / "controllers.yaml").read_text())
    joints = listed["joint_trajectory_controller"]["ros__parameters"]["joints"]
    assert joints == list(robot.actuators) == [names["shoulder"], 'c" \\']
    (block,) = (folder / "description").iterdir()
    written = [x.get("name") for x in etree.parse(block).iter("joint")]
    assert written == joints
    model = folder / "src" / "model.cpp"
    subprocess.run(["g++", *STRICT, f"-I{folder / 'include'}", "-c", model, "-o", tmp_path / "o"], check=True)
