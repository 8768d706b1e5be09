"""The controls beside the picture, and the keys that do the same."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.loading import load
from flexdyn_ros.view.around.stage import PRESETS
from flexdyn_ros.view.motion import Playback
from flexdyn_ros.view.opening import first_scene
from flexdyn_ros.view.panels.links import LinksTab
from flexdyn_ros.view.panels.look import LookTab
from flexdyn_ros.view.panels.pose import ModesTab, PoseTab
from flexdyn_ros.view.panels.run import Jobs, KnobsTab, RunTab, choice, literal
from flexdyn_ros.view.panels.time_line import TimeLine
from flexdyn_ros.wording import with_unit


class Panels:
    """All controls of a viewer; they call it, and it asks them.

    Attributes
    ----------
    pose, modes, run, knobs, links, look : the tabs
    time_line : TimeLine
    jobs : Jobs
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer, self._gui = viewer, viewer.server.gui
        self.jobs = Jobs(self.tell)
        gui = self._gui
        self.paint(dark=False)
        gui.set_panel_label(viewer.robot.name)
        self.robots: Any = None
        if viewer.robots:
            names = tuple(dict.fromkeys((viewer.given.name, *viewer.robots)))
            self.robots = gui.add_dropdown("Robot", names, initial_value=viewer.chosen)
            self.robots.on_update(lambda _: self.jobs.in_background(self._change_robot))
        self.status = gui.add_markdown(_summary(viewer))
        self._legend = gui.add_html("")
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self.pose = PoseTab(viewer, gui, self.jobs)
        with tabs.add_tab("Modes"):
            self.modes = ModesTab(viewer, gui, self.jobs)
        with tabs.add_tab("Run"):
            self.run = RunTab(viewer, gui, self.jobs)
        self.knobs: KnobsTab | None = None
        if viewer.robot.motion is not None:
            with tabs.add_tab("Drive"):
                self.knobs = KnobsTab(viewer, gui, self.jobs)
        with tabs.add_tab("Link"):
            self.links = LinksTab(viewer, gui, self.jobs)
        with tabs.add_tab("Look"):
            self.look = LookTab(viewer, gui, self.jobs)
        self.time_line = TimeLine(viewer, gui)
        self._make_keys()

    # ---- what the viewer asks ----

    @property
    def magnification(self) -> float:
        """Factor of all deformations."""
        return self.look.factor()

    @property
    def colouring(self) -> str:
        """What tubes are coloured by."""
        return self.look.colour()

    @property
    def joints_locked(self) -> bool:
        """Whether modes are those with locked joints."""
        return bool(self.modes.locked.value)

    # ---- what the viewer says ----

    def tell(self, text: str) -> None:
        """A line at the top."""
        self._viewer.message = text
        self.status.content = _summary(self._viewer) + f"\n\n*{literal(text.strip())}*"

    def legend(self, html: str) -> None:
        """What colours and arrows mean."""
        if html != self._viewer.legend:
            self._viewer.legend = self._legend.content = html

    def refresh(self) -> None:
        """Let the controls show the state that is shown; modes swing too fast for that."""
        viewer = self._viewer
        if viewer.source != "mode":
            self.pose.follow(viewer.q)
        self.links.refresh()
        self.time_line.mark(playing=viewer.source == "run" and viewer.playback.playing)

    def highlight(self, colouring: str, *, magnification: float) -> None:
        """Colour by a quantity, magnify deformations, show what is undeformed."""
        self.look.highlight(colouring, magnification)

    def adopt(self, playback: Playback) -> None:
        """Controls for a trajectory that begins to play."""
        self.time_line.adopt(playback)

    def paint(self, *, dark: bool) -> None:
        """By day or by night, the page and what is around the robot."""
        self._gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium", dark_mode=dark
        )
        self._viewer.picture.stage.paint(dark=dark)
        self.is_dark = dark

    def _change_robot(self) -> None:
        """Show the robot that was chosen, in its first scene."""
        viewer, name = self._viewer, choice(self.robots, self._viewer.chosen)
        if name == viewer.chosen:
            return
        self.tell(f"loading {name} ...")
        try:
            robot = viewer.given if name == viewer.given.name else load(name)
            viewer.change_robot(robot, name)
        except FlexdynError:
            self.robots.value = viewer.chosen
            raise
        try:
            first_scene(viewer)
        except FlexdynError as error:
            viewer.panels.tell(str(error))

    # ---- keys ----

    def _make_keys(self) -> None:
        """Single keys; the page lists them by control K."""
        actions: dict[str, tuple[object, str]] = {
            f"View from {name}" if name != "corner" else "View from the corner": (
                lambda name=name: self._viewer.cameras.look_from(name), str(number)
            )
            for number, name in enumerate(PRESETS, start=1)
        }  # fmt: skip
        actions["Play or pause"] = self.time_line.toggle, "space"
        actions["A sample on"] = lambda: self.time_line.step(1), "."
        actions["A sample back"] = lambda: self.time_line.step(-1), ","
        actions["Neutral pose"] = lambda: self.pose.take(self._viewer.robot.neutral()), "N"
        actions["Dark or light"] = self._toggle_night, "T"
        actions["Undeformed shape"] = self._toggle_ghost, "G"
        for label, (action, key) in actions.items():
            command = self._gui.add_command(label, hotkey=key)
            command.on_trigger(lambda _, action=action: self.jobs.shortly(action))

    def _toggle_night(self) -> None:
        self.look.night.value = not self.look.night.value

    def _toggle_ghost(self) -> None:
        if self.look.ghost is not None:
            self.look.ghost.value = not self.look.ghost.value


def _summary(viewer: Any) -> str:
    robot, stage = viewer.robot, viewer.picture.stage
    words = [robot.kind, f"{robot.nv} coordinates", f"{robot.mass:.4g} kg"]
    if stage.floor is not None:
        words.append(f"cells of the floor {with_unit(stage.floor.cell, 'm')}")
    if stage.road is not None:
        words.append(f"lines of the road every {with_unit(stage.road.cell, 'm')}")
    return f"**{literal(robot.name)}**: {', '.join(words)}"
