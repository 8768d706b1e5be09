"""The wheeled arm against Exudyn (mobile specification, section 16): rigid bodies, and links of ANCF cables.

The second is another model of a beam: what is left is the difference of the models.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from mobile_arms import efforts

import flexdyn_ros

pytest.importorskip("exudyn", reason="Exudyn, or libGL that it loads, is missing", exc_type=ImportError)
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from exudyn_mobile_arm import EA, EI, ExudynArm, Setting

pytestmark = pytest.mark.timeout(1800)
HEIGHT, PITCH = 0.2018, 0.0468
POSE = (np.radians(-45.0), np.radians(120.0))


def ours(torques, *, flexible, stiffer=1.0, bending=2):
    """Where the tip is after 0.25 s from the straight pose, and the driving force then."""
    options = {"formulation.flexible": flexible, "formulation.suspension": "exact"}
    if flexible:
        for link in ("link_1", "link_2"):
            options[f"links.{link}.modes.bending_z"] = bending
            options[f"links.{link}.beam.material.E"] = 210e9 * stiffer
    robot = flexdyn_ros.load("mobile_arm", options=options)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[1], q[2], v[0] = HEIGHT, -PITCH, 0.3
    q[robot.index("shoulder")], q[robot.index("elbow")] = POSE[0] - PITCH, POSE[1] - POSE[0]
    tau = efforts(robot, *torques)
    run = flexdyn_ros.simulate(
        robot, 0.25, q, v, dt=0.25, method="dop853", rtol=1e-9, atol=1e-11, control=tau
    )
    return run.frames("link_2/tip")[-1, [0, 2], 3], robot.drive_force(run.q[-1], run.v[-1], tau)


def theirs(torques, step, elements=0, stiffer=1.0):
    """The same by Exudyn, and its system."""
    model = ExudynArm(Setting(HEIGHT, PITCH, POSE, torques, elements, stiffer))
    return model.run(step)[1], model


def test_rigid_bodies_move_as_exudyn_moves_them():
    import exudyn

    tip, force = ours((45.0, -2.0), flexible=False)
    errors = []
    for step in (4e-4, 2e-4, 1e-4):
        found, model = theirs((45.0, -2.0), step)
        errors.append(np.abs(found - tip).max())
    assert errors[2] <= 1e-6
    # its generalised-alpha method is of second order
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.05)
    multiplier = model.system.GetObjectOutput(model.drive, exudyn.OutputVariableType.Force)
    assert abs(abs(float(multiplier)) - abs(force)) <= 1e-3


def test_the_section_is_that_of_the_description():
    robot = flexdyn_ros.load("mobile_arm")
    K = robot.functions.tree.flexible.links[0].stiffness
    assert K[0, 0] * 0.8 == pytest.approx(EA, rel=1e-12)
    assert K[1, 1] * 0.8**3 / 12 == pytest.approx(EI, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("torques", "stiffer", "bending", "bound"),
    [
        ((8.0, -2.2), 10.0, 2, 1.5e-4),
        ((8.0, -2.2), 10.0, 6, 5e-5),
        ((8.0, -2.2), 1.0, 2, 1.5e-3),
        ((8.0, -2.2), 1.0, 6, 5e-4),
        ((45.0, -2.0), 1.0, 2, 2e-2),
    ],
)
def test_bending_links_end_where_those_of_exudyn_do(torques, stiffer, bending, bound):
    tip, _ = ours(torques, flexible=True, stiffer=stiffer, bending=bending)
    cables, _ = theirs(torques, 2.5e-5, elements=8, stiffer=stiffer)
    assert np.abs(cables - tip).max() <= bound
