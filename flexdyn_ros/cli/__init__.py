"""The `flexdyn` command."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.cli.commands import app

__all__ = ["app"]

__getattr__, __dir__ = lazily(__name__)
