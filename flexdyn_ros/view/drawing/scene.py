"""A robot as nodes of a viser scene: made once, moved at every frame.

viser's page moves nodes by two ways: their poses at once, their meshes a picture later. So that no picture
shows parts of two instants, everything that moves is a mesh here, and what changes goes out together
(`at_once`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.expanded.colour_scale import UNKNOWN, colours_of
from flexdyn_ros.robot.results import Loads
from flexdyn_ros.view.drawing.generated_shapes import Shape
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drawing.tubes import Tube, TubeState, prism
from flexdyn_ros.view.page import EXACT

if TYPE_CHECKING:
    from viser import SceneApi, ViserServer

#: colour of tubes that are not coloured by a quantity, and of the ghost
PLAIN, GHOST = (205, 133, 63), (150, 160, 172)
GHOST_OPACITY = 0.3
#: faces that meet at a larger angle have an edge [rad]
EDGE = 0.6
#: seconds that the loop of a server gets to take a picture of the robot
PATIENCE = 30.0

Assignments = list[Callable[[], None]]


class RobotScene:
    """The robot in the scene of a server.

    Parameters
    ----------
    server : viser.ViserServer
    shown : ShownRobot
    name : str
        Of the node above all others.
    """

    def __init__(self, server: ViserServer, shown: ShownRobot, name: str = "/robot") -> None:
        self._shown = shown
        scene, q = server.scene, shown.robot.neutral()
        poses = shown.link_poses(q)
        self._solids = [
            (shapes[0].link, _add_solid(scene, f"{name}/{k}", shapes, poses[shapes[0].link]))
            for k, shapes in enumerate(_alike(shown.shapes))
        ]
        states = shown.tube_states(q)
        self._tubes = [
            _ShownTube(scene, f"{name}/tube/{tube.name}", tube, state)
            for tube, state in zip(shown.tubes, states, strict=True)
        ]

    @property
    def parts(self) -> list[tuple[str, Any]]:
        """Links and the nodes that show them."""
        tubes = [(tube.name, node) for tube in self._tubes for node in tube.nodes]
        return [*self._solids, *tubes]

    def moved(
        self,
        q: np.ndarray,
        colour: str = "none",
        top: Callable[[float], float] = float,
        coloured_at: tuple[np.ndarray, np.ndarray] | None = None,
        loads: Mapping[str, Loads] | None = None,
    ) -> Assignments:
        """What to do to show the configuration q (nq,), all at once.

        Parameters
        ----------
        q : (nq,) array
        colour : str
            What tubes are coloured by.
        top : callable(float) -> float
            Value of the last colour for the largest value that is shown.
        coloured_at : pair of (nq,), (nv,) arrays, optional
            Where the values of colours are taken; q at rest if left out.
        loads : mapping from link to Loads, optional
            What moments are taken from; the curvature of modes where they are left out.

        Returns
        -------
        list of functions
        """
        poses = self._shown.link_poses(q)
        states = self._shown.tube_states(q, colour, coloured_at, loads)
        last = (
            top(max((float(np.nanmax(x.value, initial=0.0)) for x in states), default=0.0))
            if colour != "none"
            else 0.0
        )
        changes: Assignments = []
        for link, node in self._solids:
            changes += _placing(node, poses[link][None])
        for tube, state in zip(self._tubes, states, strict=True):
            changes += tube.plain(state) if colour == "none" else tube.coloured(state, last)
        return changes


class _ShownTube:
    """A tube: a smooth surface in the light, or pieces in exact colours without."""

    def __init__(self, scene: SceneApi, name: str, tube: Tube, state: TubeState) -> None:
        self._tube = tube
        self._surface = scene.add_mesh_simple(
            f"{name}/surface", tube.surface(state.frames), tube.surface_faces(), color=PLAIN,
            cast_shadow=False, receive_shadow=False,
        )  # fmt: skip
        vertices, faces = prism(tube)
        self._pieces = scene.add_batched_meshes_simple(
            f"{name}/pieces", vertices, faces, batched_wxyzs=wxyz_of(state.rotation),
            batched_positions=state.position, batched_scales=tube.scales(state),
            batched_colors=np.zeros((len(state.length), 3), np.uint8), lod="off", material=EXACT,
            cast_shadow=False, receive_shadow=False, visible=False,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Of the link that bends."""
        return self._tube.name

    @property
    def nodes(self) -> tuple[Any, Any]:
        """Surface, and coloured pieces."""
        return self._surface, self._pieces

    def plain(self, state: TubeState) -> Assignments:
        surface = self._tube.surface(state.frames).astype(np.float32)

        def assign() -> None:
            self._surface.vertices = surface
            self._show(coloured=False)

        return [assign]

    def coloured(self, state: TubeState, top: float) -> Assignments:
        turned = wxyz_of(state.rotation).astype(np.float32)
        scales = self._tube.scales(state)
        value = np.nan_to_num(state.value)
        colours = colours_of(value / top if top > 0.0 else value)
        colours[~np.isfinite(state.value)] = UNKNOWN

        def assign() -> None:
            self._pieces.batched_positions = state.position.astype(np.float32)
            self._pieces.batched_wxyzs = turned
            self._pieces.batched_scales = scales
            self._pieces.batched_colors = colours
            self._show(coloured=True)

        return [assign]

    def _show(self, *, coloured: bool) -> None:
        if self._pieces.visible != coloured:
            self._pieces.visible, self._surface.visible = coloured, not coloured


