"""Verbs that ask one entry for single states answer as their general way, and object to the same things."""

from __future__ import annotations

import itertools
import sys
import threading
import time

import numpy as np
import pytest
from models import ELASTIC_JOINTS, elastic

import flexdyn_ros
from flexdyn_ros import Robot
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.robot.entries.heads import MOST_HEADS

ROBOTS = (
    "seven_joint_arm", "canadarm2", "mobile_arm", "mobile_arm_spatial", "soft_arm_3", "stewart_1t",
    "kane_beam",
)  # fmt: skip
#: of robots by name, what has no entry
WITHOUT_ENTRY = {
    "canadarm2": {"regressor"},
    "mobile_arm": {"difference"},
    "mobile_arm_spatial": {"difference"},
    "stewart_1t": {"difference", "inverse_dynamics_derivatives"},
    "kane_beam": {"difference", "regressor"},
}


@pytest.fixture(params=[*ROBOTS, *(f"elastic {name}" for name in ELASTIC_JOINTS)], scope="module")
def robot(request):
    what, _, name = request.param.rpartition(" ")
    return elastic(name) if what else flexdyn_ros.load(name)


def motion(robot, seed=3):
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), 0.02 * rng.normal(size=robot.nv), 1.0)
    return q, 0.3 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def has_motors(robot):
    return any(c.kind == "motor" for c in robot.coordinates)


def calls(robot):
    q, v, a = motion(robot)
    q1 = robot.integrate(q, v, 0.3)
    tau = robot.efforts(np.random.default_rng(5).normal(size=len(robot.actuators)))
    frames = robot.frame_names
    return {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, tau),
        "mass_matrix": (q,),
        "bias_forces": (q, v),
        "bias_terms": (q, v),
        "energy": (q, v),
        "momentum": (q, v),
        "center_of_mass": (q,),
        "actuation_matrix": (q,),
        "frames": (q, frames[-1]),
        "jacobian": (q, frames[-1]),
        "frame_velocity": (q, v, frames[-1]),
        "frame_acceleration": (q, v, a, frames[-1]),
        "integrate": (q, v, 0.1),
        "difference": (q, q1),
        **({"regressor": (q, v, a)} if robot.kind == "tree" and not has_motors(robot) else {}),
        "linearize": (q, v, tau),
        "inverse_dynamics_derivatives": (q, v, a),
    }


