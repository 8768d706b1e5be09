"""Markers show the deformation that the library computes, whatever way their bytes are made."""

from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")
pytest.importorskip("tf2_msgs.msg")

from builtin_interfaces.msg import Time  # noqa: E402
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import HydraulicState, LinkDeflections  # noqa: E402
from flexdyn_ros.expanded.colour_scale import UNKNOWN, colours_of  # noqa: E402
from flexdyn_ros.expanding import appearance_of  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import deflection_message  # noqa: E402
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters  # noqa: E402
from flexdyn_ros.nodes.state_publisher.deformation_mesh import (  # noqa: E402
    DeflectionReader,
    DeformationMesh,
)
from flexdyn_ros.nodes.state_publisher.picture import (  # noqa: E402
    CylinderMarkers,
    Picture,
    deepest_link,
)
from flexdyn_ros.nodes.state_publisher.scenery import RoadStrip  # noqa: E402
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms, TransformMessage  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("canadarm2")


def bytes_of(robot, q, seconds=3):
    message = deflection_message(robot, robot.deflections(q))
    message.header.stamp = Time(sec=seconds, nanosec=7)
    return message, bytes(serialize_message(message))


def read_deflections(data):
    """Stamp and links of a single message."""
    return DeflectionReader().read(data)


def settings(**values):
    return StatePublisherParameters(**values)


def mesh_of(robot, q, **values):
    """Markers of a configuration, as a subscriber gets them."""
    stamp, bent = read_deflections(bytes_of(robot, q)[1])
    made = DeformationMesh(robot.description).message(stamp, bent, settings(**values))
    return deserialize_message(made, MarkerArray).markers


def points_of(marker):
    return np.array([(p.x, p.y, p.z) for p in marker.points])


def test_deflections_are_read_from_their_bytes(arm):
    q = arm.random(np.random.default_rng(0))
    message, data = bytes_of(arm, q)
    stamp, links = read_deflections(data)
    assert stamp == (3, 7)
    assert [(b.link, b.frame, b.length) for b in links] == [
        (m.link, m.frame_id, m.length) for m in message.links
    ]
    for bent, said in zip(links, arm.deflections(q).values(), strict=True):
        for name in ("displacement", "rotation", "strain", "moment"):
            np.testing.assert_array_equal(getattr(bent, name), np.nan_to_num(getattr(said, name)))


@pytest.mark.parametrize("data", [b"", b"\0\1\0\0", b"\0\0\0\0" + bytes(40), b"\0\1\0\0" + b"\xff" * 60])
def test_bytes_that_are_no_deflections_are_refused(data):
    with pytest.raises(ValueError, match="message"):
        read_deflections(data)


def test_deflections_with_missing_entries_are_refused(arm):
    message, _ = bytes_of(arm, arm.neutral())
    message.links[0].strains = message.links[0].strains[:3]
    with pytest.raises(ValueError, match="boom_1"):
        read_deflections(bytes(serialize_message(message)))


def test_a_reader_follows_messages_of_other_robots_and_forgets_wrong_ones(arm):
    """One reader for all: each message is read as if it were the first."""
    reader = DeflectionReader()
    rng = np.random.default_rng(10)
    robots = [arm, flexdyn_ros.load("soft_arm_3"), arm.with_payload("tool0", 3.0), arm]
    for robot in [r for r in robots for _ in range(3)]:
        _, data = bytes_of(robot, robot.random(rng), int(rng.integers(1000)))
        stamp, links = reader.read(data)
        expected = read_deflections(data)
        assert stamp == expected[0]
        for bent, first in zip(links, expected[1], strict=True):
            for found, said in zip(bent, first, strict=True):
                np.testing.assert_array_equal(found, said)
        for wrong in (data[:-40], data[:40], b""):
            with pytest.raises(ValueError, match="message"):
                reader.read(wrong)
        again = reader.read(data)[1]
        np.testing.assert_array_equal(again[0].rotation, links[0].rotation)
    other = deflection_message(arm, arm.deflections(arm.neutral(), np.linspace(0.0, 0.5, 21)))
    _, links = reader.read(bytes(serialize_message(other)))
    assert links[0].stations[-1] == 0.5


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "soft_arm_3"])
def test_meshes_lie_around_the_bent_centre_line(name):
    """Against the section frames of the library, in the world."""
    robot = flexdyn_ros.load(name)
    q = robot.random(np.random.default_rng(1))
    expanded = flexdyn_ros.expand(robot)
    for marker in mesh_of(robot, q):
        assert marker.type == Marker.TRIANGLE_LIST
        assert marker.frame_locked
        link = marker.ns.removeprefix("deformation/")
        triangles = points_of(marker).reshape(-1, 3, 3)
        base = frame_of(robot, expanded, marker.header.frame_id, q)
        for station, at in ((0.0, 0), (0.5, 10)):
            T = np.linalg.inv(base) @ robot.frames(q, f"{link}@{station}")
            away = (ring_at(triangles, at) - T[:3, 3]) @ T[:3, :3]
            along = 2 if marker.header.frame_id.endswith("/base") else 0
            np.testing.assert_allclose(away[:, along], 0.0, atol=2e-6 * robot_size(robot))
            spread = np.linalg.norm(np.delete(away, along, axis=1), axis=1)
            np.testing.assert_allclose(spread, spread[0], rtol=1e-4)


