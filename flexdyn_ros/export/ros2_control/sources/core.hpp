// The robot behind a hardware interface, without ROS: fixed steps of the generated C under commands of its joints.
// No call allocates, locks or prints. SI units; NaN is no command.
#pragma once

#include <array>

#include "model.hpp"

namespace @PACKAGE@ {

enum class Mode { hold, position, velocity, effort, valve };

class Core {
 public:
  Core();

  // Joints stand at `position` (joints), NaN: where the description has them; links are bent by their weight, and oil holds
  // the robot. Robots that bend on cylinders or in loops start where the description has them.
  // False if there is no such pose or equilibrium: then `message` says why, and the state is not to be used.
  bool start(const double * position);

  // What a joint is told from now on. It keeps its position, or its valve shut, until the first command that is a finite
  // number.
  void set_mode(int joint, Mode mode);

  // Moves on by `seconds`, in steps of `step`; what is left over counts for the next call.
  // False if a step has no finite state: then `message` says which, and the state is that before it.
  bool advance(double seconds);

  const char * message() const { return message_.data(); }
  long steps() const { return steps_; }

  // of each joint
  std::array<double, model::joints> command_position, command_velocity, command_effort, command_valve;
  std::array<double, model::joints> position, velocity, effort;
  // of each coordinate of the robot, modes of links included; of quaternions q has one number more
  std::array<double, model::nq> q;
  std::array<double, model::nv> v;
  // of the oil: pressures, spools
  std::array<double, model::oil> oil;
  // length of a step [s], and how many one call makes at most: time beyond is dropped
  double step = model::step;
  long most_steps = 1000;

 private:
  bool place(const double * position);
  double command(int joint);
  double stop(int joint) const;
  double opening(int joint) const;
  bool weigh();
  int fastest() const;
  void allow();
  void show();

  std::array<Mode, model::joints> mode_;
  std::array<double, model::joints> target_, rate_;
  std::array<double, model::nu> tau_, weight_, measured_, rate_measured_;
  std::array<double, model::valves> valves_;
  std::array<double, model::work> work_;
  std::array<char, 256> message_;
  double left_ = 0.0;
  long steps_ = 0;
};

}  // namespace @PACKAGE@
