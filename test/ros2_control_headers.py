"""Stand-ins for the headers of ros2_control and rclcpp: as much as a generated hardware interface uses."""

from __future__ import annotations

import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexdyn_ros import export

_INFO = """#pragma once
#include <string>
#include <unordered_map>
#include <vector>
namespace hardware_interface {
struct InterfaceInfo { std::string name, initial_value; };
struct ComponentInfo {
  std::string name;
  std::vector<InterfaceInfo> command_interfaces, state_interfaces;
};
struct HardwareInfo {
  std::unordered_map<std::string, std::string> hardware_parameters;
  std::vector<ComponentInfo> joints, gpios;
};
}  // namespace hardware_interface
"""
_HANDLE = """#pragma once
#include <string>
namespace hardware_interface {
struct Handle {
  Handle(const std::string & prefix, const std::string & kind, double * at)
  : name(prefix + "/" + kind), value(at) {}
  std::string name;
  double * value;
};
using StateInterface = Handle;
using CommandInterface = Handle;
}  // namespace hardware_interface
"""
_SYSTEM = """#pragma once
#include <vector>
#include "hardware_interface/handle.hpp"
#include "hardware_interface/hardware_info.hpp"
#include "rclcpp/rclcpp.hpp"
@PARAMS@
namespace hardware_interface {
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
class SystemInterface {
 public:
  virtual ~SystemInterface() = default;
  virtual CallbackReturn on_init(const @GIVEN@ & given)
  {
    info_ = given@INFO@;
    return CallbackReturn::SUCCESS;
  }
  virtual std::vector<StateInterface> export_state_interfaces() = 0;
  virtual std::vector<CommandInterface> export_command_interfaces() = 0;
  virtual return_type prepare_command_mode_switch(
    const std::vector<std::string> &, const std::vector<std::string> &) { return return_type::OK; }
  virtual return_type perform_command_mode_switch(
    const std::vector<std::string> &, const std::vector<std::string> &) { return return_type::OK; }
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_error(const rclcpp_lifecycle::State &) { return CallbackReturn::ERROR; }
  virtual return_type read(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type write(const rclcpp::Time &, const rclcpp::Duration &) = 0;
 protected:
  HardwareInfo info_;
};
}  // namespace hardware_interface
"""
_TYPES = """#pragma once
namespace hardware_interface {
constexpr char HW_IF_POSITION[] = "position", HW_IF_VELOCITY[] = "velocity", HW_IF_EFFORT[] = "effort";
}
"""
_PARAMS = """#pragma once
#include "hardware_interface/hardware_info.hpp"
namespace hardware_interface {
struct HardwareComponentInterfaceParams { HardwareInfo hardware_info; };
}
"""
_PLUGIN = """#pragma once
#define PLUGINLIB_EXPORT_CLASS(made, base) base * make_plugin() { return new made; }
"""
_RCLCPP = """#pragma once
#include <cstdio>
#include <string>
namespace rclcpp {
struct Time {};
struct Duration { double length; double seconds() const { return length; } };
struct Logger {};
inline Logger get_logger(const std::string &) { return {}; }
}  // namespace rclcpp
namespace rclcpp_lifecycle { struct State {}; }
#define RCLCPP_ERROR(logger, ...) ((void)(logger), std::printf("log: " __VA_ARGS__), std::printf("\\n"))
"""


def write_headers(folder: Path, *, with_params: bool) -> Path:
    """Headers in a folder; with_params: of versions whose on_init takes parameters, not the description."""
    given, info = "HardwareInfo", ""
    include = ""
    headers = {
        "hardware_interface/hardware_info.hpp": _INFO,
        "hardware_interface/handle.hpp": _HANDLE,
        "hardware_interface/types/hardware_interface_type_values.hpp": _TYPES,
        "pluginlib/class_list_macros.hpp": _PLUGIN,
        "rclcpp/rclcpp.hpp": _RCLCPP,
    }
    if with_params:
        given, info = "HardwareComponentInterfaceParams", ".hardware_info"
        path = "hardware_interface/types/hardware_component_interface_params.hpp"
        include = f'#include "{path}"'
        headers[path] = _PARAMS
    system = _SYSTEM.replace("@PARAMS@", include).replace("@GIVEN@", given).replace("@INFO@", info)
    headers["hardware_interface/system_interface.hpp"] = system
    for name, text in headers.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


