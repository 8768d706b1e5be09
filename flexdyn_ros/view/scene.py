"""A robot as nodes of a viser scene: made once, moved at every frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.expanded.colour_scale import colours_of
from flexdyn_ros.view.shown_robot import ShownRobot, Tube, TubeState

__all__ = ["Ghost", "RobotScene"]

#: colour of tubes that are not coloured by a quantity, and of the ghost
PLAIN, GHOST = (205, 133, 63), (160, 170, 180)
#: neighbouring pieces of a tube reach into each other by this share of their length where nothing bends
OVERLAP = 0.004


class RobotScene:
    """The robot in the scene of a server.

    Parameters
    ----------
    server : viser.ViserServer
    shown : ShownRobot
    name : str
        Of the node above all others.
    """

    def __init__(self, server: Any, shown: ShownRobot, name: str = "/robot") -> None:
        self._server, self._shown = server, shown
        poses = shown.link_poses(shown.robot.neutral())
        self._links = {}
        for number, link in enumerate(poses):
            path = f"{name}/{number}"
            self._links[link] = server.scene.add_frame(path, show_axes=False)
            for k, shape in enumerate(shape for shape in shown.shapes if shape.link == link):
                server.scene.add_mesh_simple(
                    f"{path}/{k}",
                    shape.vertices,
                    shape.faces,
                    color=shape.colour,
                    opacity=shape.opacity,
                    flat_shading=True,
                    cast_shadow=False,
                    receive_shadow=False,
                )
        states = shown.tube_states(shown.robot.neutral())
        self._tubes = [
            _add_tube(server, f"{name}/tube/{tube.name}", tube, state)
            for tube, state in zip(shown.tubes, states, strict=True)
        ]
        self._coloured = "none"

    def show(
        self,
        q: np.ndarray,
        colour: str = "none",
        top: float = 0.0,
        coloured_at: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> float:
        """Move everything to the configuration q (nq,).

        Parameters
        ----------
        q : (nq,) array
        colour : str
            What tubes are coloured by.
        top : float
            Value of the last colour; a larger one that is met replaces it.
        coloured_at : pair of (nq,), (nv,) arrays, optional
            Where the values of colours are taken; q at rest if left out.

        Returns
        -------
        float
            The value of the last colour.
        """
        poses = self._shown.link_poses(q)
        states = self._shown.tube_states(q, colour, coloured_at)
        if colour != "none" and states:
            top = max(top, *(float(np.max(state.value)) for state in states))
        with self._server.atomic():
            for link, T in poses.items():
                node = self._links[link]
                node.position, node.wxyz = T[:3, 3], wxyz_of(T[:3, :3])
            for handle, tube, state in zip(self._tubes, self._shown.tubes, states, strict=True):
                handle.batched_positions = state.position.astype(np.float32)
                handle.batched_wxyzs = wxyz_of(state.rotation).astype(np.float32)
                handle.batched_scales = _scales(tube, state)
                if colour != "none":
                    handle.batched_colors = colours_of(state.value / top if top > 0.0 else state.value)
                elif self._coloured != "none":
                    handle.batched_colors = np.tile(np.array(PLAIN, np.uint8), (len(state.length), 1))
        self._coloured = colour
        return top


class Ghost:
    """The centre lines of the undeformed tubes, where the joints are now."""

    def __init__(self, server: Any, shown: ShownRobot, name: str = "/ghost") -> None:
        self._shown = shown
        points = _lines(shown, shown.robot.neutral())
        self._node = server.scene.add_line_segments(
            name, points=points, colors=GHOST, thickness=2.0, thickness_units="screen", visible=False
        )
        self.visible = False

    def show(self, q_straight: np.ndarray) -> None:
        """Move it; q_straight (nq,) has no deformation."""
        if self.visible:
            self._node.points = _lines(self._shown, q_straight)
        self._node.visible = self.visible


def wxyz_of(R: np.ndarray) -> np.ndarray:
    """Quaternions w x y z (..., 4) of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=-1)


def _add_tube(server: Any, name: str, tube: Tube, state: TubeState) -> Any:
    return server.scene.add_batched_meshes_simple(
        name,
        tube.vertices,
        tube.faces,
        batched_wxyzs=wxyz_of(state.rotation),
        batched_positions=state.position,
        batched_scales=_scales(tube, state),
        batched_colors=np.tile(np.array(PLAIN, np.uint8), (len(state.length), 1)),
        lod="off",
        cast_shadow=False,
        receive_shadow=False,
    )


def _scales(tube: Tube, state: TubeState) -> np.ndarray:
    """Pieces have unit length; where the tube bends they are longer by what opens between their edges."""
    a, b = state.rotation[:-1, :, tube.along], state.rotation[1:, :, tube.along]
    turn = np.linalg.norm(b - a, axis=-1)
    gap = np.maximum(np.append(turn, 0.0), np.append(0.0, turn))
    scales = np.ones((len(state.length), 3), dtype=np.float32)
    scales[:, tube.along] = state.length * (1.0 + OVERLAP) + 1.1 * tube.radius * gap
    return scales


def _lines(shown: ShownRobot, q: np.ndarray) -> np.ndarray:
    """Segments (k, 2, 3) along the centre lines of all tubes."""
    lines = [np.zeros((0, 2, 3))]
    for state in shown.tube_states(q):
        lines.append(np.stack((state.position[:-1], state.position[1:]), axis=1))
    points = np.concatenate(lines)
    return points if len(points) else np.zeros((1, 2, 3))
