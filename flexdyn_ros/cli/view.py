"""`flexdyn view`: a robot in a browser page."""

from __future__ import annotations

import signal
import threading
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from flexdyn_ros.cli.terminal import Config, Rigid, RobotName, Settings, load_robot, messages
from flexdyn_ros.errors import FlexdynError, needs
from flexdyn_ros.robot.coordinates import has_legs
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["view"]


class Quality(StrEnum):
    """How finely the page is drawn."""

    high = "high"
    low = "low"


def view(
    robot: RobotName,
    recording: Annotated[
        Path | None, typer.Option("--recording", exists=True, help="play a file of simulate: .npz or .mcap")
    ] = None,
    duration: Annotated[
        float | None, typer.Option("--simulate", min=0.0, help="simulate so many seconds and play them")
    ] = None,
    still: Annotated[bool, typer.Option("--still", help="do not animate anything at the start")] = False,
    ros: Annotated[bool, typer.Option("--ros", help="follow the live topics of a simulator")] = False,
    namespace: Annotated[str, typer.Option("--namespace", help="of the topics that --ros follows")] = "",
    port: Annotated[int, typer.Option("--port", help="the next free one if it is taken")] = 8080,
    host: Annotated[
        str, typer.Option("--host", help="address to listen on; 0.0.0.0: all machines may look")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="name of a tunnel or proxy, NAME or NAME:PORT; may be repeated"),
    ] = None,
    quality: Annotated[
        Quality, typer.Option("--quality", help="low: fewer pixels, where the browser renders in software")
    ] = Quality.high,
    browser: Annotated[bool, typer.Option("--browser", help="open the page in the browser")] = False,
    config: Config = None,
    settings: Settings = None,
    rigid: Rigid = False,
) -> None:
    """Show a robot in a browser page: poses, modes, simulations, recordings or live topics. ROBOT may also be
    an .mcap recording, which holds its robot."""
    from flexdyn_ros.view.viewer import Viewer

    loaded, run = _robot_and_run(robot, recording, config, settings, rigid)
    viewer = Viewer(loaded, host=host, port=port, quality=quality.value, allow_hosts=allow_host or ())
    follower: Any = None
    try:
        messages.print(f"{loaded.name} at {viewer.address}; Ctrl-C ends", highlight=False)
        if browser:
            webbrowser.open(viewer.address)
        if ros:
            follower = _follower()(viewer.robot, viewer.follow, namespace)
        elif run is not None:
            viewer.play(run)
        elif duration:
            viewer.play(simulate(loaded, duration, sample=2e-3))
        elif not still:
            _begin(viewer)
        _wait()
    finally:
        if follower is not None:
            follower.close()
        viewer.close()


def _robot_and_run(
    robot: str, recording: Path | None, config: Any, settings: Any, rigid: bool
) -> tuple[Robot, Trajectory | None]:
    """The robot, and the recording that is to be played."""
    if robot.endswith(".mcap"):
        from flexdyn_ros.simulation.recordings.playback import recorded_robot

        loaded = recorded_robot(robot)
        return loaded, Trajectory.load(robot, loaded)
    loaded = load_robot(robot, config, settings, rigid)
    return loaded, None if recording is None else Trajectory.load(recording, loaded)


def _begin(viewer: Any) -> None:
    """Something worth seeing: a robot as gravity bends it; the first mode of one that it does not bend, what
    gravity does with a rigid arm, and one coordinate after the other of everything else."""
    description = viewer.robot.description
    try:
        if viewer.bends and viewer.rest():
            return
        if viewer.bends:
            viewer.panels.highlight("moment", magnification=1.0)
            viewer.play_mode()
        elif not (has_legs(viewer.robot) or description.wheels or description.sections):
            viewer.play(simulate(viewer.robot, 4.0, sample=2e-3))
        else:
            viewer.tour()
    except FlexdynError as error:
        messages.print(f"[yellow]warning:[/] nothing is animated: {error}", highlight=False)


def _follower() -> Any:
    with needs("rclpy", "ros"):
        from flexdyn_ros.nodes.state_publisher.follower import Follower
    return Follower


def _wait() -> None:
    """Until SIGINT or SIGTERM."""
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    while not ending.wait(0.5):
        pass
