"""Errors name the remedy that works."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, StateError, UnknownNameError

STRIP = """<robot name="strip"><link name="base"/>
<link name="boom"><inertial><origin xyz="0.5 0 0"/><mass value="%(mass)s"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.17" iyz="0" izz="0.17"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 0 1"/></joint>
<flexdyn reference="boom">
  <beam length="1" mass_per_length="2" EA="1e7" EIy="100" EIz="100" GJ="100"/><modes bending_y="1"/>
  %(more)s</flexdyn></robot>"""
PAYLOAD = """<body name="payload" station="tip"><mass value="1.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></body>"""


def test_a_payload_on_a_tip_that_the_inertial_leaves_out_is_told_how_to_count():
    with pytest.raises(DescriptionError, match=r"which includes beam and bodies, 2 \+ 1\.5 kg") as refused:
        flexdyn_ros.load(STRIP % {"mass": "2", "more": PAYLOAD})
    assert "at least 3.5 kg" in refused.value.expected
    assert "<remainder" not in refused.value.expected
    # both remedies work: no <inertial>, or one of the whole link
    text = STRIP % {"mass": "2", "more": PAYLOAD}
    begin, end = text.index("<inertial>"), text.index("</inertial>") + len("</inertial>")
    assert flexdyn_ros.load(text[:begin] + text[end:]).mass == pytest.approx(3.5)
    com = (2 * 0.5 + 1.5 * 1.0) / 3.5
    central = 2 / 12 + 2 * (0.5 - com) ** 2 + 0.01 + 1.5 * (1 - com) ** 2
    whole = text.replace('xyz="0.5 0 0"', f'xyz="{com!r} 0 0"').replace('value="2"', 'value="3.5"')
    whole = whole.replace('ixx="0.001"', 'ixx="0.01"').replace('"0.17"', f'"{central!r}"')
    assert flexdyn_ros.load(whole).mass == pytest.approx(3.5)


def test_the_advice_is_not_repeated_after_it_was_followed():
    none = PAYLOAD + '<remainder station="none"/>'
    with pytest.raises(DescriptionError, match="differ by more than 1 %") as refused:
        flexdyn_ros.load(STRIP % {"mass": "2", "more": none})
    assert "<remainder" not in refused.value.expected
    assert "no <inertial>" in refused.value.expected


@pytest.mark.parametrize(
    ("robot", "frame"),
    [("flexible_two_link", "link_1@1.5"), ("soft_arm", "section_1@-0.1"), ("soft_arm", "section_1@x")],
)
def test_a_station_outside_the_link_is_told_from_an_unknown_frame(robot, frame):
    robot = flexdyn_ros.load(robot)
    if robot.kind == "continuum":
        frame = frame.replace("section_1", robot.section_names[0])
    with pytest.raises(UnknownNameError, match=r"expected 0 \(root\) to 1 \(tip\), in frame"):
        robot.frames(robot.neutral(), frame)
    with pytest.raises(UnknownNameError, match=r"unknown frame 'nobody@0\.5'"):
        robot.frames(robot.neutral(), "nobody@0.5")


def test_a_duration_that_misses_whole_steps_by_rounding_has_no_extra_row():
    robot = flexdyn_ros.load("seven_joint_arm")
    for dt, duration in ((1e-3, 0.05 + 5e-14), (2.0e-3, 0.02 * (1 - 1e-12)), (1e-3, 0.0500000000233)):
        run = flexdyn_ros.simulate(robot, duration, dt=dt, control=np.zeros(7))
        assert run.t.size == round(duration / dt) + 1
        assert run.t[-1] == duration
    short = flexdyn_ros.simulate(robot, 0.0005, dt=1e-3)
    assert short.t.tolist() == [0.0, 0.0005]


def test_numbers_that_are_not_finite_are_told_as_they_were_given_beside_accelerations():
    """Efforts and accelerations are written over by the answer."""
    robot, z = flexdyn_ros.load("two_link"), np.zeros(2)
    one, two, three = np.array([0.5, np.nan]), np.array([np.inf, 0.5]), np.array([z, z, [0.0, -np.inf]])
    for q, v, tau, given, message in (
        (z, z, one, {"shoulder": 0.5}, r"tau\[1\] is nan"),
        (z, z, two, {"elbow": 0.5}, r"tau\[0\] is inf"),
        (z, three, z, {"elbow": 0.5}, r"v\[1\] of sample 2 is -inf"),
        (z, z, three, {"shoulder": 0.5}, r"tau\[1\] of sample 2 is -inf"),
        (three, z, z, {"shoulder": 0.5}, r"q\[1\] of sample 2 is -inf"),
        (z, z, z, {"elbow": np.nan}, r"\[1\] is nan"),
    ):
        before = tau.copy()
        with pytest.raises(StateError, match=message):
            robot.forward_dynamics(q, v, tau, prescribed=given)
        assert np.array_equal(tau, before, equal_nan=True)
