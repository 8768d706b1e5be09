"""The robot: verbs over a state, their arguments, batches and results, for every family."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.robot.threads import batch_threads, set_batch_threads

__all__ = ["batch_threads", "set_batch_threads"]

__getattr__, __dir__ = lazily(__name__)
