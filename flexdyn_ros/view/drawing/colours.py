"""The legend of the page: which colour stands for which value."""

from __future__ import annotations

from flexdyn_ros.expanded.appearance import STOPS, labelled, top_of


def legend(quantity: str, top: float) -> str:
    """HTML: the colours with the values at their ends; empty for no quantity."""
    if quantity == "none":
        return ""
    colours = ", ".join(f"rgb({r},{g},{b})" for r, g, b in STOPS.tolist())
    return (
        f'<div style="margin:0.3em 1em;font-size:0.8em"><div>{labelled(quantity)}</div>'
        f'<div style="height:0.8em;border-radius:3px;background:linear-gradient(to right,{colours})"></div>'
        '<div style="display:flex;justify-content:space-between">'
        f"<span>0</span><span>{top_of(quantity, top)}</span></div></div>"
    )
