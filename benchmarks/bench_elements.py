"""Robots with springs and cylinders between their links, beside the same trees without them.

    python benchmarks/bench_elements.py [--repeats 7] [--first] [--quick]

Microseconds of one call from Python, of a state in a batch of 1000 (one thread), and of a `rosenbrock` step;
`ratio` is that of the robot with its elements to the tree without them. `batch` is a state of a batch over a
call.

--first: processor seconds from an empty cache of kernels to the first forward dynamics, and from there to the
first implicit step, in a process of its own.

Times are processor times of the calling thread, medians, robots taking turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import program
from lxml import etree
from rich.console import Console
from rich.table import Table

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads
from flexdyn_ros.simulation import Stepper

BATCH, STEPS = 1000, 200
#: seconds over which one time is taken
LEAST = 0.02
#: docs/tutorials/boom_on_a_cylinder.md
BOOM = """<robot name="boom"><link name="column"/><link name="boom"/>
<joint name="lift" type="revolute"><parent link="column"/><child link="boom"/><origin xyz="0 0 1.2"/>
  <axis xyz="0 -1 0"/><limit lower="-0.6" upper="1.2" effort="0" velocity="1"/></joint>
<flexdyn reference="boom"><beam length="4" mass_per_length="24" EIy="9e5" EIz="9e5"/>
  <modes bending_z="2"/><damping ratio="0.01"/><body name="bucket"><mass value="80"/></body></flexdyn>
<flexdyn><cylinder name="hoist" base="column" base_xyz="0.3 0 0.2" end="boom@0.25" minimum_length="1.0"
  stroke="0.6"><force maximum="60000"/>{}</cylinder></flexdyn></robot>"""
MASSES = '<barrel mass="18" com="0.35" inertia="1.2"/><rod mass="9" com="-0.4" inertia="0.8"/>'
SPRINGS = "".join(
    f'<spring name="s{i}" base="{base}" end="{end}" end_xyz="0.05 0.02 0.1" stiffness="300" damping="5" '
    'free_length="0.2"/>'
    for i, (base, end) in enumerate((("link_2", "link_4"), ("link_3", "link_6"), ("base_link", "link_5")))
)
PAIR = """<robot name="pair"><link name="body"><inertial><mass value="200"/>
  <inertia ixx="40" iyy="50" izz="60" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="upper"/><link name="fore"/>
<joint name="shoulder" type="revolute"><parent link="body"/><child link="upper"/><axis xyz="0 -1 0"/>
  <limit lower="-2" upper="2" effort="500" velocity="2"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="2 0 0"/>
  <axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="500" velocity="2"/></joint>
<flexdyn><base type="floating"/></flexdyn>
<flexdyn reference="upper"><beam length="2" mass_per_length="12" EIy="2e5" EIz="2e5" GJ="1e5"
  polar_inertia="0.02"/><modes bending_y="2" bending_z="2" torsion="1"/><damping ratio="0.01"/></flexdyn>
<flexdyn reference="fore"><beam length="2" mass_per_length="8" EIy="1e5" EIz="1e5"/>
  <modes bending_y="2" bending_z="2"/><damping ratio="0.01"/></flexdyn>
<flexdyn><cylinder name="c" base="body" base_xyz="0.3 0 -0.4" end="upper@0.4" minimum_length="0.4"
    stroke="0.9"/>
  <spring name="s" base="upper@0.8" end="fore@0.5" stiffness="2000" damping="40" free_length="1"/></flexdyn>
