"""Speed of rigid dynamics beside Pinocchio's, in one run on the same robots: per call from Python, and in
batches.

    python benchmarks/bench_dynamics.py [--json] [--repeats 15] [--urdf FILE] [--quick]

Robots: the Panda of example-robot-data (without mimic, damping and friction, for both) and a generated
tree of 32 joints. The two sides take turns; each figure is the median over the turns, each ratio (theirs /
ours: above 1, ours is faster) the median of the ratios of one turn. Batches of 4096 run on one thread; the
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
pin = program.peer("pinocchio", "pin")


def panda() -> str | None:
    """Text of the Panda's URDF without what only one side would compute; None if it is not installed."""
    for key in ("purelib", "platlib"):
        share = Path(sysconfig.get_path(key)) / "cmeel.prefix/share/example-robot-data/robots"
        if share.is_dir():
            break
    else:
        print("example-robot-data is not installed: no Panda; another robot: --urdf FILE", file=sys.stderr)
        return None
    return plain((share / "panda_description/urdf/panda.urdf").read_text())


def plain(text: str) -> str:
    """URDF text without mimic and dynamics elements."""
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


def per_call(text: str, calls: int, repeats: int) -> list[dict]:
    """One state per call."""
    robot, model, order = both(text)
    rng = np.random.default_rng(1)
    q, v, a = robot.random(rng), rng.uniform(-1, 1, robot.nv), rng.uniform(-1, 1, robot.nv)
    ours = {
        "inverse dynamics": lambda: robot.inverse_dynamics(q, v, a),
        "forward dynamics": lambda: robot.forward_dynamics(q, v, a),
        "mass matrix": lambda: robot.mass_matrix(q),
    }
    if model is None:
        return [compare(name, call, None, calls, repeats) for name, call in ours.items()]
    data = model.createData()
    qp, vp, ap = q[order], v[order], a[order]
    same = np.abs(robot.inverse_dynamics(q, v, a)[order] - pin.rnea(model, data, qp, vp, ap)).max()
    assert same < 1e-9, "the two sides do not compute the same"
    theirs = {
        "inverse dynamics": lambda: pin.rnea(model, data, qp, vp, ap),
        "forward dynamics": lambda: pin.aba(model, data, qp, vp, ap),
        "mass matrix": lambda: pin.crba(model, data, qp),
    }
    return [compare(name, call, theirs[name], calls, repeats) for name, call in ours.items()]


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
            rows.append(compare(f"{name}, {batch}, against {against}", ours, theirs, 1, repeats))
        if name not in peers:
            rows.append(compare(f"{name}, {batch}", ours, None, 1, repeats))
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


def measure(robots: dict[str, str], calls: int, batch: int, repeats: int) -> dict:
    """All figures."""
    results = {}
    for name, text in robots.items():
        results[name] = per_call(text, calls, 10 * repeats) + batched(text, batch, repeats)
    return {"robots": results}


def show(figures: dict) -> None:
    """The figures as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, rows in figures["robots"].items():
        beside = "" if pin is None else f", Pinocchio {pin.__version__} beside flexdyn_ros"
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
    arm = plain(Path(options.urdf).read_text()) if options.urdf else panda()
    name = Path(options.urdf).stem if options.urdf else "panda"
    robots = ({} if arm is None else {name: arm}) | {"tree of 32 joints": tree_of_32()}
    sizes = (2, 8, 1) if options.quick else (200, BATCH, options.repeats)
    figures = measure(robots, *sizes)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)


if __name__ == "__main__":
    main()
