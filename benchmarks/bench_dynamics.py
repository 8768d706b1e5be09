"""Speed of every verb: of rigid robots beside Pinocchio and MuJoCo in one run, of one robot of each family.

    python benchmarks/bench_dynamics.py [--json] [--repeats 15] [--urdf FILE] [--quick]

Robots: the Panda of example-robot-data (without mimic, damping and friction, for all; and with its mimicking
finger, for us) and a generated tree of 32 joints. The sides take turns; each figure is the median over the
turns, each ratio (theirs / ours: above 1, ours is faster) the median of the ratios of one turn. Families:
the verbs of shipped robots per call, and per state of a batch. Batches of 4096 run on one thread; the
peers are a Python loop over Pinocchio's calls and its own batch functions with one thread, which a build
without OpenMP does not have. Without Pinocchio our times stand alone.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import program
from lxml import etree

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads

BATCH = 4096
#: batches of one turn: the first after other work finds cold caches, which is no property of either side
BATCHES = 5
pin = program.peer("pinocchio", "pin")
mujoco = program.peer("mujoco", "mujoco")
#: a robot of each family
FAMILIES = ("seven_joint_arm", "canadarm2", "mobile_arm", "soft_arm_3", "stewart_1t")


def panda() -> str | None:
    """Text of the Panda's URDF; None if it is not installed."""
    for key in ("purelib", "platlib"):
        share = Path(sysconfig.get_path(key)) / "cmeel.prefix/share/example-robot-data/robots"
        if share.is_dir():
            break
    else:
        print("example-robot-data is not installed: no Panda; another robot: --urdf FILE", file=sys.stderr)
        return None
    return (share / "panda_description/urdf/panda.urdf").read_text()


def plain(text: str) -> str:
    """URDF text without what only one side would compute: mimic and dynamics elements."""
    root = etree.fromstring(text.encode())
    for element in [*root.iter("mimic"), *root.iter("dynamics")]:
        element.getparent().remove(element)
    return etree.tostring(root, encoding="unicode")


def tree_of_32() -> str:
    """A binary tree of 32 revolute joints, axes x, y, z in turn."""
    links = ['<link name="l0"/>']
    joints = []
    for i in range(1, 33):
        inertia = 'ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="-0.002" izz="0.015"'
        com, mass = f"0.05 0.02 {0.1 + 0.01 * i}", 1 + 0.1 * i
        body = f'<origin xyz="{com}"/><mass value="{mass}"/><inertia {inertia}/>'
        links.append(f'<link name="l{i}"><inertial>{body}</inertial></link>')
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        joints.append(
            f'<joint name="j{i}" type="revolute"><parent link="l{i // 2}"/><child link="l{i}"/>'
            f'<origin xyz="0.1 0 0.3" rpy="0.3 -0.2 0.1"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="5"/></joint>'
        )
    return '<robot name="tree_32">' + "".join(links + joints) + "</robot>"


def seconds_per_call(call: Callable[[], object], calls: int) -> float:
    """Mean time of one call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def compare(name: str, ours: Callable, theirs: Callable | None, calls: int, repeats: int) -> dict:
    """Both sides in turn; medians [s] and the median ratio, None without a peer."""
    ours()
    if theirs is None:
        own = median(seconds_per_call(ours, calls) for _ in range(repeats))
        return {"what": name, "ours": own, "theirs": None, "ratio": None}
    theirs()
    pairs = [(seconds_per_call(ours, calls), seconds_per_call(theirs, calls)) for _ in range(repeats)]
    return {
        "what": name,
        "ours": median(a for a, _ in pairs),
        "theirs": median(b for _, b in pairs),
        "ratio": median(b / a for a, b in pairs),
    }


def both(text: str):
    """Our robot and Pinocchio's model (None without it), with the permutation from our columns to theirs."""
    robot = flexdyn_ros.load(text)
    if pin is None:
        return robot, None, np.arange(robot.nv)
    model = pin.buildModelFromXML(text)
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    model.armature = np.zeros(model.nv)
    assert model.nq == model.nv == robot.nv
    order = [robot.index(name) for name in list(model.names)[1:]]
    return robot, model, np.array(order)


