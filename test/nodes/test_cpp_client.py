"""examples/cpp against stand-in headers: fields are those of the interface files, a lost answer is asked for
again."""

import re
import shutil
import subprocess
from math import sin
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
ROOT = Path(__file__).parents[2]
WORDS = {"string": "std::string", "float64": "double"}
#: two joints, the second without an actuator; effort = 2 a + q; each service loses its first answer
CLIENT = """#pragma once
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include "flexdyn_interfaces/srv/messages.hpp"
namespace rclcpp {
using namespace flexdyn_interfaces::srv;
inline void init(int, char **) {}
inline bool ok() { return true; }
inline void shutdown() {}
enum class FutureReturnCode { SUCCESS, INTERRUPTED, TIMEOUT };
inline std::map<std::string, int> asked;
inline void answer(const DescribeRobot::Request &, DescribeRobot::Response & given)
{
  given.nq = given.nv = given.nu = 2;
  given.coordinates.resize(2);
  given.coordinates[0].actuated = true;
  given.coordinates[1].position_index = given.coordinates[1].velocity_index = 1;
}
inline void answer(const InverseDynamics::Request & x, InverseDynamics::Response & given)
{
  if (!x.free_unactuated) { given.message = "free_unactuated is not set"; given.success = false; return; }
  given.efforts = {2.0 * x.accelerations.at(0) + x.positions.at(0), 0.0};
}
inline void answer(const ForwardDynamics::Request & x, ForwardDynamics::Response & given)
{
  given.accelerations = {0.5 * (x.efforts.at(0) - x.positions.at(0)), 7.0};
}
template<typename S> struct Future
{
  typename S::Response::SharedPtr value;
  typename S::Response::SharedPtr get() { return value; }
};
template<typename S> struct Client
{
  using SharedPtr = std::shared_ptr<Client>;
  std::string name;
  const char * get_service_name() const { return name.c_str(); }
  bool wait_for_service(std::chrono::seconds) { return name.find(MISSING) == std::string::npos; }
  Future<S> async_send_request(typename S::Request::SharedPtr request)
  {
    if (asked[name]++ == 0) { return {}; }
    auto given = std::make_shared<typename S::Response>();
    given->success = true;
    answer(*request, *given);
    return {given};
  }
};
struct Node
{
  using SharedPtr = std::shared_ptr<Node>;
  explicit Node(const std::string &) {}
  ~Node() { for (auto & [name, n] : asked) { std::printf("%s %d\\n", name.c_str(), n); } }
  template<typename S> typename Client<S>::SharedPtr create_client(const std::string & name)
  { return std::make_shared<Client<S>>(Client<S>{name}); }
  int declare_parameter(const std::string &, int) { return 20; }
};
template<typename F>
FutureReturnCode spin_until_future_complete(Node::SharedPtr, F & future, std::chrono::seconds)
{ return future.value ? FutureReturnCode::SUCCESS : FutureReturnCode::TIMEOUT; }
}  // namespace rclcpp
"""


def struct(name, text):
    """The C++ struct of a section of an interface file, as rosidl names its fields."""
    fields = re.findall(r"(?m)^([\w/]+)(\[\])?\s+(\w+)\s*(?:#.*)?$", text)
    lines = []
    for kind, many, field in fields:
        own = WORDS.get(kind, f"{kind}_t" if re.fullmatch(r"u?int\d+", kind) else kind.rpartition("/")[2])
        lines.append(f"  {f'std::vector<{own}>' if many else own} {field}{{}};")
    return "\n".join((f"struct {name} {{", f"  using SharedPtr = std::shared_ptr<{name}>;", *lines, "};"))


@pytest.fixture
def built(tmp_path):
    """Builds the client where one of its services is missing."""
    folder = ROOT / "flexdyn_interfaces"
    parts = [
        "#pragma once",
        "#include <cstdint>",
        "#include <memory>",
        "#include <string>",
        "#include <vector>",
    ]
    parts += [
        "namespace flexdyn_interfaces { namespace srv {",
        "struct Vector3 {};",
        "struct ExternalWrench {};",
    ]
    parts.append(struct("Coordinate", (folder / "msg/Coordinate.msg").read_text()))
    own = tmp_path / "flexdyn_interfaces/srv"
    own.mkdir(parents=True)
    for name in ("InverseDynamics", "ForwardDynamics", "DescribeRobot"):
        sections = (folder / f"srv/{name}.srv").read_text().split("\n---\n")
        both = [struct(part, text) for part, text in zip(("Request", "Response"), sections, strict=True)]
        parts.append(f"struct {name} {{\n" + "\n".join(both) + "\n};")
        header = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
        (own / f"{header}.hpp").write_text('#include "flexdyn_interfaces/srv/messages.hpp"\n')
    (own / "messages.hpp").write_text("\n".join([*parts, "}}", ""]))
    (tmp_path / "rclcpp").mkdir()
    (tmp_path / "rclcpp/rclcpp.hpp").write_text(CLIENT)

    def build(missing):
        command = [
            "g++",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            f'-DMISSING="{missing}"',
            f"-I{tmp_path}",
        ]
        command += [str(ROOT / "examples/cpp/client.cpp"), "-o", str(tmp_path / "client")]
        subprocess.run(command, check=True)
        return subprocess.run([tmp_path / "client"], capture_output=True, text=True, timeout=120, check=False)

    return build


def test_an_answer_that_is_lost_is_asked_for_again_and_accelerations_come_back(built):
    done = built("nothing")
    assert done.returncode == 0, done.stderr
    first, second, *counts = done.stdout.splitlines()
    x = 0.002 * 19
    assert [float(word) for word in first.split()[2:]] == pytest.approx([-0.3 * sin(x), 0.0], abs=1e-15)
    assert second.startswith("20 turns of two calls")
    assert float(second.split()[-1]) < 1e-15
    # one more than the answers
    assert dict(line.split() for line in counts) == {
        "dynamics_server/describe_robot": "2",
        "dynamics_server/forward_dynamics": "21",
        "dynamics_server/inverse_dynamics": "21",
    }


def test_a_service_that_is_missing_is_named(built):
    done = built("forward_dynamics")
    assert done.returncode == 1
    assert done.stderr == "there is no dynamics_server/forward_dynamics\n"
