"""`flexdyn`: check, simulate, show, derive and start robots from a terminal.

Exit codes: 0 done; 1 it ran and failed; 2 usage; 3 description refused; 4 optional dependency missing; 130
interrupted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flexdyn_ros import __version__
from flexdyn_ros.cli.call import call
from flexdyn_ros.cli.check import check
from flexdyn_ros.cli.derive import derive
from flexdyn_ros.cli.expand import expand
from flexdyn_ros.cli.schema import schema
from flexdyn_ros.cli.simulate import simulate
from flexdyn_ros.cli.terminal import messages
from flexdyn_ros.cli.up import up
from flexdyn_ros.cli.view import view
from flexdyn_ros.cli.warm import warm
from flexdyn_ros.errors import (
    DescriptionError,
    FlexdynError,
    MissingExtraError,
    UnknownNameError,
    UnsupportedError,
)

__all__ = ["app", "main"]

FAILED, USAGE, REFUSED, MISSING, INTERRUPTED = 1, 2, 3, 4, 130

app = typer.Typer(
    name="flexdyn",
    help="Dynamics of robots that bend. ROBOT is a path, a package:// URI or the name of a shipped robot.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (check, simulate, expand, view, derive, schema, up, call, warm):
    app.command()(command)


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


def exit_code(error: BaseException) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, DescriptionError | UnsupportedError):
        return REFUSED
    if isinstance(error, MissingExtraError):
        return MISSING
    if isinstance(error, UnknownNameError):
        return USAGE
    return FAILED


def main() -> None:
    """Entry point: runs the command, turns errors into one clear line and an exit code."""
    try:
        app()
    except (FlexdynError, OSError, MemoryError, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        text = "interrupted" if interrupted else str(error) or type(error).__name__
        messages.print(f"[bold red]error:[/] {_plain(text)}", highlight=False, soft_wrap=True)
        sys.exit(exit_code(error))


def _plain(text: str) -> str:
    """Text in which brackets mean brackets to rich."""
    return text.replace("[", "\\[")


if __name__ == "__main__":
    main()
