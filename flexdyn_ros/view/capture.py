"""Pictures and films of what a browser shows."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = ["film", "picture"]

#: of films: rate [1/s] and size [pixels]
RATE, HEIGHT, WIDTH = 20, 480, 854
#: seconds that a browser gets for one picture
PATIENCE = 60.0


def picture(client: Any) -> bytes:
    """A PNG file of what the client sees, as large as it sees it, without the panels."""
    import imageio.v3 as imageio

    image = _render(client, client.camera.image_height, client.camera.image_width)
    file = io.BytesIO()
    imageio.imwrite(file, image, extension=".png")
    return file.getvalue()


def film(
    client: Any, moments: Iterable[Callable[[], None]], report: Callable[[int], None]
) -> tuple[str, bytes]:
    """A film of moments, each a function that moves the robot there.

    Returns the file name and its content: MP4 where imageio-ffmpeg is installed, an animated GIF where not.
    report(n) hears how many frames there are so far.
    """
    import imageio.v3 as imageio

    frames = []
    for move in moments:
        move()
        client.flush()
        frames.append(_render(client, HEIGHT, WIDTH))
        report(len(frames))
    file = io.BytesIO()
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        imageio.imwrite(file, frames, extension=".gif", duration=1000 // RATE, loop=0)
        return "robot.gif", file.getvalue()
    imageio.imwrite(file, frames, extension=".mp4", fps=RATE, plugin="FFMPEG")
    return "robot.mp4", file.getvalue()


def _render(client: Any, height: int, width: int) -> np.ndarray:
    """RGB (height, width, 3) of uint8."""
    return client.get_render(height, width, transport_format="jpeg", timeout=PATIENCE)[..., :3]
