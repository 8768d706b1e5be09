// Inverse dynamics, and forward dynamics of its efforts, asked of dynamics_server at 500 Hz.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "flexdyn_interfaces/srv/describe_robot.hpp"
#include "flexdyn_interfaces/srv/forward_dynamics.hpp"
#include "flexdyn_interfaces/srv/inverse_dynamics.hpp"
#include "rclcpp/rclcpp.hpp"

using namespace std::chrono_literals;
using namespace flexdyn_interfaces::srv;

/// A service of dynamics_server, asked again if no answer comes in a second: the first may be lost.
template<typename S>
struct Service
{
  rclcpp::Node::SharedPtr node;
  typename rclcpp::Client<S>::SharedPtr client;

  Service(rclcpp::Node::SharedPtr owner, const std::string & name)
  : node(owner), client(owner->create_client<S>("dynamics_server/" + name))
  {
    if (!client->wait_for_service(60s)) {
      throw std::runtime_error("there is no dynamics_server/" + name);
    }
  }

  typename S::Response::SharedPtr operator()(const typename S::Request & request) const
  {
    for (int turn = 0; turn < 5; ++turn) {
      auto future = client->async_send_request(std::make_shared<typename S::Request>(request));
      if (rclcpp::spin_until_future_complete(
          node, future,
          1s) != rclcpp::FutureReturnCode::SUCCESS)
      {
        continue;
      }
      auto answer = future.get();
      if (!answer->success) {throw std::runtime_error(answer->message);}
      return answer;
    }
    throw std::runtime_error("no answer of " + std::string(client->get_service_name()));
  }
};

int main(int argc, char ** argv)
try
{
  rclcpp::init(argc, argv);
  auto node = std::make_shared<rclcpp::Node>("client");
  const Service<InverseDynamics> inverse(node, "inverse_dynamics");
  const Service<ForwardDynamics> forward(node, "forward_dynamics");
  const auto robot = Service<DescribeRobot>(node, "describe_robot")(DescribeRobot::Request());

  InverseDynamics::Request wanted;
  ForwardDynamics::Request applied;
  wanted.samples = applied.samples = 1;
  wanted.free_unactuated = true;  // links bend as they must
  wanted.positions.assign(robot->nq, 0.0);
  wanted.velocities.assign(robot->nv, 0.0);
  wanted.accelerations.assign(robot->nv, 0.0);
  std::vector<double> delays;  // of both calls together [ms]
  double error = 0.0;          // of the accelerations that the efforts give
  auto due = std::chrono::steady_clock::now();
  for (int turn = 0, turns = node->declare_parameter("turns", 2000); turn < turns && rclcpp::ok();
    ++turn)
  {
    std::this_thread::sleep_until(due += 2ms);
    for (const auto & c : robot->coordinates) {
      if (!c.actuated) {continue;}
      wanted.positions[c.position_index] = 0.3 * std::sin(0.002 * turn);
      wanted.velocities[c.velocity_index] = 0.3 * std::cos(0.002 * turn);
      wanted.accelerations[c.velocity_index] = -0.3 * std::sin(0.002 * turn);
    }
    const auto asked = std::chrono::steady_clock::now();
    applied.positions = wanted.positions;
    applied.velocities = wanted.velocities;
    applied.efforts = inverse(wanted)->efforts;
    const auto given = forward(applied)->accelerations;
    delays.push_back(
      std::chrono::duration<double,
      std::milli>(std::chrono::steady_clock::now() - asked).count());
    for (const auto & c : robot->coordinates) {
      const size_t i = c.velocity_index;
      if (c.actuated) {error = std::max(error, std::abs(given[i] - wanted.accelerations[i]));}
    }
  }
  if (delays.empty()) {return 0;}
  std::printf("last efforts:");
  for (double effort : applied.efforts) {
    std::printf(" %.17g", effort);
  }
  std::sort(delays.begin(), delays.end());
  std::printf(
    "\n%zu turns of two calls: median %.2f ms, p99 %.2f ms; accelerations to %.1e\n", delays.size(),
    delays[delays.size() / 2], delays[delays.size() * 99 / 100], error);
  rclcpp::shutdown();
  return 0;
} catch (const std::exception & fault) {
  std::fprintf(stderr, "%s\n", fault.what());
  return 1;
}