UNCHECKED = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STRICT = [*UNCHECKED, "-fsanitize=address,undefined", "-fno-sanitize-recover"]

#: reads lines: start X..., mode JOINT KIND, command JOINT KIND X, advance SECONDS, repeat N SECONDS, state
DRIVER = """
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include "@PACKAGE@/core.hpp"
using namespace @PACKAGE@;
int main()
{
  Core core;
  std::string line, word;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    words >> word;
    if (word == "start") {
      std::array<double, model::joints> at{};
      for (auto & x : at) { words >> word; x = std::strtod(word.c_str(), nullptr); }
      if (!core.start(at.data())) { std::printf("failed: %s\\n", core.message()); }
    } else if (word == "mode") {
      int j = 0; words >> j >> word;
      core.set_mode(j, word == "position" ? Mode::position : word == "velocity" ? Mode::velocity
                       : word == "effort" ? Mode::effort : word == "valve" ? Mode::valve : Mode::hold);
    } else if (word == "command") {
      int j = 0; std::string kind; words >> j >> kind >> word;
      auto & to = kind == "position" ? core.command_position : kind == "velocity" ? core.command_velocity
                  : kind == "valve" ? core.command_valve : core.command_effort;
      to[j] = std::strtod(word.c_str(), nullptr);
    } else if (word == "repeat") {
      long n = 0; double h = 0.0; words >> n >> h;
      for (long i = 0; i < n; ++i) {
        if (!core.advance(h)) { std::printf("failed: %s\\n", core.message()); break; }
      }
    } else {
      std::printf("steps %ld\\n", core.steps());
      for (double x : core.q) { std::printf("%.17g ", x); }
      for (double x : core.v) { std::printf("%.17g ", x); }
      for (double x : core.effort) { std::printf("%.17g ", x); }
      for (double x : core.position) { std::printf("%.17g ", x); }
      for (double x : core.velocity) { std::printf("%.17g ", x); }
      for (double x : core.oil) { std::printf("%.17g ", x); }
      std::printf("\\n");
    }
  }
}
"""


class State(NamedTuple):
    """A state of a core; arrays of components in their order."""

    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    oil: np.ndarray


class Core:
    """The core of a generated package as a program, with sanitizers unless they are not wanted."""

    def __init__(
        self, robot, folder: Path, dt: float = 1e-3, *, cylinders: bool = False, sanitized: bool = True
    ) -> None:
        self.robot, self.folder, self.sanitized = robot, folder, sanitized
        self.files = export.ros2_control(robot, folder, dt=dt, cylinders=cylinders)
        self.package = next(folder.glob("*_hardware.xml")).stem
        c = next((folder / "src").glob("*.c"))
        # not optimized: in half the time
        build = ["gcc", "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-c", str(c)]
        subprocess.run([*build, "-o", str(folder / "robot.o")], check=True)

    @cached_property
    def program(self) -> str:
        """Path of the program that reads DRIVER's lines, compiled when it is asked for."""
        driver, folder = self.folder / "driver.cpp", self.folder
        driver.write_text(DRIVER.replace("@PACKAGE@", self.package))
        sources = [str(folder / "src" / name) for name in ("core.cpp", "model.cpp")]
        inputs = [str(driver), *sources, str(folder / "robot.o")]
        include = [f"-I{folder / 'include'}", f"-I{folder / 'src'}"]
        flags, program = STRICT if self.sanitized else UNCHECKED, str(folder / "driver")
        subprocess.run(["g++", *flags, *include, *inputs, "-lm", "-o", program], check=True)
        return program

    @property
    def components(self) -> list[str]:
        """Joints, cylinders and legs in the order of the core."""
        return re.findall(r'^ *\{"([^"]*)", "', (self.folder / "src" / "model.cpp").read_text(), re.M)

    def run(self, *lines: str):
        """The states that were asked for as (q, v, effort, position, velocity, oil), and what went wrong."""
        text = "\n".join(lines) + "\n"
        done = subprocess.run([self.program], input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        found, nq, nv, n = [], self.robot.nq, self.robot.nv, len(self.components)
        ends = np.cumsum([nq, nv, n, n, n])
        told = done.stdout.splitlines()
        for i, line in enumerate(told):
            if line.startswith("steps"):
                x = np.array(told[i + 1].split(), dtype=float)
                found.append(State(*np.split(x, ends)))
        return found, [line for line in told if line.startswith("failed")]
