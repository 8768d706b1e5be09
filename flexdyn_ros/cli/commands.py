"""The commands of `flexdyn`, each imported at its first use."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import HAS_RICH, TyperGroup

from flexdyn_ros import __version__

#: the modules of this package in which each is a function, by the names of the commands
_PLACES = {
    "check": "check", "simulate": "simulate", "compare": "compare", "expand": "describe", "view": "view",
    "derive": "derive", "schema": "describe", "from-dh": "describe", "compile": "compile",
    "identify": "identify", "up": "ros.up", "call": "ros.call", "pub": "ros.call", "warm": "machine",
    "study": "study", "doctor": "machine",
}  # fmt: skip
COMMANDS = tuple(_PLACES)


class _Commands(dict[str, Any]):
    """The commands by name, made at their first use."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(COMMANDS))

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            single = typer.Typer(add_completion=False)
            module = import_module(f"flexdyn_ros.cli.{_PLACES[name]}")
            single.command(name)(getattr(module, name.replace("-", "_")))
            self[name] = _with_brackets(typer.main.get_command(single))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        found: Any = super().get(name, default)
        return self[name] if found is None and name in self else found


class _Lazy(TyperGroup):
    """Commands whose modules are imported at their first use; a list of them imports none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        listed, self.commands = self.commands, {name: _described(name) for name in COMMANDS}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = listed


def _described(name: str) -> Any:
    """A command that does nothing, with the help of one whose module is read and not imported."""
    function = name.replace("-", "_")
    module = f"flexdyn_ros.cli.{_PLACES[name]}"
    source = find_spec(module).loader.get_source(module)  # type: ignore[union-attr]
    tree = ast.parse(source)
    (found,) = (x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name == function)
    single = typer.Typer(add_completion=False)
    single.command(name, help=ast.get_docstring(found))(lambda: None)
    return _with_brackets(typer.main.get_command(single))


def _with_brackets(command: Any) -> Any:
    """The command, in whose help [s] is a unit and no markup of rich, which would leave it out."""
    if HAS_RICH:
        from rich.markup import escape

        for owner in (command, *command.params):
            if getattr(owner, "help", None):
                owner.help = escape(owner.help)
    return command


app = typer.Typer(
    name="flexdyn",
    cls=_Lazy,
    help="Dynamics of robots that bend. ROBOT is a path, a package:// URI or the name of a shipped robot.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"flexdyn_ros {__version__}")
        raise typer.Exit


@app.callback()
def without_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Options without a command."""
