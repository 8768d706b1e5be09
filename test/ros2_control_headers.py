"""Stand-ins for the headers of ros2_control and rclcpp: as much as a generated hardware interface uses."""

from __future__ import annotations

import re
import subprocess
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import kept_compiler
import numpy as np
from exported import QUICKEST

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


#: warnings are errors; the optimizer finds some of them
OPTIMIZED = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
#: not optimized: in half the time, with sanitizers in a third
UNCHECKED = [flag for flag in OPTIMIZED if flag != "-O1"]
STRICT = [*UNCHECKED, "-fsanitize=address,undefined", "-fno-sanitize-recover"]

#: reads lines: start X..., mode JOINT KIND, command JOINT KIND X, repeat N SECONDS, state
DRIVER = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "@PACKAGE@/core.hpp"
using namespace @PACKAGE@;
static const char * word() { return std::strtok(nullptr, " \\n"); }
static bool is(const char * one, const char * other) { return std::strcmp(one, other) == 0; }
int main()
{
  Core core;
  static char line[10000];
  while (std::fgets(line, sizeof line, stdin)) {
    const char * verb = std::strtok(line, " \\n");
    if (is(verb, "start")) {
      std::array<double, model::joints> at{};
      for (auto & x : at) { x = std::strtod(word(), nullptr); }
      if (!core.start(at.data())) { std::printf("failed: %s\\n", core.message()); }
    } else if (is(verb, "mode")) {
      const int j = std::atoi(word());
      const char * kind = word();
      core.set_mode(j, is(kind, "position") ? Mode::position : is(kind, "velocity") ? Mode::velocity
                       : is(kind, "effort") ? Mode::effort : is(kind, "valve") ? Mode::valve : Mode::hold);
    } else if (is(verb, "command")) {
      const int j = std::atoi(word());
      const char * kind = word();
      auto & to = is(kind, "position") ? core.command_position : is(kind, "velocity") ? core.command_velocity
                  : is(kind, "valve") ? core.command_valve : core.command_effort;
      to[j] = std::strtod(word(), nullptr);
    } else if (is(verb, "repeat")) {
      const long n = std::atol(word());
      const double h = std::strtod(word(), nullptr);
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
    """The core of a generated package as a program, and its hardware interface, compiled by flags of g++."""

    def __init__(
        self, robot, folder: Path, dt: float = 1e-3, *, cylinders: bool = False, flags: list[str] = STRICT
    ) -> None:
        self.robot, self.folder, self.flags = robot, folder, flags
        self.files = export.ros2_control(robot, folder, dt=dt, cylinders=cylinders)
        self.package = next(folder.glob("*_hardware.xml")).stem

    @cached_property
    def objects(self) -> list[Path]:
        """The robot and its core, compiled when they are asked for."""
        (c,) = (self.folder / "src").glob("*.c")
        # by the compiler that does not optimize in half the time, where it is installed
        build = [QUICKEST, "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-c", c]
        kept_compiler.run([*build, "-o", self.folder / "robot.o"], check=True)
        return [*(self._compiled(f"src/{name}.cpp") for name in ("core", "model")), self.folder / "robot.o"]

    @cached_property
    def program(self) -> Path:
        """Path of the program that reads DRIVER's lines, compiled when it is asked for."""
        (self.folder / "driver.cpp").write_text(DRIVER.replace("@PACKAGE@", self.package))
        return self._linked("driver", [self._compiled("driver.cpp")])

    def hardware(self, main: str, headers: Path, *more: str) -> Path:
        """Path of a program of a text and the hardware interface, with more flags for the linker."""
        (self.folder / "main.cpp").write_text(main)
        parts = [self._compiled(name, headers) for name in ("main.cpp", "src/system.cpp")]
        return self._linked("hardware", parts, *more)

    def _compiled(self, source: str, *include: Path) -> Path:
        at = self.folder / source
        folders = [f"-I{folder}" for folder in (self.folder / "include", self.folder / "src", *include)]
        command = ["g++", *self.flags, *folders, "-c", at, "-o", at.with_suffix(".o")]
        kept_compiler.run(command, check=True)
        return at.with_suffix(".o")

    def _linked(self, name: str, parts: list[Path], *more: str) -> Path:
        made = self.folder / name
        command = ["g++", *self.flags, *more, *parts, *self.objects, "-lm", "-o", made]
        kept_compiler.run(command, check=True)
        return made

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
