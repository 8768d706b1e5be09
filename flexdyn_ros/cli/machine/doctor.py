"""`flexdyn doctor`: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict

import typer

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
_MARKS = {"found": "[green]ok  [/]", "missing": "[red]MISS[/]", "optional": "[yellow]none[/]", "told": "    "}


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
            tables.print(f"[bold]{_TITLES[topic]}[/]")
        tables.print(f"  {_MARKS[one.state]} ", end="")
        tables.print(f"{one.name:<19}{one.value}".rstrip(), markup=False, highlight=False, soft_wrap=True)
        if one.remedy:
            tables.print(f"       -> {one.remedy}", markup=False, highlight=False, soft_wrap=True)
