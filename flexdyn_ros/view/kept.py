"""Films and pages of a viewer as files: whole, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.expanded.appearance import colours_of, labelled, top_of
from flexdyn_ros.view.film import check_format, encoded, frames_of, moments_of, png
from flexdyn_ros.view.page import with_additions
from flexdyn_ros.wording import with_unit
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
    """Write a film of the present motion, rendered by a headless browser.

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
        found = frames_of(viewer.server, client, moments, lambda n: report(n, len(moments)), size)
        frames = [annotated(viewer, client, frame) for frame in found]
    if path.suffix:
        write_bytes(path, encoded(frames, path.suffix.lower(), rate))
        return path
    return _put_folder(path, [png(frame) for frame in frames])


def write_page(viewer: Any, path: str | Path, *, report: Report = lambda n, of: None) -> Path:
    """Write an HTML page that plays the present motion, without server and network.

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
    style = "position:fixed;left:1em;bottom:4em;width:14em;z-index:5;font-family:sans-serif;color:{}".format(
        "#ddd" if viewer.panels.is_dark else "#222"
    )
    box = f'<div style="{style}"><b style="margin:0.7em">{name}</b>{viewer.legend}</div>'
    html = html.replace('<div id="root">', f'{box}\n    <div id="root">', 1)
    return with_additions(html, viewer.robot.name)


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


#: of letters and margins [heights of the picture]; width of the scale [widths of the picture]
LETTER, MARGIN, SCALE = 0.035, 0.04, 0.28
#: of letters, by day and by night
INK = {False: (34, 36, 40), True: (222, 225, 230)}


def annotated(viewer: Any, client: Any, image: np.ndarray) -> np.ndarray:
    """A picture (height, width, 3) of what a client sees now with its title: robot, what it does, time and
    magnification; with scales of length, at the distance of the robot, and of colours."""
    low, high = viewer.shown.bounds(viewer.q)
    distance = float(np.linalg.norm(0.5 * (low + high) - np.asarray(client.camera.position)))
    metre = 0.5 * len(image) / np.tan(0.5 * client.camera.fov) / max(distance, 1e-9)
    return written_on(
        image, viewer.picture.title, *viewer.scale, dark=viewer.panels.is_dark, metre=float(metre)
    )


def _round_length(metre: float, pixels: float) -> float:
    """The largest of 1, 2, 5, 10 ... [m] that takes no more than so many pixels, at `metre` pixels each."""
    power = 10.0 ** np.floor(np.log10(pixels / metre))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power * metre <= pixels))


def _font(size: float) -> Any:
    """DejaVu Sans, which comes with matplotlib: the letters of Pillow have no ×, µ, Greek or accents."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def written_on(
    image: np.ndarray,
    title: str,
    quantity: str = "none",
    top: float = 0.0,
    *,
    dark: bool = False,
    metre: float = 0.0,
) -> np.ndarray:
    """The picture (height, width, 3) with a title, with the scale of colours of a quantity from 0 to top
    unless it is "none", and with a bar of a round length where a metre takes so many pixels."""
    from PIL import Image, ImageDraw

    height, width = image.shape[:2]
    picture = Image.fromarray(image)
    pen = ImageDraw.Draw(picture)
    letter, margin, ink = max(LETTER * height, 8.0), MARGIN * height, INK[dark]
    font = _font(letter)
    pen.text((margin, margin), title, fill=ink, font=font)
    if quantity != "none":
        bar = np.tile(colours_of(np.linspace(0.0, 1.0, round(SCALE * width))), (round(0.6 * letter), 1, 1))
        left, below = round(margin), round(height - margin - 1.4 * letter)
        picture.paste(Image.fromarray(bar), (left, below - bar.shape[0]))
        pen.text((left, below - 2.2 * letter), labelled(quantity), fill=ink, font=font)
        pen.text((left, below), "0", fill=ink, font=font)
        pen.text((left + bar.shape[1], below), top_of(quantity, top), fill=ink, font=font, anchor="ra")
    if metre > 0.0:
        length = _round_length(metre, SCALE * width)
        right, at = width - margin, height - margin - 1.2 * letter
        pen.line((right - length * metre, at, right, at), fill=ink, width=max(2, round(0.12 * letter)))
        pen.text((right, at), with_unit(length, "m"), fill=ink, font=font, anchor="ra")
    return np.asarray(picture)


#: programs that may be the browser
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: the page itself may be small: films have sizes of their own
FLAGS = ("--headless=new", "--window-size=320,240", "--no-first-run", "--enable-unsafe-swiftshader")
#: seconds that the browser gets to open the page, and to draw it
PATIENCE, SETTLE = 60.0, 1.5


def browser_program() -> str:
    """Path of the browser; FlexdynError if there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise FlexdynError("films need a browser that draws without a window; install chromium")
    return program


@contextmanager
def headless(viewer: Any) -> Iterator[Any]:
    """A browser that shows the page of a viewer, as viser's client.

    Raises
    ------
    FlexdynError
        If there is no browser, or it does not open the page.
    """
    program = browser_program()
    address = viewer.address.partition("/?")[0] + "/?fixedDpr=1"
    # the sandbox of the browser does not start for the administrator
    more = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, *more, f"--user-data-dir={profile}", address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                yield _visitor(viewer, browser)
            finally:
                browser.terminate()


def _visitor(viewer: Any, browser: Any) -> Any:
    """The client that comes, when it has drawn."""
    before = set(viewer.server.get_clients())
    deadline = time.monotonic() + PATIENCE
    while not (new := set(viewer.server.get_clients()) - before):
        if browser.poll() is not None or time.monotonic() > deadline:
            raise FlexdynError(f"{browser.args[0]} does not open the page of the viewer")
        time.sleep(0.1)
    client = viewer.server.get_clients()[new.pop()]
    time.sleep(SETTLE)
    return client
