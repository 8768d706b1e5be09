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

}  // namespace

Core::Core() { start(nullptr); }

bool Core::start(const double * where) {
  std::copy(model::start.begin(), model::start.end(), q.begin());
  v.fill(0.0);
  still_.fill(0.0);
  work_.fill(0.0);
  message_.fill('\0');
  left_ = 0.0;
  steps_ = 0;
  for (int j = 0; j < model::joints; ++j) {
    const auto & joint = model::joint[j];
    if (model::legs == 0 && where != nullptr && std::isfinite(where[j])) {
      q[joint.q] = where[j];
    }
    mode_[j] = Mode::hold;
    rate_[j] = 0.0;
    command_position[j] = command_velocity[j] = command_effort[j] = none;
    effort[j] = 0.0;
  }
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

void Core::set_mode(int joint, Mode mode) {
  mode_[joint] = mode;
  target_[joint] = position[joint];
  rate_[joint] = 0.0;
  command_position[joint] = command_velocity[joint] = command_effort[joint] = none;
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
      carries = carries || mode_[j] != Mode::effort || !std::isfinite(command_effort[j]);
    }
    if (carries && !weigh()) {
      std::snprintf(message_.data(), message_.size(), "step %ld: the weight is not finite", steps_);
      return false;
    }
    tau_.fill(0.0);
    for (int j = 0; j < model::joints; ++j) {
      effort[j] = command(j);
      tau_[model::joint[j].u] = effort[j] + stop(j);
    }
    if (@NAME@_step(q.data(), v.data(), tau_.data(), nullptr, step, work_.data()) != 0) {
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

// Positions and speeds of the joints. The leg from b to p + R a has the length |p + R a - b| and the rate
// u' (v + w x R a) with u along it; q: p and the quaternion x y z w of R; v: w and the velocity of p, world axes.
void Core::show() {
#if @LEGS@
  for (int j = 0; j < model::legs; ++j) {
    const auto & leg = model::leg[j];
    const double x = q[3], y = q[4], z = q[5], w = q[6], *a = leg.anchor;
    // R a = a + 2 w (r x a) + 2 r x (r x a)
    const double c[] = {y * a[2] - z * a[1], z * a[0] - x * a[2], x * a[1] - y * a[0]};
    const double arm[] = {
      a[0] + 2.0 * (w * c[0] + y * c[2] - z * c[1]), a[1] + 2.0 * (w * c[1] + z * c[0] - x * c[2]),
      a[2] + 2.0 * (w * c[2] + x * c[1] - y * c[0])};
    const double speed[] = {
      v[3] + v[1] * arm[2] - v[2] * arm[1], v[4] + v[2] * arm[0] - v[0] * arm[2], v[5] + v[0] * arm[1] - v[1] * arm[0]};
    double square = 0.0, product = 0.0;
    for (int i = 0; i < 3; ++i) {
      const double along = q[i] + arm[i] - leg.base[i];
      square += along * along;
      product += along * speed[i];
    }
    position[j] = std::sqrt(square) - leg.length;
    velocity[j] = product / std::sqrt(square);
  }
#else
  for (int j = 0; j < model::joints; ++j) {
    position[j] = q[model::joint[j].q];
    velocity[j] = v[model::joint[j].v];
  }
#endif
}

// Efforts that hold the robot where it is.
bool Core::weigh() {
#if @LEGS@
  return @NAME@_inverse_dynamics(q.data(), still_.data(), still_.data(), nullptr, weight_.data(), work_.data()) == 0;
#else
  return @NAME@_bias_forces(q.data(), still_.data(), nullptr, weight_.data(), work_.data()) == 0;
#endif
}

}  // namespace @PACKAGE@
