"""The interface files say what the table says, each field with a comment; the built package says the same."""

import importlib
import json
import re
from pathlib import Path

import pytest
from nodes.interface_table import ACTIONS, CONSTANTS, MESSAGES, SERVICES

PACKAGE = Path(__file__).parents[2] / "flexdyn_interfaces"
FILES = (
    [("msg", name, sections) for name, sections in MESSAGES.items()]
    + [("srv", name, sections) for name, sections in SERVICES.items()]
    + [("action", name, sections) for name, sections in ACTIONS.items()]
)
IDS = [f"{folder}/{name}" for folder, name, _ in FILES]
each_file = pytest.mark.parametrize(("folder", "name", "sections"), FILES, ids=IDS)

LINE = re.compile(r"(?P<type>[\w/\[\]]+)\s+(?P<name>\w+)(=(?P<value>\S+))?\s*(#\s*(?P<comment>.*\S))?\s*$")


def read_lines(folder, name):
    """Sections of one interface file, each a list of matched declarations (comment lines left out)."""
    sections = [[]]
    for number, line in enumerate((PACKAGE / folder / f"{name}.{folder}").read_text().splitlines(), 1):
        if line.strip() == "---":
            sections.append([])
        elif line.strip() and not line.startswith("#"):
            match = LINE.match(line)
            assert match, f"{folder}/{name}:{number}: cannot read {line!r}"
            sections[-1].append(match)
    return sections


def fields_of(section):
    """[(type, name)] of a section of the table; types of the package itself in full."""
    return [tuple(line.split()) for line in section.splitlines() if line.strip()]


def full_type(text):
    base = text.removesuffix("[]")
    own = base[0].isupper()
    return f"flexdyn_interfaces/{text}" if own else text


def test_every_file_is_in_the_table():
    on_disk = {
        f"{path.parent.name}/{path.stem}"
        for path in PACKAGE.glob("*/*")
        if path.suffix in (".msg", ".srv", ".action")
    }
    assert on_disk == set(IDS)


@each_file
def test_fields_are_those_of_the_table(folder, name, sections):
    declared = [
        [(full_type(m["type"]), m["name"]) for m in section if m["value"] is None]
        for section in read_lines(folder, name)
    ]
    assert declared == [fields_of(section) for section in sections]


@each_file
def test_constants_are_those_of_the_table(folder, name, sections):
    declared = {
        m["name"]: int(m["value"]) for section in read_lines(folder, name) for m in section if m["value"]
    }
    assert declared == CONSTANTS.get(name, {})


@each_file
def test_every_field_has_a_comment(folder, name, sections):
    bare = [m["name"] for section in read_lines(folder, name) for m in section if not m["comment"]]
    assert not bare


@each_file
def test_every_number_has_a_unit(folder, name, sections):
    """A float64 states its unit in brackets."""
    bare = [
        m["name"]
        for section in read_lines(folder, name)
        for m in section
        if m["type"].startswith("float64") and not re.search(r"\[[^\]]+\]", m["comment"] or "")
    ]
    assert not bare


# -- the built package ------------------------------------------------------------------------------------

PYTHON_TYPES = {"float64": "double", "bool": "boolean"}


def python_type(text):
    """What rosidl calls a type of an interface file: `float64[]` is `sequence<double>`."""
    base = text.removesuffix("[]")
    base = PYTHON_TYPES.get(base, base)
    return f"sequence<{base}>" if text.endswith("[]") else base


def built(folder, name):
    """Classes of one built interface, in the order of its sections."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed here")
    module = importlib.import_module(f"flexdyn_interfaces.{folder}")
    interface = getattr(module, name)
    parts = {"msg": (), "srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}[folder]
    return [getattr(interface, part) for part in parts] or [interface]


@pytest.mark.ros
@each_file
def test_built_interface_has_the_fields_of_the_table(folder, name, sections):
    for cls, section in zip(built(folder, name), sections, strict=True):
        expected = {field: python_type(kind) for kind, field in fields_of(section)}
        assert cls.get_fields_and_field_types() == expected
        assert repr(cls())


@pytest.mark.ros
@each_file
def test_built_interface_has_the_constants_of_the_table(folder, name, sections):
    holder = built(folder, name)[0]
    assert {key: getattr(holder, key) for key in CONSTANTS.get(name, {})} == CONSTANTS.get(name, {})


@pytest.mark.ros
def test_messages_survive_serialization():
    """A nested message with every kind of field comes back equal from its bytes."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed here")
    from geometry_msgs.msg import Vector3
    from rclpy.serialization import deserialize_message, serialize_message

    from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections

    link = LinkDeflection(
        link="boom", frame_id="boom/beam", length=7.11, stations=[0.0, 1.0], strains=[0.0, 1e-4]
    )
    link.displacements = [Vector3(), Vector3(x=1e-3, y=2e-3, z=-3e-3)]
    link.axial_forces = [1.5, -2.5]
    sent = LinkDeflections(robot="arm", links=[link])
    sent.header.frame_id = "world"
    assert deserialize_message(serialize_message(sent), LinkDeflections) == sent


def hashes_of(package):
    """Type hashes by name, of all that an installed package of interfaces defines or uses."""
    prefix = Path(importlib.import_module(package).__file__).parents[4]
    found = {}
    for file in (prefix / "share" / package).rglob("*.json"):
        found |= {
            entry["type_name"]: entry["hash_string"] for entry in json.loads(file.read_text())["type_hashes"]
        }
    return found


@pytest.mark.ros
def test_the_frames_message_talks_to_tf2():
    """TFMessage has the type hash of geometry2's (seen in a kilted installation), whoever built it."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed here")
    expected = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
    assert hashes_of("tf2_msgs")["tf2_msgs/msg/TFMessage"] == expected


@pytest.mark.ros
def test_the_trajectory_action_talks_to_ros2_control():
    """The action and its messages have the type hashes of control_msgs (made from its sources), whoever built
    it: ours those of 6.3 and later, an installed one may be older (to 5.8, jazzy)."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed here")
    now = "RIHS01_ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0"
    before = "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6"
    found = hashes_of("control_msgs")
    import control_msgs

    share = Path(control_msgs.__file__).parents[4] / "share" / "control_msgs" / "package.xml"
    is_ours = "<version>0.1.0</version>" in share.read_text()
    assert found["control_msgs/action/FollowJointTrajectory"] in ((now,) if is_ours else (now, before))
    for name, hashed in (
        ("JointTolerance", "RIHS01_c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648"),
        (
            "JointComponentTolerance",
            "RIHS01_739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
        ),
        (
            "JointTrajectoryControllerState",
            "RIHS01_51d8dd89cc624cbe9daaeeb4d80d6de9b86168ffdc3be41fefc0953e3c26e480",
        ),
        ("DynamicJointState", "RIHS01_18024c98a62697680f581108eeed40b28fb4542fa0ac5a8e36f56c62b6813d26"),
    ):
        assert found[f"control_msgs/msg/{name}"] == hashed
