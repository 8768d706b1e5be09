"""Shapes of links: visuals of a URDF as triangles, and bars and hubs for links that have none."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynWarning
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanded.visuals import GENERATED
from flexdyn_ros.robot.verbs import Robot

#: colours (red, green, blue, 0..255) of links without one, of hubs of joints, of plates
BAR, HUB, PLATE, WHEEL = (150, 160, 172), (74, 86, 102), (120, 140, 165), (52, 56, 62)
#: radius of a bar, as a share of the median distance between joints
SLENDERNESS = 0.06


class Shape(NamedTuple):
    """Triangles in the frame of a link: vertices (n, 3) [m], faces (m, 3), colour 0..255, opacity 0..1."""

    link: str
    vertices: np.ndarray
    faces: np.ndarray
    colour: tuple[int, int, int]
    opacity: float | None = None


def shapes_of_visuals(urdf: Any) -> list[Shape]:
    """All visuals of a urchin.URDF; what cannot be read is left out with a warning."""
    shapes = []
    for link in urdf.links:
        for visual in link.visuals:
            if visual.name == GENERATED:  # drawn better here
                continue
            try:
                meshes = visual.geometry.meshes
            except Exception as error:  # noqa: BLE001  meshes of the whole world: any loader's error
                message = f"a visual of link {link.name!r} is not shown: {error}"
                warnings.warn(message, FlexdynWarning, stacklevel=2)
                continue
            for mesh in meshes:
                shapes.append(_placed(link.name, visual, mesh))
    return shapes


def _placed(link: str, visual: Any, mesh: object) -> Shape:
    T = np.asarray(visual.origin)
    if visual.geometry.mesh is not None and visual.geometry.mesh.scale is not None:
        T = T @ np.diag([*np.broadcast_to(visual.geometry.mesh.scale, 3), 1.0])
    colour, opacity = _colour(visual, mesh)
    return _shape(link, mesh, T, colour, opacity=opacity)


def _shape(
    link: str, mesh: Any, T: Any, colour: Any, at: object = 0.0, opacity: float | None = None
) -> Shape:
    """A mesh of trimesh, placed by a homogeneous matrix T (4, 4) and moved by `at` (3,) besides."""
    return Shape(
        link, np.asarray(mesh.vertices) @ T[:3, :3].T + T[:3, 3] + at, np.asarray(mesh.faces), colour, opacity
    )


def _colour(visual: Any, mesh: Any) -> tuple[tuple[int, int, int], float | None]:
    """Of the URDF's material, else of the mesh file, else grey."""
    rgba = None
    if visual.material is not None and visual.material.color is not None:
        rgba = np.asarray(visual.material.color, dtype=float)
    elif visual.geometry.mesh is not None:
        material = getattr(mesh.visual, "material", None)
        main = getattr(material, "main_color", None)
        if main is not None:
            rgba = np.asarray(main, dtype=float) / 255.0
    if rgba is None:
        return BAR, None
    r, g, b = np.rint(255.0 * np.clip(rgba[:3], 0.0, 1.0)).astype(int).tolist()
    return (r, g, b), (float(rgba[3]) if rgba[3] < 1.0 else None)


# ---- links without visuals ----


def generated_shapes(
    robot: Robot,
    appearance: Appearance,
    *,
    without: set[str],
    tubes: Mapping[str, Sequence[str]],
    links: set[str],
) -> list[Shape]:
    """Bars from the origin of each link to those of its joints, hubs about axes, plates, tyres.

    Parameters
    ----------
    robot : Robot
    appearance : Appearance
        Of its description.
    without : set of str
        Links that have visuals of their own.
    tubes : mapping
        Links and sections that are drawn as tubes, and the names of their section frames.
    links : set of str
        Links of the description that is shown; those that move wheels carry them.
    """
    description = robot.description
    r = _bar_radius(robot, appearance, tubes)
    shapes: list[Shape] = []
    sliding = {joint.child for joint in description.joints if joint.type == "prismatic"}
    for link in description.links:
        if link.name in without or link.name not in robot.frame_names:
            continue
        ends = [np.zeros(3)]
        for joint in description.children_of(link.name):
            if joint.is_free or joint.name in tubes:
                continue
            ends.append(np.asarray(joint.xyz))
        if link.name in appearance.plates:
            shapes.append(_plate(link.name, appearance.plates[link.name], 0.6 * r))
        elif link.name in tubes:
            shapes += _arms(robot, link.name, tubes[link.name], r)
        else:
            # a link that carries nothing is as long on the other side of its centre of mass
            tip = [2.0 * np.asarray(link.inertial.xyz)] if len(ends) == 1 and link.inertial else []
            width = 0.6 * r if link.name in sliding else r
            shapes += [_bar(link.name, ends[0], end, width) for end in (*ends[1:], *tip)]
    shapes += [
        _hub(joint.child, joint, 1.5 * r)
        for joint in description.joints
        if joint.type in ("revolute", "continuous")
        and joint.child not in without
        and joint.limit.effort != 0.0
    ]
    shapes += [shape for wheel in appearance.wheels for shape in _wheel(wheel, r, links)]
    return [shape for shape in shapes if shape.vertices.size]