def ring_at(triangles, station):
    """First corners of the triangles of a round tube between a station and the next."""
    return triangles[: 2 * 12 * 20].reshape(20, 12, 2, 3, 3)[station, :, 0, 0]


def robot_size(robot):
    points = robot.frames(robot.neutral())[:, :3, 3]
    return float(np.max(np.ptp(points, axis=0)))


def frame_of(robot, expanded, frame, q):
    """Pose of a frame of the expanded description in the world."""
    path = JointTransforms(expanded.urdf).path_to(frame)
    T = robot.frames(q, robot.description.root)
    transforms = JointTransforms(expanded.urdf)
    rows, p, quaternion = transforms.poses(expanded.joint_names, expanded.joint_positions(q).tolist())
    from scipy.spatial.transform import Rotation

    for joint in path:
        number = transforms.number_of(joint.name)
        i = list(rows).index(number) if number >= 0 else None
        step = np.eye(4)
        step[:3, 3] = joint.position if i is None else p[i]
        step[:3, :3] = Rotation.from_quat(joint.quaternion if i is None else quaternion[i]).as_matrix()
        T = T @ step
    return T


def test_meshes_are_closed_and_look_outwards(arm):
    trimesh = pytest.importorskip("trimesh")
    for marker in mesh_of(arm, arm.neutral()):
        points = points_of(marker)
        mesh = trimesh.Trimesh(points, np.arange(len(points)).reshape(-1, 3))
        mesh.merge_vertices()
        assert mesh.is_watertight
        # a prism of twelve sides
        assert mesh.volume == pytest.approx(6 * np.sin(np.pi / 6) * (0.022 * 7.11) ** 2 * 7.11, rel=1e-6)


def test_magnification_zero_is_the_undeformed_link_and_two_is_twice(arm):
    q = 1e-3 * arm.random(np.random.default_rng(2))
    straight, once, twice = (points_of(mesh_of(arm, q, magnification=m)[0]) for m in (0.0, 1.0, 2.0))
    np.testing.assert_array_equal(straight, points_of(mesh_of(arm, arm.neutral())[0]))
    moved = np.abs(once - straight).max()
    assert moved > 1e-6
    # but for second order in the rotations
    np.testing.assert_allclose(twice - straight, 2.0 * (once - straight), rtol=0, atol=1e-3 * moved)


@pytest.mark.parametrize("colour", ["strain", "moment", "displacement"])
def test_colours_are_those_of_the_quantity(colour):
    robot = flexdyn_ros.load("flexible_two_link")
    q = robot.random(np.random.default_rng(3))
    found = robot.deflections(q)
    values = {
        name: np.abs(d.strain) if colour == "strain" else np.linalg.norm(getattr(d, colour), axis=-1)
        for name, d in found.items()
    }
    top = max(value.max() for value in values.values())
    for marker in mesh_of(robot, q, colour=colour):
        value = values[marker.ns.removeprefix("deformation/")]
        # the section of these links is a rectangle: four sides of two triangles between stations
        found_colours = np.array([(c.r, c.g, c.b) for c in marker.colors])[: 2 * 3 * 4 * 20]
        first = found_colours.reshape(20, 4, 2, 3, 3)[:, 0, 0, 0]
        # one step of the table
        np.testing.assert_allclose(first, colours_of(value[:-1] / top) / 255, atol=0.02)


