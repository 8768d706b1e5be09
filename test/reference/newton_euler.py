"""Recursive Newton-Euler algorithm for rigid `serial-model/1` trees in plain NumPy; imports nothing of ours.

Luh, Walker & Paul 1980 in link axes (Craig, Introduction to Robotics), trees by summing over children.
"""

from __future__ import annotations

import numpy as np


def _about(axis, angle):
    x, y, z = axis
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S


def _pose(pose):
    r, p, y = pose.get("rpy", (0, 0, 0))
    R = _about((0, 0, 1), y) @ _about((0, 1, 0), p) @ _about((1, 0, 0), r)
    return np.asarray(pose.get("p", (0, 0, 0)), dtype=float), R


def inverse_dynamics(data, q, v, a, gravity=None):
    """Joint efforts of a rigid tree; coordinates are the moving joints in the order of the links."""
    links = data["links"]
    g = np.asarray(data["gravity"] if gravity is None else gravity, dtype=float)
    motion, geometry, index = [], [], []
    at = 0
    for i, link in enumerate(links):
        joint = link.get("joint", {})
        kind, axis = joint.get("type", "revolute"), np.asarray(joint.get("axis", (0, 0, 1)), dtype=float)
        parent = link.get("parent", i - 1)
        tip = np.array([links[parent].get("length", 0.0) if parent >= 0 else 0.0, 0, 0])
        (p0, R0), (p1, R1) = _pose(joint.get("pre", {})), _pose(joint.get("post", {}))
        x, xd, xdd = (s[at] if kind != "fixed" else 0.0 for s in (q, v, a))
        index.append(at if kind != "fixed" else -1)
        at += kind != "fixed"
        turn, slide = (_about(axis, x), np.zeros(3)) if kind == "revolute" else (np.eye(3), axis * x)
        # P, R: origin and axes of the link frame in the parent's; s: joint axis in the link's axes
        R = R0 @ turn @ R1
        P = tip + p0 + R0 @ (slide + turn @ p1)
        s = R1.T @ axis
        arm = R1.T @ -p1  # from the link origin to a point of the joint axis, link axes
        w, wd, vd = motion[parent] if parent >= 0 else (np.zeros(3), np.zeros(3), -g)
        vd = R.T @ (np.cross(wd, P) + np.cross(w, np.cross(w, P)) + vd)
        w, wd = R.T @ w, R.T @ wd
        if kind == "revolute":
            # the link origin turns about the axis too: add what the joint rate does at -arm
            w_new, wd_new = w + xd * s, wd + np.cross(w, xd * s) + xdd * s
            r = -arm
            vd = (
                vd
                + np.cross(wd_new - wd, r)
                + np.cross(w_new, np.cross(w_new, r))
                - np.cross(w, np.cross(w, r))
            )
            w, wd = w_new, wd_new
        elif kind == "prismatic":
            vd = vd + 2 * np.cross(w, xd * s) + xdd * s
        motion.append((w, wd, vd))
        geometry.append((parent, kind, R, P, s, arm))
    force = [np.zeros(3) for _ in links]
    moment = [np.zeros(3) for _ in links]
    tau = np.zeros(at)
    for i in reversed(range(len(links))):
        w, wd, vd = motion[i]
        for body in links[i].get("rigid_bodies", []):
            xx, yy, zz, xy, xz, yz = body.get("inertia", (0,) * 6)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            c = np.asarray(body.get("com", (0, 0, 0)), dtype=float)
            F = body["mass"] * (vd + np.cross(wd, c) + np.cross(w, np.cross(w, c)))
            force[i] = force[i] + F
            moment[i] = moment[i] + inertia @ wd + np.cross(w, inertia @ w) + np.cross(c, F)
        parent, kind, R, P, s, arm = geometry[i]
        if kind == "revolute":
            tau[index[i]] = s @ (moment[i] - np.cross(arm, force[i]))
        elif kind == "prismatic":
            tau[index[i]] = s @ force[i]
        if kind != "fixed":
            tau[index[i]] += links[i].get("joint", {}).get("rotor_inertia", 0.0) * a[index[i]]
        if parent >= 0:
            force[parent] = force[parent] + R @ force[i]
            moment[parent] = moment[parent] + R @ moment[i] + np.cross(P, R @ force[i])
    return tau
