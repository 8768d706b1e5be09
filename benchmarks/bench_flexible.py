"""Forward dynamics of arms that bend: beside Pinocchio's rigid arm, and over the number of links.

    python benchmarks/bench_flexible.py [--json] [--repeats 11] [--quick]

First table: canadarm2 (5 joints, 18 modes), a state of a batch (one thread, 512 states per call) and one
call from Python, for each stiffening; the peer is Pinocchio's articulated-body algorithm on a rigid chain of
23 revolute joints in the same run, by its own batch function where the build has one, else by a Python loop,
whichever is faster. The physics is not the same (no other tool has this one): it is the price of a
coordinate that bends. `ratio` is that of a state of a batch.

Second table: a chain of n equal links with three modes each (bending y, bending z, torsion), per state:
articulated recursions, O(n), with each stiffening, 64 states per call so that the call does not hide their
slope; the recursive Lagrangian path, O(n^2) for mass matrix and bias and O(n^3) to solve, 4 states per call;
and the sums over bodies in the mass matrix (serial specification, section 3.5) taken directly (equations 52,
56, 61) and by recursion (76 to 81), checked against each other.

Times are processor times of the calling thread, which a busy machine disturbs least; linear algebra has one
thread too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numba
import numpy as np
import program
from rich.console import Console
from rich.table import Table
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads

BATCH, MANY, FEW = 512, 64, 4
LINKS = (10, 20, 40, 80)
STIFFENING = ("none", "full")
LARGEST_RATIO = {"none": 2.0, "full": 3.0}
LARGEST_EXPONENT = 1.15
#: seconds over which one time is taken
LEAST = 0.01
pin = program.peer("pinocchio", "pin")
#: the sums over bodies, which a quick run leaves to the interpreter: compiling takes longer than all else
compiled = (lambda function: function) if "--quick" in sys.argv else numba.njit(cache=True)


def seconds_per_call(call: Callable[[], object], least: float) -> float:
    """Mean processor time of one call, over at least `least` seconds."""
    calls, spent = 1, 0.0
    while True:
        start = time.thread_time()
        for _ in range(calls):
            call()
        spent = time.thread_time() - start
        if spent >= least:
            return spent / calls
        calls = max(2 * calls, int(calls * least / max(spent, 1e-9)))


def interleaved(calls: dict[str, Callable[[], object]], repeats: int, least: float) -> dict[str, list[float]]:
    """Seconds per call of each, the sides taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds_per_call(call, least))
    return times


# ---- beside Pinocchio ----


