"""Frames on a bent body: BODY@station, the station a fraction of the undeformed length, `root` or `tip`."""

from __future__ import annotations

from collections.abc import Iterable


def station_of(text: str) -> float | None:
    """A station, 0 to 1, from its text; None if it is none."""
    try:
        station = {"root": 0.0, "tip": 1.0}.get(text)
        station = float(text) if station is None else station
    except ValueError:
        return None
    return station if 0.0 <= station <= 1.0 else None


def section_of(name: str) -> tuple[str, float | None]:
    """Body and station of a frame BODY@station; ("", None) if the name has no such form."""
    body, sign, text = name.rpartition("@")
    station = station_of(text) if sign else None
    return ("", None) if station is None else (body, station)


def word_for(name: object, bodies: Iterable[str]) -> str:
    """What an unknown frame is called in an error: a frame, or a station beside those of a bent body."""
    body, sign, _ = str(name).rpartition("@")
    if sign and body in set(bodies):
        return "station, expected 0 (root) to 1 (tip), in frame"
    return "frame"
