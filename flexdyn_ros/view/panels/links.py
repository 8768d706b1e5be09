"""The tab of links: what is known about one, its marks, a camera that follows it, pushes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.view.drawing.loads import reaction_of
from flexdyn_ros.view.panels.run import Jobs, choice, number
from flexdyn_ros.wording import with_unit

if TYPE_CHECKING:
    from viser import GuiApi

#: chosen where no link is
NONE = "none"
#: directions of pushes, world axes
DIRECTIONS = {
    sign + axis: float(sign + "1") * np.eye(3)["xyz".index(axis)] for axis in "xyz" for sign in "+-"
}
#: of pushes: default and largest force [weights of the robot on Earth], default and longest duration [s]
SOME, MOST, SHORT, LONG = 0.1, 5.0, 0.2, 100.0
EARTH = 9.80665
#: held while the mouse pulls at a link
MODIFIER = "cmd/ctrl"
#: of names in the table
CELL = "padding-right:0.8em;opacity:0.7"


class LinksTab:
    """Links of a viewer's robot: picked by a click in the picture, or from a list.

    Attributes
    ----------
    picked : str
        Name of the link; "" for none.
    """

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer, self._jobs = viewer, jobs
        marks = viewer.picture.marks
        self.list = gui.add_dropdown(
            "Link", (NONE, *marks.facts), initial_value=NONE, hint="or click it in the picture"
        )
        self.list.on_update(lambda _: self._changed())
        self.facts = gui.add_html("")
        self.following = gui.add_checkbox(
            "Camera follows", False, hint="the link; the base where none is picked"
        )
        self.following.on_update(lambda _: self._follow())
        self.marks = {name: gui.add_checkbox(label, False) for name, label in marks.offered.items()}
        for box in self.marks.values():
            box.on_update(lambda _: viewer.redraw())
        self._weight = EARTH * viewer.robot.mass
        if viewer.robot.motion is not None:
            with gui.add_folder("Push"):
                gui.add_markdown("Or hold Ctrl and drag a link with the mouse.")
                self.direction = gui.add_dropdown("Direction", tuple(DIRECTIONS), initial_value="-z")
                self.force = gui.add_number(
                    "Force [N]", float(f"{SOME * self._weight:.2g}"), min=0.0, max=MOST * self._weight,
                )  # fmt: skip
                self.duration = gui.add_number("Duration [s]", SHORT, min=0.01, max=LONG, step=0.05)
                gui.add_button("Push").on_click(lambda _: jobs.shortly(self._push))
        for link, node in viewer.picture.scene.parts:
            if link in marks.facts:
                node.on_click(lambda _, link=link: self.pick(link))
            if viewer.robot.motion is not None:
                node.on_drag("left", modifier=MODIFIER)(self._dragging(link))

    @property
    def picked(self) -> str:
        """Name of the link that is picked."""
        name = choice(self.list, NONE)
        return "" if name == NONE else name

    def pick(self, link: str) -> None:
        """Choose a link."""
        self.list.value = link

    def chosen_marks(self) -> set[str]:
        """Names of the marks that are shown."""
        return {name for name, box in self.marks.items() if box.value}

    def refresh(self) -> None:
        """Say what is known about the link that is picked, as it moves."""
        viewer, link = self._viewer, self.picked
        rows = _rows(viewer, link) if link else []
        cells = "".join(
            f'<tr><td style="{CELL}">{escape(name)}</td><td>{escape(value)}</td></tr>' for name, value in rows
        )
        text = f'<table style="margin:0.2em 0.7em;font-size:0.8em">{cells}</table>' if rows else ""
        if text != self.facts.content:
            self.facts.content = text

    def _changed(self) -> None:
        self._follow()
        self.refresh()
        self._viewer.redraw()

    def _follow(self) -> None:
        base = self._viewer.robot.description.root
        self._viewer.cameras.follow((self.picked or base) if self.following.value else "")

    # ---- pushes ----

    def _push(self) -> None:
        viewer = self._viewer
        link = self.picked or viewer.robot.functions.end_frame
        if not link:
            raise FlexdynError("pick the link that is to be pushed")
        force = number(self.force, 0.0, MOST * self._weight) * DIRECTIONS[choice(self.direction, "-z")]
        seconds = number(self.duration, 0.01, LONG)
        if viewer.source != "drive":
            viewer.panels.knobs.begin()
        viewer.turn_knob(lambda drive: drive.push({link: np.concatenate((np.zeros(3), force))}, seconds))
        viewer.panels.tell(f"{with_unit(float(np.linalg.norm(force)), 'N')} on {link} for {seconds:g} s")

    def _dragging(self, link: str) -> Any:
        """What is done while the mouse drags a link: a spring pulls it to the pointer."""
        viewer = self._viewer

        async def drag(event: Any) -> None:
            # in the order of the gesture, by the loop of the server, which must not wait for the viewer
            drive = viewer.drive if viewer.source == "drive" else None
            if event.phase == "start":
                place = np.asarray(event.start_position)
                if drive is None:
                    self._jobs.in_background(lambda: self._grab(link, place, begin=True))
                else:
                    self._grab(link, place)
            elif drive is not None and event.phase == "update":
                drive.pull_to(np.asarray(event.end_position))
            elif drive is not None:
                drive.release()

        return drag

    def _grab(self, link: str, place: np.ndarray, *, begin: bool = False) -> None:
        """Hold a link at a place (3,) where it is drawn [m]; begin: let the robot move first."""
        viewer = self._viewer
        if begin:
            viewer.panels.knobs.begin()
        frame, point = viewer.shown.grabbed(link, place, viewer.magnified_q)
        viewer.drive.pull(frame, point, self._weight / viewer.shown.size, MOST * self._weight)


def _rows(viewer: Any, link: str) -> list[tuple[str, str]]:
    """Names and values of what is known about a link now."""
    facts, now = viewer.picture.marks.facts[link], viewer.picture.moment(viewer.q)
    robot = viewer.robot
    rows = [("mass", f"{facts.mass:.4g} kg" if facts.mass else "-")]
    if facts.inertia is not None:
        I = facts.inertia
        rows += [
            ("centre of mass, link axes", _numbers(facts.center, "m")),
            ("inertia about it, xx yy zz", _numbers(np.diag(I), "kg m²")),
        ]
        products = np.array([I[0, 1], I[0, 2], I[1, 2]])
        if np.abs(products).max() > 1e-9 * np.abs(I).max():
            rows.append(("xy xz yz", _numbers(products, "kg m²")))
    from scipy.spatial.transform import Rotation

    T = robot.frames(now.q, link)
    rows.append(("position", _numbers(T[:3, 3], "m")))
    rows.append(("roll, pitch, yaw", _numbers(Rotation.from_matrix(T[:3, :3]).as_euler("xyz"), "rad")))
    if not now.held:
        speed = robot.frame_velocity(now.q, now.v, link)
        rows.append(("velocity", _numbers(speed[3:], "m/s")))
        rows.append(("angular velocity", _numbers(speed[:3], "rad/s")))
    found = reaction_of(robot, link, now) if viewer.picture.overlays.has_moments else None
    if found is not None:
        force, moment = (float(np.linalg.norm(x)) for x in found)
        rows.append(("force from its joint", with_unit(force, "N")))
        rows.append(("moment from its joint", with_unit(moment, "N m")))
    return rows


def _numbers(values: Any, unit: str) -> str:
    """Three numbers and their unit; what is rounding is 0."""
    values = np.asarray(values, dtype=float)
    shown = np.where(np.abs(values) < 1e-9 * max(float(np.abs(values).max()), 1e-3), 0.0, values)
    return ", ".join(f"{x:.4g}" if abs(x) >= 1.0 else f"{x:.3g}" for x in shown.tolist()) + f" {unit}"
