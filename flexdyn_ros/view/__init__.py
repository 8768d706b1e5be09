"""Pictures: a viewer in the browser, plots and single pictures."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.view.around.stage import aim
    from flexdyn_ros.view.drawing.shown_robot import ShownRobot
    from flexdyn_ros.view.film import picture
    from flexdyn_ros.view.kept import write_film, write_page
    from flexdyn_ros.view.viewer import Viewer

__all__ = ["ShownRobot", "Viewer", "aim", "picture", "write_film", "write_page"]

__getattr__, __dir__ = lazily(__name__)