def test_a_link_without_a_section_is_grey_where_the_strain_of_another_is_known():
    text = flexdyn_ros.load("flexible_two_link").description.text
    numbers = '<beam mass_per_length="0.47" EIy="1.6" EIz="1600" GJ="6"/>'
    known = '<beam><rectangle width="0.0015" height="0.04"/><material name="steel"/></beam>'
    assert known in text
    robot = flexdyn_ros.load(text.replace(known, numbers))
    q = robot.random(np.random.default_rng(3))
    first, second = mesh_of(robot, q, colour="strain")
    assert {(c.r, c.g, c.b) for c in second.colors} == {(np.float32(UNKNOWN[0] / 255),) * 3}
    assert len({(c.r, c.g, c.b) for c in first.colors}) > 5
    # moments of both are known
    assert len({(c.r, c.g, c.b) for c in mesh_of(robot, q, colour="moment")[1].colors}) > 5


def test_velocity_is_the_change_of_the_displacement(arm):
    mesh = DeformationMesh(arm.description)
    chosen = settings(colour="velocity")
    q = arm.neutral()
    bent = arm.coordinates[1]
    assert bent.name == "boom_1/bending_y/1"
    for seconds, value in ((3, 0.0), (4, 0.01)):
        q[bent.q_index] = value
        stamp, links = read_deflections(bytes_of(arm, q, seconds)[1])
        mesh.message(stamp, links, chosen)
    tip = np.linalg.norm(arm.deflections(q)["boom_1"].displacement[-1])
    # the stamps differ by a second and nothing else
    assert mesh.top == pytest.approx(tip, rel=1e-9)


def test_the_scale_of_colours_grows_and_can_be_given(arm):
    mesh = DeformationMesh(arm.description)
    first = 0.0
    for factor, top in ((1.0, 1.0), (0.5, 1.0), (2.0, 2.0)):
        q = factor * arm.random(np.random.default_rng(4))
        stamp, links = read_deflections(bytes_of(arm, q)[1])
        mesh.message(stamp, links, settings(colour="moment"))
        first = first or mesh.top
        assert mesh.top == pytest.approx(top * first, rel=1e-6)
    mesh.message(stamp, links, settings(colour="moment", colour_limit=7.0))
    assert mesh.top == 7.0


def test_a_first_jolt_does_not_leave_what_follows_in_one_colour(arm):
    mesh = DeformationMesh(arm.description)
    q = arm.neutral()
    bent = [c.q_index for c in arm.coordinates if "bending" in c.name]

    def top_at(seconds, factor):
        q[bent] = factor * 0.01
        mesh.message(*read_deflections(bytes_of(arm, q, seconds)[1]), settings(colour="strain"))
        return mesh.top

    jolt = top_at(10, 1.0)
    # its links have no section: their strains are not known
    assert mesh.quantity == "moment"
    moments = [np.linalg.norm(d.moment, axis=-1).max() for d in arm.deflections(q).values()]
    assert jolt == pytest.approx(max(moments), rel=1e-6)
    assert top_at(11, 0.1) == jolt
    assert top_at(12, 0.2) == jolt
    assert top_at(14, 0.1) == pytest.approx(0.2 * jolt, rel=1e-6)
    # larger at once; rest is a thousandth of the largest, not rounding
    assert top_at(15, 0.5) == pytest.approx(0.5 * jolt, rel=1e-6)
    for seconds in range(16, 30):
        rest = top_at(seconds, 1e-9)
    assert rest == pytest.approx(1e-3 * jolt, rel=1e-6)


def test_transforms_as_bytes_are_the_messages(arm):
    expanded = flexdyn_ros.expand(arm)
    transforms = JointTransforms(expanded.urdf, "left/")
    positions = expanded.joint_positions(arm.random(np.random.default_rng(5))).tolist()
    rows, p, q = transforms.poses(expanded.joint_names, positions)
    stamp = Time(sec=8, nanosec=9)
    made = TransformMessage([transforms.frames_of(row) for row in rows.tolist()]).filled(stamp, p, q)
    expected = []
    for row, (x, y, z), (qx, qy, qz, qw) in zip(rows.tolist(), p.tolist(), q.tolist(), strict=True):
        parent, child = transforms.frames_of(row)
        message = TransformStamped(child_frame_id=child)
        message.header.stamp, message.header.frame_id = stamp, parent
        message.transform.translation = Vector3(x=x, y=y, z=z)
        message.transform.rotation = Quaternion(x=qx, y=qy, z=qz, w=qw)
        expected.append(message)
    assert deserialize_message(made, TFMessage).transforms == expected


def heard(picture, robot, q, seconds=3):
    expanded = flexdyn_ros.expand(robot)
    transforms = JointTransforms(expanded.urdf)
    picture.take_joints(
        float(seconds), *transforms.poses(expanded.joint_names, expanded.joint_positions(q).tolist())
    )


