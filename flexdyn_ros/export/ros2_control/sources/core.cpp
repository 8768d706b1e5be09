#include "@PACKAGE@/core.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

extern "C" {
#include "@NAME@.h"
}

namespace @PACKAGE@ {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
// iterations of the equilibrium of links, and how well it is met, of the largest force
constexpr int most_iterations = 100;
constexpr double balanced = 1e-12;
// of positions at the start: how well they are met [rad, m], how far one iteration goes
constexpr double placed = 1e-11, farthest = 0.2;

}  // namespace

Core::Core() { start(nullptr); }

bool Core::start(const double * where) {
  std::copy(model::start.begin(), model::start.end(), q.begin());
  v.fill(0.0);
  oil = model::oil_start;
  tau_.fill(0.0);
  weight_.fill(0.0);
  valves_.fill(0.0);
  work_.fill(0.0);
  message_.fill('\0');
  left_ = 0.0;
  steps_ = 0;
  for (int j = 0; j < model::joints; ++j) {
    const auto & joint = model::joint[j];
    if (joint.q >= 0 && where != nullptr && std::isfinite(where[j])) {
      q[joint.q] = where[j];
    }
    mode_[j] = Mode::hold;
    rate_[j] = 0.0;
    command_position[j] = command_velocity[j] = command_effort[j] = command_valve[j] = none;
    effort[j] = 0.0;
  }
  if (where != nullptr && !place(where)) {
    return false;
  }
#if @OIL@
  // the oil holds the robot where it has been put
  const auto is_told = [](double x) { return std::isfinite(x); };
  if (where != nullptr && std::any_of(where, where + model::joints, is_told) &&
      @NAME@_resting_oil(q.data(), nullptr, oil.data(), work_.data()) != 0) {
    std::snprintf(message_.data(), message_.size(), "the pressures at the start are not finite");
    return false;
  }
#endif
  // forces on the modes, by the stiffness of the links: K d <- K d - h
  double left = 0.0;
  for (int i = 0; model::modes > 0 && i < most_iterations; ++i) {
    if (!weigh()) {
      std::snprintf(message_.data(), message_.size(), "the forces at the start are not finite");
      return false;
    }
    double largest = 0.0;
    left = 0.0;
    for (int m = 0; m < model::modes; ++m) {
      double change = 0.0;
      for (int n = 0; n < model::modes; ++n) {
        change += model::compliance[m * model::modes + n] * weight_[model::mode[n].v];
      }
      q[model::mode[m].q] -= change;
      left = std::max(left, std::fabs(change));
      largest = std::max(largest, std::fabs(q[model::mode[m].q]));
    }
    if (left <= balanced * std::max(largest, balanced)) {
      left = 0.0;
      break;
    }
  }
  if (!(left == 0.0)) {
    std::snprintf(message_.data(), message_.size(), "the links find no equilibrium at the start, %g are left", left);
    return false;
  }
  show();
  target_ = position;
  return true;
}

// The pose where joints that are tied together have the positions that are given, and the others keep theirs, by Newton
// steps d = sum c_i v_i of least c along velocities v_i that loops allow, with the rates of the joints A c = error.
bool Core::place(const double * where) {
#if @PLACED@
  constexpr int n = model::joints, m = model::nv;
  show();
  bool asked = false;
  std::array<double, n> wanted = position;
  for (int j = 0; j < n; ++j) {
    if (std::isfinite(where[j])) {
      asked = asked || model::joint[j].is_placed;
      wanted[j] = where[j];
    }
  }
  double left = 0.0;
  for (int turn = 0; asked && turn < most_iterations; ++turn) {
    v.fill(0.0);
    allow();
    show();
    std::array<double, n> error;
    left = 0.0;
    for (int j = 0; j < n; ++j) {
      error[j] = wanted[j] - position[j];
      left = std::max(left, std::fabs(error[j]));
    }
    if (left <= placed) {
      break;
    }
    const std::array<double, model::nq> here = q;
    std::array<std::array<double, m>, m> allowed;
    std::array<std::array<double, n>, m> rates;
    for (int i = 0; i < m; ++i) {
      v.fill(0.0);
      v[i] = 1.0;
      allow();
      show();
      q = here;
      allowed[i] = v;
      rates[i] = velocity;
    }
    // A A' = L L', on whose diagonal is a little more where joints are not independent
    std::array<std::array<double, n>, n> L;
    double size = 0.0;
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k <= j; ++k) {
        L[j][k] = 0.0;
        for (int i = 0; i < m; ++i) {
          L[j][k] += rates[i][j] * rates[i][k];
        }
      }
      size = std::max(size, L[j][j]);
    }
    for (int j = 0; j < n; ++j) {
      L[j][j] += 1e-12 * size;
      for (int k = 0; k <= j; ++k) {
        for (int i = 0; i < k; ++i) {
          L[j][k] -= L[j][i] * L[k][i];
        }
        L[j][k] = k < j ? L[j][k] / L[k][k] : std::sqrt(L[j][j]);
      }
    }
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < j; ++i) {
        error[j] -= L[j][i] * error[i];
      }
      error[j] /= L[j][j];
    }
    for (int j = n - 1; j >= 0; --j) {
      for (int i = j + 1; i < n; ++i) {
        error[j] -= L[i][j] * error[i];
      }
      error[j] /= L[j][j];
    }
    v.fill(0.0);
    double longest = 0.0;
    for (int k = 0; k < m; ++k) {
      for (int i = 0; i < m; ++i) {
        double c = 0.0;
        for (int j = 0; j < n; ++j) {
          c += rates[i][j] * error[j];
        }
        v[k] += c * allowed[i][k];
      }
      longest = std::max(longest, std::fabs(v[k]));
    }
    for (double & x : v) {
      x *= longest > farthest ? farthest / longest : 1.0;
    }
    @NAME@_moved(here.data(), v.data(), nullptr, q.data(), work_.data());
  }
  v.fill(0.0);
  if (!(left <= placed)) {
    std::snprintf(message_.data(), message_.size(), "the joints have no pose at these positions, %g are left", left);
    return false;
  }
