// A hardware interface of ros2_control whose joints are those of the robot: commands of joints go to fixed steps of its
// equations of motion, in the process of the controller manager.

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "@PACKAGE@/core.hpp"
#include "hardware_interface/handle.hpp"
#include "hardware_interface/hardware_info.hpp"
#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

#if __has_include("hardware_interface/types/hardware_component_interface_params.hpp")
#include "hardware_interface/types/hardware_component_interface_params.hpp"
#define FLEXDYN_TAKES_PARAMS
#endif

namespace @PACKAGE@ {

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class System : public hardware_interface::SystemInterface {
 public:
#ifdef FLEXDYN_TAKES_PARAMS
  CallbackReturn on_init(const hardware_interface::HardwareComponentInterfaceParams & given) override {
    if (hardware_interface::SystemInterface::on_init(given) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    return read_description();
  }
#else
  CallbackReturn on_init(const hardware_interface::HardwareInfo & given) override {
    if (hardware_interface::SystemInterface::on_init(given) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    return read_description();
  }
#endif

  std::vector<hardware_interface::StateInterface> export_state_interfaces() override {
    std::vector<hardware_interface::StateInterface> found;
    for (const auto * components : {&info_.joints, &info_.gpios}) {
      for (const auto & one : *components) {
        for (const auto & state : one.state_interfaces) {
          found.emplace_back(one.name, state.name, state_of(one.name, state.name));
        }
      }
    }
    return found;
  }

  std::vector<hardware_interface::CommandInterface> export_command_interfaces() override {
    std::vector<hardware_interface::CommandInterface> found;
    for (const auto * components : {&info_.joints, &info_.gpios}) {
      for (const auto & one : *components) {
        for (const auto & command : one.command_interfaces) {
          found.emplace_back(one.name, command.name, command_of(one.name, command.name));
        }
      }
    }
    return found;
  }

  return_type prepare_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override {
    // a joint takes one kind of command at a time
    std::array<int, model::joints> claims{};
    for (int j = 0; j < model::joints; ++j) {
      claims[j] = modes_[j] == Mode::hold ? 0 : 1;
    }
    for (const auto & name : stop) {
      const int j = joint_of(name);
      if (j >= 0) {
        claims[j] = 0;
      }
    }
    for (const auto & name : start) {
      const int j = joint_of(name);
      if (j >= 0 && ++claims[j] > 1) {
        RCLCPP_ERROR(logger(), "joint '%s' would take two kinds of commands at once", model::joint[j].name);
        return return_type::ERROR;
      }
    }
    return return_type::OK;
  }

  return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override {
    for (const auto & name : stop) {
      if (const int j = joint_of(name); j >= 0) {
        set_mode(j, Mode::hold);
      }
    }
    for (const auto & name : start) {
      if (const int j = joint_of(name); j >= 0) {
        set_mode(j, mode_of(name));
      }
    }
    return return_type::OK;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
    modes_.fill(Mode::hold);
    if (!core_.start(initial_.data())) {
      RCLCPP_ERROR(logger(), "%s", core_.message());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_error(const rclcpp_lifecycle::State &) override {
    RCLCPP_ERROR(logger(), "%s", core_.message());
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration & period) override {
    return core_.advance(period.seconds()) ? return_type::OK : return_type::ERROR;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override { return return_type::OK; }

 private:
  static rclcpp::Logger logger() { return rclcpp::get_logger("@PACKAGE@"); }

  CallbackReturn read_description() {
    modes_.fill(Mode::hold);
    initial_.fill(std::numeric_limits<double>::quiet_NaN());
    for (const auto & joint : info_.joints) {
      if (index_of(joint.name) < 0 && follower_of(joint.name) == nullptr) {
        return refuse("joint '" + joint.name + "' is none of robot @NAME@; expected one of " + all_joints());
      }
    }
    for (const auto * components : {&info_.joints, &info_.gpios}) {
      for (const auto & one : *components) {
        const std::string name = (components == &info_.joints ? "joint '" : "gpio '") + one.name + "'";
        for (const auto & state : one.state_interfaces) {
          if (state_of(one.name, state.name) == nullptr) {
            return refuse(name + " has no state '" + state.name + "'; expected " + states_of(one.name));
          }
          if (state.name == hardware_interface::HW_IF_POSITION && !state.initial_value.empty() &&
              !read_start(index_of(one.name), state.initial_value, name)) {
            return CallbackReturn::ERROR;
          }
        }
        for (const auto & command : one.command_interfaces) {
          if (command_of(one.name, command.name) == nullptr) {
            return refuse(name + " takes no command '" + command.name + "'; expected " + commands_of(one.name));
          }
        }
      }
    }
    const auto step = info_.hardware_parameters.find("step");
    if (step != info_.hardware_parameters.end()) {
      double length = 0.0;
      try {
        length = std::stod(step->second);
      } catch (const std::exception &) {
        length = 0.0;
      }
      if (!(length >= 0.01 * model::step && length <= 10.0 * model::step)) {
        return refuse("parameter 'step' is '" + step->second + "'; expected seconds, a hundredth to ten times " +
                      std::to_string(model::step));
      }
      core_.step = length;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn refuse(const std::string & message) {
    RCLCPP_ERROR(logger(), "%s", message.c_str());
    return CallbackReturn::ERROR;
  }

  // Where a joint starts; false if it cannot be told so.
  bool read_start(int j, const std::string & text, const std::string & name) {
    if (j < 0 || (model::joint[j].q < 0 && !model::joint[j].is_placed)) {
      refuse(name + " has an initial_value; expected none: it starts where the description has it");
      return false;
    }
    std::size_t end = 0;
    try {
      initial_[j] = std::stod(text, &end);
    } catch (const std::exception &) {
      end = 0;
    }
    if (end != text.size() || !std::isfinite(initial_[j])) {
      refuse(name + ": initial_value is '" + text + "'; expected a number");
      return false;
    }
    const auto & joint = model::joint[j];
    if (initial_[j] < joint.lower || initial_[j] > joint.upper) {
      refuse(name + ": initial_value is '" + text + "'; expected " + std::to_string(joint.lower) + " to " +
             std::to_string(joint.upper));
      return false;
    }
    return true;
  }

  static std::string all_joints() {
    std::string names;
    for (const auto & joint : model::joint) {
      names += (names.empty() ? "" : ", ") + std::string(joint.name);
    }
    for (const auto & joint : model::follower) {
      names += ", " + std::string(joint.name);
    }
    return names;
  }

  // a joint that nothing drives; null: none
  static const model::Follower * follower_of(const std::string & name) {
    for (const auto & joint : model::follower) {
      if (name == joint.name) {
        return &joint;
      }
    }
    return nullptr;
  }

  // the joint of a component with its motion or its valve; -1: none
  static int index_of(const std::string & name) {
    for (int j = 0; j < model::joints; ++j) {
      if (name == model::joint[j].name || name == model::joint[j].cylinder) {
        return j;
      }
    }
    return -1;
  }

  // of an interface JOINT/KIND; -1 for those of other hardware
  static int joint_of(const std::string & name) { return index_of(name.substr(0, name.rfind('/'))); }

  static Mode mode_of(const std::string & name) {
    const std::string kind = name.substr(name.rfind('/') + 1);
    if (kind == hardware_interface::HW_IF_POSITION) {
      return Mode::position;
    }
    if (kind == hardware_interface::HW_IF_VELOCITY) {
      return Mode::velocity;
    }
    return kind == valve ? Mode::valve : Mode::effort;
  }

  void set_mode(int j, Mode mode) {
    modes_[j] = mode;
    core_.set_mode(j, mode);
  }

  double * state_of(const std::string & component, const std::string & state) {
    if (const int j = index_of(component); j >= 0) {
      if (state == hardware_interface::HW_IF_POSITION) {
        return &core_.position[j];
      }
      if (state == hardware_interface::HW_IF_VELOCITY) {
        return &core_.velocity[j];
      }
      if (state == hardware_interface::HW_IF_EFFORT) {
        return &core_.effort[j];
      }
    }
    if (const auto * joint = follower_of(component); joint != nullptr) {
      const bool is_position = state == hardware_interface::HW_IF_POSITION;
      const bool is_velocity = state == hardware_interface::HW_IF_VELOCITY;
      return is_position ? &core_.q[joint->q] : is_velocity ? &core_.v[joint->v] : nullptr;
    }
    for (std::size_t i = 0; i < model::oil_name.size(); ++i) {
      if (component == model::oil_name[i].component && state == model::oil_name[i].state) {
        return &core_.oil[i];
      }
    }
    for (int i = 0; index_of(component) < 0 && i < model::nq; ++i) {
      if (state == model::q_name[i]) {
        return &core_.q[i];
      }
    }
    return nullptr;
  }

  static std::string states_of(const std::string & component) {
    if (follower_of(component) != nullptr) {
      return "position, velocity";
    }
    std::string names = index_of(component) < 0 ? "a coordinate of robot @NAME@" : "position, velocity, effort";
    for (const auto & name : model::oil_name) {
      names += component == name.component ? ", " + std::string(name.state) : "";
    }
    return names;
  }

  double * command_of(const std::string & component, const std::string & kind) {
    const int j = index_of(component);
    if (j < 0) {
      return nullptr;
    }
    if (model::joint[j].valve >= 0) {
      return kind == valve ? &core_.command_valve[j] : nullptr;
    }
    if (kind == hardware_interface::HW_IF_POSITION) {
      return &core_.command_position[j];
    }
    if (kind == hardware_interface::HW_IF_VELOCITY) {
      return &core_.command_velocity[j];
    }
    return kind == hardware_interface::HW_IF_EFFORT ? &core_.command_effort[j] : nullptr;
  }

  static const char * commands_of(const std::string & component) {
    const int j = index_of(component);
    return j < 0 ? "none" : model::joint[j].valve >= 0 ? valve : "position, velocity, effort";
  }

  // command of a cylinder whose oil is part of the robot: the opening, -1 to 1
  static constexpr char valve[] = "valve";

  Core core_;
  std::array<Mode, model::joints> modes_;
  std::array<double, model::joints> initial_;
};

}  // namespace @PACKAGE@

PLUGINLIB_EXPORT_CLASS(@PACKAGE@::System, hardware_interface::SystemInterface)
