"""Stand-ins for the headers of ros2_control and rclcpp: as much as a generated hardware interface uses."""

from __future__ import annotations

from pathlib import Path

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
