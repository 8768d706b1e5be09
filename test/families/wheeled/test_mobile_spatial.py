"""The mobile arm in space, restricted to its plane of symmetry, moves as the planar one."""

import time

import numpy as np
import pytest
from mobile_arms import arm, efforts, state

import flexdyn_ros
from flexdyn_ros.simulation.steps.rates import rates_of


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


def turned(spatial):
    """A state out of the plane of symmetry, and torques."""
    rng = np.random.default_rng(7)
    q, v = spatial.random(rng), 0.2 * rng.normal(size=spatial.nv)
    q[:3] = 0.4, -0.1, 0.21
    q[3:7] = np.array([0.03, -0.05, 0.4, 0.9]) / np.linalg.norm([0.03, -0.05, 0.4, 0.9])
    for c in spatial.coordinates:
        if c.kind in ("axial", "bending_y", "bending_z"):
            q[c.q_index] *= 0.1
            v[c.v_index] *= 1e-3 if c.kind == "axial" else 0.1
    tau = np.zeros(spatial.nv)
    tau[spatial.index("turret")], tau[spatial.index("shoulder")], tau[spatial.index("elbow")] = 2.0, 8.0, -1.0
    return q, v, tau


def test_a_turned_spatial_arm_keeps_its_accounts():
    spatial = flexdyn_ros.load("mobile_arm_spatial")
    q, v, tau = turned(spatial)
    a = spatial.forward_dynamics(q, v, tau)
    assert np.abs(spatial.inverse_dynamics(q, v, a) - tau).max() <= 1e-9 * np.abs(a).max()
    h = 1e-6
    rate = (
        spatial.energy(spatial.integrate(q, v + 0.5 * h * a, h), v + h * a).total
        - spatial.energy(spatial.integrate(q, v - 0.5 * h * a, -h), v - h * a).total
    ) / (2 * h)
    given, taken = spatial.wheel_powers(q, v)
    assert rate == pytest.approx(tau @ v + given - taken, rel=1e-4)


def test_the_spatial_arm_linearizes_to_the_derivative_of_its_accelerations():
    spatial = flexdyn_ros.load("mobile_arm_spatial")
    q, v, tau = turned(spatial)
    A, _ = spatial.linearize(q, v, tau)
    n, h = spatial.nv, 1e-6
    for i in range(n):
        e = np.zeros(n)
        e[i] = 1.0
        dq = spatial.forward_dynamics(spatial.integrate(q, e, h), v, tau)
        dq = (dq - spatial.forward_dynamics(spatial.integrate(q, e, -h), v, tau)) / (2 * h)
        dv = (spatial.forward_dynamics(q, v + h * e, tau) - spatial.forward_dynamics(q, v - h * e, tau)) / (
            2 * h
        )
        assert np.abs(A[n:, i] - dq).max() <= 1e-6 * np.abs(A[n:, :n]).max()
        assert np.abs(A[n:, n + i] - dv).max() <= 1e-6 * np.abs(A[n:, n:]).max()


def test_compiled_steps_of_the_spatial_arm_follow_its_verbs():
    spatial = flexdyn_ros.load("mobile_arm_spatial")
    q, v, tau = turned(spatial)
    compiled = rates_of(spatial, limits="report", saturate=False)
    compiled.set_efforts(tau)
    a, _, work, taken = compiled.rates(0.0, q, v)
    expected = spatial.forward_dynamics(q, v, tau)
    assert np.abs(a - expected).max() <= 1e-11 * np.abs(expected).max()
    given, by_wheels = spatial.wheel_powers(q, v)
    assert work == pytest.approx(tau @ v + given, rel=1e-12)
    assert taken == pytest.approx(by_wheels, rel=1e-12)
    run = flexdyn_ros.simulate(spatial, 0.2, q, v, dt=1e-3, control=tau)
    assert run.method == "rosenbrock"
    fine = flexdyn_ros.simulate(spatial, 0.2, q, v, dt=1.25e-4, control=tau)
    finer = flexdyn_ros.simulate(spatial, 0.2, q, v, dt=6.25e-5, control=tau)
    errors = []
    for each in (fine, finer):
        account = each.energy.total - each.work + each.dissipated
        errors.append(np.abs(account - account[0]).max())
    # the energy that second-order steps lose falls with the step
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.02 * fine.energy.kinetic.max()


def test_the_spatial_arm_simulates_faster_than_real_time():
    spatial = flexdyn_ros.load("mobile_arm_spatial")
    q, v, tau = turned(spatial)
    flexdyn_ros.simulate(spatial, 0.01, q, v, dt=1e-3, control=tau)
    # seconds of the processor: what else the machine does is not counted
    began = time.process_time()
    flexdyn_ros.simulate(spatial, 1.0, q, v, dt=1e-3, control=0.0 * tau)
    assert time.process_time() - began < 1.0
