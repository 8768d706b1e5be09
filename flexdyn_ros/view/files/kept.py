"""Films and pages of a viewer as files: whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.view.files.film import check_format, encoded, frames_of, png
from flexdyn_ros.view.files.headless import browser_program, headless
from flexdyn_ros.view.files.scenario import moments_of
from flexdyn_ros.view.files.titles import written_on
from flexdyn_ros.view.server.page import with_exact_colours
from flexdyn_ros.writing import write_bytes, write_text

#: moments of a page: per second, and at most
PAGE_RATE, PAGE_MOMENTS = 20.0, 600
#: frames of a film at most
FILM_FRAMES = 5000

#: hears how many moments of how many there are so far
Report = Callable[[int, int], None]


def write_film(
    viewer: Any, path: str | Path, *, rate: float, size: tuple[int, int], report: Report = lambda n, of: None
) -> Path:
    """A film of what moves the robot now, made by a browser without a window.

    Parameters
    ----------
    viewer : Viewer
    path : path
        .mp4, .gif, .apng or .png (an animated PNG); without a suffix a new folder of single PNG pictures.
    rate : float
        Pictures per second.
    size : pair of int
        Width and height [pixels].

    Raises
    ------
    FlexdynError
        If there is no browser, the format is not known, there is no folder for the file, or the new folder is
        there already.
    MissingExtraError
        If imageio-ffmpeg, which .mp4 needs, is not installed.
    """
    path = check_film(path)
    moments, rate = moments_of(viewer, rate, FILM_FRAMES)
    with headless(viewer) as client, viewer.standing_still(labelled=False):
        # once for the scale of colours, which is that of the largest value
        for move in moments:
            move()
        title = f"{viewer.robot.name}  {viewer.caption}"
        frames = [
            written_on(frame, title, *viewer.scale, dark=viewer.panels.is_dark)
            for frame in frames_of(viewer.server, client, moments, lambda n: report(n, len(moments)), size)
        ]
    if path.suffix:
        write_bytes(path, encoded(frames, path.suffix.lower(), rate))
        return path
    return _put_folder(path, [png(frame) for frame in frames])


def write_page(viewer: Any, path: str | Path, *, report: Report = lambda n, of: None) -> Path:
    """A page of HTML that plays what moves the robot now; it needs no server and no network.

    viser records the scene and brings the program of the page; up to 600 moments, about 20 kB each.

    Raises
    ------
    FlexdynError
        If there is no folder for it.
    """
    path = check_page(path)
    moments, rate = moments_of(viewer, PAGE_RATE, PAGE_MOMENTS)
    with viewer.standing_still():
        # once for the scales of colours and arrows, which are those of the largest values
        for move in moments:
            move()
        recording = viewer.server.get_scene_serializer()
        for n, move in enumerate(moments, start=1):
            move()
            if len(moments) > 1:
                recording.insert_sleep(1.0 / rate)
            report(n, len(moments))
        html = recording.as_html(dark_mode=viewer.panels.is_dark)
    write_text(path, _completed(viewer, html))
    return path


def _completed(viewer: Any, html: str) -> str:
    """The page with exact colours, its title, its legend, and whose program it is."""
    from html import escape

    name = escape(viewer.robot.name)
    player = f"viser {version('viser')} (Apache License 2.0)"
    note = f"<!-- {name}: made by flexdyn_ros; the player is that of {player} -->"
    html = html.replace("<head>", f"<head>\n    {note}", 1)
    html = html.replace("<title>Viser</title>", f"<title>{name}</title>", 1)
    style = "position:fixed;left:1em;bottom:4em;width:14em;z-index:5;font-family:sans-serif;color:{}".format(
        "#ddd" if viewer.panels.is_dark else "#222"
    )
    box = f'<div style="{style}"><b style="margin:0.7em">{name}</b>{viewer.legend}</div>'
    return with_exact_colours(html.replace('<div id="root">', f'{box}\n    <div id="root">', 1))


def check_film(path: str | Path) -> Path:
    """The path of a film that could be written; raises what `write_film` does, before a viewer is needed."""
    path = Path(path)
    if path.suffix:
        check_format(path.suffix.lower())
        _check_file(path)
    elif path.exists():
        raise FlexdynError(f"{path} is there already; expected the name of a new folder")
    else:
        _check_folder(path)
    browser_program()
    return path


def check_page(path: str | Path) -> Path:
    """The path of a page that could be written; raises what `write_page` does, before a viewer is needed."""
    path = Path(path)
    _check_file(path)
    return path


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise FlexdynError(f"{path} is a folder; expected the name of a file")
    _check_folder(path)


def _check_folder(path: Path) -> None:
    """Whether there is a folder for it in which something can be written."""
    if not path.parent.is_dir():
        raise FlexdynError(f"{path}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FlexdynError(f"{path}: the folder {str(path.parent)!r} cannot be written to")


def _put_folder(path: Path, pictures: list[bytes]) -> Path:
    """Write a folder of pictures beside, then give it its name."""
    with TemporaryDirectory(dir=path.parent) as room:
        folder = Path(room) / path.name
        folder.mkdir()
        digits = max(4, len(str(len(pictures))))
        for n, content in enumerate(pictures):
            (folder / f"{n:0{digits}}.png").write_bytes(content)
        shutil.move(folder, path)
    return path
