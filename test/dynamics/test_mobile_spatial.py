"""The mobile arm in space, restricted to its plane of symmetry, moves as the planar one."""

import numpy as np
from mobile_arms import arm, efforts, state

import flexdyn_ros


def test_in_its_plane_of_symmetry_the_spatial_arm_moves_as_the_planar_one():
    planar = arm(formulation__suspension="exact")
    spatial = flexdyn_ros.load("mobile_arm_spatial")
    q, v = state(planar)
    tau = efforts(planar, 10.0, 2.0)
    expected = planar.forward_dynamics(q, v, tau)
    p, u, load = spatial.neutral(), np.zeros(spatial.nv), np.zeros(spatial.nv)
    half = 0.5 * q[2]
    p[:7] = q[0], 0.0, q[1], 0.0, np.sin(half), 0.0, np.cos(half)
    u[:6] = 0.0, v[2], 0.0, v[0], 0.0, v[1]
    # a sideways free base does not matter in the plane; the drive is a force on the base
    force = planar.drive_force(q, v, tau)
    for name in planar.v_names[3:]:
        c = spatial.coordinates[spatial.index(name)]
        p[c.q_index], u[c.v_index] = q[planar.index(name)], v[planar.index(name)]
        load[c.v_index] = tau[planar.index(name)]
    load[3] = force
    a = spatial.forward_dynamics(p, u, load)
    found = np.concatenate([[a[3], a[5], a[1]], [a[spatial.index(name)] for name in planar.v_names[3:]]])
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
    aside = np.delete(a, [1, 3, 5, *(spatial.index(name) for name in planar.v_names[3:])])
    assert np.abs(aside).max() <= 1e-9 * np.abs(expected).max()
    axles = spatial.wheel_forces(p, u).normal.reshape(2, 2).sum(axis=1)
    assert np.allclose(axles, planar.wheel_forces(q, v).normal, rtol=1e-12)