</robot>"""
ELEMENTS = "spring", "damper", "torsion_spring", "cylinder"


def arm_with_springs() -> str:
    """The seven-joint arm with three springs."""
    root = etree.parse(Path(__file__).parents[1] / "urdf" / "seven_joint_arm.urdf").getroot()
    root.append(etree.fromstring(f"<flexdyn>{SPRINGS}</flexdyn>"))
    return etree.tostring(root, encoding="unicode")


def without_elements(text: str) -> str:
    """The URDF of a robot without its elements."""
    root = etree.fromstring(text)
    for one in list(root.iter(*ELEMENTS)):
        one.getparent().remove(one)
    return etree.tostring(root, encoding="unicode")


def robots() -> dict[str, str]:
    """URDF texts by what they are."""
    return {
        "boom on a cylinder": BOOM.format(""),
        "the same, its cylinder with mass": BOOM.format(MASSES),
        "seven-joint arm, three springs": arm_with_springs(),
        "two flexible links, floating": PAIR,
    }


# ---- calls, batches, steps ----


def work_of(robot: flexdyn_ros.Robot, count: int) -> dict[str, tuple[Callable[[], object], int]]:
    """What is timed of a robot: a call, and how many states or steps it makes."""
    rng = np.random.default_rng(4)
    q = np.array(
        [robot.integrate(robot.neutral(), 0.01 * x, 1.0) for x in rng.normal(size=(count, robot.nv))]
    )
    v, a, tau = (0.1 * rng.normal(size=(count, n)) for n in (robot.nv, robot.nv, robot.nu))
    verbs = {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, tau),
        "mass_matrix": (q,),
        "energy": (q, v),
        "linearize": (q, v, tau),
    }
    stepper, still, steps = Stepper(robot, method="rosenbrock", dt=1e-3), 0.0 * v[0], min(STEPS, count)

    def step() -> None:
        stepper.set_state(q[0], still)
        stepper.advance(steps)

    found: dict[str, tuple[Callable[[], object], int]] = {}
    for name, given in verbs.items():
        verb = getattr(robot, name)
        found[name] = partial(verb, *(x[0].copy() for x in given)), 1
        found[f"{name} in a batch"] = partial(verb, *given), count
    return found | {"rosenbrock step": (step, steps)}


def seconds_per_call(call: Callable[[], object], least: float) -> float:
    """Mean processor time of one call, over at least `least` seconds."""
    calls = 1
    while True:
        start = time.thread_time()
        for _ in range(calls):
            call()
        spent = time.thread_time() - start
        if spent >= least:
            return spent / calls
        calls = max(2 * calls, int(calls * least / max(spent, 1e-9)))


def timed(text: str, count: int, repeats: int, least: float) -> dict[str, tuple[float, float]]:
    """Microseconds, of a robot and of its tree without elements, by what is timed."""
    both = [work_of(flexdyn_ros.load(each), count) for each in (text, without_elements(text))]
    found = {}
    for name in both[0]:
        times: list[list[float]] = [[], []]
        for side in both:
            side[name][0]()
        for _ in range(repeats):
            for side, kept in zip(both, times, strict=True):
                call, states = side[name]
                kept.append(1e6 * seconds_per_call(call, least) / states)
        found[name] = median(times[0]), median(times[1])
    return found


def show_times(title: str, found: dict[str, tuple[float, float]]) -> None:
    table = Table(title=f"{title} \\[us]", title_justify="left")
    for heading in ("", "call", "tree alone", "ratio", "in a batch", "tree alone", "ratio", "batch"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in [name for name in found if not name.endswith("batch")]:
        own, bare = found[name]
        cells = [f"{own:.2f}", f"{bare:.2f}", f"{own / bare:.2f}"]
        if f"{name} in a batch" in found:
            many, few = found[f"{name} in a batch"]
            cells += [f"{many:.2f}", f"{few:.2f}", f"{many / few:.2f}", f"{many / own:.2f}"]
        table.add_row(name, *cells)
    Console().print(table)


# ---- first use ----

PROGRAM = """
import sys, time
import numpy as np
import flexdyn_ros
from flexdyn_ros.simulation import Stepper
start = time.process_time(), time.perf_counter()
robot = flexdyn_ros.load(sys.stdin.read())
robot.forward_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nu))
then = time.process_time(), time.perf_counter()
Stepper(robot, method="rosenbrock", dt=1e-3).advance(1)
end = time.process_time(), time.perf_counter()
print(*(b - a for a, b in zip(start + then, then + end)))
"""


def first_use(text: str) -> list[float]:
    """Seconds of the processor and by the clock to the first forward dynamics, then to the first implicit
    step, from an empty cache."""
    with TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=text,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return [float(x) for x in run.stdout.split()]


def show_first(texts: dict[str, str]) -> None:
    table = Table(title="First use, no kernel in the cache \\[s]", title_justify="left")
    for heading in ("", "forward dynamics", "by the clock", "implicit step after it", "by the clock"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, text in texts.items():
        table.add_row(name, *(f"{x:.1f}" for x in first_use(text)))
    Console().print(table)


def main() -> None:
    """Measure and print."""
    parser = program.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--first", action="store_true", help="first use from an empty cache as well")
    options = parser.parse_args()
    count, repeats, least, texts = BATCH, options.repeats, LEAST, robots()
    if options.quick:
        count, repeats, least = 3, 1, 0.0
        texts = dict([*texts.items()][:1])
    set_batch_threads(1)
    for name, text in texts.items():
        show_times(name, timed(text, count, repeats, least))
    if options.first:
        show_first(texts)


if __name__ == "__main__":
    main()
