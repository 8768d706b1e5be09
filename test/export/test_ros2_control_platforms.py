"""Platforms as hardware of ros2_control: joints are the sliders of their legs."""

import shutil
import subprocess

import numpy as np
import pytest
from lxml import etree
from platforms import random_platform
from ros2_control_headers import UNCHECKED, Core, write_headers

import flexdyn_ros
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    return Core(flexdyn_ros.load("stewart_electric"), tmp_path_factory.mktemp("platform"))


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    """Legs of any directions, on a base and a platform of any axes."""
    text, _ = random_platform(3)
    return Core(flexdyn_ros.load(text), tmp_path_factory.mktemp("turned"), flags=UNCHECKED)


def sliders(robot, q, v):
    """Positions and speeds of the sliders, by the library; both are 0 at the shortest legs."""
    shortest = [leg.shortest for leg in robot.legs]
    return robot.inverse_kinematics(q).length - shortest, robot.actuation_matrix(q).T @ v


def test_joints_are_sliders_of_the_description_within_their_strokes(core):
    (block,) = (core.folder / "description").iterdir()
    names = [x.get("name") for x in etree.parse(block).iter("joint")]
    assert names == [leg.joints[2] for leg in core.robot.legs]
    stated = etree.fromstring(core.robot.description.text)
    limits = {x.get("name"): x.find("limit") for x in stated.iter("joint") if x.find("limit") is not None}
    text = (core.folder / "README.md").read_text()
    for name in names:
        lower, upper = (float(limits[name].get(end)) for end in ("lower", "upper"))
        assert f"| `{name}` | m | {lower:g} to {upper:g} |" in text


@pytest.mark.parametrize("name", ["shipped", "turned"])
def test_forces_move_the_core_as_simulate_moves_the_platform(core, turned, name):
    core = core if name == "shipped" else turned
    robot = core.robot
    hold = robot.inverse_dynamics(robot.neutral(), np.zeros(6), np.zeros(6))
    tau = hold + 0.1 * (np.abs(hold).max() + 200.0) * np.array([1.0, -0.5, 0.3, -1.0, 0.6, 0.2])
    told = [f"mode {j} effort" for j in range(6)]
    told += [f"command {j} effort {float(tau[j])!r}" for j in range(6)]
    (start, end), failed = core.run(*told, "state", "repeat 100 0.001", "state")
    assert not failed
    stepper = Stepper(robot, 1e-3, q0=start.q, v0=start.v)
    assert stepper.advance(100, tau) == 0
    assert np.abs(end.q - robot.neutral()).max() > 1e-3
    assert np.abs(end.q - stepper.q).max() <= 1e-12
    assert np.abs(end.v - stepper.v).max() <= 1e-12 * max(1.0, np.abs(stepper.v).max())
    assert np.array_equal(end.effort, tau)


def test_it_holds_reaches_positions_follows_speeds_and_stops_at_its_strokes(core):
    robot = core.robot
    targets = 0.02 * np.array([1.0, 0.6, -0.4, 0.2, -0.8, 0.5])
    start, _ = sliders(robot, robot.neutral(), np.zeros(6))
    move = [f"mode {j} position" for j in range(6)]
    move += [f"command {j} position {float(x)!r}" for j, x in enumerate(start + targets)]
    push = [f"mode {j} effort" for j in range(6)]
    push += [f"command {j} effort {10.0 * leg.effort_limit}" for j, leg in enumerate(robot.legs)]
    slide = ["mode 0 velocity", "command 0 velocity 0.01"]
    (held, reached, slid, pushed), failed = core.run(
        "repeat 500 0.001", "state", *move, "repeat 4000 0.001", "state",
        *slide, "repeat 1000 0.001", "state", *push, "repeat 3000 0.001", "state",
    )  # fmt: skip
    assert not failed
    assert np.abs(held[0] - robot.neutral()).max() < 1e-9
    at, _ = sliders(robot, reached[0], reached[1])
    assert at == pytest.approx(start + targets, abs=1e-4)
    moved, rate = sliders(robot, slid[0], slid[1])
    assert moved[0] - at[0] == pytest.approx(0.01, abs=1e-3)
    assert rate[0] == pytest.approx(0.01, abs=1e-3)
    assert moved[1:] == pytest.approx(at[1:], abs=1e-4)
    assert pushed[2] == pytest.approx([leg.effort_limit for leg in robot.legs])
    ends, _ = sliders(robot, pushed[0], pushed[1])
    tops = [leg.stroke for leg in robot.legs]
    assert (ends > tops).all()
    assert (ends < np.array(tops) + 0.02).all()


