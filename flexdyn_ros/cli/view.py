"""`flexdyn view`: a robot in a browser page."""

from __future__ import annotations

import re
import signal
import threading
import webbrowser
from collections.abc import Callable, Sequence
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from flexdyn_ros.cli.terminal import Config, Rigid, RobotName, Settings, Topics, Xacro, load_robot, messages
from flexdyn_ros.description.urdf.sources import shipped_names
from flexdyn_ros.errors import ROS, FlexdynError, needs
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.opening import first_scene


class Look(StrEnum):
    """Where one looks from."""

    corner = "corner"
    front = "front"
    side = "side"
    top = "top"


class Colour(StrEnum):
    """What bending links are coloured by."""

    none = "none"
    strain = "strain"
    displacement = "displacement"
    moment = "moment"
    velocity = "velocity"


class Quality(StrEnum):
    """How finely the page is drawn."""

    high = "high"
    low = "low"


def view(
    robot: RobotName,
    recording: Annotated[
        Path | None,
        typer.Option(
            "--recording", exists=True, help="play a file of simulate: .npz, or .mcap, .db3, a folder"
        ),
    ] = None,
    topic: Topics = None,
    duration: Annotated[
        float | None, typer.Option("--simulate", min=0.0, help="simulate so many seconds and play them")
    ] = None,
    still: Annotated[bool, typer.Option("--still", help="do not animate anything at the start")] = False,
    ros: Annotated[bool, typer.Option("--ros", help="follow the live topics of a simulator")] = False,
    namespace: Annotated[str, typer.Option("--namespace", help="of the topics that --ros follows")] = "",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="the next free one if it is taken")
    ] = 8080,
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
    film: Annotated[
        Path | None,
        typer.Option(
            "--film", help="write a film and end: .mp4, .gif, .apng, or a new folder of PNG pictures"
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="write a page that plays without a server, and end")
    ] = None,
    size: Annotated[str, typer.Option("--size", metavar="WxH", help="of the film [pixels]")] = "1280x720",
    rate: Annotated[
        float, typer.Option("--rate", min=1.0, max=120.0, help="pictures per second of it")
    ] = 25.0,
    look: Annotated[Look, typer.Option("--look", help="from where a film or page is seen")] = Look.corner,
    dark: Annotated[bool, typer.Option("--dark", help="light on dark")] = False,
    colour: Annotated[
        Colour | None, typer.Option("--colour", help="what bending links are coloured by")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="open the page in the browser")] = False,
    config: Config = None,
    settings: Settings = None,
    xacro: Xacro = None,
    rigid: Rigid = False,
) -> None:
    """Show a robot in a browser page: poses, modes, simulations, recordings or live topics. ROBOT may also be
    a recording (.mcap, .db3, a folder of rosbag2), which holds its robot."""
    from flexdyn_ros.view.viewer import Viewer

    pixels = _pixels(size)
    if duration is not None and not duration < inf:
        raise typer.BadParameter(f"{duration} is not finite", param_hint="--simulate")
    _check_sources({"--ros": ros, "--recording": recording, "--simulate": duration, "--still": still})
    if namespace and not ros:
        raise typer.BadParameter("names the topics that --ros follows", param_hint="--namespace")
    _check_files(film, html, ros=ros)
    loaded, run = _robot_and_run(robot, recording, topic or (), config, settings, rigid, xacro)
    # a page that follows topics has one robot
    robots = () if ros else shipped_names()
    viewer = Viewer(
        loaded, host=host, port=port, quality=quality.value, allow_hosts=allow_host or (), robots=robots
    )
    follower: Any = None
    try:
        if film is None and html is None:
            messages.print(f"{loaded.name} at {viewer.address}; Ctrl-C ends")
        if browser:
            webbrowser.open(viewer.address)
        if dark:
            viewer.panels.paint(dark=True)
        if ros:
            follower = _follower()(viewer.robot, viewer.follow, namespace)
        elif run is not None:
            viewer.play(run)
        elif duration:
            viewer.play(simulate(loaded, duration, sample=2e-3, limits="spring"))
            viewer.cameras.frame_scene()
        elif not still:
            _begin(viewer)
        if colour is not None:
            viewer.panels.look.highlight(colour.value, viewer.panels.magnification)
        if film is None and html is None:
            _wait()
        else:
            viewer.cameras.begin_at(look.value)
            _write(viewer, film, html, rate, pixels)
    finally:
        if follower is not None:
            follower.close()
        viewer.close()


