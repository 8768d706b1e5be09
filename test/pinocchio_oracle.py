"""Pinocchio as an independent answer, and the converter between its conventions and ours.

Pinocchio's free flyer has its twist in body axes, linear part first; ours is in the axes of the frame that
the body moves in, angular part first. With v_pin = G(q) v_ours (mimic joints included: the oracle knows
them as joints of their own)

    M = G^T M_pin G,   tau = G^T tau_pin,   a_pin = G a + Gdot v.

Its spherical and planar joints have their velocities in the axes of the body, ours in those of the joint;
cylindrical joints, and universal joints whose axes are not at right angles, are two of its joints.
"""

from __future__ import annotations

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio", reason="the test oracle Pinocchio (package pin) is not installed")


def pose(xyz, rpy):
    return pin.SE3(pin.rpy.rpyToMatrix(*map(float, rpy)), np.array(xyz, dtype=float))


def model_of(description):
    """A Pinocchio model from the records of a description; joints added depth first, mimic tags ignored."""
    model = pin.Model()
    model.name = description.name
    model.gravity = pin.Motion(np.array(description.gravity), np.zeros(3))
    root = 0
    if description.base.type == "floating":
        root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        at = pin.SE3.Identity()
    else:
        at = pose(description.base.xyz, description.base.rpy)
    _add_link(model, description, description.root, root, at)
    return model


def _add_link(model, description, name, joint, at):
    model.addFrame(pin.Frame(name, joint, 0, at, pin.FrameType.BODY))
    inertial = description.link(name).inertial
    if inertial is not None:
        xx, xy, xz, yy, yz, zz = inertial.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = pin.Inertia(inertial.mass, np.zeros(3), tensor)
        model.appendBodyToJoint(joint, body, at * pose(inertial.xyz, inertial.rpy))
    for child in description.children_of(name):
        here = at * pose(child.xyz, child.rpy)
        if child.type == "fixed":
            _add_link(model, description, child.child, joint, here)
            continue
        index, back = joint, here
        for name, added, turned in _joints_of(child):
            index = model.addJoint(index, added, back * turned, name)
            back = turned.inverse()
        _add_link(model, description, child.child, index, back)


def _joints_of(joint):
    """(name, joint of Pinocchio, its frame in the joint frame) of each joint that a record stands for."""
    stated, still = joint.joint_type, pin.SE3.Identity()
    if joint.type == "planar":
        return [(joint.name, pin.JointModelPlanar(), pin.SE3(_triad(np.array(joint.axis)), np.zeros(3)))]
    if stated is None:
        return [(joint.name, _joint_model(joint), still)]
    if stated.type == "ball":
        return [(joint.name, pin.JointModelSpherical(), still)]
    axis = _unit(stated.axis or ((1, 0, 0) if stated.type == "universal" else (0, 0, 1)))
    if stated.type == "helical":
        return [(joint.name, pin.JointModelHelicalUnaligned(axis, stated.pitch), still)]
    if stated.type == "universal":
        second = _unit(stated.second_axis or (0, 1, 0))
        if axis @ second == 0.0:
            return [(joint.name, pin.JointModelUniversal(axis, second), still)]
        return [
            (f"{joint.name}/angle_{i}", pin.JointModelRevoluteUnaligned(a), still)
            for i, a in enumerate((axis, second), 1)
        ]
    assert stated.type == "cylindrical"
    return [
        (f"{joint.name}/angle", pin.JointModelRevoluteUnaligned(axis), still),
        (f"{joint.name}/displacement", pin.JointModelPrismaticUnaligned(axis), still),
    ]


def _unit(axis):
    return np.array(axis, dtype=float) / np.linalg.norm(axis)


def _triad(n):
    """Columns t1, t2, n: t1 is x without its part along n, or y where n is within some 26 degrees of x."""
    e = np.eye(3)[1 if abs(n[0]) > 0.9 else 0]
    t1 = _unit(e - (e @ n) * n)
    return np.column_stack([t1, np.cross(n, t1), n])


def _joint_model(joint):
    if joint.type == "floating":
        return pin.JointModelFreeFlyer()
    kind = pin.JointModelPrismaticUnaligned if joint.type == "prismatic" else pin.JointModelRevoluteUnaligned
    return kind(np.array(joint.axis))


