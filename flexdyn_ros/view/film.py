"""Pictures and films of what a browser shows."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, needs

if TYPE_CHECKING:
    from viser import ClientHandle


#: of films: rate [1/s] and size [pixels]
RATE, HEIGHT, WIDTH = 20, 480, 854
#: seconds that a browser gets for one picture
PATIENCE = 60.0
#: suffixes of films
FORMATS = (".mp4", ".gif", ".apng", ".png")


def picture(client: ClientHandle) -> bytes:
    """A PNG file of what the client sees, as large as it sees it, without the panels."""
    return png(seen(client))


def seen(client: ClientHandle) -> np.ndarray:
    """What the client sees (height, width, 3), as large as it sees it, without the panels."""
    return _render(client, client.camera.image_height, client.camera.image_width)


def png(image: np.ndarray) -> bytes:
    """An image (height, width, 3) of uint8 as a file."""
    import imageio.v3 as imageio

    file = io.BytesIO()
    imageio.imwrite(file, image, extension=".png")
    return file.getvalue()


def frames_of(
    server: Any,
    client: Any,
    moments: Iterable[Callable[[], None]],
    report: Callable[[int], None],
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Iterable[np.ndarray]:
    """Images (height, width, 3) of uint8 of moments, as a client of a server sees them.

    Each moment is a function that moves the robot there.
    report(n) hears how many there are so far.
    """
    from flexdyn_ros.view.guard import wait_until_sent

    for n, move in enumerate(moments, start=1):
        move()
        wait_until_sent(server, client)
        yield _render(client, size[1], size[0])
        report(n)


def portable_format() -> str:
    """.mp4 where imageio-ffmpeg is installed, .gif where not."""
    return ".gif" if importlib.util.find_spec("imageio_ffmpeg") is None else ".mp4"


def check_format(suffix: str) -> None:
    """Whether films of this kind can be written.

    Raises
    ------
    MissingExtraError
        If imageio-ffmpeg, which .mp4 needs, is not installed.
    FlexdynError
        If the format is not known.
    """
    if suffix not in FORMATS:
        raise FlexdynError(f"a film {suffix!r}; expected one of {', '.join(FORMATS)}, or a folder")
    if suffix == ".mp4":
        with needs("imageio_ffmpeg", "film"):
            import_module("imageio_ffmpeg")


def encoded(frames: Sequence[np.ndarray], suffix: str, rate: float) -> bytes:
    """A film of images (height, width, 3), in one of FORMATS; raises what `check_format` does."""
    import imageio.v3 as imageio

    check_format(suffix)
    file = io.BytesIO()
    if suffix == ".mp4":
        even = [image[: len(image) // 2 * 2, : image.shape[1] // 2 * 2] for image in frames]
        imageio.imwrite(file, even, extension=".mp4", fps=rate, plugin="FFMPEG", macro_block_size=2)
    elif suffix == ".gif":
        imageio.imwrite(file, frames, extension=".gif", duration=1000.0 / rate, loop=0)
    else:
        _write_animated_png(file, frames, rate)
    return file.getvalue()


def _write_animated_png(file: io.BytesIO, frames: Sequence[np.ndarray], rate: float) -> None:
    from PIL import Image

    first, *others = (Image.fromarray(image) for image in frames)
    first.save(file, format="PNG", save_all=True, append_images=others, duration=1000.0 / rate, loop=0)


def _render(client: ClientHandle, height: int, width: int) -> np.ndarray:
    """RGB (height, width, 3) of uint8."""
    image: np.ndarray = client.get_render(height, width, transport_format="jpeg", timeout=PATIENCE)
    return image[..., :3]


def moments_of(viewer: Any, rate: float, most: int) -> tuple[list[Callable[[], None]], float]:
    """What moves the robot of a viewer now, as functions that each show one moment.

    Parameters
    ----------
    viewer : Viewer
    rate : float
        Moments per second; fewer where there would be too many.
    most : int

    Returns
    -------
    list of functions
        One swing of a mode, one tour, a trajectory from its begin to its end at its speed; else one moment.
    float
        Moments per second.
    """
    seconds = viewer.length
    count = int(np.clip(round(seconds * rate), 1, most))
    shares = np.arange(count) / count
    show = {"mode": _mode, "tour": _tour, "run": _run}.get(viewer.source)
    if show is None or count < 2:
        return [viewer.redraw_now], rate
    return [partial(viewer.show_moment, partial(show, viewer, share)) for share in shares.tolist()], (
        count / seconds
    )


def _mode(viewer: Any, share: float) -> None:
    viewer.show_mode_at(2.0 * np.pi * share)


def _tour(viewer: Any, share: float) -> None:
    viewer.q = viewer.reach.in_turn(2.0 * np.pi * viewer.reach.turns * share)
    viewer.v = np.zeros(viewer.robot.nv)


def _run(viewer: Any, share: float) -> None:
    playback = viewer.playback
    viewer.show_still(playback.start + share * (playback.end - playback.start))