def _arms(robot: Robot, link: str, frames: Sequence[str], radius: float) -> list[Shape]:
    """Bars from a tube to the joints that stand off it, each from the section next to the joint."""
    q = robot.neutral()
    T = robot.frames(q, frames)
    arms = []
    for joint in robot.description.children_of(link):
        end = robot.frames(q, joint.child)[:3, 3]
        k = int(np.argmin(np.linalg.norm(T[:, :3, 3] - end, axis=1)))
        arms.append(_bar(frames[k], np.zeros(3), T[k, :3, :3].T @ (end - T[k, :3, 3]), radius))
    return arms


def _wheel(wheel: Any, radius: float, links: set[str]) -> list[Shape]:
    """What holds a wheel, and the wheel itself where no frame of the suspension carries one."""
    import trimesh

    free, body, frame = wheel.suspension.free_length, np.asarray(wheel.xyz), f"{wheel.name}/wheel"
    arm = _bar(wheel.link, np.zeros(3), body, radius)
    if frame in links:
        # the rod of the spring, which slides in the arm
        return [arm, _bar(frame, np.zeros(3), np.array([0.0, 0.0, 0.9 * free]), 0.45 * radius)]
    own = wheel.tyre.radius if wheel.tyre is not None else min(0.35 * free, 0.2)
    # with a tyre the suspension ends at the hub, without one on the ground
    hub = body + [0.0, 0.0, -free + (0.0 if wheel.tyre is not None else own)]
    T = trimesh.geometry.align_vectors([0, 0, 1], [0, 1, 0])
    mesh = trimesh.creation.cylinder(radius=own, height=0.5 * own, sections=32)
    return [arm, _bar(wheel.link, body, hub, 0.5 * radius), _shape(wheel.link, mesh, T, WHEEL, hub)]


def _bar_radius(robot: Robot, appearance: Appearance, tubes: Mapping[str, Sequence[str]]) -> float:
    """[m], from the distances between neighbouring joints; from the whole robot where all are zero."""
    offsets = [float(np.linalg.norm(joint.xyz)) for joint in robot.description.joints]
    coms = [float(np.linalg.norm(link.inertial.xyz)) for link in robot.description.links if link.inertial]
    lengths = [*(x for x in offsets if x > 1e-6), *appearance.spans]
    lengths = lengths or [x for x in coms if x > 1e-6] or [1.0]
    bent = {name: _span(robot, frames) for name, frames in tubes.items()}
    return appearance.bar_radius(np.array(lengths), bent, SLENDERNESS)


def _span(robot: Robot, frames: Sequence[str]) -> float:
    """Distance between the ends of a tube in the neutral position [m]."""
    ends = robot.frames(robot.neutral(), (frames[0], frames[-1]))
    return float(np.linalg.norm(ends[1, :3, 3] - ends[0, :3, 3]))


def _bar(link: str, start: np.ndarray, end: np.ndarray, radius: float) -> Shape:
    """A round bar with round ends between two points; nothing where they coincide."""
    import trimesh

    length = float(np.linalg.norm(end - start))
    if length < 1e-6:
        return Shape(link, np.zeros((0, 3)), np.zeros((0, 3), dtype=int), BAR)
    mesh = trimesh.creation.capsule(height=length, radius=min(radius, 0.5 * length), count=[16, 16])
    T = trimesh.geometry.align_vectors([0, 0, 1], (end - start) / length)
    # versions of trimesh differ in where they put a capsule
    upright = np.asarray(mesh.vertices) - [0.0, 0.0, float(np.mean(mesh.bounds[:, 2]))]
    vertices = upright @ T[:3, :3].T + 0.5 * (start + end)
    return Shape(link, vertices, np.asarray(mesh.faces), BAR)


def _hub(link: str, joint: Any, radius: float) -> Shape:
    """A short cylinder about the axis of a joint, in the frame of its child."""
    import trimesh

    mesh = trimesh.creation.cylinder(radius=radius, height=2.2 * radius, sections=24)
    T = trimesh.geometry.align_vectors([0, 0, 1], joint.axis)
    return _shape(link, mesh, T, HUB)


def _plate(link: str, points: np.ndarray, thickness: float) -> Shape:
    """The convex hull of points in a plane, of a thickness."""
    import trimesh

    both = np.concatenate((points - [0, 0, 0.5 * thickness], points + [0, 0, 0.5 * thickness]))
    hull = trimesh.convex.convex_hull(both)
    return Shape(link, np.asarray(hull.vertices), np.asarray(hull.faces), PLATE)
