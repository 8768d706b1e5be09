"""Gymnasium environments: a slew without swing, a soft reach, the balance of a platform; single and in
batches.

gymnasium.make("flexdyn_ros.gym:flexdyn/Slew-v0")
gymnasium.make_vec("flexdyn_ros.gym:flexdyn/Slew-v0", 64, vectorization_mode="vector_entry_point")
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.gym.environment import BatchEnvironment, Environment
    from flexdyn_ros.gym.tasks import PlatformBalance, Slew, SoftReach, Task

__all__ = ["BatchEnvironment", "Environment", "PlatformBalance", "Slew", "SoftReach", "Task"]

__getattr__, __dir__ = lazily(__name__)


def _register() -> None:
    """Tell gymnasium the names, where it is installed: it imports this package when one is asked for."""
    import gymnasium

    for name in ("Slew", "SoftReach", "PlatformBalance"):
        if f"flexdyn/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"flexdyn/{name}-v0",
                entry_point="flexdyn_ros.gym.environment:environment_of",
                vector_entry_point="flexdyn_ros.gym.environment:batch_of",
                kwargs={"task": name},
            )


if find_spec("gymnasium") is not None:
    _register()