def arrays(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def test_an_entry_answers_as_the_general_way(robot):
    for verb, arguments in calls(robot).items():
        general = arrays(getattr(Robot, verb)(robot, *arguments))
        for _ in range(2):
            single = arrays(getattr(robot, verb)(*arguments))
            for one, two in zip(single, general, strict=True):
                assert one.shape == two.shape, verb
                assert np.abs(one - two).max() <= 1e-13 * max(1.0, np.abs(two).max()), verb


def goes_the_general_way(robot, verb, arguments, **options):
    """Whether the method of `Robot` runs when a verb is called."""
    answer, ran = getattr(robot, verb), []

    def watch(frame, event, _):
        if event == "call" and frame.f_code is getattr(Robot, verb).__code__:
            ran.append(verb)

    sys.setprofile(watch)
    try:
        answer(*arguments, **options)
    finally:
        sys.setprofile(None)
    return bool(ran)


def test_entries_leave_nothing_to_the_general_way(robot):
    """An entry that refuses good arguments would only be slow: the answer would be the general one."""
    asked = calls(robot)
    q = motion(robot)[0]
    names = list(robot.frame_names)
    asked |= {("frames", "several"): (q, names), ("frames", "all"): (q,), ("jacobian", "several"): (q, names)}
    general = set()
    for key, arguments in asked.items():
        verb = key if isinstance(key, str) else key[0]
        getattr(robot, verb)(*arguments)
        if goes_the_general_way(robot, verb, arguments):
            general.add(key)
    if robot.nu == robot.nv and not robot.driven.all():
        assert not goes_the_general_way(robot, "inverse_dynamics", motion(robot), unactuated="free")
    assert general == WITHOUT_ENTRY.get(robot.name, set())


def test_results_are_new_each_time(robot):
    for verb, arguments in calls(robot).items():
        first, second = (arrays(getattr(robot, verb)(*arguments)) for _ in range(2))
        kept = [x.copy() for x in first]
        for x in second:
            if x.ndim:
                x[...] = 7.0
        assert all(np.array_equal(x, y) for x, y in zip(first, kept, strict=True)), verb


def test_a_batch_is_its_rows(robot):
    for verb, arguments in calls(robot).items():
        rows = [np.stack([x, x]) if isinstance(x, np.ndarray) else x for x in arguments]
        one = arrays(getattr(robot, verb)(*arguments))
        many = arrays(getattr(robot, verb)(*rows))
        for single, both in zip(one, many, strict=True):
            assert both.shape == (2, *single.shape), verb
            assert np.abs(both - single).max() <= 1e-11 * max(1.0, np.abs(single).max()), verb


def test_what_is_wrong_is_told_by_entries_too(robot):
    for verb, arguments in calls(robot).items():
        q = arguments[0]
        bad = q.copy()
        bad[0] = np.nan
        for _ in range(2):
            with pytest.raises(StateError, match="finite"):
                getattr(robot, verb)(bad, *arguments[1:])
            with pytest.raises(DimensionError):
                getattr(robot, verb)(q[:-1], *arguments[1:])
            with pytest.raises(DimensionError):
                getattr(robot, verb)([], *arguments[1:])
    with pytest.raises(UnknownNameError):
        robot.frames(motion(robot)[0], "nowhere")
    with pytest.raises(UnknownNameError):
        robot.jacobian(motion(robot)[0], ("nowhere",))


def test_the_singular_centre_of_mass_and_lists_go_the_general_way(robot):
    q, v, a = motion(robot)
    assert np.allclose(robot.bias_forces(list(q), v), robot.bias_forces(q, v), rtol=1e-13)
    assert np.allclose(robot.integrate(q, v, 1), robot.integrate(q, v, 1.0), rtol=1e-13)
    out = np.empty(robot.nu)
    assert robot.inverse_dynamics(q, v, a, out=out) is out


def test_frames_by_every_kind_of_name(robot):
    q = motion(robot)[0]
    names = list(robot.frame_names)
    whole = robot.frames(q)
    for _ in range(2):
        assert np.array_equal(robot.frames(q, names), whole)
        assert np.array_equal(robot.frames(q, tuple(names)), whole)
        assert np.array_equal(robot.frames(q, names[-1]), whole[-1])
        assert robot.frames(q, []).shape == (0, 4, 4)
        J = robot.jacobian(q, names)
        assert np.array_equal(J[-1], robot.jacobian(q, names[-1]))


def test_acceleration_of_frames_by_differences_of_velocities(robot):
    q, v, a = motion(robot)
    names, h = robot.frame_names[-2:], 1e-5

    def velocity(t):
        # q (+) (v t + a t^2 / 2): its rate is v + a t to first order in t
        return robot.frame_velocity(robot.integrate(q, v + 0.5 * a * t, t), v + a * t, names)

    expected = (velocity(h) - velocity(-h)) / (2.0 * h)
    found = robot.frame_acceleration(q, v, a, names)
    assert np.abs(found - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())
    assert np.allclose(robot.frame_acceleration(q, v, a, names[-1]), found[-1], rtol=1e-12, atol=1e-12)


MIMIC = """<robot name="fingers">
  <link name="base"/><link name="arm"/><link name="left"/><link name="right"/>
  {bodies}
  <joint name="slew" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="10" velocity="5"/></joint>
  <joint name="l" type="prismatic"><parent link="arm"/><child link="left"/><origin xyz="0.3 0.05 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/></joint>
  <joint name="r" type="prismatic"><parent link="arm"/><child link="right"/><origin xyz="0.3 -0.05 0"/>
    <axis xyz="0 -1 0.2"/><mimic joint="l" multiplier="1.5"/>
    <limit lower="-1" upper="1" effort="10" velocity="5"/></joint>
</robot>"""


def test_forward_dynamics_with_mimic_joints_is_one_call_and_solves_the_equations():
    body = (
        '<inertial><origin xyz="0.1 0.02 0"/><mass value="2"/>'
        '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial>'
    )
    text = MIMIC.format(bodies="")
    for link in ("arm", "left", "right"):
        text = text.replace(f'<link name="{link}"/>', f'<link name="{link}">{body}</link>')
    robot = flexdyn_ros.load(text)
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, v, tau = rng.normal(size=(3, robot.nv))
        a = robot.forward_dynamics(q, v, tau)
        expected = np.linalg.solve(robot.mass_matrix(q), tau - robot.bias_forces(q, v))
        assert np.abs(a - expected).max() <= 1e-12 * np.abs(expected).max()
        assert np.array_equal(a, Robot.forward_dynamics(robot, q, v, tau))


def test_inverse_dynamics_of_what_nothing_drives():
    robot = flexdyn_ros.load("canadarm2")
    q, v, a = motion(robot)
    short = robot.inverse_dynamics(q, v, a, unactuated="free")
    general = Robot.inverse_dynamics(robot, q, v, a, unactuated="free")
    assert np.abs(short - general).max() <= 1e-12 * np.abs(general).max()
    free = [i for i, c in enumerate(robot.coordinates) if not c.actuated]
    assert np.all(short[free] == 0.0)
    # modes accelerate by 1e5 times what joints do: rounding is as large as a part of that
    found, driven = robot.forward_dynamics(q, v, short), [robot.index(n) for n in robot.actuators]
    assert np.abs(found - a)[driven].max() <= 1e-12 * np.abs(found).max()
    # bent a tenth as far, it is below what is asked of the joints themselves
    short = robot.inverse_dynamics(0.1 * q, v, a, unactuated="free")
    found = robot.forward_dynamics(0.1 * q, v, short)
    assert np.allclose(found[driven], a[driven], rtol=1e-8)


def test_a_fast_path_outlives_many_choices_of_frames():
    """It keeps the address of its head: what has been freed is written to otherwise."""
    robot = flexdyn_ros.load("canadarm2")
    q, v = robot.neutral(), np.ones(robot.nv)
    expected = robot.integrate(q, v, 1.0)
    head = robot.functions.heads.looking("moved")
    choices = itertools.islice(itertools.product(robot.frame_names, repeat=3), MOST_HEADS + 1)
    for names in choices:
        robot.functions.heads.poses_of(names)
    assert robot.functions.heads.looking("moved") is head
    np.testing.assert_array_equal(robot.integrate(q, v, 1.0), expected)


def test_threads_that_ask_at_once_get_one_head():
    robot = flexdyn_ros.load("canadarm2")
    both = threading.Barrier(2)
    found = []

    def make():
        both.wait(60.0)
        return robot.functions.heads.new(looking="moved", results=robot.nq)

    threads = [
        threading.Thread(target=lambda: found.append(robot.functions.heads.kept("moved", make))) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert found[0] is found[1]


def test_threads_that_ask_at_once_for_a_property_get_one_value():
    """`functools.cached_property` has no lock since Python 3.12."""
    from flexdyn_ros.robot.threads import shared_property

    class Owner:
        made = 0

        @shared_property
        def value(self):
            self.made += 1
            time.sleep(0.05)
            return object()

    owner, found, both = Owner(), [], threading.Barrier(4)

    def ask():
        both.wait(60.0)
        found.append(owner.value)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert owner.made == 1
    assert len(set(map(id, found))) == 1
