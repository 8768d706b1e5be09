"""Motions and robots that the tests of identification share."""

import numpy as np

from flexdyn_ros.identification import Measurement

RATE = 200.0


def sums_of_sines(robot, duration=6.0, seed=0, *, modal=0.02, harmonics=5):
    """Smooth motion of a robot, t, q, v, a, with modal coordinates that move little."""
    t = np.arange(0.0, duration, 1.0 / RATE)
    rng = np.random.default_rng(seed)
    size = np.array([1.0 if c.kind == "joint" else modal for c in robot.coordinates])
    q = v = a = np.zeros((t.size, robot.nv))
    for k in range(1, harmonics + 1):
        w = 2.0 * np.pi * 0.2 * k
        amplitude = size * rng.uniform(0.1, 0.5, robot.nv)
        angle = w * t[:, None] + rng.uniform(0.0, 6.0, robot.nv)
        q = q + amplitude * np.sin(angle)
        v = v + amplitude * w * np.cos(angle)
        a = a - amplitude * w**2 * np.sin(angle)
    return t, q, v, a


def measured(robot, noise=0.0, seed=0, duration=6.0, name="data"):
    """Measurement of such a motion; noise is a share of the largest effort of each joint."""
    t, q, v, a = sums_of_sines(robot, duration, seed)
    tau = robot.inverse_dynamics(q, v, a)
    rng = np.random.default_rng(1000 + seed)
    tau = tau + noise * np.abs(tau).max(axis=0) * rng.standard_normal(tau.shape)
    return Measurement.of_motion(robot, t, q, v, a, tau, name=name)


def other_numbers(robot, seed=1, share=0.1):
    """The robot with other masses, first moments, friction and rotors."""
    rng = np.random.default_rng(seed)
    new = {}
    for p in robot.parameters:
        owner, _, kind = p.name.rpartition("/")
        if "/" in owner:  # the damping of a mode
            continue
        if kind in ("mass", "izz"):
            new[p.name] = p.value * (1.0 + share * rng.uniform(0.0, 1.0))
        elif kind in ("damping", "friction", "rotor"):
            new[p.name] = p.value * (1.0 + share * rng.uniform(0.0, 1.0)) + 0.05 * rng.uniform()
    return robot.with_parameters(new)