def rigid_chain(n: int) -> Any:
    """Pinocchio's model of a chain of n revolute joints, axes z, y, x in turn."""
    model = pin.Model()
    joints = (pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX)
    parent = 0
    for i in range(n):
        placement = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.2, 0.3), np.array([0.5, 0.02, 0.1]))
        parent = model.addJoint(parent, joints[i % 3](), placement, f"j{i}")
        inertia = pin.Inertia(2.0, np.array([0.25, 0.01, 0.02]), np.diag([0.02, 0.06, 0.05]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def pinocchio_aba(n: int, rng: np.random.Generator) -> dict[str, Callable[[], object]]:
    """Ways to compute BATCH forward dynamics of a rigid chain; none without Pinocchio."""
    if pin is None:
        return {}
    model = rigid_chain(n)
    data = model.createData()
    q, v, tau = rng.uniform(-1.0, 1.0, (3, BATCH, n))

    def loop() -> None:
        for i in range(BATCH):
            pin.aba(model, data, q[i], v[i], tau[i])

    ways: dict[str, Callable[[], object]] = {"loop": loop}
    if hasattr(pin, "abaInParallel"):
        pool = pin.ModelPool(model, 1)
        columns = [np.asfortranarray(x.T) for x in (q, v, tau)]
        ways["batch"] = lambda: pin.abaInParallel(1, pool, *columns)
    return ways


def beside_pinocchio(repeats: int, least: float) -> list[dict]:
    """canadarm2 with each stiffening."""
    set_batch_threads(1)
    rows = []
    for stiffening in STIFFENING:
        robot = flexdyn_ros.load("canadarm2", options={"formulation.stiffening": stiffening})
        rng = np.random.default_rng(3)
        q = np.array([robot.random(rng) for _ in range(BATCH)])
        v, tau = 0.1 * rng.uniform(-1.0, 1.0, (2, BATCH, robot.nv))
        out, q0, v0, tau0 = np.empty_like(v), q[0].copy(), v[0].copy(), tau[0].copy()
        ours = {
            "ours": partial(robot.forward_dynamics, q, v, tau, out=out),
            "call": partial(robot.forward_dynamics, q0, v0, tau0),
        }
        times = interleaved(ours | pinocchio_aba(robot.nv, rng), repeats, least)
        peers = [min(pair) for pair in zip(*(times[k] for k in times if k in ("loop", "batch")), strict=True)]
        inside = [t / BATCH for t in times["ours"]]
        peer = [t / BATCH for t in peers]
        rows.append(
            {
                "stiffening": stiffening,
                "coordinates": robot.nv,
                "inside": median(inside),
                "pinocchio": median(peer) if peer else None,
                "ratio": median(a / b for a, b in zip(inside, peer, strict=True)) if peer else None,
                "at_most": LARGEST_RATIO[stiffening],
                "call": median(times["call"]),
            }
        )
    return rows


# ---- over the number of links ----


def chain(n: int) -> str:
    """URDF text of n flexible links in a row, three modes each."""
    links, joints, beams = ['<link name="l0"/>'], [], []
    for i in range(1, n + 1):
        links.append(f'<link name="l{i}"/>')
        axis = ("0 1 0", "0 0 1")[i % 2]
        joints.append(
            f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>'
            f'<origin xyz="{0.5 if i > 1 else 0} 0 0"/><axis xyz="{axis}"/></joint>'
        )
        beams.append(
            f'<flexdyn reference="l{i}"><beam length="0.5" mass_per_length="2" EIy="400" EIz="300" GJ="200" '
            'polar_inertia="0.002"/><modes bending_y="1" bending_z="1" torsion="1"/></flexdyn>'
        )
    return f'<robot name="chain_{n}">{"".join(links + joints + beams)}</robot>'


@compiled
def times(X, Y):
    """X Y, 4 by 4."""
    Z = np.zeros((4, 4))
    for i in range(4):
        for k in range(4):
            for j in range(4):
                Z[i, j] += X[i, k] * Y[k, j]
    return Z


@compiled
def transposed(X):
    """X^T."""
    Y = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            Y[i, j] = X[j, i]
    return Y


@compiled
def products(A, E):
    """(73): transforms Wt[j, i] from body j to body i, and W[j, i] from the distal frame of j to i > j."""
    n = len(A)
    Wt, W = np.zeros((n, n, 4, 4)), np.zeros((n, n, 4, 4))
    for j in range(n):
        Wt[j, j] = np.eye(4)
        for i in range(j + 1, n):
            Wt[j, i] = times(Wt[j, i - 1], times(E[i - 1], A[i]))
    for j in range(n):
        for i in range(j + 1, n):
            W[j, i] = times(A[j + 1], Wt[j + 1, i])
    return Wt, W


@compiled
def direct_sums(A, E, G):
    """(52), (56), (61) as they stand: every entry is a sum over the bodies outboard. O(n^3)."""
    n = len(A)
    Wt, W = products(A, E)
    Ft, F, Phi = np.zeros((n, n, 4, 4)), np.zeros((n, n, 4, 4)), np.zeros((n, n, 4, 4))
    for j in range(n):
        for h in range(n):
            for i in range(max(j, h), n):
                Ft[j, h] += times(times(Wt[j, i], G[i]), transposed(Wt[h, i]))
            for i in range(max(h + 1, j), n):
                F[j, h] += times(times(Wt[j, i], G[i]), transposed(W[h, i]))
            for i in range(max(j, h) + 1, n):
                Phi[j, h] += times(times(W[j, i], G[i]), transposed(W[h, i]))
    return Ft, F, Phi


@compiled
def recursive_sums(A, E, G):
    """(76) to (81): the same from the tip inwards. O(n^2)."""
    n = len(A)
    Ft, F, Phi = np.zeros((n, n, 4, 4)), np.zeros((n, n, 4, 4)), np.zeros((n, n, 4, 4))
    for j in range(n - 1, -1, -1):
        Ft[j, j] = G[j]
        if j + 1 < n:
            B = times(E[j], A[j + 1])
            Ft[j, j] += times(times(B, Ft[j + 1, j + 1]), transposed(B))
            for h in range(j + 1, n):
                Ft[j, h] = times(B, Ft[j + 1, h])
                Ft[h, j] = transposed(Ft[j, h])
    for h in range(n - 1):
        out = transposed(A[h + 1])
        for j in range(n):
            F[j, h] = times(Ft[j, h + 1], out)
            if j + 1 < n:
                Phi[j, h] = times(times(A[j + 1], Ft[j + 1, h + 1]), out)
    return Ft, F, Phi


def transforms(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, E (joint and bent beam, unit-first rigid transforms) and G (symmetric, positive) of n links."""

    def transform(angles: np.ndarray, shift: np.ndarray) -> np.ndarray:
        T = np.eye(4)
        T[1:, 1:], T[1:, 0] = Rotation.from_euler("xyz", angles).as_matrix(), shift
        return T

    A = np.array([transform(np.array([0.0, x, y]), np.zeros(3)) for x, y in rng.uniform(-1, 1, (n, 2))])
    bent = zip(0.02 * rng.standard_normal((n, 3)), 0.01 * rng.standard_normal((n, 2)), strict=True)
    E = np.array([transform(angles, np.array([0.5, *shift])) for angles, shift in bent])
    X = rng.standard_normal((n, 4, 4))
    return A, E, X @ X.transpose(0, 2, 1)


def over_links(numbers: tuple[int, ...], repeats: int, least: float) -> list[dict]:
    """Seconds of one evaluation by each method."""
    set_batch_threads(1)
    rows = []
    for n in numbers:
        rng = np.random.default_rng(n)
        calls: dict[str, Callable[[], object]] = {}
        robots = {
            name: flexdyn_ros.load(chain(n), options={"formulation.stiffening": name}) for name in STIFFENING
        }
        robot = robots["none"]
        q, v = robot.random(rng), 0.1 * rng.uniform(-1.0, 1.0, robot.nv)
        state = (q, v, np.zeros(robot.nv))
        many: list[Any] = [np.tile(x, (MANY, 1)) for x in state]
        few: list[Any] = [np.tile(x, (FEW, 1)) for x in state]
        for name, each in robots.items():
            calls[f"articulated, {name}"] = partial(each.forward_dynamics, *many)
        options = {"formulation.stiffening": "none", "formulation.method": "lagrange"}
        lagrange = flexdyn_ros.load(chain(n), options=options)
        assert np.allclose(
            lagrange.forward_dynamics(q, v), robot.forward_dynamics(q, v), rtol=1e-6, atol=1e-6 * n**2
        ), "the two methods do not compute the same"
        calls["recursive Lagrangian"] = partial(lagrange.forward_dynamics, *few)
        A, E, G = transforms(n, rng)
        for direct, recursive in zip(direct_sums(A, E, G), recursive_sums(A, E, G), strict=True):
            assert np.allclose(direct, recursive, rtol=1e-10, atol=1e-9), "the two ways to sum differ"
        calls["sums, direct"] = partial(direct_sums, A, E, G)
        calls["sums, recursive"] = partial(recursive_sums, A, E, G)
        found = interleaved(calls, repeats, least)
        states = {"articulated": MANY, "recursive": FEW, "sums": 1}
        rows.append(
            {"links": n}
            | {name: median(t) / states[name.replace(",", "").split()[0]] for name, t in found.items()}
        )
    return rows


def exponents(rows: list[dict]) -> dict[str, float]:
    """Slopes of log time over log n, by least squares."""
    n = np.log([row["links"] for row in rows])
    return {
        name: float(np.polyfit(n, np.log([row[name] for row in rows]), 1)[0])
        for name in rows[0]
        if name != "links"
    }


# ---- tables ----


def show(beside: list[dict], links: list[dict], slopes: dict[str, float]) -> None:
    """Both tables."""
    console = Console()
    table = Table(title="Forward dynamics of canadarm2", title_justify="left")
    for heading in (
        "stiffening",
        "a state \\[us]",
        "rigid, Pinocchio \\[us]",
        "ratio",
        "at most",
        "one call \\[us]",
    ):
        table.add_column(heading, justify="right")
    for row in beside:
        peer = ["-", "-"]
        if row["ratio"] is not None:
            peer = [f"{1e6 * row['pinocchio']:.2f}", f"{row['ratio']:.2f}"]
        table.add_row(
            row["stiffening"], f"{1e6 * row['inside']:.2f}", *peer,
            f"{row['at_most']:g}", f"{1e6 * row['call']:.2f}",
        )  # fmt: skip
    console.print(table)
    names = [name for name in links[0] if name != "links"]
    table = Table(title="One evaluation over the number of links \\[us]", title_justify="left")
    for heading in ("links", *names):
        table.add_column(heading, justify="right", overflow="fold")
    for row in links:
        table.add_row(str(row["links"]), *(f"{1e6 * row[name]:.1f}" for name in names))
    table.add_row("exponent", *(f"{slopes[name]:.2f}" for name in names), style="bold")
    console.print(table)
    steepest = max(slopes[name] for name in names if "articulated" in name)
    console.print(
        f"exponent of the articulated recursions: {steepest:.2f}, at most {LARGEST_EXPONENT}",
        highlight=False,
        soft_wrap=True,
    )


def main() -> None:
    """Measure and print."""
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true", help="machine-readable")
    parser.add_argument("--repeats", type=int, default=11)
    arguments = parser.parse_args()
    numbers, repeats, least = (2, 4), 1, 0.0
    if not arguments.quick:
        numbers, repeats, least = LINKS, arguments.repeats, LEAST
    beside, links = beside_pinocchio(repeats, least), over_links(numbers, repeats, least)
    slopes = exponents(links)
    if arguments.json:
        print(json.dumps({"beside_pinocchio": beside, "over_links": links, "exponents": slopes}, indent=1))
    else:
        show(beside, links, slopes)


if __name__ == "__main__":
    main()