def _check_sources(given: dict[str, object]) -> None:
    """One source of motion at most."""
    named = [option for option, value in given.items() if value not in (None, False)]
    if len(named) > 1:
        raise typer.BadParameter(f"{' and '.join(named)} exclude each other; expected one of them")


def _check_files(film: Path | None, html: Path | None, *, ros: bool) -> None:
    """Refuse before the viewer starts what could not be written after it."""
    from flexdyn_ros.view.kept import check_film, check_page

    if ros and (film is not None or html is not None):
        raise typer.BadParameter("live topics have no end; record them, and show the recording",
                                 param_hint="--ros")  # fmt: skip
    if film is not None and film == html:
        raise typer.BadParameter(f"film and page would be the same file {str(film)!r}", param_hint="--html")
    if film is not None:
        check_film(film)
    if html is not None:
        check_page(html)


def _pixels(text: str) -> tuple[int, int]:
    """Width and height of WxH."""
    found = re.fullmatch(r"([0-9]{2,4})x([0-9]{2,4})", text)
    if found is None:
        raise typer.BadParameter(f"{text!r}; expected WIDTHxHEIGHT, as 1280x720", param_hint="--size")
    return int(found[1]), int(found[2])


def _write(viewer: Any, film: Path | None, html: Path | None, rate: float, size: tuple[int, int]) -> None:
    """The film and the page that were asked for, with progress."""
    from flexdyn_ros.view.kept import write_film, write_page

    write: Callable[..., Path]
    for path, write in (
        (film, lambda path, report: write_film(viewer, path, rate=rate, size=size, report=report)),
        (html, lambda path, report: write_page(viewer, path, report=report)),
    ):
        if path is not None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
            with Progress(*columns, console=messages, transient=True) as bar:
                task = bar.add_task(str(path), total=None)
                written = write(path, lambda n, of, task=task: bar.update(task, completed=n, total=of))
            messages.print(f"{written}: {_megabytes(written):.1f} MB")


def _megabytes(path: Path) -> float:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files) / 1e6


def _robot_and_run(
    robot: str,
    recording: Path | None,
    topics: Sequence[str],
    config: Any,
    settings: Any,
    rigid: bool,
    xacro: list[str] | None,
) -> tuple[Robot, Trajectory | None]:
    """The robot, and the recording that is to be played."""
    if robot.endswith((".mcap", ".db3")) or (Path(robot) / "metadata.yaml").is_file():
        given = {
            "--recording": recording,
            "--config": config,
            "--set": settings,
            "--xacro": xacro,
            "--rigid": rigid,
        }
        for option in (name for name, value in given.items() if value):
            raise typer.BadParameter(f"{robot} is a recording, whose robot is what it was", param_hint=option)
        from flexdyn_ros.simulation.recordings.playback import recorded_robot

        loaded = recorded_robot(robot, topics=topics)
        return loaded, Trajectory.load(robot, loaded, topics=topics)
    loaded = load_robot(robot, config, settings, rigid, xacro)
    return loaded, None if recording is None else Trajectory.load(recording, loaded, topics=topics)


def _begin(viewer: Any) -> None:
    """Something worth seeing."""
    try:
        first_scene(viewer)
    except FlexdynError as error:
        messages.print(Text("warning:", "yellow"), f"nothing is animated: {error}")


def _follower() -> Any:
    with needs("rclpy", ROS):
        from flexdyn_ros.nodes.one_shot import Follower
    return Follower


def _wait() -> None:
    """Until SIGTERM, or SIGINT, which is KeyboardInterrupt; later ones do not disturb the ending."""
    ending = threading.Event()
    heard: list[int] = []

    def end(number: int, _: Any) -> None:
        heard.append(number)
        ending.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    while not ending.wait(0.5):
        pass
    if heard[0] == signal.SIGINT:
        raise KeyboardInterrupt
