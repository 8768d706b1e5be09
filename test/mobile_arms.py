"""The wheeled arm of the specification: its coordinates, worked state, and mobile arms of other shapes."""

from __future__ import annotations

import numpy as np

import flexdyn_ros

#: state of section 17 of the specification of mobile arms: absolute angles, without base/x
Q_I = np.array([0.19, 0.02, 0.5, 1e-6, -4e-3, -9e-3, 0.2, -1e-6, 3e-3, 6e-3])
V_I = np.array([0.01, -0.05, 0.8, 0.0, 0.02, 0.1, -0.6, 0.0, -0.03, 0.2])
TIME, SPEED = 0.1, 0.3


def absolute(robot) -> np.ndarray:
    """T (nv - 1, nv - 1) with q_i = T z: heave, pitch up, absolute angles and modes from ours without base/x.

    For the two-link arm in any of its models (CONTRACT 2.1).
    """
    names = robot.v_names[1:]
    T = np.eye(len(names))
    T[1, 1] = -1.0
    so_far = {names[1]: -1.0}
    for link, joint in (("link_1", "shoulder"), ("link_2", "elbow")):
        row = names.index(joint)
        so_far[joint] = 1.0
        for name, share in so_far.items():
            T[row, names.index(name)] = share
        slope = f"{link}/bending_z/2"
        if slope in names:
            so_far[slope] = 1.0
    return T


def arm(scenario: str | None = None, **options):
    """The shipped arm; options as of load with dots written as double underscores."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    config = None if scenario is None else f"package://flexdyn_ros/config/mobile_arm_{scenario}.yaml"
    return flexdyn_ros.load("mobile_arm", options=given or None, config=config)


def state(robot) -> tuple[np.ndarray, np.ndarray]:
    """q and v of the worked state."""
    back = np.linalg.inv(absolute(robot))
    return np.append(SPEED * TIME, back @ Q_I), np.append(SPEED, back @ V_I)


def efforts(robot, shoulder: float, elbow: float) -> np.ndarray:
    """tau (nv,) of the two motors."""
    tau = np.zeros(robot.nv)
    tau[robot.index("shoulder")], tau[robot.index("elbow")] = shoulder, elbow
    return tau


def held(robot, angles, q0=None):
    """Equilibrium whose absolute link angles are held [rad]; road as at base/x of q0."""
    T = absolute(robot)
    q = robot.neutral() if q0 is None else np.array(q0)
    joints = [robot.index("shoulder"), robot.index("elbow")]
    for _ in range(40):
        found = robot.static_equilibrium(q, hold="joints")
        wrong = (T @ found.q[1:])[[joints[0] - 1, joints[1] - 1]] - angles
        q = found.q.copy()
        if np.abs(wrong).max() < 1e-15:
            break
        q[joints[0]] -= wrong[0]
        q[joints[1]] -= wrong[1] - wrong[0]
    return found


def chain(bending=(True, True), *, tyres=False, extra="", mount_z=0.0, road='<road kind="flat"/>') -> str:
    """URDF text of a cart with so many links; those marked bend, by two bending functions and a stretch."""
    parts = [
        '<robot name="chain"><link name="cart"><inertial><mass value="20"/>'
        '<inertia ixx="0.5" ixy="0" ixz="0" '
        'iyy="0.9" iyz="0" izz="0.9"/></inertial></link>'
    ]
    flex, parent, at = [], "cart", "0.05 0 0.5"
    for i, bends in enumerate(bending, 1):
        mass, L = 1.0 + 0.3 * i, 0.9 - 0.1 * i
        J = mass * L**2 / 12
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="{L / 2} 0 0"/><mass value="{mass}"/>'
            f'<inertia ixx="1e-9" ixy="0" ixz="0" iyy="{J}" iyz="0" izz="{J}"/></inertial></link>'
            f'<joint name="j{i}" type="continuous"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{at}"/><axis xyz="0 {-1 if i % 2 else 1} 0"/>'
            f'<dynamics damping="{0.1 * i}"/></joint>'
        )
        if bends:
            flex.append(
                f'<flexdyn reference="l{i}"><beam length="{L}" mass_per_length="{mass / L}" '
                'EIz="200" EIy="200" EA="1e7" rotary_inertia_y="0" rotary_inertia_z="0"/>'
                '<modes axial="1" bending_z="2" basis="hermite"/>'
                '<damping rayleigh_mass="0.1" rayleigh_stiffness="1e-5"/></flexdyn>'
            )
        parent, at = f"l{i}", f"{L} 0 0"
    tyre = '<tyre stiffness="2e4" damping="30" radius="0.2" mass="1.5"/>' if tyres else ""
    wheels = "".join(
        f'<wheel name="{name}" link="cart" xyz="{x} 0 {mount_z}">'
        f'<suspension stiffness="{k}" damping="{c}" free_length="0.26"/>{tyre}</wheel>'
        for name, x, k, c in (("rear", -0.35, 952, 95), ("front", 0.35, 1168, 116))
    )
    return (
        "".join(parts)
        + '<flexdyn><gravity>0 0 -9.8</gravity><base type="planar"/>'
        + wheels
        + road
        + '<drive type="speed" speed="0.3"/></flexdyn>'
        + "".join(flex)
        + extra
        + "</robot>"
    )