def verbs_of(robot, q, v, a) -> dict[str, Callable]:
    """Every verb at one state."""
    tau, frame = np.zeros(robot.nu), robot.frame_names[-1]
    of_trees = {"regressor": lambda: robot.regressor(q, v, a)} if robot.kind == "tree" else {}
    return {
        "inverse dynamics": lambda: robot.inverse_dynamics(q, v, a),
        "forward dynamics": lambda: robot.forward_dynamics(q, v, tau),
        "mass matrix": lambda: robot.mass_matrix(q),
        "bias forces": lambda: robot.bias_forces(q, v),
        "bias terms": lambda: robot.bias_terms(q, v),
        "energy": lambda: robot.energy(q, v),
        "momentum": lambda: robot.momentum(q, v),
        "centre of mass": lambda: robot.center_of_mass(q),
        "one frame": lambda: robot.frames(q, frame),
        "all frames": lambda: robot.frames(q),
        "jacobian": lambda: robot.jacobian(q, frame),
        "frame velocity": lambda: robot.frame_velocity(q, v, frame),
        "frame acceleration": lambda: robot.frame_acceleration(q, v, a, frame),
        "integrate": lambda: robot.integrate(q, v, 0.1),
        "difference": lambda: robot.difference(q, q),
        "actuation matrix": lambda: robot.actuation_matrix(q),
        "deflections": lambda: robot.deflections(q),
        **of_trees,
        "linearize": lambda: robot.linearize(q, v, tau),
        "inverse dynamics derivatives": lambda: robot.inverse_dynamics_derivatives(q, v, a),
        "forward dynamics derivatives": lambda: robot.forward_dynamics_derivatives(q, v, tau),
    }


def pinocchio_verbs(model, q, v, a, frame: str) -> dict[str, Callable]:
    """What Pinocchio has for the same purposes."""
    data, at = model.createData(), model.getFrameId(frame)
    tau, axes = np.zeros(model.nv), pin.LOCAL_WORLD_ALIGNED

    def energy():
        return pin.computeKineticEnergy(model, data, q, v), pin.computePotentialEnergy(model, data, q)

    def one_frame():
        pin.forwardKinematics(model, data, q)
        return pin.updateFramePlacement(model, data, at).homogeneous

    def all_frames():
        pin.framesForwardKinematics(model, data, q)
        return [pose.homogeneous for pose in data.oMf]

    def velocity():
        pin.forwardKinematics(model, data, q, v)
        return pin.getFrameVelocity(model, data, at, axes).vector

    def acceleration():
        pin.forwardKinematics(model, data, q, v, a)
        return pin.getFrameClassicalAcceleration(model, data, at, axes).vector

    return {
        "inverse dynamics": lambda: pin.rnea(model, data, q, v, a),
        "forward dynamics": lambda: pin.aba(model, data, q, v, tau),
        "mass matrix": lambda: pin.crba(model, data, q),
        "bias forces": lambda: pin.nonLinearEffects(model, data, q, v),
        "energy": energy,
        "momentum": lambda: pin.computeCentroidalMomentum(model, data, q, v),
        "centre of mass": lambda: pin.centerOfMass(model, data, q),
        "one frame": one_frame,
        "all frames": all_frames,
        "jacobian": lambda: pin.computeFrameJacobian(model, data, q, at, axes),
        "frame velocity": velocity,
        "frame acceleration": acceleration,
        "integrate": lambda: pin.integrate(model, q, v * 0.1),
        "difference": lambda: pin.difference(model, q, q),
        "regressor": lambda: pin.computeJointTorqueRegressor(model, data, q, v, a),
        "linearize": lambda: pin.computeABADerivatives(model, data, q, v, tau),
        "inverse dynamics derivatives": lambda: pin.computeRNEADerivatives(model, data, q, v, a),
    }


