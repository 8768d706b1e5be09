"""The simulator with `specialized`: the same motion, by the machine's C compiler; without one, a warning."""

import pytest
from exported import COMPILERS

pytest.importorskip("rclpy")

import rclpy
from rclpy.parameter import Parameter

from flexdyn_ros.nodes import Simulator


def positions(specialized):
    """Positions after a hundred steps, and the type of the functions behind the robot."""
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {
        "description_file": "flexible_two_link", "use_clock": False, "specialized": specialized,
        "initial.positions.shoulder": 0.4, "initial.velocities.elbow": 1.0,
    }  # fmt: skip
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = Simulator(context=context, autostart=False, parameter_overrides=overrides)
    try:
        node.setup()
        stepper, robot = node._simulation.stepper, node._simulation.robot
        stepper.advance(100)
        found = stepper.q.copy(), robot.functions.origin is not None
        node.clear()
        return found
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_the_simulator_steps_by_the_compiled_dynamics():
    plain, fast = positions(False), positions(True)
    assert fast[1]
    assert not plain[1]
    assert fast[0] == pytest.approx(plain[0], rel=1e-9, abs=1e-12)


def test_without_a_compiler_it_simulates_as_before(monkeypatch):
    from flexdyn_ros.export.native import library

    library.find_compiler.cache_clear()
    monkeypatch.setenv("CC", "no-such-compiler")
    assert not positions(True)[1]
    library.find_compiler.cache_clear()
