"""The transforms that robot_state_publisher makes of an expanded description, against `frames`.

They are multiplied here from the XML text, as that program does with tf2: origin, then turn about or slide
along the axis. `docs/install.md` tells when the program itself gave the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jointed_robots import WORDS, with_floating_joint, with_joint
from lxml import etree
from scipy.spatial.transform import Rotation

import flexdyn_ros


def numbers(text: str | None) -> np.ndarray:
    return np.array((text or "0 0 0").split(), dtype=float)


def transforms(urdf: str, positions: dict[str, float]) -> dict[str, np.ndarray]:
    """Pose (4, 4) of every link in the root link, which comes first, for positions of joints [rad or m]."""
    root = etree.fromstring(urdf.encode())
    above = {joint.find("child").get("link"): joint for joint in root.findall("joint")}
    poses: dict[str, np.ndarray] = {}

    def pose(link: str) -> np.ndarray:
        if link not in poses:
            joint = above.get(link)
            poses[link] = np.eye(4) if joint is None else pose(joint.find("parent").get("link")) @ step(joint)
        return poses[link]

    def step(joint) -> np.ndarray:
        fixed, moved = np.eye(4), np.eye(4)
        origin = joint.find("origin")
        if origin is not None:
            fixed[:3, :3] = Rotation.from_euler("xyz", numbers(origin.get("rpy"))).as_matrix()
            fixed[:3, 3] = numbers(origin.get("xyz"))
        if joint.get("type") != "fixed":
            axis = joint.find("axis")
            along = np.array([1.0, 0, 0]) if axis is None else numbers(axis.get("xyz"))
            along = along / np.linalg.norm(along) * positions[joint.get("name")]
            if joint.get("type") == "prismatic":
                moved[:3, 3] = along
            else:
                moved[:3, :3] = Rotation.from_rotvec(along).as_matrix()
        return fixed @ moved

    (top,) = {link.get("name") for link in root.findall("link")} - set(above)
    return {link: pose(link) for link in (top, *above)}


SHIPPED = sorted(path.name.split(".")[0] for path in (Path(__file__).parents[2] / "urdf").glob("*.urdf*"))
CASES = {name: name for name in SHIPPED}
CASES |= {f"{kind} joint": with_joint(kind) for kind in WORDS}
CASES |= {f"{kind} joint on a beam": with_joint(kind, flexible=True) for kind in WORDS}
CASES |= {"floating joint": with_floating_joint()}


@pytest.mark.parametrize("case", CASES)
def test_transforms_of_every_link_are_its_frames(case):
    robot = flexdyn_ros.load(CASES[case])
    expanded = flexdyn_ros.expand(robot)
    q = robot.random(np.random.default_rng(7))
    positions = expanded.joint_positions(q)
    poses = transforms(expanded.urdf, dict(zip(expanded.joint_names, positions, strict=True)))
    shared = [name for name in robot.frame_names if name in poses]
    assert len(shared) > 1
    stand = robot.frames(q, next(iter(poses)))
    for name in shared:
        np.testing.assert_allclose(
            stand @ poses[name], robot.frames(q, name), rtol=0, atol=1e-11, err_msg=name
        )