def test_the_tip_leaves_a_trace_where_the_library_has_it(arm):
    picture = Picture(arm, flexdyn_ros.expand(arm), "world", settings(trace_duration=10.0))
    assert deepest_link(arm.description) == "tool0"
    rng = np.random.default_rng(6)
    way = [arm.random(rng) for _ in range(3)]
    for seconds, q in enumerate(way):
        heard(picture, arm, q, seconds)
    (trace,) = (marker for marker in picture.markers() if marker.ns == "tip_trace")
    expected = arm.frames(np.array(way), "tool0")[:, :3, 3]
    np.testing.assert_allclose(points_of(trace), expected, atol=1e-9)
    assert trace.header.frame_id == "world"


def test_ghosts_and_legend_come_once_a_second(arm):
    picture = Picture(arm, flexdyn_ros.expand(arm), "world", settings(colour="moment"))
    q = arm.random(np.random.default_rng(7))
    assert picture.mesh_message(bytes_of(arm, q)[1])
    groups = [{marker.ns.split("/")[0] for marker in picture.markers()} for _ in range(12)]
    assert groups[0] == groups[10] == {"undeformed", "legend"}
    assert not any(groups[1:10])
    picture.change(settings(colour="moment", ghost=False))
    markers = picture.markers()
    texts = [marker.text for marker in markers if marker.type == Marker.TEXT_VIEW_FACING]
    top = max(np.linalg.norm(d.moment, axis=-1).max() for d in arm.deflections(q).values())
    assert texts == ["0", f"{1e-3 * top:.3g} kN m", "moment"]
    assert {marker.ns for marker in markers} == {"legend"}


def test_the_road_lies_under_the_wheels():
    robot = flexdyn_ros.load("mobile_arm")
    strip = RoadStrip(appearance_of(robot.description), "odom")
    points = points_of(strip.marker(2.0))
    # the description's own formula: 0.03 + 0.03 sin(2 pi (x + 0.35) / 0.4 + pi)
    expected = 0.03 + 0.03 * np.sin(2 * np.pi * (points[:, 0] + 0.35) / 0.4 + np.pi)
    np.testing.assert_allclose(points[:, 2], expected, atol=1e-12)
    assert points[:, 0].min() < 1.0
    assert points[:, 0].max() > 4.0
    assert strip.marker(2.1) is None
    assert strip.marker(3.0) is not None


def test_legs_show_force_and_pressures():
    robot = flexdyn_ros.load("stewart_1t")
    legs = CylinderMarkers(robot, flexdyn_ros.expand(robot), "")
    names = list(robot.effort_names)
    forces = JointState(name=names, effort=[2000.0, -1000.0, 0.0, 0.0, 0.0, 0.0])
    legs.take(legs.force, forces.name, forces.effort)
    state = HydraulicState(names=names, pressure_bore=[5e6] * 6, pressure_rod=[3e6] * 6)
    legs.take(legs.bore, state.names, state.pressure_bore)
    legs.take(legs.rod, state.names, state.pressure_rod)
    markers = legs.markers()
    # between two messages they move with the rods
    assert all(marker.frame_locked for marker in markers)
    arrows = [marker for marker in markers if marker.type == Marker.ARROW]
    assert [marker.header.frame_id for marker in arrows] == [f"leg_{n}_rod" for n in range(1, 7)]
    lengths = [marker.points[1].z - marker.points[0].z for marker in arrows]
    assert lengths[0] == pytest.approx(-2.0 * lengths[1])
    assert next(marker.text for marker in markers if marker.ns == "cylinder_text") == "2.0kN\n50|30bar"


