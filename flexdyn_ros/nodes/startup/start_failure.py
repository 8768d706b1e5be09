"""A node that ROS does not let start says why in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.ros.outbox import MIDDLEWARE_ERROR
from flexdyn_ros.nodes.startup.parameter_files import file_mistakes, value_mistakes
from flexdyn_ros.nodes.startup.surroundings import StartError, surroundings


@contextmanager
def told_in_a_sentence(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Around what starts a node: StartError for what ROS raises, with the reason if it can be found.

    Parameters
    ----------
    arguments : sequence of str
        Those of the command line.
    """
    try:
        yield
    except (MIDDLEWARE_ERROR, RuntimeError, OSError) as error:
        first = str(error).partition("\n")[0]
        reasons = [*argument_mistakes(arguments), *surroundings()]
        why = "; ".join(reasons) or f"{type(error).__name__}: {shortened(first, 500)}"
        raise StartError(f"ROS does not start: {why}") from error


def argument_mistakes(arguments: Sequence[str]) -> Iterator[str]:
    """Parameters on the command line and parameter files that ROS does not read."""
    for option, value in zip(arguments, arguments[1:], strict=False):
        if option == "--params-file":
            yield from file_mistakes(Path(value))
        elif option in ("-p", "--param"):
            name, _, text = value.partition(":=")
            try:
                yield from value_mistakes(name, yaml.safe_load(text), "")
            except yaml.YAMLError:
                yield f"parameter {shortened(name)} is {shortened(text)}, which is no YAML"
