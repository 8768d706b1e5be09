"""Robots of every family, states of them, and their verbs as functions of these."""

import numpy as np

import flexdyn_ros

ROBOTS = ["boom", "flexible_two_link", "hexapod_arm", "mobile_arm", "soft_arm", "stewart_1t"]


class Case:
    """A robot, a state of it, a batch of states, and its verbs as functions of (q, v, a, tau, wrenches)."""

    def __init__(self, name):
        self.robot = r = flexdyn_ros.load(name)
        rng = np.random.default_rng(7)
        self.given = np.array([c.prescribed for c in r.coordinates], dtype=bool)
        self.frame = r.frame_names[-1]
        self.state, self.batch = (
            (
                np.array([r.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, r.nq),
                0.1 * rng.standard_normal((*shape, r.nv)),
                rng.standard_normal((*shape, r.nv)),
                self.efforts(rng.standard_normal((*shape, r.nu))),
                {self.frame: rng.standard_normal((*shape, 6))},
            )
            for shape in ((), (2, 3))
        )
        self.empty = (*(np.empty((0, n)) for n in (r.nq, r.nv, r.nv, r.nu)), {self.frame: np.empty((0, 6))})

    def efforts(self, tau):
        if self.given.any():
            tau[..., self.given] = 0.0
        return tau

    def verbs(self):
        """Name: (verb, shape of its result)."""
        r, nv, nu = self.robot, self.robot.nv, self.robot.nu
        free = nv - int(self.given.sum())
        found = {
            "mass_matrix": (lambda q, v, a, tau, w: r.mass_matrix(q), (nv, nv)),
            "bias_forces": (lambda q, v, a, tau, w: r.bias_forces(q, v), (nv,)),
            "bias_terms": (lambda q, v, a, tau, w: r.bias_terms(q, v).gravity, (nv,)),
            "actuation_matrix": (lambda q, v, a, tau, w: r.actuation_matrix(q), (nv, nu)),
            "inverse_dynamics": (lambda q, v, a, tau, w: r.inverse_dynamics(q, v, a), (nu,)),
            "loaded": (lambda q, v, a, tau, w: r.inverse_dynamics(q, v, a, w), (nu,)),
            "free": (lambda q, v, a, tau, w: r.inverse_dynamics(q, v, a, w, unactuated="free"), (nu,)),
            "forward_dynamics": (lambda q, v, a, tau, w: r.forward_dynamics(q, v, tau, w), (nv,)),
            "energy": (lambda q, v, a, tau, w: r.energy(q, v).total, ()),
            "momentum": (lambda q, v, a, tau, w: r.momentum(q, v), (6,)),
            "center_of_mass": (lambda q, v, a, tau, w: r.center_of_mass(q), (3,)),
            "frame": (lambda q, v, a, tau, w: r.frames(q, self.frame), (4, 4)),
            "frames": (lambda q, v, a, tau, w: r.frames(q), (len(r.frame_names), 4, 4)),
            "jacobian": (lambda q, v, a, tau, w: r.jacobian(q, self.frame), (6, nv)),
            "modes": (lambda q, v, a, tau, w: r.modes(q).frequency, (free,)),
            "A": (lambda q, v, a, tau, w: r.linearize(q, v, tau, w).A, (2 * nv, 2 * nv)),
            "B": (lambda q, v, a, tau, w: r.linearize(q, v, tau, w).B, (2 * nv, nu)),
            "integrate": (lambda q, v, a, tau, w: r.integrate(q, v, 0.1), (r.nq,)),
            "difference": (lambda q, v, a, tau, w: r.difference(q, r.integrate(q, v, 0.1)), (nv,)),
        }
        if hasattr(r, "coriolis_matrix"):
            found["coriolis"] = lambda q, v, a, tau, w: r.coriolis_matrix(q, v), (nv, nv)
        if r.kind == "mobile":
            found["drive"] = lambda q, v, a, tau, w: r.drive_force(q, v, tau, w, slope=True), ()
            found["normal"] = lambda q, v, a, tau, w: r.wheel_forces(q, v).normal, (2,)
            found["constraints"] = lambda q, v, a, tau, w: r.constraint_forces(q, v, tau), (5,)
        if r.kind == "continuum":
            found["pose"] = lambda q, v, a, tau, w: r.pose(q, [0.0, 0.5]), (2, 4, 4)
            found["arcs"] = lambda q, v, a, tau, w: r.arc_parameters(q), (nv // 3, 3)
        if r.kind == "platform":
            found["rates"] = lambda q, v, a, tau, w: r.inverse_kinematics(q, v).rate, (6,)
            found["reactions"] = lambda q, v, a, tau, w: r.joint_reactions(q, v, a).f_b, (6, 3)
            found["margins"] = lambda q, v, a, tau, w: r.workspace_margins(q).stroke, ()
        return found