class Oracle:
    """A Pinocchio model that answers in our conventions; joints are found by name."""

    def __init__(self, robot, model, base_joint: str = "base"):
        self.robot, self.model, self.data = robot, model, model.createData()
        self.axes, self.free, self.balls, self.planar, self.universal = [], [], [], [], []
        index = {c.name: c for c in robot.coordinates}
        for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
            if joint.nv == 6:
                prefix = "base" if name in (base_joint, robot.description.base.joint) else name
                self.free.append(
                    (joint, robot.q_names.index(f"{prefix}/x"), robot.v_names.index(f"{prefix}/wx"))
                )
                continue
            kind = joint.shortname()
            if kind == "JointModelSpherical":
                self.balls.append((joint, robot.q_names.index(f"{name}/qx"), index[f"{name}/wx"].v_index))
                continue
            if kind == "JointModelPlanar":
                self.planar.append((joint, index[f"{name}/x"].q_index, index[f"{name}/x"].v_index))
                continue
            if kind == "JointModelUniversal":
                first = index[f"{name}/angle_1"]
                self.universal.append((joint, first.q_index, first.v_index))
                continue
            if name in index:
                self.axes.append((joint, index[name].q_index, index[name].v_index, 1.0, 0.0))
                continue
            ratio, offset, record = 1.0, 0.0, robot.description.joint(name)
            while record.mimic is not None:
                offset += ratio * record.mimic.offset
                ratio *= record.mimic.multiplier
                record = robot.description.joint(record.mimic.joint)
            c = index[record.name]
            self.axes.append((joint, c.q_index, c.v_index, ratio, offset))

    def q(self, q):
        out = np.zeros(self.model.nq)
        for joint, iq, _, ratio, offset in self.axes:
            x = ratio * q[iq] + offset
            out[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        for joint, iq, _ in self.free:
            out[joint.idx_q : joint.idx_q + 7] = q[iq : iq + 7]
        for joint, iq, _ in self.balls:
            out[joint.idx_q : joint.idx_q + 4] = q[iq : iq + 4]
        for joint, iq, _ in self.planar:
            x, y, angle = q[iq : iq + 3]
            out[joint.idx_q : joint.idx_q + 4] = x, y, np.cos(angle), np.sin(angle)
        for joint, iq, _ in self.universal:
            out[joint.idx_q : joint.idx_q + 2] = q[iq : iq + 2]
        return out

    def G(self, q):
        G = np.zeros((self.model.nv, self.robot.nv))
        for joint, _, iv, ratio, _ in self.axes:
            G[joint.idx_v, iv] = ratio
        for joint, iq, iv in self.free:
            R = pin.Quaternion(q[iq + 3 : iq + 7]).toRotationMatrix()
            G[joint.idx_v : joint.idx_v + 3, iv + 3 : iv + 6] = R.T
            G[joint.idx_v + 3 : joint.idx_v + 6, iv : iv + 3] = R.T
        for joint, iq, iv in self.balls:
            R = pin.Quaternion(q[iq : iq + 4]).toRotationMatrix()
            G[joint.idx_v : joint.idx_v + 3, iv : iv + 3] = R.T
        for joint, iq, iv in self.planar:
            c, s = np.cos(q[iq + 2]), np.sin(q[iq + 2])
            G[joint.idx_v : joint.idx_v + 2, iv : iv + 2] = [[c, s], [-s, c]]
            G[joint.idx_v + 2, iv + 2] = 1.0
        for joint, _, iv in self.universal:
            G[joint.idx_v : joint.idx_v + 2, iv : iv + 2] = np.eye(2)
        return G

    def Gdot_v(self, q, v):
        """(dG/dt) v: R^T turns with the body, so that the linear part loses w x v (and w x w = 0)."""
        out = np.zeros(self.model.nv)
        for joint, iq, iv in self.planar:
            c, s = np.cos(q[iq + 2]), np.sin(q[iq + 2])
            vx, vy, w = v[iv : iv + 3]
            out[joint.idx_v : joint.idx_v + 2] = w * (-s * vx + c * vy), w * (-c * vx - s * vy)
        for joint, iq, iv in self.free:
            R = pin.Quaternion(q[iq + 3 : iq + 7]).toRotationMatrix()
            out[joint.idx_v : joint.idx_v + 3] = -R.T @ np.cross(v[iv : iv + 3], v[iv + 3 : iv + 6])
        return out

    def inverse_dynamics(self, q, v, a, wrenches=None):
        G, qp = self.G(q), self.q(q)
        arguments = (self.model, self.data, qp, G @ v, G @ a + self.Gdot_v(q, v))
        return G.T @ (pin.rnea(*arguments, self.forces(qp, wrenches)) if wrenches else pin.rnea(*arguments))

    def inverse_derivatives(self, q, v, a):
        """Derivatives (nv, nv) of inverse_dynamics by q, in our tangent space, by v and by a."""
        n, G, drift = self.robot.nv, self.G(q), self.Gdot_v(q, v)
        motion = self.q(q), G @ v, G @ a + drift
        by_q, by_v, M = pin.computeRNEADerivatives(self.model, self.data, *motion)
        by_a = np.triu(M) + np.triu(M, 1).T
        force = pin.rnea(self.model, self.data, *motion)
        dq, dv = by_q @ G, by_v @ G
        more = np.zeros((n, n))
        for joint, iq, iv in self.free:
            R = pin.Quaternion(q[iq + 3 : iq + 7]).toRotationMatrix()
            w, u = v[iv : iv + 3], v[iv + 3 : iv + 6]
            rows = slice(joint.idx_v, joint.idx_v + 3)
            for k in range(3):
                # a turn e of the body: d(R^T) x = R^T (x x e)
                turned = np.zeros_like(G)
                e = np.eye(3)[k]
                across = np.cross(np.eye(3), e).T
                turned[joint.idx_v : joint.idx_v + 3, iv + 3 : iv + 6] = R.T @ across
                turned[joint.idx_v + 3 : joint.idx_v + 6, iv : iv + 3] = R.T @ across
                rate = turned @ a
                rate[rows] += R.T @ np.cross(np.cross(u, w), e)
                dq[:, iv + k] += by_v @ turned @ v + by_a @ rate
                more[:, iv + k] = turned.T @ force
                # the drift -R^T (w x u) by w and by u
                dv[:, iv + k] += by_a[:, rows] @ R.T @ np.cross(u, e)
                dv[:, iv + 3 + k] += by_a[:, rows] @ R.T @ np.cross(e, w)
        return G.T @ dq + more, G.T @ dv, G.T @ by_a @ G

    def forces(self, qp, wrenches):
        """Pinocchio's list of forces, in joint axes, of wrenches (moment; force) in world axes at frames."""
        pin.framesForwardKinematics(self.model, self.data, qp)
        forces = pin.StdVec_Force()
        for _ in range(self.model.njoints):
            forces.append(pin.Force.Zero())
        for name, wrench in wrenches.items():
            frame = self.model.frames[self.frame(name)]
            at = self.data.oMf[self.frame(name)].translation
            placed = pin.SE3(np.eye(3), at).act(pin.Force(np.array(wrench[3:]), np.array(wrench[:3])))
            forces[frame.parentJoint] += self.data.oMi[frame.parentJoint].actInv(placed)
        return forces

    def mass_matrix(self, q):
        G = self.G(q)
        M = pin.crba(self.model, self.data, self.q(q)).reshape(self.model.nv, self.model.nv)
        M = np.triu(M) + np.triu(M, 1).T
        return G.T @ M @ G

    def forward_dynamics(self, q, v, tau):
        """By the articulated-body algorithm; robots without mimic joints."""
        G = self.G(q)
        a = pin.aba(self.model, self.data, self.q(q), G @ v, np.linalg.solve(G.T, tau))
        return np.linalg.solve(G, a - self.Gdot_v(q, v))

    def frame(self, name):
        return self.model.getFrameId(name, pin.FrameType.BODY)

    def pose(self, q, name):
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.frame(name)].homogeneous

    def jacobian(self, q, name):
        J = pin.computeFrameJacobian(
            self.model, self.data, self.q(q), self.frame(name), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        ).reshape(6, self.model.nv)  # one column comes as a vector
        return np.vstack([J[3:], J[:3]]) @ self.G(q)

    def frame_motion(self, q, v, a, name):
        """(angular; linear) velocity and acceleration (6,) of a frame's origin, world axes."""
        G, axes = self.G(q), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        rate = G @ a + self.Gdot_v(q, v)
        pin.forwardKinematics(self.model, self.data, self.q(q), G @ v, rate)
        at = self.model, self.data, self.frame(name), axes
        moved = pin.getFrameVelocity(*at), pin.getFrameClassicalAcceleration(*at)
        return tuple(np.concatenate([m.angular, m.linear]) for m in moved)

    def energies(self, q, v):
        """Kinetic energy of the bodies, potential energy."""
        qp = self.q(q)
        kinetic = pin.computeKineticEnergy(self.model, self.data, qp, self.G(q) @ v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, qp)

    def center_of_mass(self, q):
        return pin.centerOfMass(self.model, self.data, self.q(q)).copy()

    def momentum(self, q, v):
        """(angular about the world origin; linear)."""
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.G(q) @ v)
        com = self.data.com[0]
        return np.concatenate([h.angular + np.cross(com, h.linear), h.linear])
