"""What is written on the pictures of a film: a title, and the scale of colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.expanded.colour_scale import colours_of, labelled

#: of letters and margins [heights of the picture]; width of the scale [widths of the picture]
LETTER, MARGIN, SCALE = 0.035, 0.04, 0.28
#: of letters, by day and by night
INK = {False: (34, 36, 40), True: (222, 225, 230)}


def written_on(
    image: np.ndarray, title: str, quantity: str = "none", top: float = 0.0, *, dark: bool = False
) -> np.ndarray:
    """The picture (height, width, 3) with a title, and with the scale of colours of a quantity from 0 to top
    unless it is "none"."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = image.shape[:2]
    picture = Image.fromarray(image)
    pen = ImageDraw.Draw(picture)
    letter, margin, ink = max(LETTER * height, 8.0), MARGIN * height, INK[dark]
    font: Any = ImageFont.load_default(letter)
    pen.text((margin, margin), title, fill=ink, font=font)
    if quantity != "none":
        bar = np.tile(colours_of(np.linspace(0.0, 1.0, round(SCALE * width))), (round(0.6 * letter), 1, 1))
        left, below = round(margin), round(height - margin - 1.4 * letter)
        picture.paste(Image.fromarray(bar), (left, below - bar.shape[0]))
        pen.text((left, below - 2.2 * letter), labelled(quantity), fill=ink, font=font)
        pen.text((left, below), "0", fill=ink, font=font)
        pen.text((left + bar.shape[1], below), f"{top:.3g}", fill=ink, font=font, anchor="ra")
    return np.asarray(picture)
