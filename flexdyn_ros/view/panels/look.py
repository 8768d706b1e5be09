"""The tab of looks: colours, overlays, cameras, day and night, pictures and films."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.view.around.stage import PRESETS
from flexdyn_ros.view.drawing.overlays import names_of
from flexdyn_ros.view.drawing.shown_robot import COLOURINGS
from flexdyn_ros.view.film import RATE, encoded, frames_of, moments_of, png, portable_format, seen
from flexdyn_ros.view.kept import annotated
from flexdyn_ros.view.panels.run import Jobs, choice, number

if TYPE_CHECKING:
    from viser import ClientHandle, GuiApi

#: frames of a film from the page at most
FRAMES = 240
#: largest magnification
MAGNIFICATION = 100.0


class LookTab:
    """How a viewer shows its robot."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self.magnification: Any = None
        if viewer.bends:
            self.magnification = gui.add_slider(
                "Magnification", min=1.0, max=MAGNIFICATION, step=1.0, initial_value=1.0
            )
            self.magnification.on_update(lambda _: viewer.redraw())
        options = COLOURINGS if viewer.shown.tubes else COLOURINGS[:1]
        self.colouring = gui.add_dropdown("Colour by", options, initial_value="none")
        self.colouring.on_update(lambda _: viewer.restart_colours())
        self.ghost: Any = None
        if viewer.shown.tubes:
            self.ghost = gui.add_checkbox("Undeformed shape", False)
            self.ghost.on_update(lambda _: self.show_ghost(bool(self.ghost.value)))
        self.overlays = {
            name: gui.add_checkbox(label, False) for name, label in names_of(viewer.robot).items()
        }
        for box in self.overlays.values():
            box.on_update(lambda _: viewer.redraw())
        views = gui.add_button_group("View", tuple(PRESETS))
        views.on_click(lambda _: viewer.cameras.look_from(choice(views, next(iter(PRESETS)))))
        self.night = gui.add_checkbox("Dark", False)
        self.night.on_update(lambda _: viewer.panels.paint(dark=bool(self.night.value)))
        gui.add_button("Screenshot").on_click(
            lambda event: jobs.shortly(lambda: self._screenshot(event.client))
        )
        gui.add_button("Film").on_click(lambda event: jobs.in_background(lambda: self._film(event.client)))

    def factor(self) -> float:
        """Of all deformations."""
        return 1.0 if self.magnification is None else number(self.magnification, 1.0, MAGNIFICATION)

    def colour(self) -> str:
        """What tubes are coloured by."""
        appearance: Appearance = self._viewer.shown.appearance
        return appearance.shown_quantity(choice(self.colouring, COLOURINGS[0]))

    def chosen_overlays(self) -> set[str]:
        """Names of what is laid over the robot."""
        return {name for name, box in self.overlays.items() if box.value}

    def highlight(self, colouring: str, magnification: float) -> None:
        """Colour by a quantity, magnify deformations, show what is undeformed."""
        self.colouring.value = colouring
        if self.magnification is not None:
            self.magnification.value = min(magnification, MAGNIFICATION)
        if self.ghost is not None:
            self.ghost.value = True
            self.show_ghost(True)
        self._viewer.restart_colours()

    def show_ghost(self, visible: bool) -> None:
        """Show or hide the undeformed shape."""
        self._viewer.picture.ghost.visible = visible
        self._viewer.redraw()

    def _screenshot(self, client: ClientHandle | None) -> None:
        if client is not None:
            viewer = self._viewer
            from flexdyn_ros.view.guard import wait_until_sent

            with viewer.unlabelled():
                wait_until_sent(viewer.server, client)
                image = annotated(viewer, client, seen(client))
            client.send_file_download(f"{viewer.robot.name}.png", png(image), save_immediately=True)

    def _film(self, client: ClientHandle | None) -> None:
        """A swing of the mode, or the trajectory from its begin to its end, as a file."""
        if client is None:
            return
        viewer, tell = self._viewer, self._viewer.panels.tell
        moments, rate = moments_of(viewer, RATE, FRAMES)
        count = len(moments)
        with viewer.standing_still(labelled=False):
            for move in moments:  # once for the scale of colours, which is that of the largest value
                move()
            found = frames_of(viewer.server, client, moments, lambda n: tell(f"film: frame {n} of {count}"))
            frames = [annotated(viewer, client, frame) for frame in found]
        suffix = portable_format()
        content = encoded(frames, suffix, rate)
        client.send_file_download(f"robot{suffix}", content, save_immediately=True)
        tell(f"robot{suffix}: {len(frames)} frames, {len(content) / 1e6:.2g} MB")
