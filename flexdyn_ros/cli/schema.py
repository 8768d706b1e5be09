"""`flexdyn schema`: the reference of the `<flexdyn>` elements, generated from the tables that the reader
uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.cli.terminal import write_text
from flexdyn_ros.description import schema_table, schema_xsd
from flexdyn_ros.families.registry import families


def schema(
    xsd: Annotated[bool, typer.Option("--xsd", help="XML Schema for editors")] = False,
    table: Annotated[bool, typer.Option("--table", help="reference page in Markdown (default)")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="file to write; stdout if omitted")
    ] = None,
) -> None:
    """Print the reference of all `<flexdyn>` elements, with units and defaults."""
    if xsd and table:
        raise typer.BadParameter("choose --xsd or --table", param_hint="--xsd/--table")
    families()  # those of other packages add elements
    write_text(schema_xsd() if xsd else schema_table(), output)
