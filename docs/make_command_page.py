"""Make docs/command_reference.md from the command `flexdyn` itself.

python docs/make_command_page.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from flexdyn_ros.cli import app
from flexdyn_ros.cli.commands import COMMANDS
from flexdyn_ros.description.language.reference_page import names_as_code

PAGE = Path(__file__).resolve().parent / "command_reference.md"
HEAD = """# Command reference: `flexdyn`

Made by `python docs/make_command_page.py` from the command itself; do not edit. The page
[The command `flexdyn`](command.md)
explains how commands work together: starts, files, output, exit codes.

"""


def page() -> str:
    """The Markdown page: a section with usage and tables for each command."""
    group: Any = typer.main.get_command(app)
    return HEAD + "\n".join(_section(name, group.commands[name]) for name in COMMANDS)


def _section(name: str, command: Any) -> str:
    arguments = [one for one in command.params if not one.opts[0].startswith("-")]
    options = [one for one in command.params if one.opts[0].startswith("-")]
    usage = " ".join([f"flexdyn {name}", *(_operand(one) for one in arguments), "[OPTIONS]"])
    parts = [f"## flexdyn {name}", "", f"`{usage}`", "", _text(command.help), ""]
    rows = [(f"`{_operand(one)}`", "", _text(one.help)) for one in arguments]
    parts += _table("Argument", rows)
    panels: dict[str, list[tuple[str, str, str]]] = {}
    for one in options:
        panel = getattr(one, "rich_help_panel", None) or "Option"
        panels.setdefault(panel, []).append((_flags(one), _default(one), _text(one.help)))
    for panel, rows in panels.items():
        parts += _table(panel, rows)
    return "\n".join(parts)


def _table(title: str, rows: list[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {title} | Default | Meaning |", "|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [*lines, ""]


def _operand(argument: Any) -> str:
    word = (argument.metavar or argument.name.upper()) + ("..." if argument.nargs == -1 else "")
    return word if argument.required or word.startswith("[") else f"[{word}]"


def _flags(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    names = [f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts)]
    return ", ".join(names)


def _default(option: Any) -> str:
    shown, default = option.show_default, option.default
    if isinstance(shown, str):
        return shown
    if option.is_flag or not shown or default in (None, "", (), []) or callable(default):
        return ""
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _text(text: str | None) -> str:
    """Help as one paragraph of Markdown: brackets of units are no links, elements are code."""
    words = " ".join((text or "").replace("\b", "").replace("\\[", "[").split())
    return names_as_code(words[:1].upper() + words[1:])


if __name__ == "__main__":
    PAGE.write_text(page())