#else
  static_cast<void>(where);
#endif
  return true;
}

// Position and velocity that loops allow.
void Core::allow() {
#if @LOOPS@ && @PLACED@
  std::array<double, model::nq> q1;
  std::array<double, model::nv> v1;
  if (@NAME@_project(q.data(), v.data(), nullptr, q1.data(), v1.data(), work_.data()) == 0) {
    q = q1;
    v = v1;
  }
#endif
}

void Core::set_mode(int joint, Mode mode) {
  mode_[joint] = mode;
  target_[joint] = position[joint];
  rate_[joint] = 0.0;
  command_position[joint] = command_velocity[joint] = command_effort[joint] = command_valve[joint] = none;
}

// The effort of a drive: the command, or a servo on position and speed that carries the weight.
double Core::command(int j) {
  const auto & joint = model::joint[j];
  double given = none;
  if (mode_[j] == Mode::effort) {
    given = command_effort[j];
  } else {
    if (mode_[j] == Mode::position && std::isfinite(command_position[j])) {
      target_[j] = command_position[j];
    } else if (mode_[j] == Mode::velocity && std::isfinite(command_velocity[j])) {
      rate_[j] = command_velocity[j];
    }
  }
  if (!std::isfinite(given)) {
    // the target does not run away from a joint whose drive is at its limit
    const double reach = std::isfinite(joint.effort) && joint.stiffness > 0.0 ? joint.effort / joint.stiffness : HUGE_VAL;
    target_[j] += rate_[j] * step;
    if (mode_[j] == Mode::velocity) {
      target_[j] = std::clamp(target_[j], position[j] - reach, position[j] + reach);
    }
    given = weight_[joint.u] + joint.stiffness * (target_[j] - position[j]) + joint.damping * (rate_[j] - velocity[j]);
  }
  return std::clamp(given, -joint.effort, joint.effort);
}

// The opening of a valve, which is shut without a command.
double Core::opening(int j) const {
  const bool open = mode_[j] == Mode::valve && std::isfinite(command_valve[j]);
  return open ? std::clamp(command_valve[j], -1.0, 1.0) : 0.0;
}

// A stop pushes back, and never pulls.
double Core::stop(int j) const {
  const auto & joint = model::joint[j];
  const double x = position[j], speed = velocity[j];
  if (x > joint.upper) {
    return std::min(0.0, -joint.stop_stiffness * (x - joint.upper) - joint.stop_damping * speed);
  }
  if (x < joint.lower) {
    return std::max(0.0, -joint.stop_stiffness * (x - joint.lower) - joint.stop_damping * speed);
  }
  return 0.0;
}

bool Core::advance(double seconds) {
  if (!(seconds > 0.0)) {
    return true;
  }
  left_ = std::min(left_ + seconds, static_cast<double>(most_steps) * step);
  // a step that rounding has left of the time is made now
  for (; left_ >= step * (1.0 - 1e-9); left_ -= step, ++steps_) {
    bool carries = false;
    for (int j = 0; j < model::joints; ++j) {
      const bool told = mode_[j] == Mode::effort && std::isfinite(command_effort[j]);
      carries = carries || (model::joint[j].valve < 0 && !told);
    }
    if (carries && !weigh()) {
      std::snprintf(message_.data(), message_.size(), "step %ld: the weight is not finite", steps_);
      return false;
    }
    for (int j = 0; j < model::joints; ++j) {
      const auto & joint = model::joint[j];
      if (joint.valve >= 0) {
        valves_[joint.valve] = opening(j);
      } else {
        effort[j] = command(j);
        tau_[joint.u] = effort[j] + stop(j);
      }
    }
    if (@STEP_CALL@ != 0) {
      const int j = fastest();
      std::snprintf(
        message_.data(), message_.size(), "step %ld of %g s has no finite state; before it joint %s was at %g with %g per second",
        steps_, step, model::joint[j].name, position[j], velocity[j]);
      return false;
    }
    show();
  }
  return true;
}

int Core::fastest() const {
  int found = 0;
  for (int j = 1; j < model::joints; ++j) {
    if (std::fabs(velocity[j]) > std::fabs(velocity[found])) {
      found = j;
    }
  }
  return found;
}

// Positions and speeds of the joints, and forces of cylinders.
void Core::show() {
  @NAME@_actuator_motion(q.data(), v.data(), nullptr, measured_.data(), rate_measured_.data(), work_.data());
  for (int j = 0; j < model::joints; ++j) {
    position[j] = measured_[model::joint[j].u] - model::joint[j].zero;
    velocity[j] = rate_measured_[model::joint[j].u];
  }
#if @OIL@
  std::array<double, model::valves> forces;
  @NAME@_cylinder_forces(q.data(), v.data(), oil.data(), nullptr, forces.data(), work_.data());
  for (int j = 0; j < model::joints; ++j) {
    if (const int valve = model::joint[j].valve; valve >= 0) {
      effort[j] = forces[valve];
    }
  }
#endif
}

// Efforts that hold the robot where it is.
bool Core::weigh() {
#if @SERVOS@
  return @NAME@_holding_efforts(q.data(), nullptr, weight_.data(), work_.data()) == 0;
#else
  return true;
#endif
}

}  // namespace @PACKAGE@
