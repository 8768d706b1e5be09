"""States so large that float64 overflows are told by every verb; masked numbers and many axes are refused."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, FlexdynError, StateError

ROBOTS = (
    "two_link",
    "canadarm2",
    "mobile_arm",
    "mobile_arm_spatial",
    "soft_arm_3",
    "stewart_1t",
)
VERBS = (
    "inverse_dynamics", "forward_dynamics", "bias_forces", "bias_terms", "energy", "momentum",
    "center_of_mass", "mass_matrix", "frames", "jacobian", "frame_velocity", "frame_acceleration",
    "integrate", "linearize", "inverse_dynamics_derivatives", "coriolis_matrix", "regressor",
    "joint_reactions", "loads", "wheel_forces", "drive_force",
)  # fmt: skip
_OF_MOTIONS = ("inverse_dynamics", "inverse_dynamics_derivatives", "regressor", "joint_reactions", "loads")


def call(robot: flexdyn_ros.Robot, verb: str, q: np.ndarray, v: np.ndarray) -> Any:
    still, frame = np.zeros(v.shape), robot.frame_names[-1]
    arguments: dict[str, tuple[Any, ...]] = {
        **dict.fromkeys(("center_of_mass", "mass_matrix", "frames"), (q,)),
        "jacobian": (q, frame),
        "frame_velocity": (q, v, frame),
        "frame_acceleration": (q, v, still, frame),
        "integrate": (q, v, 1e200),
        **dict.fromkeys(_OF_MOTIONS, (q, v, still)),
    }
    return getattr(robot, verb)(*arguments.get(verb, (q, v)))


def numbers(result: Any) -> np.ndarray:
    """All numbers of a result in a row."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, tuple):
        return np.concatenate([numbers(part) for part in result if not _are_names(part)])
    return np.ravel(np.asarray(result, dtype=float)) if result is not None else np.zeros(0)


def _are_names(part: Any) -> bool:
    return isinstance(part, tuple) and all(isinstance(word, str) for word in part)


@pytest.fixture(scope="module", params=[*ROBOTS, "canadarm2 by lagrange"])
def robot(request: pytest.FixtureRequest) -> flexdyn_ros.Robot:
    name, _, method = request.param.partition(" by ")
    return flexdyn_ros.load(name, options={"formulation.method": method} if method else None)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("large", ["q", "v"])
def test_a_state_that_overflows_is_told_or_answered_in_numbers(
    robot: flexdyn_ros.Robot, verb: str, large: str
) -> None:
    if not hasattr(robot, verb):
        pytest.skip("not a verb of this robot")
    q, v = robot.neutral(), np.zeros(robot.nv)
    (q[:3] if large == "q" else v)[...] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(robot, verb, q, v)
        except FlexdynError:
            return
    assert np.isfinite(numbers(found)).all()


@pytest.mark.parametrize("verb", ["inverse_dynamics", "energy", "bias_terms"])
def test_overflow_is_a_state_error_and_a_row_of_nan_in_a_batch(verb: str) -> None:
    robot = flexdyn_ros.load("seven_joint_arm")
    q, v = np.zeros(7), np.full(7, 1e200)
    with pytest.raises(StateError, match=r"overflows float64: .*\|v\| up to 1e\+200"):
        call(robot, verb, q, v)
    rows = np.zeros((3, 7)), np.array([np.zeros(7), v, np.ones(7)])
    with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="overflows float64 in 1 of 3 samples"):
        found = call(robot, verb, *rows)
    for part in found if isinstance(found, tuple) else (found,):
        assert np.isnan(part[1]).all()
        assert np.isfinite(part[[0, 2]]).all()
        assert not np.isinf(part).any()


@pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
@pytest.mark.parametrize("locked", [0, 1])
def test_speeds_at_which_only_derivatives_overflow_are_told(robot: flexdyn_ros.Robot, locked: int) -> None:
    rng, lock = np.random.default_rng(1), robot.v_names[robot.nv - locked :]
    q, way = robot.random(rng), np.linspace(1.0, -0.3, robot.nv)
    for speed in np.logspace(151.0, 155.0, 65):
        try:
            found = robot.linearize(q, speed * way, lock=lock)
        except FlexdynError:
            break
        assert np.isfinite(numbers(found)).all()
    else:
        pytest.fail("nothing overflows")


def test_deflections_that_overflow_are_a_state_error() -> None:
    bending = flexdyn_ros.load("flexible_two_link")
    q = np.where([c.kind == "joint" for c in bending.coordinates], 0.0, 1e308)
    with pytest.raises(StateError, match="overflow"):
        bending.deflections(q)


def test_frame_velocities_that_overflow_are_told() -> None:
    robot = flexdyn_ros.load("two_link")
    q, v = np.full(2, 0.3), np.full(2, 1.5e308)
    for names in ("tip", ["lower", "tip"]):
        with pytest.raises(StateError, match=r"the velocity .*overflows float64"):
            robot.frame_velocity(q, v, names)
        with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="overflows float64 in 1 of 2 samples"):
            found = robot.frame_velocity(np.stack((q, q)), np.stack((np.ones(2), v)), names)
        assert np.isfinite(found[0]).all()
        assert np.isnan(found[1]).all()


def test_frame_velocity_refuses_what_is_no_number(robot: flexdyn_ros.Robot) -> None:
    v = np.zeros(robot.nv)
    v[0] = np.nan
    frame = robot.frame_names[-1]
    for names in (frame, [frame]):
        with pytest.raises(StateError, match=r"v\[0\].* is nan"):
            robot.frame_velocity(robot.neutral(), v, names)
    with pytest.raises(StateError, match=r"v\[0\] of sample 1 is nan"):
        robot.frame_velocity(robot.neutral(), np.array([np.zeros(robot.nv), v]), frame)


def test_masked_numbers_are_refused_and_masks_without_any_are_taken() -> None:
    robot = flexdyn_ros.load("two_link")
    v = np.zeros(2)
    with pytest.raises(StateError, match="masked entries in q: 1, expected"):
        robot.bias_forces(np.ma.array([1.0, 2.0], mask=[False, True]), v)
    whole = np.ma.array([1.0, 2.0], mask=False)
    np.testing.assert_array_equal(robot.bias_forces(whole, v), robot.bias_forces(whole.data, v))


def test_calls_go_on_while_another_thread_imports_masked_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = flexdyn_ros.load("two_link")
    expected = robot.bias_forces([1.0, 2.0], [0.0, 0.0])
    # as it is before its first definition
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    np.testing.assert_array_equal(robot.bias_forces([1.0, 2.0], [0.0, 0.0]), expected)


def test_arguments_have_thirty_axes_at_most() -> None:
    robot = flexdyn_ros.load("two_link")
    with pytest.raises(DimensionError, match="q has 40 axes, expected at most 30"):
        robot.mass_matrix(np.zeros((1,) * 39 + (2,)))
    assert robot.mass_matrix(np.zeros((1,) * 29 + (2,))).shape == (1,) * 29 + (2, 2)
