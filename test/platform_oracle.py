"""Pinocchio's answer for a platform: its open tree, closed by six point contacts."""

from __future__ import annotations

import numpy as np
from lxml import etree


class ClosedTree:
    """The URDF of a platform without our elements, with the six spherical joints as loop constraints."""

    def __init__(self, pin, text: str) -> None:
        root = etree.fromstring(text)
        flexdyn = root.find("flexdyn")
        base = flexdyn.find("base")
        self.legs = [
            (leg.get("name"), [float(x) for x in leg.get("anchor").split()]) for leg in flexdyn.iter("leg")
        ]
        gravity = [float(x) for x in flexdyn.find("gravity").text.split()]
        root.remove(flexdyn)
        self.pin, self.model = pin, pin.buildModelFromXML(etree.tostring(root, encoding="unicode"))
        xyz, rpy = ([0.0] * 3, [0.0] * 3)
        if base is not None:
            xyz, rpy = ([float(x) for x in base.get(key).split()] for key in ("xyz", "rpy"))
        self.stand = pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(xyz))
        self.model.gravity = pin.Motion(self.stand.rotation.T @ np.array(gravity), np.zeros(3))
        self.platform = self.model.getJointId("platform")
        self.contacts = pin.StdVec_RigidConstraintModel()
        for name, anchor in self.legs:
            rod = self.model.getJointId(f"{name}_slide")
            contact = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, rod, pin.SE3.Identity(), self.platform,
                pin.SE3(np.eye(3), np.array(anchor)), pin.ReferenceFrame.LOCAL,
            )  # fmt: skip
            self.contacts.append(contact)
        self.data = self.model.createData()
        self.contact_data = pin.StdVec_RigidConstraintData()
        self.contact_data.extend([contact.createData() for contact in self.contacts])
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.contact_data)

    def state(self, robot, q, v):
        """Pinocchio's q and v of a pose and twist: joint angles and strokes of the legs, then rates from
        closure."""
        pin, model = self.pin, self.model
        home = self.stand * model.jointPlacements[self.platform]
        pose = home.actInv(pin.SE3(pin.Quaternion(q[6], *q[3:6]).matrix(), q[:3]))
        qp = pin.neutral(model)
        at, vt = model.idx_qs[self.platform], model.idx_vs[self.platform]
        qp[at : at + 7] = pin.SE3ToXYZQUAT(pose)
        legs = robot.inverse_kinematics(q)
        R = pin.Quaternion(q[6], *q[3:6]).matrix()
        vp = np.zeros(model.nv)
        vp[vt : vt + 6] = np.concatenate([R.T @ v[3:], R.T @ v[:3]])
        for i, (name, _) in enumerate(self.legs):
            for part, value in (
                ("u1", legs.angles[i, 0]),
                ("u2", legs.angles[i, 1]),
                ("slide", legs.stroke[i]),
            ):
                qp[model.idx_qs[model.getJointId(f"{name}_{part}")]] = value
        J = self.closure(qp)
        own = np.arange(vt, vt + 6)
        rest = np.setdiff1d(np.arange(model.nv), own)
        vp[rest] = -np.linalg.solve(J[:, rest], J[:, own] @ vp[own])
        return qp, vp

    def closure(self, qp):
        """Jacobian (18, nv) of the gaps at the six spherical joints."""
        pin, data = self.pin, self.model.createData()
        pin.computeJointJacobians(self.model, data, qp)
        rows = []
        for name, anchor in self.legs:
            rod = pin.getJointJacobian(
                self.model,
                data,
                self.model.getJointId(f"{name}_slide"),
                pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
            )
            top = pin.getJointJacobian(
                self.model, data, self.platform, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            arm = data.oMi[self.platform].rotation @ np.array(anchor)
            rows.append(rod[:3] - (top[:3] - pin.skew(arm) @ top[3:]))
        return np.concatenate(rows)

    def forward_dynamics(self, robot, q, v, tau):
        """Our a (6,) and the forces of the legs on the platform (6, 3), world axes."""
        pin, model, data = self.pin, self.model, self.data
        qp, vp = self.state(robot, q, v)
        effort = np.zeros(model.nv)
        for (name, _), force in zip(self.legs, tau, strict=True):
            effort[model.idx_vs[model.getJointId(f"{name}_slide")]] = force
        settings = pin.ProximalSettings(1e-14, 1e-14, 10)
        ap = pin.constraintDynamics(model, data, qp, vp, effort, self.contacts, self.contact_data, settings)
        pin.forwardKinematics(model, data, qp, vp, ap)
        R = self.stand.rotation
        spatial, twist = data.a[self.platform], data.v[self.platform]
        world = data.oMi[self.platform].rotation
        w, u = world @ twist.angular, world @ twist.linear
        a = np.concatenate([R @ world @ spatial.angular, R @ (world @ spatial.linear + np.cross(w, u))])
        forces = []
        for n, (name, _) in enumerate(self.legs):
            rod = model.getJointId(f"{name}_slide")
            push = data.lambda_c[3 * n : 3 * n + 3]
            forces.append(-R @ data.oMi[rod].rotation @ push)
        return a, np.array(forces)
