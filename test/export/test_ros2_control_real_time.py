"""What the real-time thread of the controller manager calls of a generated hardware interface."""

import re
import shutil
import subprocess

import pytest
from ros2_control_headers import Core, write_headers

import flexdyn_ros

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")

REAL_TIME = """
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <initializer_list>
#include <memory>
#include <new>
#include <pthread.h>
#include "hardware_interface/system_interface.hpp"
using namespace hardware_interface;
SystemInterface * make_plugin();
// own calls go to these (ld --wrap), those of containers to operator new
static long calls = 0;
extern "C" {
void * __real_malloc(size_t);
void * __wrap_malloc(size_t n) { ++calls; return __real_malloc(n); }
void * __real_calloc(size_t, size_t);
void * __wrap_calloc(size_t n, size_t m) { ++calls; return __real_calloc(n, m); }
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t * at) { ++calls; return __real_pthread_mutex_lock(at); }
}
void * operator new(size_t n) { ++calls; return __real_malloc(n); }
void operator delete(void * at) noexcept { std::free(at); }
void operator delete(void * at, size_t) noexcept { std::free(at); }
int main()
{
  std::unique_ptr<SystemInterface> robot(make_plugin());
  HardwareInfo info;
  for (const char * name : {@JOINTS@}) {
    ComponentInfo joint;
    joint.name = name;
    joint.command_interfaces = {{"position", ""}, {"effort", ""}};
    joint.state_interfaces = {{"position", ""}};
    info.joints.push_back(joint);
  }
  for (const char * name : std::initializer_list<const char *>{@CYLINDERS@}) {
    ComponentInfo cylinder;
    cylinder.name = name;
    cylinder.command_interfaces = {{"valve", ""}};
    cylinder.state_interfaces = {{"position", ""}, {"effort", ""}, {"pressure_bore", ""}};
    info.gpios.push_back(cylinder);
  }
  ComponentInfo modes;
  modes.name = "coordinates";
  modes.state_interfaces = {{"@MODE@", ""}};
  info.gpios.push_back(modes);
  if (robot->on_init(info) != CallbackReturn::SUCCESS) { return 2; }
  std::map<std::string, double *> states, commands;
  for (auto & x : robot->export_state_interfaces()) { states[x.name] = x.value; }
  for (auto & x : robot->export_command_interfaces()) { commands[x.name] = x.value; }
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 3; }
  double * const mode = states.at("coordinates/@MODE@");
  std::printf("counted %ld\\n", calls);
  int faults = 0;
  calls = 0;
  for (int i = 0; i < 2000; ++i) {
    faults += robot->read({}, {0.0015}) != return_type::OK || robot->write({}, {0.0015}) != return_type::OK;
  }
  const long quiet = calls;
  robot->perform_command_mode_switch({"@COMMAND@"}, {});
  *commands.at("@COMMAND@") = *states.at("@FIRST@/position") + 0.1;
  calls = 0;
  for (int i = 0; i < 500; ++i) { faults += robot->read({}, {0.0015}) != return_type::OK; }
  *mode = NAN;
  const bool failed = robot->read({}, {0.0015}) == return_type::ERROR;
  std::printf("calls %ld faults %d failed %d\\n", quiet + calls, faults, failed);
  robot->on_error({});
  if (robot->on_configure({}) != CallbackReturn::SUCCESS) { return 4; }
  const double start = *states.at("@FIRST@/position");
  const bool again = robot->read({}, {0.0015}) == return_type::OK;
  std::printf("again %d %d\\n", again, std::fabs(*states.at("@FIRST@/position") - start) < 1e-6);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("name", "cylinders", "command"),
    [
        ("mobile_arm", False, "shoulder/position"),
        ("excavator", True, "boom_cylinder/valve"),
        ("hexapod_arm", False, "elbow_pitch/position"),
    ],
)
def test_read_and_write_allocate_lock_and_log_nothing_and_an_error_has_its_sentence(
    name, cylinders, command, tmp_path
):
    # no call is optimised away
    flags = ["-std=c++17", "-O0"]
    core = Core(flexdyn_ros.load(name), tmp_path / name, cylinders=cylinders, flags=flags)
    headers = write_headers(tmp_path / "headers", with_params=False)
    oil = core.robot.hydraulics.names if cylinders else ()
    joints = [f'"{one}"' for one in core.components if one not in oil]
    text = REAL_TIME.replace("@JOINTS@", ", ".join(joints))
    text = text.replace("@CYLINDERS@", ", ".join(f'"{one}"' for one in oil))
    text = text.replace("@COMMAND@", command).replace("@FIRST@", command.partition("/")[0])
    free = [one for one in core.robot.q_names if one not in core.components]
    text = text.replace("@MODE@", free[-1])
    wrap = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "pthread_mutex_lock")]
    program = core.hardware(text, headers, *wrap)
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-1000:])
    counted, calls, log, again = done.stdout.splitlines()
    assert int(counted.split()[1]) > 0
    assert calls == "calls 0 faults 0 failed 1"
    assert re.match(r"log: .*(step|finite)", log)
    # configured again it stands where it began
    assert again == "again 1 1"
