"""`flexdyn doctor`: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import wrap

import typer
from rich.text import Text

from flexdyn_ros.cli.machine.surroundings import Finding, findings
from flexdyn_ros.cli.terminal import Json, print_json, tables

_TITLES = {
    "python": "Python",
    "packages": "Packages",
    "compiler": "Compiler",
    "caches": "Caches",
    "ros": "ROS 2",
    "pictures": "Pictures",
}
_MARKS = {
    "found": ("ok  ", "green"), "missing": ("MISS", "red"), "optional": ("none", "yellow"),
    "told": ("    ", ""),
}  # fmt: skip


def doctor(as_json: Json = False) -> None:
    """Look at Python, packages, compiler, caches, ROS 2 and graphics; exit code 1 if something is missing.

    What is only needed for one purpose, such as ROS 2 for nodes, may be absent.
    """
    found = list(findings())
    missing = [one for one in found if one.state == "missing"]
    if as_json:
        print_json({"findings": [asdict(one) for one in found], "healthy": not missing})
    else:
        _print(found)
    if missing:
        raise typer.Exit(1)


def _print(found: list[Finding]) -> None:
    topic = ""
    for one in found:
        if one.topic != topic:
            topic = one.topic
            tables.print(_TITLES[topic], style="bold")
        tables.print(Text.assemble("  ", _MARKS[one.state], " "), end="")
        _print_text(f"{one.name:<19}{one.value}".rstrip(), 7, 26)
        if one.remedy:
            _print_text(f"       -> {one.remedy}", 0, 10)


def _print_text(text: str, begun: int, indent: int) -> None:
    """A text behind so many columns, as lines between words, the later ones indented: paths stay whole."""
    lines = wrap(
        " " * begun + text, tables.width, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    tables.print("\n".join(lines)[begun:], soft_wrap=True)