@pytest.mark.parametrize(
    ("name", "largest"),
    [("boom", 331e3), ("excavator", 790e3), ("boom_on_cylinder", 6e3), ("hexapod_arm", 400.0)],
)
def test_cylinders_show_their_forces_at_their_rods(name, largest):
    """Along the line between their two points, by the efforts of the joints that the simulator publishes."""
    robot = flexdyn_ros.load(name)
    expanded = flexdyn_ros.expand(robot)
    picture = Picture(robot, expanded, "world", settings(frame_prefix="left/"))
    q, tau = robot.random(np.random.default_rng(8)), np.zeros(robot.nu)
    names = [each for each in robot.effort_names if each not in robot.v_names]
    tau[robot.nu - len(names) :] = largest * np.resize([0.2, -0.4, 0.1], len(names))
    efforts = expanded.joint_efforts(tau).tolist()
    assert [m for m in picture.markers() if m.ns.startswith("cylinder")] == []
    picture.take_efforts(JointState(name=list(expanded.joint_names), effort=efforts))
    arrows = {m.id: m for m in picture.markers() if m.ns == "cylinder_force"}
    texts = [m.text for m in picture.markers() if m.ns == "cylinder_text"]
    assert texts == [f"{1e-3 * force:.1f}kN" for force in tau[robot.nu - len(names) :]]
    length = robot.cylinder_states(q, np.zeros(robot.nv)).length
    for i, one in arrows.items():
        frame = one.header.frame_id
        assert frame.startswith("left/")
        T = frame_of(robot, expanded, frame.removeprefix("left/"), q)
        foot, tip = points_of(one) @ T[:3, :3].T + T[:3, 3]
        # a step of the length, which the rod takes: its frame moves along the arrow
        way = rod_line(robot, expanded, names[i], frame.removeprefix("left/"), q)
        np.testing.assert_allclose(np.linalg.norm(way), length[i], rtol=1e-6)
        along = (tip - foot) / np.linalg.norm(tip - foot)
        sign = np.sign(tau[robot.nu - len(names) + i])
        np.testing.assert_allclose(along, sign * way / length[i], atol=1e-6)
    reach = [float(np.linalg.norm(np.ptp(points_of(one), axis=0))) for one in arrows.values()]
    if len(names) > 2:
        np.testing.assert_allclose(np.array(reach[1:3]) / reach[0], [2.0, 0.5], rtol=1e-9)


def rod_line(robot, expanded, name, frame, q):
    """From the point of a cylinder at its base to that at its end, in the world."""
    barrel = frame.removesuffix("rod") + ("barrel" if "/" in frame else "cylinder")
    ends = [frame_of(robot, expanded, each, q)[:3, 3] for each in (barrel, frame)]
    return ends[1] - ends[0]


def test_cylinders_on_oil_show_pressures_and_forces_by_name_come_first():
    robot = flexdyn_ros.load("boom")
    picture = Picture(robot, flexdyn_ros.expand(robot), "world", settings())
    assert picture.wants("leg_states")
    assert not Picture(
        flexdyn_ros.load("two_link"), flexdyn_ros.expand(flexdyn_ros.load("two_link")), "world", settings()
    ).wants("leg_states")
    picture.take_efforts(JointState(name=["lift_cylinder/length", "lift"], effort=[90e3, 5.0]))
    names = ["lift_cylinder", "fold_cylinder", "nobody"]
    state = HydraulicState(names=names, pressure_bore=[134e5, 89e5, 1.0], pressure_rod=[139e5, 184e5, 1.0])
    picture.take_pressures(state)
    text = {m.id: m.text for m in picture.markers() if m.ns == "cylinder_text"}
    # the force of the second is not known
    assert text == {0: "90.0kN\n134|139bar"}
    picture.take_legs(JointState(name=names, effort=[-20e3, 30e3, 1.0]))
    picture.take_efforts(JointState(name=["lift_cylinder/length"], effort=[91e3]))
    text = {m.id: m.text for m in picture.markers() if m.ns == "cylinder_text"}
    assert text == {0: "-20.0kN\n134|139bar", 1: "30.0kN\n89|184bar"}
    (arrow, *_) = (m for m in picture.markers() if m.ns == "cylinder_force")
    # 331 kN, the largest of three pistons under the pressure of the supply, is half a cylinder
    q = robot.neutral()
    mean = robot.cylinder_states(q, np.zeros(robot.nv)).length.mean()
    bore = 0.25 * np.pi * 0.125**2 * 270e5
    assert np.linalg.norm(np.ptp(points_of(arrow), axis=0)) == pytest.approx(
        0.5 * mean * 20e3 / bore, rel=1e-6
    )


def test_a_rigid_robot_has_no_mesh():
    robot = flexdyn_ros.load("seven_joint_arm")
    empty = bytes(serialize_message(LinkDeflections()))
    picture = Picture(robot, flexdyn_ros.expand(robot), "world", settings(trace_duration=0.0))
    assert picture.mesh_message(empty) is None
    assert picture.markers() == []


def test_settings_that_run_can_be_changed_and_no_others():
    from flexdyn_ros.nodes import ParameterError
    from flexdyn_ros.nodes.ros.declaration import check_changes

    change = SimpleNamespace(name="magnification", value=20.0)
    other = SimpleNamespace(name="frame_prefix", value="x")
    assert check_changes(StatePublisherParameters, [change, other]) == {"magnification": 20.0}
    with pytest.raises(ParameterError, match="colour"):
        check_changes(StatePublisherParameters, [SimpleNamespace(name="colour", value="smell")])
