"""Control laws as plain callables (t, q, v) -> efforts, for `simulate` and for controllers elsewhere."""

from typing import TYPE_CHECKING

# laws that are named like their modules; the others are imported when they are asked for, with what they need
from flexdyn_ros.control.feedback import computed_torque, pd
from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.control.feed_forward import FEED_FORWARD, FeedForward, actuator_inertia, actuator_motion
    from flexdyn_ros.control.goal_watch import GoalWatch, Outcome, Tolerances
    from flexdyn_ros.control.input_shaping import closed_loop_modes, joint_inertia, shaped, shaper_of, zv, zvd
    from flexdyn_ros.control.reference import Timeline, to_rest
    from flexdyn_ros.control.static_shape import StaticShape, can_be_held, holding_stiffness
    from flexdyn_ros.control.tip_path import PoseSpace, TipPath, check_shapes
    from flexdyn_ros.robot.analysis.sampled_feedback import DELAYS, sampled_growth

__all__ = [
    "DELAYS", "FEED_FORWARD", "FeedForward", "GoalWatch", "Outcome", "PoseSpace", "StaticShape",
    "Timeline", "TipPath", "Tolerances", "actuator_inertia", "actuator_motion", "can_be_held",
    "check_shapes", "closed_loop_modes", "computed_torque", "holding_stiffness", "joint_inertia", "pd",
    "sampled_growth", "shaped", "shaper_of", "to_rest", "zv", "zvd",
]  # fmt: skip

__getattr__, __dir__ = lazily(__name__)
