"""The commands of `flexdyn`, each imported at its first use."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import HAS_RICH, TyperCommand, TyperGroup

from flexdyn_ros import __version__

#: by the words over a group of commands: their names, and the modules of this package in which each is a
#: function
GROUPS = {
    "Describe": {"check": "check", "schema": "describe", "expand": "describe", "from-dh": "describe"},
    "Simulate": {"simulate": "simulate", "view": "view", "compare": "compare", "study": "study"},
    "Compute": {"derive": "derive", "identify": "identify", "compile": "compile"},
    "ROS 2": {"up": "ros.up", "call": "ros.call", "pub": "ros.call"},
    "Machine": {"warm": "machine", "doctor": "machine"},
}
_PLACES = {name: place for group in GROUPS.values() for name, place in group.items()}
COMMANDS = tuple(_PLACES)
#: what does what other programs call so
POINTERS = {
    "modes": "flexdyn check ROBOT prints the first modes, --modes N of them",
    "info": "flexdyn check ROBOT prints what there is in a robot",
    "run": "flexdyn simulate ROBOT", "plot": "flexdyn simulate ROBOT --plot FILE",
    "show": "flexdyn view ROBOT", "export": "flexdyn compile ROBOT", "launch": "flexdyn up ROBOT",
    "play": "flexdyn view RECORDING", "list": "flexdyn check NAME; the README names the included robots",
}  # fmt: skip


class _Commands(dict[str, Any]):
    """The commands by name, made at their first use."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(COMMANDS))

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            single = typer.Typer(add_completion=False)
            module = import_module(f"flexdyn_ros.cli.{_PLACES[name]}")
            single.command(name, cls=_Command)(getattr(module, name.replace("-", "_")))
            self[name] = _with_brackets(typer.main.get_command(single))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        found: Any = super().get(name, default)
        return self[name] if found is None and name in self else found


class _Untyped:
    """A command that shows no type of its flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Untyped, TyperCommand):
    """One command."""


class _Lazy(_Untyped, TyperGroup):
    """Commands whose modules are imported at their first use; a list of them imports none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] in POINTERS:
            ctx.fail(f"No such command {args[0]!r}: {POINTERS[args[0]]}.")
        return super().resolve_command(ctx, args)

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
    panel = next(title for title, group in GROUPS.items() if name in group)
    single.command(name, help=ast.get_docstring(found), rich_help_panel=panel)(lambda: None)
    return _with_brackets(typer.main.get_command(single))


def _with_brackets(command: Any) -> Any:
    """The command with helps that are sentences, in which [s] is a unit and no markup of rich, which would
    leave it out."""
    for owner in (command, *command.params):
        if getattr(owner, "help", None):
            owner.help = _sentence(owner.help)
            if HAS_RICH:
                from rich.markup import escape

                owner.help = escape(owner.help)
    return command


def _sentence(text: str) -> str:
    """A help that begins with a capital, but for names, and ends with a point."""
    first = text.split(maxsplit=1)[0]
    if first.strip(",:;").replace("-", "").isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."


app = typer.Typer(
    name="flexdyn",
    cls=_Lazy,
    help="Dynamics of flexible, mobile, soft and parallel robots. ROBOT is a path, a package:// URI or the "
    "name of an included robot.",
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
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options without a command."""
