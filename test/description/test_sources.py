"""A description may be a path, a URI, text, xacro, or an object that another library has read."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexdyn_ros.description import read
from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import DescriptionError

HERE = Path(__file__).parent
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
FILES = sorted(ROBOTS.rglob("*.urdf"))
PENDULUM = HERE / "pendulum.urdf"
TEXT = PENDULUM.read_text()


def same(robot) -> bool:
    reference = read(TEXT)
    return (robot.links, robot.joints, robot.flexible_links) == (
        reference.links,
        reference.joints,
        reference.flexible_links,
    )


def test_path_text_bytes_and_byte_order_mark() -> None:
    assert read(PENDULUM).file == str(PENDULUM)
    assert read(TEXT).file is None
    assert all(
        same(read(source)) for source in (PENDULUM, str(PENDULUM), TEXT, TEXT.encode(), "\ufeff" + TEXT)
    )
    assert same(read(TEXT.replace("?>", ' encoding="latin-1"?>')))
    assert same(read(f"file://{PENDULUM}"))


def test_name_is_overridden() -> None:
    assert read(TEXT, name="other").name == "other"


def package(folder: Path, name: str) -> Path:
    share = folder / "share" / name
    share.mkdir(parents=True)
    (share / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (share / "robot.urdf").write_text(TEXT)
    return share


def test_package_uri_through_ament(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "arm_description")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert same(read("package://arm_description/robot.urdf"))


def test_package_uri_through_ros_package_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = package(tmp_path, "arm_description")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(share.parent))
    assert same(read("package://arm_description/robot.urdf"))


def test_package_uri_of_this_package() -> None:
    assert read("package://flexdyn_ros/urdf/canadarm2.urdf").name == "canadarm2"


def test_what_is_installed_with_this_package_is_found_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list(own_share())
    assert all((folder / "urdf").is_dir() for folder in before)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    share = package(tmp_path, "flexdyn_ros")
    assert list(own_share()) == [*before, share]


def test_package_uri_beside_the_file_that_names_it(tmp_path: Path) -> None:
    share = package(tmp_path, "arm_description")
    (share / "flex.xml").write_text("<robot><flexdyn><gravity>0 0 -3</gravity></flexdyn></robot>")
    file = share / "robot.urdf"
    file.write_text(TEXT.replace("</robot>", '<flexdyn file="package://arm_description/flex.xml"/></robot>'))
    assert read(file).gravity == (0, 0, -3)


@pytest.mark.parametrize(
    ("block", "attribute", "words"),
    [
        ('<flexdyn file="flex.xml"><gravity>0 0 -4</gravity></flexdyn>', "file", "empty otherwise"),
        ('<flexdyn file="flex.xml" reference="arm"/>', "file", "exclude each other"),
        ('<flexdyn file="flex.xml" version="7"/>', "version", "unknown version"),
        ('<flexdyn file="flex.xml" fil="x"/>', "fil", "unknown attribute"),
    ],
)
def test_a_block_that_names_a_file_has_nothing_else(
    tmp_path: Path, block: str, attribute: str, words: str
) -> None:
    (tmp_path / "flex.xml").write_text("<robot><flexdyn><gravity>0 0 -3</gravity></flexdyn></robot>")
    file = tmp_path / "robot.urdf"
    file.write_text(TEXT.replace("</robot>", f"{block}</robot>"))
    with pytest.raises(DescriptionError, match=words) as told:
        read(file)
    assert told.value.attribute == attribute


@pytest.mark.parametrize(
    "source",
    ["nowhere.urdf", "package://nowhere/x.urdf", "package://", "x\0y", "a" * 5000, 3, None, [], b"abc"],
)
def test_source_that_is_nothing_is_refused(source) -> None:
    with pytest.raises(DescriptionError):
        read(source)


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="a folder, not a file"):
        read(tmp_path)


def test_a_xacro_file_is_known_by_its_name_or_its_namespace(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    text = TEXT.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    text = text.replace('<link name="base"/>', '<xacro:property name="L" value="1.5"/><link name="base"/>')
    text = text.replace('xyz="1.5 0 0"', 'xyz="${L} 0 0"')
    for name in ("p.urdf.xacro", "p.urdf"):
        file = tmp_path / name
        file.write_text(text)
        robot = read(file)
        assert robot.joint("tool_mount").xyz == (1.5, 0, 0)
        assert "${" not in robot.text


@pytest.mark.parametrize(
    "body", ["<xacro:nothing/>", '<link name="${1/0}"/>', '<xacro:include filename="gone"/>']
)
def test_xacro_that_does_not_expand_is_refused(body: str, tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    file = tmp_path / "p.xacro"
    file.write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{body}</robot>')
    with pytest.raises(DescriptionError, match="xacro") as caught:
        read(file)
    assert caught.value.file == str(file)


def test_unexpanded_placeholder_is_refused(tmp_path: Path) -> None:
    text = TEXT.replace('xyz="1.5 0 0"', 'xyz="${L} 0 0"')
    with pytest.raises(DescriptionError, match="an expression in text"):
        read(text)
    file = tmp_path / "p.urdf"
    file.write_text(text)
    with pytest.raises(DescriptionError, match="not a vector"):
        read(file)


def test_urchin_object() -> None:
    urchin = pytest.importorskip("urchin")
    robot = read(urchin.URDF.load(str(PENDULUM)))
    reference = read(TEXT)
    assert robot.flexible_links.keys() == reference.flexible_links.keys()
    for joint in reference.joints:
        other = robot.joint(joint.name)
        assert (other.type, other.parent, other.child, other.axis) == (
            joint.type,
            joint.parent,
            joint.child,
            joint.axis,
        )
        assert other.xyz == pytest.approx(joint.xyz, abs=1e-15)
    for link in reference.links:
        body = robot.link(link.name).inertial
        if link.inertial is not None:
            assert (body.mass, body.inertia) == (link.inertial.mass, link.inertial.inertia)


def test_urchin_object_keeps_orientations_and_limits(tmp_path: Path) -> None:
    urchin = pytest.importorskip("urchin")
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><origin xyz="1 2 3" rpy="0.3 -0.4 2.5"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="0.1" friction="0.2"/></joint></robot>'
    )
    file = tmp_path / "r.urdf"
    file.write_text(text)
    joint = read(urchin.URDF.load(str(file))).joint("j")
    assert joint.rpy == pytest.approx((0.3, -0.4, 2.5), abs=1e-14)
    assert joint.xyz == (1, 2, 3)
    assert joint.limit == read(text).joint("j").limit
    assert (joint.damping, joint.friction) == (0.1, 0.2)
    # x along the vertical, by a matrix that rounding has made a little too large
    for sign in (1.0, -1.0):
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_euler("xyz", [0.4, sign * np.pi / 2, 0.0]).as_matrix()
        pose[:3, 0] = 0.0, 0.0, -sign * (1.0 + 4e-16)
        robot = urchin.URDF.load(str(file))
        robot.joint_map["j"].origin = pose
        found = Rotation.from_euler("xyz", read(robot).joint("j").rpy).as_matrix()
        assert found == pytest.approx(pose[:3, :3], abs=1e-12)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "soft_arm_3"])
def test_shipped_robots_are_known_by_name(name: str) -> None:
    assert read(name).name == name


def test_geometry_is_served_by_urchin(tmp_path: Path) -> None:
    urchin = pytest.importorskip("urchin")
    from flexdyn_ros.description.urdf.geometry import as_urchin

    text = (
        '<robot name="r"><link name="a"><visual><geometry><box size="1 2 3"/></geometry></visual></link>'
        '<link name="b"><visual><geometry><mesh filename="package://nowhere/b.stl"/></geometry></visual></link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>'
        '<gazebo/><material name="m"/><material name="m"/></robot>'
    )
    shown = as_urchin(read(text))
    assert isinstance(shown, urchin.URDF)
    assert shown.link_map["a"].visuals[0].geometry.box.size.tolist() == [1, 2, 3]
    assert shown.joint_map["j"].joint_type == "revolute"


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_meshes_of_packages_are_found() -> None:
    pytest.importorskip("urchin")
    from flexdyn_ros.description.urdf.geometry import as_urchin

    panda = next(path for path in FILES if path.name == "panda.urdf")
    mesh = as_urchin(read(panda)).link_map["panda_link1"].visuals[0].geometry.mesh
    assert Path(mesh.filename).is_file()


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
def test_seven_joints_are_read_in_less_than_ten_milliseconds() -> None:
    panda = next(path for path in FILES if path.name == "panda.urdf")
    times = []
    for _ in range(20):
        # of the processor: what else the machine does is not counted
        begin = time.process_time()
        read(panda)
        times.append(time.process_time() - begin)
    assert min(times) < 0.010


def test_reading_a_plain_urdf_imports_no_other_reader() -> None:
    code = (
        'import sys, flexdyn_ros.description as d; d.read(\'<robot name="r"><link name="a"/></robot>\');'
        "print(*({'xacro', 'urchin', 'urdfpy', 'trimesh'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
