"""`flexdyn call` and `pub`: a request to a running node, and a message to whoever listens."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
import yaml
from rich.text import Text

from flexdyn_ros.cli.terminal import Json, as_utf8, messages, print_json, say
from flexdyn_ros.errors import ROS, needs
from flexdyn_ros.nodes.ros.surroundings import check_shared_memory


def _complete_service(incomplete: str) -> list[str]:
    try:
        from flexdyn_ros.nodes.one_shot import types
    except ImportError:
        return []
    return sorted(name for name in types() if name.startswith(incomplete))


def call(
    service: Annotated[
        str,
        typer.Argument(
            help="name in snake case: mass_matrix; with its node if need be: simulator/reset",
            autocompletion=_complete_service,
        ),
    ],
    request: Annotated[
        str, typer.Argument(metavar="YAML", help="fields of the request, such as '{positions: [0.1, 0.2]}'")
    ] = "{}",
    namespace: Annotated[str, typer.Option("--namespace", help="of the node")] = "",
    timeout: Annotated[float, typer.Option("--timeout", min=0.0, help="seconds to wait")] = 5.0,
    as_json: Json = False,
) -> None:
    """Ask a service of a running server or simulator; exit code 1 if it answers with success=false."""
    check_shared_memory()
    with needs("rclpy", ROS):
        from flexdyn_ros.nodes.one_shot import call as ask
    answer = ask(service, fields_of(request), namespace, timeout)
    if as_json:
        print_json(answer)
    else:
        say(shown(answer))
    if answer.get("success") is False:
        messages.print(Text("error:", "bold red"), str(answer.get("message", "")))
        raise typer.Exit(1)


def shown(answer: dict[str, Any]) -> str:
    """The fields of an answer as YAML, those that are matrices row by row below them."""
    matrices = {name: size for name in answer if (size := _size_of(name, answer)) is not None}
    sizes = {"rows", *(f"cols_{name}" for name in matrices), "cols"} if matrices else set()
    rest = {name: value for name, value in answer.items() if name not in matrices and name not in sizes}
    parts = [yaml.safe_dump(rest, sort_keys=False, default_flow_style=None, width=100).rstrip()]
    for name, (rows, cols) in matrices.items():
        stack = np.reshape(answer[name], (-1, rows, cols))
        for i, matrix in enumerate(stack):
            which = f", sample {i}" if len(stack) > 1 else ""
            parts.append(f"{name} ({rows} x {cols}{which}):\n{_matrix_text(matrix)}")
    return "\n".join(parts)


def _size_of(name: str, answer: dict[str, Any]) -> tuple[int, int] | None:
    """Rows and columns of a field that holds matrices: its columns are in cols_NAME or cols."""
    rows, cols = answer.get("rows", 0), answer.get(f"cols_{name}", answer.get("cols", 0))
    values = answer[name]
    is_vector = name in ("frequencies", "damping_ratios")
    if not isinstance(values, list) or not values or is_vector or not rows or not cols:
        return None
    return (rows, cols) if len(values) % (rows * cols) == 0 else None


def _matrix_text(matrix: np.ndarray) -> str:
    """One line a row, columns aligned; entries that are rounding beside the largest one as 0."""
    floor = 1e-14 * np.abs(matrix).max(initial=0.0)
    cells = [["0" if abs(x) <= floor else f"{x:.6g}" for x in row] for row in matrix.tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells
    )


def fields_of(text: str) -> dict[str, Any]:
    """Fields of a message or request from YAML text."""
    try:
        fields = yaml.safe_load(as_utf8(text))
    except yaml.YAMLError as error:
        raise typer.BadParameter(f"no YAML: {error}", param_hint="YAML") from None
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise typer.BadParameter(f"{text!r} is not a mapping of fields", param_hint="YAML")
    return fields


def pub(
    topic: Annotated[str, typer.Argument(help="for example joint_commands")],
    message: Annotated[
        str, typer.Argument(metavar="YAML", help="fields, for example '{name: [elbow], effort: [2.0]}'")
    ] = "{}",
    kind: Annotated[
        str, typer.Option("--type", help="for example sensor_msgs/msg/JointState; that of who listens")
    ] = "",
    namespace: Annotated[str, typer.Option("--namespace", help="of the topic")] = "",
    times: Annotated[int, typer.Option("--times", min=1, help="how often to publish")] = 1,
    rate: Annotated[float, typer.Option("--rate", min=1e-3, help="how often a second [Hz]")] = 10.0,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.0, help="seconds to wait for a listener")
    ] = 5.0,
) -> None:
    """Publish a message on a topic once somebody listens; exit code 1 if nobody does."""
    check_shared_memory()
    with needs("rclpy", ROS):
        from flexdyn_ros.nodes.one_shot import publish
    heard = publish(topic, fields_of(message), kind, namespace, times=times, rate=rate, timeout=timeout)
    messages.print(f"published {times} times to {heard} listeners")
