"""What commands share: options that say which robot, tables on stdout, messages on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
import yaml
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from flexdyn_ros import writing
from flexdyn_ros.description.urdf.sources import shipped_names
from flexdyn_ros.errors import StateError, UnknownNameError
from flexdyn_ros.escaping import LINES, printable, xml_references

if TYPE_CHECKING:
    from flexdyn_ros.robot.verbs import Robot

#: columns of tables that are not printed on a terminal, unless COLUMNS says how many there are
WIDE = 200
#: characters of the longest number
LONGEST_NUMBER = 12
#: one style of all tables: a line below the head, none between columns
_STYLE: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "pad_edge": False, "show_edge": False}


def _columns() -> int | None:
    """Columns of what is printed on stdout; None: as many as the terminal has."""
    if sys.stdout.isatty():
        return None
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and int(told) > 0 else WIDE


class _Console(Console):
    """Prints texts as they are: nothing in a name is markup, and nothing in it moves the cursor."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, LINES), segment.style)


tables = _Console(width=_columns())
messages = _Console(stderr=True)


def complete_robot(incomplete: str) -> list[str]:
    """Names of shipped robots that begin like that; the shell completes paths by itself."""
    return [name for name in shipped_names() if name.startswith(incomplete)]


RobotName = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="path, package:// URI or name of an included robot",
        autocompletion=complete_robot,
    ),
]
Config = Annotated[
    list[Path] | None, typer.Option("--config", help="YAML file that overrides the description; repeatable")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="override one value; repeatable")
]
Xacro = Annotated[
    list[str] | None,
    typer.Option("--xacro", metavar="NAME:=VALUE", help="argument of a xacro file; repeatable"),
]
Rigid = Annotated[bool, typer.Option("--rigid", help="the rigid twin: formulation.flexible=false")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="which topics of a recording are read; repeatable"),
]
Json = Annotated[bool, typer.Option("--json", help="machine-readable output on stdout")]


def options_of(settings: list[str] | None, rigid: bool) -> dict[str, Any]:
    """The `options=` of `load` from PATH=VALUE texts; values are read as YAML."""
    options: dict[str, Any] = {}
    for text in settings or ():
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise typer.BadParameter(
                f"{text!r} is not PATH=VALUE, for example formulation.flexible=false", param_hint="--set"
            )
        try:
            options[path.strip()] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise typer.BadParameter(f"the value in {text!r} is not valid YAML", param_hint="--set") from None
    if rigid:
        options["formulation.flexible"] = False
    return options


def as_utf8(text: str) -> str:
    """An argument of the command line, its UTF-8 characters too where the locale has fewer."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeDecodeError:
        return text


def _listed(texts: Iterable[str]) -> Iterator[str]:
    """The texts, those of lists in brackets one by one; empty ones say nothing."""
    for text in texts:
        if text.startswith("[") and text.endswith("]"):
            yield from (str(entry) for entry in yaml.safe_load(text) if entry)
        else:
            yield text


def xacro_of(arguments: list[str] | None) -> dict[str, str] | None:
    """The `xacro=` of `load` from NAME:=VALUE texts, or lists of them in brackets, as launch files have."""
    found = {}
    for text in _listed(arguments or ()):
        name, colon, value = text.partition(":=")
        if not colon or not name.strip():
            raise typer.BadParameter(f"{text!r} is not NAME:=VALUE", param_hint="--xacro")
        found[name.strip()] = value
    return found or None


def load_robot(
    robot: str,
    config: list[Path] | None,
    settings: list[str] | None,
    rigid: bool,
    xacro: list[str] | None = None,
) -> Robot:
    """Load the robot that the shared options describe."""
    from flexdyn_ros.loading import load

    options = options_of(settings, rigid) or None
    return load(robot, config=config or None, options=options, xacro=xacro_of(xacro))


def named_numbers(texts: list[str] | None, names: tuple[str, ...], option: str) -> dict[int, float]:
    """NAME=NUMBER texts as a mapping from the index of the name to the number."""
    result: dict[int, float] = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if name not in names:
            raise typer.BadParameter(str(UnknownNameError("name", name, names)), param_hint=option)
        try:
            number = float(value)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not NAME=NUMBER", param_hint=option) from None
        if not isfinite(number):
            raise typer.BadParameter(f"{text!r} is not a finite number", param_hint=option)
        result[names.index(name)] = number
    return result


def complain(text: str) -> None:
    """An error on stderr: as one line in a file, wrapped between words at the width of a terminal."""
    _tell(Text("error:", "bold red"), printable(text, LINES))


def warn(text: str) -> None:
    """A warning on stderr, as `complain`."""
    _tell(Text("flexdyn: warning:", "yellow"), printable(" ".join(text.split())))


def _tell(what: Text, text: str) -> None:
    messages.print(what, text, soft_wrap=not messages.is_terminal)


def say(text: str, end: str = "\n") -> None:
    """Text on stdout, for people: nothing in it moves the cursor."""
    print(printable(text, LINES), end=end)


def check_output(path: Path, option: str, *, is_folder: bool = False) -> None:
    """Check before work begins that what it gives can be written: a file, or files in a folder.

    Raises
    ------
    StateError
        If it cannot; nothing is left behind.
    """
    if path.exists() and path.is_dir() != is_folder:
        found, expected = ("a file", "a folder") if is_folder else ("a folder", "a file")
        raise StateError(f"{option} {path}: there is {found}, expected {expected}")
    if path.exists() and not is_folder and not path.is_file():
        return  # a pipe or a terminal
    place = path if is_folder else path.parent
    while not place.exists():
        place = place.parent
    try:
        with TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise StateError(
            f"{option} {path}: cannot be written, no file can be made in {place}: {error.strerror}"
        ) from None


def print_table(title: str, columns: str, rows: Iterable[Iterable[Any]]) -> None:
    """A table on stdout, its columns named with " | " between them; cells are texts without markup.

    Long texts take several lines. Numbers stay whole, and nothing is cut off.
    """
    rows = [[printable(str(cell)) for cell in row] for row in rows]
    names = columns.split(" | ")
    table = Table(title=printable(title), title_justify="left", **_STYLE)
    by_column = list(zip(*rows, strict=True)) or [()] * len(names)
    for name, column in zip(names, by_column, strict=True):
        is_short = all(len(cell) <= LONGEST_NUMBER for cell in column)
        table.add_column(name, overflow="fold", no_wrap=is_short)
    for row in rows:
        table.add_row(*row)
    tables.print(table)


def write_text(text: str, output: Path | None) -> None:
    """XML or a page to a file, whose folder is made; to stdout if there is none, with references in place of
    characters that a terminal would obey or its encoding has no place for."""
    if output is None:
        encoding = sys.stdout.encoding or "utf-8"
        print(xml_references(text).encode(encoding, "xmlcharrefreplace").decode(encoding))
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    writing.write_text(output, text)
    messages.print(f"wrote {output}")


def print_json(value: Any) -> None:
    """Print JSON on stdout; infinities as strings, since JSON has no such numbers."""
    print(json.dumps(_jsonable(value), indent=2))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _jsonable(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
