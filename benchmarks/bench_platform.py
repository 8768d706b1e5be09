"""Speed of platform dynamics beside MuJoCo and Pinocchio, in one run on the same robot: calls from Python.

    python benchmarks/bench_platform.py [--json] [--repeats 15] [--calls 2000] [--quick]

The robot is stewart_1t. Peers close its open tree by six constraints at the spherical joints: MuJoCo by
`connect` equalities, timed over `mj_forward` (state to accelerations; no step in time), Pinocchio by
`constraintDynamics` with six point contacts. Sides take turns; each figure is the median over the turns,
each ratio (theirs / ours) the median of the ratios of one turn. Before timing, accelerations are compared;
MuJoCo's constraints are soft, its difference is printed. A peer that is not installed is left out. The last
rows are of an electric hexapod on a carriage that slides and turns.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

import numpy as np
import program
from bench_dynamics import compare, pin, seconds_per_call
from lxml import etree

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from mounted_platforms import CARRIAGE, with_arm
from platform_oracle import ClosedTree

BATCH = 4096


def mujoco_side(robot, q, v, tau):
    """A callable that computes MuJoCo's accelerations, and a function that reads the platform's."""
    import mujoco

    root = etree.fromstring(robot.description.text.encode())
    legs = [(leg.get("name"), leg.get("anchor")) for leg in root.iter("leg")]
    for element in root.findall("flexdyn"):
        root.remove(element)
    extension = etree.SubElement(root, "mujoco")
    etree.SubElement(extension, "compiler", fusestatic="true", discardvisual="true", balanceinertia="true")
    for link in root.findall("link"):
        if link.find("inertial") is None and link.get("name") != "base_link":
            # it refuses bodies without mass: a cross of a milligram
            inertial = etree.SubElement(link, "inertial")
            etree.SubElement(inertial, "mass", value="1e-6")
            etree.SubElement(
                inertial, "inertia", ixx="1e-9", iyy="1e-9", izz="1e-9", ixy="0", ixz="0", iyz="0"
            )
    spec = mujoco.MjSpec.from_string(etree.tostring(root, encoding="unicode"))
    for name, anchor in legs:
        equality = spec.add_equality(
            type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="platform", name2=f"{name}_rod",
        )  # fmt: skip
        equality.data[:3] = [float(x) for x in anchor.split()]
        equality.solimp[:2] = 0.9999, 0.9999  # as hard as it lets constraints be
        spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, target=f"{name}_slide")
    spec.option.gravity = robot.gravity
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    model = spec.compile()
    data = mujoco.MjData(model)
    joints, rates = robot.leg_joints(q, v)
    x, y, z, w = q[3:]
    data.qpos[:7], data.qvel[:3] = [*q[:3], w, x, y, z], v[3:]
    R = robot.frames(q, "platform")[:3, :3]
    data.qvel[3:6] = R.T @ v[:3]
    for i, (name, _) in enumerate(legs):
        for n, part in enumerate(("u1", "u2", "slide")):
            at = model.joint(f"{name}_{part}")
            data.qpos[at.qposadr[0]], data.qvel[at.dofadr[0]] = joints[i, n], rates[i, n]
        data.actuator(name).ctrl[0] = tau[i]
    # at zero angles the loops are open: the second anchors are the origins of the rods
    model.eq_data[: len(legs), 3:6] = 0.0

    def acceleration():
        return np.concatenate([R @ data.qacc[3:6], data.qacc[:3]])

    return lambda: mujoco.mj_forward(model, data), acceleration


def pinocchio_side(robot, q, v, tau):
    """A callable that computes Pinocchio's accelerations, and the platform's."""
    root = etree.fromstring(robot.description.text.encode())
    oracle = ClosedTree(pin, etree.tostring(root, encoding="unicode"))
    a, _ = oracle.forward_dynamics(robot, q, v, tau)
    qp, vp = oracle.state(robot, q, v)
    effort = np.zeros(oracle.model.nv)
    for (name, _), force in zip(oracle.legs, tau, strict=True):
        effort[oracle.model.idx_vs[oracle.model.getJointId(f"{name}_slide")]] = force
    settings = pin.ProximalSettings(1e-12, 1e-12, 1)
    arguments = (oracle.model, oracle.data, qp, vp, effort, oracle.contacts, oracle.contact_data, settings)
    return lambda: pin.constraintDynamics(*arguments), a


def per_call(calls: int, repeats: int) -> list[dict]:
    """One state per call."""
    robot = flexdyn_ros.load("stewart_1t")
    rng = np.random.default_rng(1)
    q, v, a = robot.random(rng), rng.uniform(-0.5, 0.5, 6), rng.uniform(-1, 1, 6)
    tau = rng.uniform(1500.0, 3500.0, 6)
    own = robot.forward_dynamics(q, v, tau)
    peers = {}
    if program.peer("mujoco", "mujoco"):
        peers["MuJoCo mj_forward"], mujoco_a = mujoco_side(robot, q, v, tau)
        peers["MuJoCo mj_forward"]()
        apart = np.abs(own - mujoco_a()).max() / np.abs(own).max()
        print(f"MuJoCo's accelerations differ by {apart:.1e}", file=sys.stderr)
    if pin is not None:
        peers["Pinocchio constraintDynamics"], pin_a = pinocchio_side(robot, q, v, tau)
        assert np.abs(own - pin_a).max() < 1e-8 * np.abs(own).max(), "the two sides do not compute the same"

    def forward():
        return robot.forward_dynamics(q, v, tau)

    rows = [
        compare(f"forward dynamics, {name}", forward, theirs, calls, repeats)
        for name, theirs in (peers or {"alone": None}).items()
    ]

    def inverse():
        return robot.inverse_dynamics(q, v, a)

    return [*rows, compare("inverse dynamics", inverse, None, calls, repeats)]


def batched(batch: int, repeats: int) -> list[dict]:
    """States in one call, one thread; seconds per state."""
    robot = flexdyn_ros.load("stewart_1t")
    rng = np.random.default_rng(2)
    q = np.repeat([robot.random(rng) for _ in range(64)], batch // 64, axis=0)
    v, a = rng.uniform(-0.5, 0.5, (2, batch, 6))
    set_batch_threads(1)
    rows = []
    for name, verb in (("inverse", robot.inverse_dynamics), ("forward", robot.forward_dynamics)):
        verb(q, v, a)
        seconds = median(seconds_per_call(lambda verb=verb: verb(q, v, a), 3) for _ in range(repeats)) / batch
        rows.append(
            {"what": f"{name} dynamics, batch of {batch}", "ours": seconds, "theirs": None, "ratio": None}
        )
    return rows


def on_a_carriage(calls: int, repeats: int) -> list[dict]:
    """Calls of a hexapod whose base moves; seconds per call."""
    robot = flexdyn_ros.load(with_arm(CARRIAGE))
    rng = np.random.default_rng(3)
    q, (v, a), tau = robot.random(rng), rng.uniform(-0.5, 0.5, (2, robot.nv)), rng.uniform(-1, 1, robot.nu)
    verbs = {
        "forward": lambda: robot.forward_dynamics(q, v, tau),
        "inverse": lambda: robot.inverse_dynamics(q, v, a),
    }
    return [
        compare(f"{name} dynamics, hexapod on a carriage", verb, None, calls, repeats)
        for name, verb in verbs.items()
    ]


def main() -> None:
    """Print a table, or JSON."""
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    batch = BATCH
    if options.quick:
        options.calls, options.repeats, batch = 2, 1, 64
    rows = per_call(options.calls, options.repeats) + batched(batch, options.repeats)
    rows += on_a_carriage(options.calls, options.repeats)
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        peer = "" if row["theirs"] is None else f"{1e6 * row['theirs']:9.2f} us {row['ratio']:7.2f} x"
        print(f"{row['what']:48} {1e6 * row['ours']:8.2f} us {peer}")


if __name__ == "__main__":
    main()
