"""An empty batch returns empty, whatever is asked of whichever robot."""

import numpy as np
import pytest
from models import elastic

import flexdyn_ros

ROBOTS = {
    "seven_joint_arm": {}, "canadarm2": {}, "mobile_arm": {}, "mobile_arm_spatial": {}, "soft_arm_3": {},
    "stewart_1t": {}, "stewart_electric": {}, "kane_beam": {},
    "two_link": {"formulation.method": "lagrange"},
    "flexible_two_link": {"formulation.preset": "paper"},
}  # fmt: skip
VERBS = {
    "mass_matrix": "q", "actuation_matrix": "q", "center_of_mass": "q", "frames": "q", "modes": "q",
    "deflections": "q", "leg_jacobian": "q", "arc_parameters": "q", "workspace_margins": "q",
    "bias_forces": "qv", "bias_terms": "qv", "energy": "qv", "momentum": "qv", "coriolis_matrix": "qv",
    "limited_motion": "qv", "wheel_forces": "qv", "drive_force": "qv",
    "inverse_dynamics": "qva", "inverse_dynamics_derivatives": "qva", "joint_reactions": "qva",
    "regressor": "qva", "leg_states": "qva",
    "forward_dynamics": "qvt", "linearize": "qvt", "forward_dynamics_derivatives": "qvt",
    "forward_dynamics_parameter_derivatives": "qvt",
    "difference": "qq",
}  # fmt: skip


def loaded(name):
    return elastic(name.split()[1]) if " " in name else flexdyn_ros.load(name, options=ROBOTS[name])


def arrays(result):
    values = (
        result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
    )
    return [x for x in values if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("name", [*ROBOTS, "elastic seven_joint_arm"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)], ids=str)
def test_an_empty_batch_returns_empty(name, shape):
    robot = loaded(name)
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "t": robot.nu}
    given = {key: np.zeros((*shape, size)) for key, size in sizes.items()}
    for verb, arguments in VERBS.items():
        if not hasattr(robot, verb):
            continue
        try:
            found = getattr(robot, verb)(*(given[key] for key in arguments))
        except flexdyn_ros.errors.UnsupportedError:
            continue
        assert all(x.shape[: len(shape)] == shape for x in arrays(found)), verb
    expanded = flexdyn_ros.expand(robot)
    for joints in (expanded.joint_positions(given["q"]), expanded.joint_velocities(given["q"], given["v"])):
        assert joints.shape == (*shape, len(expanded.joint_names))
