"""Hypothesis strategies for requests and messages that may be wrong in every way."""

import array

from hypothesis import strategies as st

try:
    from geometry_msgs.msg import Pose

    from flexdyn_interfaces import srv
    from flexdyn_interfaces.msg import DynamicsState, ExternalWrench
except ImportError:
    srv = None

NAMES = [
    "",
    "base_link",
    "tool0",
    "shoulder_yaw",
    "elbow_pitch",
    "wrist_roll",
    "arm",
    "joints",
    "schlüssel",
    "a" * 300,
]
JOINTS = [
    "shoulder_yaw",
    "shoulder_pitch",
    "upper_arm_roll",
    "elbow_pitch",
    "forearm_roll",
    "wrist_pitch",
    "wrist_roll",
]

names = st.sampled_from(NAMES)
name_lists = st.lists(names, max_size=8) | st.just(JOINTS) | st.just(JOINTS[::-1])
numbers = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, 1.0, -1.0, 1e300, float("nan")]
)


@st.composite
def doubles(draw):
    """Arrays of good and bad sizes and contents; now and then a huge one."""
    size = draw(st.sampled_from([0, 1, 6, 7, 7, 7, 7, 8, 14, 49, 70_000]))
    values = array.array("d", [draw(st.sampled_from([0.0, 0.5, -0.3]))]) * size
    if size and draw(st.booleans()):
        values[draw(st.integers(0, size - 1))] = draw(numbers)
    return values


@st.composite
def wrenches(draw):
    wrench = ExternalWrench(frame=draw(names), axes=draw(names))
    wrench.wrench.force.x, wrench.wrench.torque.y = draw(numbers), draw(numbers)
    return wrench


@st.composite
def poses(draw):
    pose = Pose()
    pose.position.x, pose.orientation.x, pose.orientation.w = draw(numbers), draw(numbers), draw(numbers)
    return pose


@st.composite
def states(draw):
    return DynamicsState(
        robot=draw(names),
        position_names=draw(name_lists),
        velocity_names=draw(name_lists),
        positions=draw(doubles()),
        velocities=draw(doubles()),
        efforts=draw(doubles()),
    )


BY_TYPE = {
    "string": names,
    "sequence<string>": name_lists,
    "sequence<double>": doubles(),
    "uint32": st.sampled_from([0, 1, 1, 1, 2, 10_000, 2**32 - 1]),
    "uint8": st.sampled_from([0, 0, 0, 1, 2, 255]),
    "boolean": st.booleans(),
    "double": numbers,
}
if srv is not None:
    BY_TYPE |= {
        "sequence<flexdyn_interfaces/ExternalWrench>": st.lists(wrenches(), max_size=3),
        "flexdyn_interfaces/ExternalWrench": wrenches(),
        "flexdyn_interfaces/DynamicsState": states(),
        "sequence<geometry_msgs/Pose>": st.lists(poses(), max_size=3),
        "geometry_msgs/Pose": poses(),
    }


@st.composite
def filled(draw, kind):
    """A request of this type with every field drawn that there is a strategy for."""
    request = kind.Request()
    for field, of in request.get_fields_and_field_types().items():
        if of in BY_TYPE:
            setattr(request, field, draw(BY_TYPE[of]))
    if "robot" in request.get_fields_and_field_types() and draw(st.booleans()):
        request.robot = "arm"
    return request


@st.composite
def requests(draw):
    """(name, request) of one of the server's services."""
    from flexdyn_ros.nodes import SERVICES

    service = draw(st.sampled_from(SERVICES))
    return service.name, draw(filled(service.type))
