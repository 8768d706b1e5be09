"""Closed mechanisms beside Pinocchio and MuJoCo in one run, and their steps in time.

    python benchmarks/bench_loops.py [--json] [--repeats 15] [--calls 1000] [--quick]

Forward dynamics of a four-bar and of the delta robot whose six rods are links with mass (ball joint at the
platform, `spherical` loop at the arm), as all three can have them, by our general functions and by those that
`export.specialized` has compiled for the mechanism: Pinocchio's `constraintDynamics`
(CONTACT_3D, proximal), MuJoCo's `mj_forward` with `connect` equalities as hard as it lets them be. The sides
take turns; each figure is the median of processor times over the turns, each ratio (theirs / ours: above 1,
ours is faster) the median of the ratios of one turn. Accelerations are those of Pinocchio to 1e-10; MuJoCo's
constraints are soft. Then, of both: inverse dynamics, and batches of 1000 states a call, by the functions for
the mechanism beside the general ones. Then: implicit steps of 1 ms of the robots `excavator` and `delta`, and
how much faster than real time `simulate` runs them with steps of 1 ms.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import program
from closed_in_mujoco import mujoco_side
from closed_mechanisms import Mechanism, delta, four_bar, pinocchio_side, urdf_of

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation import FusedHydraulics, Stepper

#: states of a batch
BATCH = 1000


def seconds_per_call(call: Callable[[], object], calls: int) -> float:
    """Mean processor time of a call: other work on the machine counts less."""
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls


def compare(what: str, ours: Callable, theirs: Callable | None, calls: int, repeats: int) -> dict:
    """Medians over turns in which both sides are timed one after the other."""
    ours(), theirs and theirs()
    turns = [
        (seconds_per_call(ours, calls), seconds_per_call(theirs, calls) if theirs else np.nan)
        for _ in range(repeats)
    ]
    own, other = (median(x) for x in zip(*turns, strict=True))
    ratio = median(b / a for a, b in turns)
    return {
        "what": what,
        "ours": own,
        "theirs": other if theirs else None,
        "ratio": ratio if theirs else None,
    }


Prepared = tuple[Any, Any, tuple[np.ndarray, ...]]


def prepared(m: Mechanism) -> Prepared:
    """The robot, the one with functions of its own, and q, v, tau of one state: motors at work."""
    robot, rng = flexdyn_ros.load(urdf_of(m)), np.random.default_rng(1)
    start, tau = robot.neutral(), np.zeros(robot.nu)
    for k, joint in enumerate(m.active):
        start[robot.q_names.index(joint)] += 0.1 * (k + 1)
    q, v = robot.project(robot.assemble(start, lock=m.active), rng.uniform(-1.0, 1.0, robot.nv))
    for joint in m.active:
        tau[robot.v_names.index(joint)] = rng.uniform(1.0, 5.0)
    return robot, export.specialized(robot), (q, v, tau)


def forward_dynamics(name: str, m: Mechanism, sides: Prepared, calls: int, repeats: int) -> list[dict]:
    """A mechanism beside both peers."""
    pin, mujoco = program.peer("pinocchio", "pin"), program.peer("mujoco", "mujoco")
    robot, native, state = sides
    own = robot.forward_dynamics(*state)
    kinds = {"": robot, "specialized, ": native}
    calls_of = {kind: partial(side.forward_dynamics, *state) for kind, side in kinds.items()}
    assert np.abs(calls_of["specialized, "]() - own).max() < 1e-10 * np.abs(own).max()
    peers: dict[str, Callable | None] = {}
    if pin is not None:
        peers["Pinocchio constraintDynamics"], answer = pinocchio_side(pin, m, *state)
        peers["Pinocchio constraintDynamics"]()
        apart = np.abs(own - answer()).max() / np.abs(own).max()
        assert apart < 1e-10, f"the accelerations of {name} differ by {apart:.1e}"
    if mujoco is not None:
        peers["MuJoCo mj_forward"], answer = mujoco_side(mujoco, m, *state)
        peers["MuJoCo mj_forward"]()
        apart = np.nanmax(np.abs(own - answer())) / np.abs(own).max()
        print(f"MuJoCo's accelerations of motors of {name} differ by {apart:.1e}", file=sys.stderr)
    return [
        compare(f"{name}: forward dynamics, {kind}{peer}", call, theirs, calls, repeats)
        for kind, call in calls_of.items()
        for peer, theirs in (peers or {"alone": None}).items()
    ]


def specialized(name: str, m: Mechanism, sides: Prepared, calls: int, repeats: int) -> list[dict]:
    """Inverse dynamics, and both in batches, by the functions for a mechanism beside the general ones."""
    robot, native, (q, v, tau) = sides
    a = robot.forward_dynamics(q, v, tau)
    rows = []
    cases = ("forward_dynamics", tau, BATCH), ("inverse_dynamics", a, 1), ("inverse_dynamics", a, BATCH)
    for verb, third, count in cases:
        arguments = (q, v, third) if count == 1 else tuple(np.tile(x, (count, 1)) for x in (q, v, third))
        both = [partial(getattr(side, verb), *arguments) for side in (native, robot)]
        found, expected = (call() for call in both)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
        # the general inverse dynamics is not compiled as a whole
        share = count * (20 if verb == "inverse_dynamics" else 1)
        row = compare("", *both, max(1, calls // share), repeats)
        row |= {side: row[side] / count for side in ("ours", "theirs")}
        of = "" if count == 1 else f", {count} a call"
        row["what"] = f"{name}: {verb.replace('_', ' ')}{of}, specialized beside general"
        rows.append(row)
    return rows


def steps(count: int, repeats: int) -> list[dict]:
    """Implicit steps of 1 ms of shipped robots, held where they are, and runs of `simulate`."""
    rows = []
    for name in ("delta", "excavator"):
        robot = flexdyn_ros.load(name)
        q, still = robot.neutral(), np.zeros(robot.nv)
        tau = robot.inverse_dynamics(q, still, still)
        stepper = Stepper(robot, 1e-3, "rosenbrock", q0=q)
        if robot.hydraulics is None:
            control = tau
            stepper.set_efforts(tau)
        else:
            # valves are shut
            control = None
            FusedHydraulics(stepper, "valve")
        stepper.advance(2)

        def run(stepper=stepper, q=q, still=still) -> None:
            stepper.set_state(q, still)
            stepper.advance(count)

        found = median(seconds_per_call(run, 1) for _ in range(repeats)) / count
        rows.append({"what": f"{name}: implicit step of 1 ms", "ours": found, "theirs": None, "ratio": None})

        def simulated(robot=robot, q=q, control=control) -> None:
            flexdyn_ros.simulate(robot, 1e-3 * count, q, control=control, dt=1e-3, record=())

        simulated()
        found = median(seconds_per_call(simulated, 1) for _ in range(repeats))
        rows.append(
            {
                "what": f"{name}: simulate at 1 ms, x real time",
                "factor": 1e-3 * count / found,
                "ours": found / count,
            }
        )
    return rows


def main() -> None:
    """Print a table, or JSON."""
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    count = 1000
    if options.quick:
        options.calls, options.repeats, count = 2, 1, 20
    mechanisms = {"four-bar": four_bar(), "delta, rods with mass": delta()}
    sides = {name: prepared(m) for name, m in mechanisms.items()}
    rows = [
        row
        for part in (forward_dynamics, specialized)
        for name, m in mechanisms.items()
        for row in part(name, m, sides[name], options.calls, options.repeats)
    ] + steps(count, options.repeats)
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        if "factor" in row:
            print(f"{row['what']:84} {row['factor']:8.1f}")
            continue
        peer = "" if row["theirs"] is None else f"{1e6 * row['theirs']:9.2f} us {row['ratio']:7.2f} x"
        print(f"{row['what']:84} {1e6 * row['ours']:8.2f} us {peer}")


if __name__ == "__main__":
    main()
