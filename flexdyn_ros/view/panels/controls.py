"""Values of controls, whatever a browser sent, and text that a page shows as it is."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np


def literal(text: str) -> str:
    """Text that a page of Markdown shows as it is; else HTML in it would be obeyed, scripts too."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def number(handle: Any, low: float, high: float) -> float:
    """The number of a control, within its limits, whatever a browser sent; low if it is none."""
    value = float(handle.value)
    return float(np.clip(value, low, high)) if math.isfinite(value) else low


def choice(handle: Any, default: str) -> str:
    """What was chosen, or the default if a browser sent what is not offered."""
    return str(handle.value) if handle.value in handle.options else default