def test_legs_of_any_directions_are_held_and_reach_their_positions(turned):
    core, robot = turned, turned.robot
    start, _ = sliders(robot, robot.neutral(), np.zeros(6))
    targets = start + 0.01 * np.array([1.0, 0.6, -0.4, 0.2, -0.8, 0.5])
    move = [f"mode {j} position" for j in range(6)]
    move += [f"command {j} position {float(x)!r}" for j, x in enumerate(targets)]
    (held, reached), failed = core.run("repeat 300 0.001", "state", *move, "repeat 4000 0.001", "state")
    assert not failed
    assert np.abs(held[0] - robot.neutral()).max() < 1e-8
    at, _ = sliders(robot, reached[0], reached[1])
    assert at == pytest.approx(targets, abs=1e-4)


HARDWARE = """
#include <cmath>
#include <cstdio>
#include <memory>
#include "hardware_interface/system_interface.hpp"
using namespace hardware_interface;
SystemInterface * make_plugin();
int main()
{
  HardwareInfo info;
  for (int i = 1; i <= 6; ++i) {
    ComponentInfo joint;
    joint.name = "leg_" + std::to_string(i) + "_slide";
    joint.command_interfaces = {{"position", ""}};
    joint.state_interfaces = {{"position", ""}, {"effort", ""}};
    info.joints.push_back(joint);
  }
  std::unique_ptr<SystemInterface> robot(make_plugin()), other(make_plugin());
  if (robot->on_init(info) != CallbackReturn::SUCCESS) { return 2; }
  auto states = robot->export_state_interfaces();
  auto commands = robot->export_command_interfaces();
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  robot->perform_command_mode_switch({"leg_2_slide/position"}, {});
  *commands[1].value = *states[2].value + 0.01;
  const double from = *states[2].value;
  for (int i = 0; i < 3000; ++i) {
    if (robot->read({}, {0.001}) != return_type::OK) { return 4; }
  }
  std::printf("%s %.6f\\n", states[2].name.c_str(), *states[2].value - from);
  info.joints[3].state_interfaces[0].initial_value = "@PLACE@";
  if (other->on_init(info) != CallbackReturn::SUCCESS) { return 5; }
  auto placed = other->export_state_interfaces();
  if (other->on_configure({}) != CallbackReturn::SUCCESS) { return 6; }
  std::printf("%.9f %.9f\\n", *placed[6].value, *placed[0].value);
  info.joints[3].state_interfaces[0].initial_value = "9.5";
  return other->on_init(info) == CallbackReturn::ERROR ? 0 : 7;
}
"""


def test_the_hardware_interface_moves_and_places_legs_and_refuses_those_beyond_their_strokes(core, tmp_path):
    headers = write_headers(tmp_path / "headers", with_params=False)
    start, _ = sliders(core.robot, core.robot.neutral(), np.zeros(6))
    place = start[3] + 0.02
    program = core.hardware(HARDWARE.replace("@PLACE@", f"{place:.9f}"), headers)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    moved, placed, refused = done.stdout.splitlines()
    assert moved == "leg_2_slide/position 0.010000"
    assert [float(x) for x in placed.split()] == pytest.approx([place, start[0]], abs=1e-9)
    stroke = core.robot.legs[3].stroke
    assert refused == f"log: joint 'leg_4_slide': initial_value is '9.5'; expected 0.000000 to {stroke:.6f}"