def mujoco_verbs(text: str) -> dict[str, Callable]:
    """What MuJoCo has: its pipelines, without contacts."""
    root = etree.fromstring(text.encode())
    for element in [*root.iter("visual"), *root.iter("collision")]:
        element.getparent().remove(element)
    model = mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    return {
        "inverse dynamics": lambda: mujoco.mj_inverse(model, data),
        "forward dynamics": lambda: mujoco.mj_forward(model, data),
    }


def per_call(text: str, calls: int, repeats: int) -> list[dict]:
    """One state per call."""
    robot, model, order = both(text)
    rng = np.random.default_rng(1)
    q, v, a = robot.random(rng), rng.uniform(-1, 1, robot.nv), rng.uniform(-1, 1, robot.nv)
    ours = verbs_of(robot, q, v, a)
    rows = []
    if model is None:
        rows = [compare(name, call, None, calls, repeats) for name, call in ours.items()]
    else:
        qp, vp, ap = q[order], v[order], a[order]
        theirs = pinocchio_verbs(model, qp, vp, ap, robot.frame_names[-1])
        same = np.abs(ours["inverse dynamics"]()[order] - theirs["inverse dynamics"]()).max()
        assert same < 1e-9, "the two sides do not compute the same"
        rows = [compare(name, call, theirs.get(name), calls, repeats) for name, call in ours.items()]
    if mujoco is not None:
        peers = mujoco_verbs(text)
        rows += [
            compare(f"{name}, MuJoCo beside", ours[name], peer, calls, repeats)
            for name, peer in peers.items()
        ]
    return rows


def with_mimic(text: str, calls: int, repeats: int) -> list[dict]:
    """Our forward dynamics of the Panda as it is distributed beside Pinocchio's without mimic joints."""
    robot, model, _ = flexdyn_ros.load(text), *both(plain(text))[1:]
    rng = np.random.default_rng(1)
    q, v, tau = robot.random(rng), rng.uniform(-1, 1, robot.nv), np.zeros(robot.nv)
    theirs = None
    if model is not None:
        data, qp, vp = model.createData(), np.zeros(model.nq), np.zeros(model.nv)
        theirs = partial(pin.aba, model, data, qp, vp, vp)
    ours = partial(robot.forward_dynamics, q, v, tau)
    return [compare("forward dynamics with a mimic joint", ours, theirs, calls, repeats)]


