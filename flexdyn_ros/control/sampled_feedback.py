"""What sampling and delay do to joint feedback; see `robot/analysis/sampled_feedback.py`."""

from flexdyn_ros.robot.analysis.sampled_feedback import DELAYS, sampled_growth, sudden_inertia

__all__ = ["DELAYS", "sampled_growth", "sudden_inertia"]
