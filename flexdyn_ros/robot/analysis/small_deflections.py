"""Where deflections are larger than a linear beam bears: what runs, states of rest and modes warn of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["LARGEST_DEFLECTION", "LARGEST_ROTATION", "Tip", "beyond_linear"]

#: deflection of a tip as a share of the length, and its rotation [rad], up to which the error of the linear
#: beam stays at some per cent (docs/theory/flexible_links.md)
LARGEST_DEFLECTION, LARGEST_ROTATION = 0.1, 0.3


@dataclass(frozen=True, eq=False)
class Tip:
    """The tip of a flexible link: its length [m], the indices q (m,) of its modal coordinates, and what each
    of them moves and turns it by, displacement and rotation (m, 3) per unit, beam axes."""

    link: str
    length: float
    q: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray


def beyond_linear(robot: Any, q: np.ndarray, t: np.ndarray | None = None) -> list[str]:
    """What to say of links whose tips leave the range of the linear beam in rows of q (n, nq), each link at
    its largest; t (n,): times of the rows [s]."""
    found = []
    for tip in robot.tips:
        deflected = np.linalg.norm((q[:, tip.q] @ tip.displacement)[:, 1:], axis=1) / tip.length
        turned = np.linalg.norm(q[:, tip.q] @ tip.rotation, axis=1)
        for values, largest, text in (
            (deflected, LARGEST_DEFLECTION, "its tip moves by {:.0%} of the length"),
            (turned, LARGEST_ROTATION, "its tip turns by {:.2g} rad"),
        ):
            if values.size == 0 or not np.isfinite(values).any():
                continue
            worst = int(np.nanargmax(values))
            if values[worst] > largest:
                when = "" if t is None else f" at t = {t[worst]:.4g} s"
                found.append(f"link '{tip.link}': {text.format(values[worst])}{when}")
                break
    return found


def warning_of(found: Sequence[str]) -> str:
    """The warning that these findings make."""
    return (
        f"deflections beyond the linear beam: {'; '.join(found)} (it holds up to "
        f"{LARGEST_DEFLECTION:.0%} of the length and {LARGEST_ROTATION} rad); more and shorter flexible "
        "links in a row follow larger ones"
    )