def of_family(name: str, calls: int, batch: int, repeats: int) -> list[dict]:
    """Every verb of a shipped robot per call, and the batches beside our own single calls."""
    robot = flexdyn_ros.load(name)
    rng = np.random.default_rng(1)
    q, v, a = robot.neutral(), 0.1 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    ours = verbs_of(robot, q, v, a)
    rows = [compare(verb, call, None, calls, repeats) for verb, call in ours.items()]
    for row in rows:
        row["theirs"], row["ratio"] = None, None
    Q, V, A = (np.tile(x, (batch, 1)) for x in (q, v, a))
    T, few = np.zeros((batch, robot.nu)), slice(0, max(1, batch // 4))
    batches = {
        "inverse dynamics": (partial(robot.inverse_dynamics, Q, V, A), batch),
        "forward dynamics": (partial(robot.forward_dynamics, Q, V, T), batch),
        "linearize": (partial(robot.linearize, Q[few], V[few], T[few]), len(Q[few])),
    }
    set_batch_threads(1)
    robot.linearize(Q, V, T)  # many states: from here on by a tape
    single = {row["what"]: row["ours"] for row in rows}
    for verb, (call, count) in batches.items():
        row = compare(f"{verb}, a state of {count} (ratio: single call / it)", call, None, 1, repeats)
        row["ours"] /= count
        rows.append(row | {"theirs": single[verb], "ratio": single[verb] / row["ours"]})
    set_batch_threads(None)
    return rows


def batched(text: str, batch: int, repeats: int) -> list[dict]:
    """Seconds per state of a batch, one thread."""
    robot, model, order = both(text)
    rng = np.random.default_rng(2)
    q = np.array([robot.random(rng) for _ in range(batch)])
    v, a = rng.uniform(-1, 1, (2, batch, robot.nv))
    matrices = np.empty((batch, robot.nv, robot.nv))
    set_batch_threads(1)
    verbs = {
        "inverse dynamics": partial(robot.inverse_dynamics, q, v, a),
        "forward dynamics": partial(robot.forward_dynamics, q, v, a),
        "mass matrix": partial(robot.mass_matrix, q, out=matrices),
    }
    peers = {} if model is None else batched_peers(model, *(x[:, order] for x in (q, v, a)))
    rows = []
    for name, ours in verbs.items():
        for against, theirs in peers.get(name, {}).items():
            rows.append(compare(f"{name}, {batch}, against {against}", ours, theirs, BATCHES, repeats))
        if name not in peers:
            rows.append(compare(f"{name}, {batch}", ours, None, BATCHES, repeats))
    set_batch_threads(None)
    for row in rows:
        for side in ("ours", "theirs"):
            row[side] = None if row[side] is None else row[side] / batch
    return rows


def batched_peers(model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, dict[str, Callable]]:
    """Ways of Pinocchio to compute a batch: verb, name of the way, call."""
    data = model.createData()
    rows = [np.ascontiguousarray(x) for x in (q, v, a)]

    def loop(function: Callable) -> Callable:
        return lambda: [function(model, data, x, y, z) for x, y, z in zip(*rows, strict=True)]

    ways: dict[str, dict[str, Callable]] = {
        "inverse dynamics": {"a loop": loop(pin.rnea)},
        "forward dynamics": {"a loop": loop(pin.aba)},
        "mass matrix": {"a loop": lambda: [pin.crba(model, data, x) for x in rows[0]]},
    }
    for name, parallel in (("inverse dynamics", "rneaInParallel"), ("forward dynamics", "abaInParallel")):
        if hasattr(pin, parallel):
            pool = pin.ModelPool(model, 1)
            columns = [np.asfortranarray(x.T) for x in rows]
            result = np.asfortranarray(np.empty((model.nv, len(q))))
            ways[name][parallel] = partial(getattr(pin, parallel), 1, pool, *columns, result)
    return ways


def measure(robots: dict[str, str], mimic: str | None, calls: int, batch: int, repeats: int) -> dict:
    """All figures."""
    results = {}
    for name, text in robots.items():
        results[name] = per_call(text, calls, 10 * repeats) + batched(text, batch, repeats)
    if mimic is not None:
        results["panda, as distributed"] = with_mimic(mimic, calls, 10 * repeats)
    for name in FAMILIES:
        results[name] = of_family(name, calls, batch, repeats)
    return {"robots": results}


def show(figures: dict) -> None:
    """The figures as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, rows in figures["robots"].items():
        peer = pin is not None and name not in FAMILIES
        beside = f", Pinocchio {pin.__version__} beside flexdyn_ros" if peer else ""
        table = Table(title=f"{name}: time per sample{beside}")
        for heading in ("what", "ours [us]", "theirs [us]", "theirs / ours"):
            table.add_column(heading, justify="left" if heading == "what" else "right")
        for row in rows:
            peer = (
                ("-", "-") if row["theirs"] is None else (f"{1e6 * row['theirs']:.2f}", f"{row['ratio']:.2f}")
            )
            table.add_row(row["what"], f"{1e6 * row['ours']:.2f}", *peer)
        console.print(table)


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--urdf", help="another robot in place of the Panda")
    options = parser.parse_args()
    given = Path(options.urdf).read_text() if options.urdf else panda()
    arm = None if given is None else plain(given)
    name = Path(options.urdf).stem if options.urdf else "panda"
    robots = ({} if arm is None else {name: arm}) | {"tree of 32 joints": tree_of_32()}
    sizes = (2, 8, 1) if options.quick else (200, BATCH, options.repeats)
    figures = measure(robots, None if options.urdf else given, *sizes)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)


if __name__ == "__main__":
    main()