def at_once(server: ViserServer, action: Callable[[], None]) -> None:
    """Do it so that every browser gets all that it sends together, or nothing yet.

    The loop that collects messages for browsers does the work itself: between two collections, never within
    one.
    """
    done: Future[None] = Future()

    def act() -> None:
        try:
            with server.atomic():
                action()
            done.set_result(None)
        except BaseException as error:  # noqa: BLE001  told to whoever waits
            done.set_exception(error)

    server.get_event_loop().call_soon_threadsafe(act)
    done.result(PATIENCE)


class Ghost:
    """The undeformed tubes, where the joints are now."""

    def __init__(self, scene: SceneApi, shown: ShownRobot, name: str = "/ghost") -> None:
        self._shown = shown
        self._nodes = [
            scene.add_mesh_simple(
                f"{name}/{tube.name}", tube.surface(state.frames), tube.surface_faces(), color=GHOST,
                opacity=GHOST_OPACITY, cast_shadow=False, receive_shadow=False, visible=False,
            )
            for tube, state in zip(shown.tubes, shown.tube_states(shown.robot.neutral()), strict=True)
        ]  # fmt: skip
        self._at = np.full(shown.robot.nq, np.nan)
        self.visible = False

    def moved(self, q_straight: np.ndarray) -> Assignments:
        """What to do to move it; q_straight (nq,) has no deformation."""
        changes: Assignments = [self._switch]
        if self.visible and not np.array_equal(q_straight, self._at):
            self._at = q_straight.copy()
            states = self._shown.tube_states(q_straight)
            for node, tube, state in zip(self._nodes, self._shown.tubes, states, strict=True):
                surface = tube.surface(state.frames).astype(np.float32)
                changes.append(partial(setattr, node, "vertices", surface))
        return changes

    def _switch(self) -> None:
        for node in self._nodes:
            if node.visible != self.visible:
                node.visible = self.visible


def wxyz_of(R: np.ndarray) -> np.ndarray:
    """Quaternions w x y z (..., 4) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=-1)


def one_colour(colour: Sequence[int], count: int = 1) -> np.ndarray:
    """Colours (count, 3) that make instances in the light look like meshes of a colour (3,), which are taken
    to be encoded for screens; those of instances are not."""
    share = np.asarray(colour, dtype=float) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.tile(np.rint(255.0 * linear).astype(np.uint8), (count, 1))


def _alike(shapes: Sequence[Shape]) -> list[list[Shape]]:
    """Shapes of one link, colour and opacity, which move as one mesh."""
    groups: dict[object, list[Shape]] = {}
    for shape in shapes:
        groups.setdefault((shape.link, shape.colour, shape.opacity), []).append(shape)
    return list(groups.values())


def _add_solid(scene: SceneApi, name: str, shapes: Sequence[Shape], T: np.ndarray) -> object:
    """One mesh of shapes that are alike, with edges where faces meet at an angle."""
    before = np.cumsum([0, *(len(shape.vertices) for shape in shapes)])
    vertices = np.concatenate([shape.vertices for shape in shapes])
    faces = np.concatenate([shape.faces + start for shape, start in zip(shapes, before, strict=False)])
    vertices, faces = _with_edges(vertices, faces)
    return scene.add_batched_meshes_simple(
        name, vertices, faces, batched_wxyzs=wxyz_of(T[None, :3, :3]), batched_positions=T[None, :3, 3],
        batched_colors=one_colour(shapes[0].colour), opacity=shapes[0].opacity, lod="off",
        cast_shadow=False, receive_shadow=False,
    )  # fmt: skip


def _with_edges(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same surface, whose faces share no vertices where they meet at an angle: light shows an edge
    there."""
    import trimesh

    mesh = trimesh.graph.smooth_shade(trimesh.Trimesh(vertices, faces), angle=EDGE, facet_minarea=None)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def _placing(node: Any, T: np.ndarray) -> Assignments:
    """Put instances at poses T (k, 4, 4)."""
    position, turned = T[:, :3, 3].astype(np.float32), wxyz_of(T[:, :3, :3]).astype(np.float32)

    def assign() -> None:
        node.batched_positions, node.batched_wxyzs = position, turned

    return [assign]
