"""Hardware of robots with the oil of their cylinders: valves are opened, the rest as without it."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from lxml import etree
from oil_robots import HANGING, hanging
from ros2_control_headers import STRICT, UNCHECKED, Core, write_headers

import flexdyn_ros
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.simulation import FusedHydraulics, Stepper

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")

_PUMP = (
    '<pump type="constant_pressure" displacement="1.2e-5" speed="157" line_volume="2e-3" '
    'time_constant="0.05"/>'
)
ROBOTS = {
    "one cylinder": HANGING,
    "a pump": hanging(in_supply=_PUMP, second_mass=100.0),
    "boom": "boom",
    "excavator": "excavator",
    "stewart_1t": "stewart_1t",
}


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    made: dict[str, Core] = {}

    def core(name: str) -> Core:
        if name not in made:
            robot = flexdyn_ros.load(ROBOTS[name])
            # cylinders beside joints, and legs of a platform, have sanitizers
            flags = STRICT if name in ("excavator", "stewart_1t") else UNCHECKED
            made[name] = Core(robot, tmp_path_factory.mktemp("oil"), cylinders=True, flags=flags)
        return made[name]

    return core


def by_valve(core):
    """Places of the components with valves, in the order of the cylinders."""
    names = core.robot.hydraulics.names
    own = [name if name in core.components else f"{name}_slide" for name in names]
    return [core.components.index(name) for name in own]


def opened(core, openings):
    """Lines that open the valves of all cylinders."""
    places = by_valve(core)
    return [f"mode {j} valve" for j in places] + [
        f"command {j} valve {float(x)!r}" for j, x in zip(places, openings, strict=True)
    ]


def oil_names(core):
    """Names of the states of the oil in the description, CYLINDER/pressure_bore and so on."""
    (block,) = (core.folder / "description").iterdir()
    return [
        f"{gpio.get('name')}/{state.get('name')}"
        for gpio in etree.parse(block).iter("gpio") if gpio.get("name") != "coordinates"
        for state in gpio.iter("state_interface")
        if state.get("name") not in ("position", "velocity", "effort")
    ]  # fmt: skip


@pytest.mark.parametrize("name", ROBOTS)
def test_openings_move_the_core_as_simulate_moves_the_robot(cores, name):
    """1e-12 after 200 steps, the oil to 1e-11; openings beyond 1 are those of 1."""
    core = cores(name)
    robot = core.robot
    given = dict(zip(robot.hydraulics.names, (0.3, -0.2, 7.0, 0.1, -0.4, 0.2), strict=False))
    told = opened(core, list(given.values()))
    tau = np.zeros(robot.nu)
    for joint in set(robot.actuators) - set(given):
        j = core.components.index(joint)
        tau[robot.effort_names.index(joint)] = 100.0
        told += [f"mode {j} effort", f"command {j} effort 100.0"]
    (start, end), failed = core.run(*told, "state", "repeat 200 0.001", "state")
    assert not failed
    stepper, own = Stepper(robot, 1e-3, q0=start.q, v0=start.v), Oil(robot)
    cylinders = FusedHydraulics(stepper, "valve")
    stepper.tau[:] = tau
    cylinders.command([min(x, 1.0) for x in given.values()])
    assert stepper.advance(200) == 0
    assert np.abs(stepper.q - start.q).max() > 1e-3
    assert np.abs(end.q - stepper.q).max() <= 1e-12
    assert np.abs(end.v - stepper.v).max() <= 1e-11
    oil = own.of_state(cylinders.state(), cylinders.lines)
    assert np.abs(oil).max() > 1e6
    assert end.oil == pytest.approx(oil, rel=1e-11, abs=1e-11)
    assert oil_names(core) == [one.replace(".", "/") for one in own.names]


@pytest.mark.parametrize("name", ["one cylinder", "boom", "excavator", "stewart_1t"])
def test_valves_are_shut_without_a_command_and_cylinders_carry_the_robot(cores, name):
    core = cores(name)
    robot, still = core.robot, np.zeros(core.robot.nv)
    nothing = opened(core, [np.nan] * len(robot.hydraulics.names))
    (start, held, later), failed = core.run(
        "state", "repeat 300 0.001", "state", *nothing, "repeat 300 0.001", "state"
    )
    assert not failed
    places = by_valve(core)
    hold = robot.inverse_dynamics(start.q, still, still, **({} if robot.legs else {"actuators": "all"}))
    forces = hold[[robot.effort_names.index(cylinder) for cylinder in robot.hydraulics.names]]
    for state in (start, held, later):
        assert state.effort[places] == pytest.approx(forces, rel=1e-2)
        # oil leaks through the valves of a platform
        assert np.abs(state.q - start.q).max() < 1e-3
    # a controller that stops leaves the valve shut
    stop = [f"mode {j} hold" for j in places]
    (moving, shut), failed = core.run(
        *opened(core, [0.3] * len(places)), "repeat 200 0.001", "state", *stop, "repeat 300 0.001", "state"
    )
    assert not failed
    spools = [i for i, one in enumerate(oil_names(core)) if one.endswith("/spool")]
    assert np.abs(moving.velocity[places]).min() > 5e-3
    assert moving.oil[spools] == pytest.approx(0.3, abs=1e-2)
    assert np.abs(shut.oil[spools]).max() < 1e-3


@pytest.mark.parametrize("name", ["one cylinder", "a pump", "excavator", "stewart_1t"])
def test_it_starts_where_it_is_told_and_the_oil_holds_it_there(cores, name):
    """Every third component is told nothing; pressures are those of `simulate` at rest."""
    core = cores(name)
    (home,), _ = core.run("state")
    places = home.position + 0.04 * (-0.5) ** np.arange(len(core.components))
    told = np.where(np.arange(len(places)) % 3 == 2, np.nan, places)
    (start, later), failed = core.run(
        "start " + " ".join(repr(float(x)) for x in told), "state", "repeat 300 0.001", "state"
    )
    assert not failed
    assert start.position == pytest.approx(np.where(np.isnan(told), home.position, told), abs=1e-10)
    assert start.oil == pytest.approx(Oil(core.robot).start(start.q), rel=1e-9, abs=1e-9)
    # masses that hang weigh the same everywhere
    assert name in ("one cylinder", "a pump") or np.abs(start.oil - home.oil).max() > 1e3
    # oil leaks through the valves of a platform
    assert np.abs(later.q - start.q).max() < (1e-3 if core.robot.legs else 1e-9)


def test_the_force_of_a_cylinder_is_that_of_its_chambers(cores):
    core = cores("one cylinder")
    (end,), failed = core.run(*opened(core, [0.4]), "repeat 150 0.001", "state")
    assert not failed
    bore, rod = (end.oil[oil_names(core).index(f"lift/pressure_{side}")] for side in ("bore", "rod"))
    area, ring = np.pi / 4.0 * 0.05**2, np.pi / 4.0 * (0.05**2 - 0.036**2)
    atmosphere = 101325.0
    assert end.effort[0] == pytest.approx(area * (bore - atmosphere) - ring * (rod - atmosphere), rel=1e-9)


def test_a_servo_moves_the_joint_beside_cylinders(cores):
    core = cores("excavator")
    swing = core.components.index("swing")
    (end,), failed = core.run(
        f"mode {swing} position", f"command {swing} position 0.02", "repeat 4000 0.001", "state"
    )
    assert not failed
    assert end.position[swing] == pytest.approx(0.02, abs=1e-4)


def test_controllers_and_components_are_those_of_valves_and_joints(cores):
    listed = {}
    for name in ("excavator", "stewart_1t"):
        text = (cores(name).folder / "config" / "controllers.yaml").read_text()
        listed[name] = yaml.safe_load(text)
    assert listed["excavator"]["joint_trajectory_controller"]["ros__parameters"]["joints"] == ["swing"]
    valves = listed["stewart_1t"]["valve_controller"]["ros__parameters"]
    assert valves == {"joints": [f"leg_{i}" for i in range(1, 7)], "interface_name": "valve"}
    assert "joint_trajectory_controller" not in listed["stewart_1t"]
    kinds = {
        name: one["type"]
        for name, one in listed["excavator"]["controller_manager"]["ros__parameters"].items()
        if name.endswith("controller")
    }
    assert kinds["valve_controller"] == "forward_command_controller/ForwardCommandController"
    assert (
        "<exec_depend>forward_command_controller</exec_depend>"
        in (cores("excavator").folder / "package.xml").read_text()
    )
    core = cores("stewart_1t")
    (block,) = (core.folder / "description").iterdir()
    tree = etree.parse(block)
    assert [x.get("name") for x in tree.iter("joint")] == core.components
    assert not tree.findall(".//joint/command_interface")
    (leg,) = [x for x in tree.iter("gpio") if x.get("name") == "leg_1"]
    assert [x.get("name") for x in leg.iter("command_interface")] == ["valve"]
    assert "pressure_bore" in [x.get("name") for x in leg.iter("state_interface")]


def test_the_controllers_of_the_page_claim_what_the_hardware_has(cores):
    """A servo between positions of a trajectory and the valves of a platform."""
    page = (Path(__file__).parents[2] / "docs/how-to/ros2_control.md").read_text()
    (text,) = (
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "cylinder_servo" in block
    )
    # the parser of parameter files knows no aliases
    assert not any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
    listed = {name: one["ros__parameters"] for name, one in yaml.safe_load(text).items()}
    servo, trajectory = listed["cylinder_servo"], listed["joint_trajectory_controller"]
    assert set(listed) == {"controller_manager", *listed["controller_manager"]}
    (block,) = (cores("stewart_1t").folder / "description").iterdir()
    found = {
        kind: {
            f"{one.get('name')}/{x.get('name')}"
            for one in etree.parse(block).getroot().iter("joint", "gpio")
            for x in one.iter(f"{kind}_interface")
        }
        for kind in ("command", "state")
    }
    states = servo["reference_and_state_dof_names"]
    assert {f"{one}/valve" for one in servo["dof_names"]} == found["command"]
    assert servo["command_interface"] == "valve"
    assert set(servo["gains"]) == set(servo["dof_names"])
    assert {f"{one}/{kind}" for one in states for kind in trajectory["state_interfaces"]} <= found["state"]
    # each valve has the slider of its own leg
    assert states == [f"{one}_slide" for one in servo["dof_names"]] == trajectory["joints"]
    assert trajectory["command_joints"] == [f"cylinder_servo/{one}" for one in states]


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
  ComponentInfo joint, leg;
  joint.name = "leg_3_slide";
  joint.state_interfaces = {{"position", ""}, {"effort", ""}};
  leg.name = "leg_3";
  leg.command_interfaces = {{"valve", ""}};
  leg.state_interfaces = {{"pressure_bore", ""}, {"spool", ""}};
  info.joints = {joint};
  info.gpios = {leg};
  std::unique_ptr<SystemInterface> robot(make_plugin());
  if (robot->on_init(info) != CallbackReturn::SUCCESS) { return 2; }
  auto states = robot->export_state_interfaces();
  auto commands = robot->export_command_interfaces();
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  const double from = *states[0].value, pressure = *states[2].value;
  if (robot->prepare_command_mode_switch({"leg_3/valve"}, {}) != return_type::OK) { return 4; }
  robot->perform_command_mode_switch({"leg_3/valve"}, {});
  *commands[0].value = 0.25;
  for (int i = 0; i < 200; ++i) {
    if (robot->read({}, {0.001}) != return_type::OK) { return 5; }
  }
  std::printf("%s %s\\n", commands[0].name.c_str(), states[3].name.c_str());
  std::printf("%.3f %d\\n", *states[3].value, *states[2].value != pressure);
  if (!(*states[0].value > from + 1e-3)) { return 6; }
  robot->perform_command_mode_switch({}, {"leg_3/valve"});
  for (int i = 0; i < 200; ++i) {
    if (robot->read({}, {0.001}) != return_type::OK) { return 7; }
  }
  std::printf("%.3f\\n", *states[3].value);
  HardwareInfo position = info, state = info;
  position.gpios[0].command_interfaces[0].name = "position";
  state.gpios[0].state_interfaces[1].name = "spol";
  HardwareInfo placed = info;
  placed.joints[0].state_interfaces[0].initial_value = "0.7";
  return refused(position) + refused(state) + refused(placed) == 3 ? 0 : 8;
}
"""


def test_the_hardware_interface_opens_valves_and_tells_pressures(cores, tmp_path):
    core = cores("stewart_1t")
    headers = write_headers(tmp_path / "headers", with_params=True)
    text = HARDWARE.replace("on_init(info)", "on_init(HardwareComponentInterfaceParams{info})")
    program = core.hardware(text, headers)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    names, opened, shut, *refused = done.stdout.splitlines()
    assert names == "leg_3/valve leg_3/spool"
    assert opened == "0.250 1"
    assert abs(float(shut)) < 1e-3
    assert refused[2].endswith("initial_value is '0.7'; expected 0.000000 to 0.600000")
    assert refused[0] == "log: gpio 'leg_3' takes no command 'position'; expected valve"
    assert refused[1].startswith(
        "log: gpio 'leg_3' has no state 'spol'; expected position, velocity, effort, pressure_bore"
    )
