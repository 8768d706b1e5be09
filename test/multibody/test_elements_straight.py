"""Calls and batches of robots with elements go straight to compiled functions, and compile what they need."""

import os
import subprocess
import sys
from functools import wraps

import numpy as np
import pytest
from mixtures import random_mixture

import flexdyn_ros
from flexdyn_ros import Robot
from flexdyn_ros.families.trees.elements.kernels import views

BOOM = """<robot name="boom"><link name="column"/><link name="boom"/>
<joint name="lift" type="revolute"><parent link="column"/><child link="boom"/><axis xyz="0 -1 0"/>
  <limit lower="-1" upper="1" effort="0" velocity="1"/></joint>
<flexdyn reference="boom"><beam length="4" mass_per_length="24" EIy="9e5" EIz="9e5"/>
  <modes bending_z="2"/></flexdyn>
<flexdyn><cylinder name="hoist" base="column" base_xyz="0.3 0 -1" end="boom@0.25"
  minimum_length="0.5" stroke="2">{}</cylinder></flexdyn></robot>"""
MASSES = '<barrel mass="18" com="0.35" inertia="1.2"/><rod mass="9" com="-0.4" inertia="0.8"/>'
SPRING = '<spring name="s" base="column" end="boom@tip" base_xyz="0 0 1" stiffness="900" damping="9"/>'
TEXTS = {
    "cylinder": BOOM.format(""),
    "cylinder with mass": BOOM.format(MASSES),
    "spring": BOOM.format("").replace("</cylinder>", "</cylinder>" + SPRING),
    "rigid": random_mixture(3, "rigid"),
    "torsion springs": random_mixture(8, "flexible", cylinders=False),
}
VERBS = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "bias_terms", "energy", "momentum",
    "center_of_mass", "actuation_matrix", "linearize",
)  # fmt: skip


def arguments(robot, rows=()):
    """Arguments of every verb, of one state or of as many as `rows` says."""
    rng = np.random.default_rng(6)
    q = np.array([robot.random(rng) for _ in range(int(np.prod(rows, dtype=int)))]).reshape(*rows, robot.nq)
    v, a, tau = (0.3 * rng.normal(size=(*rows, n)) for n in (robot.nv, robot.nv, robot.nu))
    motions = {"inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, tau), "linearize": (q, v, tau)}
    places = dict.fromkeys(("mass_matrix", "center_of_mass", "actuation_matrix"), (q,))
    return dict.fromkeys(VERBS, (q, v)) | motions | places


def flat(result):
    return np.concatenate([np.ravel(x) for x in (result if isinstance(result, tuple) else (result,))])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_single_calls_do_without_their_general_way(text, monkeypatch):
    robot = flexdyn_ros.load(text)
    general = {verb: getattr(Robot, verb)(robot, *given) for verb, given in arguments(robot).items()}
    for verb in VERBS:
        fails = wraps(getattr(Robot, verb))(lambda *given, verb=verb, **options: pytest.fail(verb))
        monkeypatch.setattr(Robot, verb, fails)
    robot = flexdyn_ros.load(text)
    for verb, given in arguments(robot).items():
        for _ in range(2):
            found = flat(getattr(robot, verb)(*given))
            size = max(1.0, np.abs(flat(general[verb])).max())
            assert np.abs(found - flat(general[verb])).max() <= 1e-12 * size, verb


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_batches_of_dynamics_ask_the_elements_of_several_states_at_once(text):
    robot = flexdyn_ros.load(text)
    given = arguments(robot, (17,))
    robot.inverse_dynamics(*given["inverse_dynamics"])
    laws = robot.functions.packed.table.reshape(-1, views.COLUMNS)
    assert laws[:, views.LAW_ON_LANES].all()
    for verb in ("inverse_dynamics", "forward_dynamics", "bias_forces"):
        many = getattr(robot, verb)(*given[verb])
        for i, found in enumerate(many):
            one = getattr(robot, verb)(*(x[i].copy() for x in given[verb]))
            assert np.abs(found - one).max() <= 1e-11 * max(1.0, np.abs(one).max()), verb


def test_what_nothing_drives_is_solved_in_the_order_of_all_efforts():
    robot = flexdyn_ros.load(TEXTS["cylinder"])
    q, v, a = arguments(robot)["inverse_dynamics"]
    short = robot.inverse_dynamics(q, v, a, unactuated="free")
    assert short.shape == (robot.nu,)
    assert np.array_equal(short, Robot.inverse_dynamics(robot, q, v, a, unactuated="free"))


LOADED = """
import sys
from functools import wraps
import numpy as np
from contextlib import contextmanager
from flexdyn_ros.numerics.compiling import callbacks, compiler
before = compiler.compiling
@contextmanager
def noted(function):
    print(function.__module__.split(".")[-1] + "." + function.__name__)
    with before(function):
        yield
callbacks.compiling = compiler.compiling = noted
import flexdyn_ros
from flexdyn_ros.simulation import Stepper
robot = flexdyn_ros.load(sys.stdin.read())
robot.forward_dynamics(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nu))
print("STEP")
Stepper(robot, method="rosenbrock", dt=1e-3).advance(1)
"""


@pytest.mark.parametrize("name", ["cylinder", "cylinder with mass"])
def test_first_use_compiles_what_it_needs(name):
    """The first forward dynamics is not to wait for lanes, the mass matrix or other verbs, a robot without
    masses not for those of elements with mass."""
    run = subprocess.run(
        [sys.executable, "-c", LOADED],
        input=TEXTS[name], capture_output=True, text=True, timeout=590, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    first, _, later = run.stdout.partition("STEP")
    own = {"views.observe_all", "lines.drive_plain", "steps.accelerate", "steps.exert"}
    own |= {"verbs.forward_dynamics_one", "entries.ready", "entries.status", "direct.enter"}
    of_masses = {"parts.weigh_all", "parts.find_mass_rows", "steps.solve_rows", "lines.swinging_masses_plain"}
    of_masses |= {"inertias.accelerate_rigid", "inertias.accelerate_flexible"}
    found = {word.removesuffix(" of a block") for word in first.split("\n") if word}
    assert found <= own | (of_masses if name == "cylinder with mass" else set())
    if name == "cylinder":
        assert not of_masses - {"steps.solve_rows"} & {*later.split()}
