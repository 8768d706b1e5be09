"""`flexdyn call`: asks a running server or simulator."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
import yaml

from flexdyn_ros.cli.terminal import Json, messages, print_json
from flexdyn_ros.errors import MissingExtraError

__all__ = ["call"]


def call(
    service: Annotated[
        str, typer.Argument(help="name in snake case: mass_matrix; with its node if need be: simulator/reset")
    ],
    request: Annotated[
        str, typer.Argument(metavar="YAML", help="fields of the request, for example '{samples: 1}'")
    ] = "{}",
    namespace: Annotated[str, typer.Option("--namespace", help="of the node")] = "",
    timeout: Annotated[float, typer.Option("--timeout", min=0.0, help="seconds to wait")] = 5.0,
    as_json: Json = False,
) -> None:
    """Ask a service of a running server or simulator; exit code 1 if it answers with success=false."""
    try:
        ask = import_module("flexdyn_ros.nodes.caller").call
    except ImportError:
        raise MissingExtraError("rclpy", "ros") from None
    answer = ask(service, _fields(request), namespace, timeout)
    if as_json:
        print_json(answer)
    else:
        print(yaml.safe_dump(answer, sort_keys=False, default_flow_style=None, width=100).rstrip())
    if answer.get("success") is False:
        messages.print(f"[bold red]error:[/] {answer.get('message', '')}", highlight=False, markup=True)
        raise typer.Exit(1)


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise typer.BadParameter(f"no YAML: {error}", param_hint="YAML") from None
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise typer.BadParameter(f"{text!r} is not a mapping of fields", param_hint="YAML")
    return fields
