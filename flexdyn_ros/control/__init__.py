"""Control laws as plain callables (t, q, v) -> efforts, for `simulate` and for controllers elsewhere."""

from typing import TYPE_CHECKING

# laws that are named like their modules; the others are imported when they are asked for, with what they need
from flexdyn_ros.control.computed_torque import computed_torque
from flexdyn_ros.control.pd import pd
from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.control.closed_loop import closed_loop_modes, joint_inertia
    from flexdyn_ros.control.feed_forward import FEED_FORWARD, FeedForward, actuator_inertia, actuator_motion
    from flexdyn_ros.control.goal_watch import GoalWatch, Outcome, Tolerances
    from flexdyn_ros.control.gravity_stiffness import can_be_held, holding_stiffness
    from flexdyn_ros.control.input_shaping import shaped, shaper_of, zv, zvd
    from flexdyn_ros.control.pose_space import PoseSpace
    from flexdyn_ros.control.reference import Timeline, to_rest
    from flexdyn_ros.control.sampled_feedback import DELAYS, sampled_growth
    from flexdyn_ros.control.static_shape import StaticShape
    from flexdyn_ros.control.tip_path import TipPath, check_shapes

__all__ = [
    "DELAYS", "FEED_FORWARD", "FeedForward", "GoalWatch", "Outcome", "PoseSpace", "StaticShape",
    "Timeline", "TipPath", "Tolerances", "actuator_inertia", "actuator_motion", "can_be_held",
    "check_shapes", "closed_loop_modes", "computed_torque", "holding_stiffness", "joint_inertia", "pd",
    "sampled_growth", "shaped", "shaper_of", "to_rest", "zv", "zvd",
]  # fmt: skip

__getattr__, __dir__ = lazily(__name__)
