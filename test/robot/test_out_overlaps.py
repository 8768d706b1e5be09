"""`out` that shares memory with an argument: the result is that of separate arrays, as with NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flexdyn_ros

ROBOTS = (
    "two_link",
    "seven_joint_arm",
    "canadarm2",
    "mobile_arm",
    "mobile_arm_spatial",
    "soft_arm_3",
    "stewart_1t",
)
COUNT = 6


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> flexdyn_ros.Robot:
    return flexdyn_ros.load(request.param)


def states(robot: flexdyn_ros.Robot) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    step = 0.02 * rng.normal(size=(COUNT, robot.nv))
    sizes = {"v": robot.nv, "a": robot.nv, "tau": robot.nu}
    still = {name: 0.1 * rng.normal(size=(COUNT, size)) for name, size in sizes.items()}
    if any(c.prescribed for c in robot.coordinates):
        still["tau"][:, [c.prescribed for c in robot.coordinates]] = 0.0
    return {"q": robot.integrate(robot.neutral(), step, 1.0), **still}


def verbs(robot: flexdyn_ros.Robot) -> dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...]]]:
    """Verbs with `out`, and the names of their arguments."""
    frame = robot.frame_names[-1]
    found: dict[str, tuple[Callable[..., np.ndarray], tuple[str, ...]]] = {
        "inverse_dynamics": (robot.inverse_dynamics, ("q", "v", "a")),
        "forward_dynamics": (robot.forward_dynamics, ("q", "v", "tau")),
        "mass_matrix": (robot.mass_matrix, ("q",)),
        "bias_forces": (robot.bias_forces, ("q", "v")),
        "momentum": (robot.momentum, ("q", "v")),
        "center_of_mass": (robot.center_of_mass, ("q",)),
        "frames": (lambda q, out=None: robot.frames(q, out=out), ("q",)),
        "jacobian": (lambda q, out=None: robot.jacobian(q, frame, out=out), ("q",)),
        "integrate": (lambda q, v, out=None: robot.integrate(q, v, 0.1, out=out), ("q", "v")),
        "difference": (lambda q, out=None: robot.difference(q, q[::-1].copy(), out=out), ("q",)),
        "actuation_matrix": (robot.actuation_matrix, ("q",)),
    }
    if hasattr(robot, "coriolis_matrix"):
        found["coriolis_matrix"] = (robot.coriolis_matrix, ("q", "v"))
    return found


def overlapping(given: np.ndarray, shape: tuple[int, ...], shift: int) -> tuple[np.ndarray, np.ndarray]:
    """A copy of an argument and an `out` of a shape that begins `shift` numbers later in the same memory."""
    size = max(given.size, shift + int(np.prod(shape)))
    memory = np.zeros(size)
    argument = memory[: given.size].reshape(given.shape)
    argument[...] = given
    return argument, memory[shift : shift + int(np.prod(shape))].reshape(shape)


@pytest.mark.parametrize("count", [COUNT, None])
@pytest.mark.parametrize("verb", sorted(verbs(flexdyn_ros.load("two_link"))))
def test_out_may_overlap_any_argument(robot: flexdyn_ros.Robot, verb: str, count: int | None) -> None:
    if verb not in verbs(robot):
        pytest.skip("not a verb of this robot")
    call, names = verbs(robot)[verb]
    if count is None and verb == "difference":
        pytest.skip("reverses rows")
    given = {name: array if count else array[0] for name, array in states(robot).items()}
    plain = call(*(given[name].copy() for name in names))
    # a single state without `out` takes another entry, which differs by rounding
    right = call(*(given[name].copy() for name in names), out=np.empty_like(plain))
    for name in names:
        width = given[name].shape[-1]
        for shift in sorted({0, 1, width, width * (COUNT // 2) if count else 2}):
            argument, out = overlapping(given[name], right.shape, shift)
            arguments = [argument if other == name else given[other].copy() for other in names]
            found = call(*arguments, out=out)
            assert found is out
            np.testing.assert_array_equal(found, right, err_msg=f"{name}, {shift} numbers further")


def test_out_may_be_a_wrench_or_one_argument_given_twice(robot: flexdyn_ros.Robot) -> None:
    given, frame = states(robot), robot.frame_names[-1]
    w = np.random.default_rng(5).normal(size=(COUNT, 6))
    right = robot.inverse_dynamics(given["q"], given["v"], given["a"], {frame: w})
    memory = np.zeros(max(right.size, w.size))
    wrench, out = memory[: w.size].reshape(w.shape), memory[: right.size].reshape(right.shape)
    wrench[...] = w
    found = robot.inverse_dynamics(given["q"], given["v"], given["a"], {frame: wrench}, out=out)
    np.testing.assert_array_equal(found, right)
    right = robot.inverse_dynamics(given["q"], given["v"], given["v"])
    twice = given["v"].copy()
    if robot.nu == robot.nv:
        np.testing.assert_array_equal(robot.inverse_dynamics(given["q"], twice, twice, out=twice), right)


def test_arguments_that_do_not_overlap_with_out_are_not_copied() -> None:
    from flexdyn_ros.robot.arguments import Rows, check_out

    q = np.zeros((4, 3))
    rows = Rows({"q": (q, 3)})
    check_out(np.empty((4, 3)), (4, 3), rows)
    assert rows.take("q") is q
    check_out(q, (4, 3), rows)
    assert not np.shares_memory(rows.take("q"), q)
