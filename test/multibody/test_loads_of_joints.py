"""Section loads of rigid trees with joints of every type, by Newton and Euler for each body."""

import numpy as np
import pytest
from random_robots import random_robot

import flexdyn_ros
from flexdyn_ros.numerics.algebra.placement import RigidInertia


def of_bodies(robot, q, v, a):
    """Wrench (6,) of inertia and weight of every link about the world's origin, world axes, from the motion
    of its frame."""
    found = {}
    for link in robot.description.links:
        if link.inertial is None or link.name not in robot.frame_names:
            continue
        own = link.inertial
        body = RigidInertia.of(own.mass, own.xyz, own.inertia, own.rpy)
        T, w = robot.frames(q, link.name), robot.frame_velocity(q, v, link.name)[:3]
        rates = robot.frame_acceleration(q, v, a, link.name)
        R, p, alpha, x = T[:3, :3], T[:3, 3], rates[:3], rates[3:] - robot.gravity
        c, J = R @ body.moment, R @ body.inertia @ R.T
        force = body.mass * x + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
        moment = J @ alpha + np.cross(w, J @ w) + np.cross(c, x) + np.cross(p, force)
        found[link.name] = -np.concatenate([moment, force])
    return found


@pytest.mark.parametrize("family", ["rigid", "jointed"])
@pytest.mark.parametrize("seed", range(10))
def test_every_link_bears_the_bodies_outward_of_it(family, seed):
    """Fixed, revolute, prismatic, planar, ball, universal, helical, cylindrical and floating joints."""
    robot = flexdyn_ros.load(random_robot(family, seed))
    rng = np.random.default_rng([13, seed])
    q, (v, a) = robot.random(rng), rng.standard_normal((2, robot.nv))
    loads, bodies = robot.loads(q, v, a), of_bodies(robot, q, v, a)

    def outward(name):
        children = (joint.child for joint in robot.description.children_of(name))
        return bodies.get(name, np.zeros(6)) + sum((outward(child) for child in children), np.zeros(6))

    for name, each in loads.items():
        wrench, T = outward(name), robot.frames(q, name)
        moment = wrench[:3] - np.cross(T[:3, 3], wrench[3:])
        size = max(1.0, np.abs(wrench).max())
        np.testing.assert_allclose(T[:3, :3] @ each.force[0], wrench[3:], rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(T[:3, :3] @ each.moment[0], moment, rtol=0, atol=1e-11 * size)
