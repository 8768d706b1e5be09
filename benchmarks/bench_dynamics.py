"""Speed of rigid dynamics beside Pinocchio's, in one run on the same robots: per call from Python, and in
batches.

    python benchmarks/bench_dynamics.py [--json] [--repeats 15] [--urdf FILE]

Robots: the Panda of example-robot-data (without mimic, damping and friction, for both) and a generated
tree of 32 joints. The two sides take turns; each figure is the median over the turns, each ratio (theirs /
ours: above 1, ours is faster) the median of the ratios of one turn. Batches of 4096 run on one thread; the
peers are a Python loop over Pinocchio's calls and its own batch functions with one thread, which a build
without OpenMP does not have.
"""

from __future__ import annotations

import argparse
import json
import sys
import sysconfig
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pinocchio as pin
from lxml import etree

import flexdyn_ros
from flexdyn_ros.dynamics.threads import set_batch_threads

BATCH = 4096


def panda() -> str:
    """Text of the Panda's URDF without what only one side would compute."""
    for key in ("purelib", "platlib"):
        share = Path(sysconfig.get_path(key)) / "cmeel.prefix/share/example-robot-data/robots"
        if share.is_dir():
            break
    else:
        sys.exit("the package example-robot-data is not installed; give a URDF with --urdf")
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


def compare(name: str, ours: Callable, theirs: Callable, calls: int, repeats: int) -> dict:
    """Both sides in turn; medians [s] and the median ratio."""
    ours(), theirs()
    pairs = [(seconds_per_call(ours, calls), seconds_per_call(theirs, calls)) for _ in range(repeats)]
    return {
        "what": name,
        "ours": median(a for a, _ in pairs),
        "theirs": median(b for _, b in pairs),
        "ratio": median(b / a for a, b in pairs),
    }


def both(text: str):
    """Our robot and Pinocchio's model, with the permutation from our columns to theirs."""
    robot = flexdyn_ros.load(text)
    model = pin.buildModelFromXML(text)
    model.gravity = pin.Motion(np.array(robot.gravity), np.zeros(3))
    model.armature = np.zeros(model.nv)
    assert model.nq == model.nv == robot.nv
    order = [robot.index(name) for name in list(model.names)[1:]]
    return robot, model, np.array(order)


def per_call(text: str, calls: int, repeats: int) -> list[dict]:
    """One state per call."""
    robot, model, order = both(text)
    data = model.createData()
    rng = np.random.default_rng(1)
    q, v, a = robot.random(rng), rng.uniform(-1, 1, robot.nv), rng.uniform(-1, 1, robot.nv)
    qp, vp, ap = q[order], v[order], a[order]
    same = np.abs(robot.inverse_dynamics(q, v, a)[order] - pin.rnea(model, data, qp, vp, ap)).max()
    assert same < 1e-9, "the two sides do not compute the same"
    return [
        compare(name, ours, theirs, calls, repeats)
        for name, ours, theirs in (
            (
                "inverse dynamics",
                lambda: robot.inverse_dynamics(q, v, a),
                lambda: pin.rnea(model, data, qp, vp, ap),
            ),
            (
                "forward dynamics",
                lambda: robot.forward_dynamics(q, v, a),
                lambda: pin.aba(model, data, qp, vp, ap),
            ),
            ("mass matrix", lambda: robot.mass_matrix(q), lambda: pin.crba(model, data, qp)),
        )
    ]


def batched(text: str, repeats: int) -> list[dict]:
    """BATCH states per call, one thread."""
    robot, model, order = both(text)
    data = model.createData()
    rng = np.random.default_rng(2)
    q = np.array([robot.random(rng) for _ in range(BATCH)])
    v, a = rng.uniform(-1, 1, (2, BATCH, robot.nv))
    qp, vp, ap = (np.ascontiguousarray(x[:, order]) for x in (q, v, a))
    set_batch_threads(1)

    def loop(function: Callable) -> Callable:
        return lambda: [function(model, data, x, y, z) for x, y, z in zip(qp, vp, ap, strict=True)]

    verbs = {"inverse dynamics": robot.inverse_dynamics, "forward dynamics": robot.forward_dynamics}
    peers = {"inverse dynamics": (pin.rnea, "rneaInParallel"), "forward dynamics": (pin.aba, "abaInParallel")}
    rows = []
    for name, verb in verbs.items():
        ours = lambda verb=verb: verb(q, v, a)  # noqa: E731
        function, parallel = peers[name]
        rows.append(compare(f"{name}, {BATCH}, against a loop", ours, loop(function), 1, repeats))
        if hasattr(pin, parallel):
            pool = pin.ModelPool(model, 1)
            columns = [np.asfortranarray(x.T) for x in (qp, vp, ap)]
            result = np.asfortranarray(np.empty((model.nv, BATCH)))
            theirs = partial(getattr(pin, parallel), 1, pool, *columns, result)
            rows.append(compare(f"{name}, {BATCH}, against {parallel}", ours, theirs, 1, repeats))
    matrices = np.empty((BATCH, robot.nv, robot.nv))
    rows.append(
        compare(
            f"mass matrix, {BATCH}, against a loop",
            lambda: robot.mass_matrix(q, out=matrices),
            lambda: [pin.crba(model, data, x) for x in qp],
            1,
            repeats,
        )
    )
    set_batch_threads(None)
    for row in rows:
        row["ours"] /= BATCH
        row["theirs"] /= BATCH
    return rows


def measure(robots: dict[str, str], repeats: int) -> dict:
    """All figures."""
    results = {}
    for name, text in robots.items():
        results[name] = per_call(text, 200, 10 * repeats) + batched(text, repeats)
    return {"robots": results}


def show(figures: dict) -> None:
    """The figures as tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, rows in figures["robots"].items():
        table = Table(title=f"{name}: time per sample, Pinocchio {pin.__version__} beside flexdyn_ros")
        for heading in ("what", "ours [us]", "theirs [us]", "theirs / ours"):
            table.add_column(heading, justify="left" if heading == "what" else "right")
        for row in rows:
            times = (f"{1e6 * row[key]:.2f}" for key in ("ours", "theirs"))
            table.add_row(row["what"], *times, f"{row['ratio']:.2f}")
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--urdf", help="another robot in place of the Panda")
    options = parser.parse_args()
    arm = plain(Path(options.urdf).read_text()) if options.urdf else panda()
    name = Path(options.urdf).stem if options.urdf else "panda"
    figures = measure({name: arm, "tree of 32 joints": tree_of_32()}, options.repeats)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)


if __name__ == "__main__":
    main()
