"""Which leg forces of another process are fresh."""

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")

from flexdyn_ros.nodes.platform_drive import ForceGate  # noqa: E402

NAMES = ("a", "b")


def forces(a, b=0.0):
    return {"b": b, "a": a}


def test_repeated_and_late_forces_are_not_fresh_not_even_at_time_zero():
    gate = ForceGate(NAMES)
    gate.take(0, forces(1.0))
    assert gate.fresh(0.0).tolist() == [1.0, 0.0]
    gate.take(0, forces(1.0))
    assert gate.fresh(0.0) is None
    gate.take(1_000_000, forces(2.0))
    assert gate.fresh(0.0).tolist() == [2.0, 0.0]
    gate.take(1_000_000, forces(2.0))
    gate.take(500_000, forces(3.0))
    assert gate.fresh(0.0) is None
    assert gate.late == 3


def test_senders_that_never_stamp_are_heard():
    gate = ForceGate(NAMES)
    for value in (1.0, 2.0, 3.0):
        gate.take(0, forces(value))
        assert gate.fresh(0.0)[0] == value


def test_malformed_forces_are_refused_whole():
    gate = ForceGate(NAMES)
    with pytest.raises(ValueError, match="lack b"):
        gate.take(1, {"a": 1.0})
    with pytest.raises(ValueError, match="finite"):
        gate.take(1, forces(float("nan")))
    assert gate.fresh(0.0) is None
