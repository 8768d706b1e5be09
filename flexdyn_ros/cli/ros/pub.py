"""`flexdyn pub`: publishes a message on a topic."""

from __future__ import annotations

from typing import Annotated

import typer

from flexdyn_ros.cli.ros.call import fields_of
from flexdyn_ros.cli.terminal import messages
from flexdyn_ros.errors import ROS, needs
from flexdyn_ros.nodes.startup.surroundings import check_shared_memory


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
        from flexdyn_ros.nodes.ros.publisher import publish
    heard = publish(topic, fields_of(message), kind, namespace, times=times, rate=rate, timeout=timeout)
    messages.print(f"published {times} times to {heard} listeners")
