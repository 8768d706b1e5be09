"""What comes with the C source: a page that says how to use it, and a program that tries it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.escaping import markdown
from flexdyn_ros.export.c_code.program import DEFAULT_VERBS, Program, program, results_of, signature
from flexdyn_ros.export.c_code.text import c_comment
from flexdyn_ros.export.files import write_all
from flexdyn_ros.export.tracing.hydraulics import OIL_VERBS, Oil
from flexdyn_ros.export.tracing.steps import NOMINAL_STEP
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics
from flexdyn_ros.simulation.steps.stepper import Stepper

#: step of the example [s]
_STEP = 1e-3
_MEANING = {
    "inverse_dynamics": "efforts `tau` of a motion `q`, `v`, `a`",
    "forward_dynamics": "`acceleration` under efforts `tau`",
    "mass_matrix": "mass matrix `M`, row by row",
    "bias_forces": "velocity, gravity, elastic and damping forces `h`: efforts at zero acceleration",
    "energy": "kinetic, gravity and elastic energy (3)",
    "frames": "`positions` (k, 3) and `rotations` (k, 3, 3) of the frames in the world, row by row",
    "deflections": "`deflections` (k, 3) of the tips of flexible links, each in the link's own axes",
    "cylinder_forces": "`forces` of the cylinders on the rods, with the oil `oil`",
    "oil_rates": "`rates` of the oil under the openings `valves`",
    "hydraulic_step": "moves `q`, `v` and `oil` on by `dt` under the openings `valves`, clamped to -1..1",
    "step": "moves `q` and `v` on by `dt` under efforts `tau`",
}


def sample(robot: Robot) -> dict[str, np.ndarray]:
    """A state and efforts, the same for every call."""
    rng = np.random.default_rng(1)
    prescribed = robot.functions.prescribed
    tau = rng.standard_normal(robot.nu)
    if prescribed.size == robot.nu:
        tau[prescribed] = 0.0
    v, a = 0.1 * rng.standard_normal((2, robot.nv))
    try:
        q = robot.random(rng)
    except ConvergenceError:
        # loops that close in few poses
        q = robot.neutral()
    if robot.functions.is_constrained:
        # a motion that the actuators can make
        tau[[name not in robot.actuators for name in robot.effort_names]] = 0.0
        q, v = robot.functions.project(q, v)
        a = robot.forward_dynamics(q, v, tau)
    return {"q": q, "v": v, "a": a, "tau": tau}


def _answers(robot: Robot, made: Program, at: dict[str, np.ndarray]) -> dict[str, list[np.ndarray]]:
    """What the library answers for the sample, in the order of the C functions' results."""
    found: dict[str, list[np.ndarray]] = {}
    for verb in made.functions:
        if verb == "step":
            stepper = Stepper(robot, _STEP, method=made.method, q0=at["q"], v0=at["v"])
            stepper.advance(1, at["tau"])
            found[verb] = [stepper.q.copy(), stepper.v.copy()]
        elif verb == "hydraulic_step":
            found[verb] = _after_hydraulic_step(robot, at)
        elif verb in OIL_VERBS:
            found[verb] = [_of_oil(robot, verb, at)]
        elif verb == "frames":
            poses = robot.frames(at["q"], made.frames)
            found[verb] = [poses[:, :3, 3], poses[:, :3, :3]]
        elif verb == "deflections":
            found[verb] = [np.array([at["q"][tip.q] @ tip.displacement for tip in robot.tips])]
        elif verb == "energy":
            energy = robot.energy(at["q"], at["v"])
            found[verb] = [np.array([energy.kinetic, energy.gravity, energy.elastic])]
        else:
            given = [at[key] for key, _ in made.functions[verb].inputs if key != "p"]
            found[verb] = [getattr(robot, verb)(*given)]
    return found


def _after_hydraulic_step(robot: Robot, at: dict[str, np.ndarray]) -> list[np.ndarray]:
    stepper = Stepper(robot, _STEP, q0=at["q"], v0=at["v"])
    cylinders = FusedHydraulics(stepper, "valve")
    stepper.tau[:] = at["tau"]
    cylinders.command(at["valves"])
    stepper.advance(1)
    return [stepper.q.copy(), stepper.v.copy(), Oil(robot).of_state(cylinders.state(), cylinders.lines)]


def _of_oil(robot: Robot, verb: str, at: dict[str, np.ndarray]) -> np.ndarray:
    """What the kernels answer, interpreted."""
    oil, memory, motion = Oil(robot), Memory(), robot.motion
    assert motion is not None
    arguments = [memory.room(at[key]) for key in OIL_VERBS[verb]]
    with memory.in_use():
        found = (oil.forces if verb == "cylinder_forces" else oil.rates)(motion, memory, *arguments)
    return found.astype(float)


def example(robot: Robot, made: Program, scalar: str) -> str:
    """A program that compares every function with what the library answered; exit status 0 if all agree."""
    tolerance = "1e-9" if scalar == "double" else "1e-3"
    at = sample(robot)
    if "oil" in {key for function in made.functions.values() for key, _ in function.inputs}:
        oil = Oil(robot)
        # a random state may lie far beyond the strokes
        at["q"], at["v"] = robot.functions.project(robot.neutral(), 0.1 * at["v"])
        at |= {"oil": oil.start(at["q"]), "valves": np.linspace(-0.5, 0.5, len(oil.legs))}
    answers = _answers(robot, made, at)
    upper, lines = made.name.upper(), []
    used = {key for function in made.functions.values() for key, _ in function.inputs}
    for key in sorted(used & at.keys()):
        lines.append(f"static const {scalar} {key}_0[] = {_array(at[key], scalar)};")
    body = [f"    static {scalar} work[{upper}_WORK];", "    int failed = 0;"]
    for verb, function in made.functions.items():
        for name, answer in zip(results_of(function), answers[verb], strict=True):
            lines.append(f"static const {scalar} expected_{verb}_{name}[] = {_array(answer, scalar)};")
        body += _trial(verb, made, scalar, answers[verb])
    return _MAIN.format(
        name=made.name,
        scalar=scalar,
        tolerance=tolerance,
        tables="\n".join(lines),
        body="\n".join([*body, "    return failed;"]),
        robot=c_comment(robot.name),
    )


def _trial(verb: str, made: Program, scalar: str, answers: list[np.ndarray]) -> list[str]:
    """Statements that call a function and compare its results."""
    function = made.functions[verb]
    outputs = [(name, answer.size) for name, answer in zip(results_of(function), answers, strict=True)]
    lines = ["    {"]
    if verb.endswith("step"):
        lines += [f"        {scalar} {name}[{n}];" for name, n in outputs]
        lines += [f"        memcpy({name}, {name[:-1]}_0, sizeof {name});" for name, _ in outputs]
        held = [f"{key}_0" for key, _ in function.inputs if key in ("tau", "valves")]
        moved = ", ".join([*(name for name, _ in outputs), *held])
        call = f"{made.name}_{verb}({moved}, NULL, ({scalar}){_STEP}, work)"
    else:
        lines += [f"        {scalar} {name}[{n}];" for name, n in outputs]
        given = [f"{key}_0" for key, _ in function.inputs if key != "p"]
        call = f"{made.name}_{verb}({', '.join([*given, 'NULL', *(name for name, _ in outputs), 'work'])})"
    lines.append(f"        if ({call}) {{\n            failed = 1;\n        }}")
    for name, n in outputs:
        lines.append(f'        failed |= compare("{verb}: {name}", {name}, expected_{verb}_{name}, {n});')
    return [*lines, "    }"]


def _array(values: np.ndarray, scalar: str) -> str:
    suffix = "f" if scalar == "float" else ""
    return "{" + ", ".join(f"{x!r}{suffix}" for x in values.ravel().tolist()) + "}"


_MAIN = """/* Tries the functions of {name}.c: prints by how much they differ from what the library in Python
   answered. */
#include "{name}.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* a state of {robot}, and the library's answers */
{tables}

static int compare(const char *what, const {scalar} *found, const {scalar} *expected, int n)
{{
    double largest = 0.0, difference = 0.0;
    int i;
    for (i = 0; i < n; i++) {{
        largest = fmax(largest, fabs((double)expected[i]));
        difference = fmax(difference, fabs((double)found[i] - (double)expected[i]));
    }}
    printf("%-32s largest %12.6g, differs by %9.2g\\n", what, largest, difference);
    return !(difference <= {tolerance} * largest + 1e-30);
}}

int main(void)
{{
{body}
}}
"""


def readme(robot: Robot, made: Program, scalar: str, parameters: Sequence[str]) -> str:
    """How to use the C source."""
    functions = "\n".join(
        f"| `{signature(function, made.name, scalar)}` | {_MEANING[verb]} |"
        for verb, function in made.functions.items()
    )
    step = ""
    if made.method:
        step = (
            f"\n`{made.name}_step` is the step `{made.method}` of `flexdyn_ros.simulate`, "
            "without limits of efforts and positions.\n"
        )
    if any("oil" in (key for key, _ in function.inputs) for function in made.functions.values()):
        step += (
            f"\n`oil` holds the pressures, spools and bristles `{made.name}_oil_names` of the cylinders "
            f"[Pa, 1, 1/s, m]. `{made.name}_hydraulic_step` is the step `{Oil(robot).method}` of "
            "`flexdyn_ros.simulate`; `tau`, where it takes that, drives the joints: entries of cylinders are "
            "not read.\n"
        )
    chosen = ""
    if parameters:
        chosen = (
            f"\n`p` holds the parameters `{made.name}_p_names`; NULL stands for `{made.name}_p_default`.\n"
        )
    return _README.format(
        robot=markdown(robot.name), name=made.name, scalar=scalar, functions=functions, step=step,
        parameters=chosen,
        sizes=f"{made.name.upper()}_NQ, {made.name.upper()}_NV, {made.name.upper()}_NU",
        digits=_digits(robot) if scalar == "float" else "",
        work=f"{made.name.upper()}_WORK",
    )  # fmt: skip


def _digits(robot: Robot) -> str:
    """What single precision means for accelerations."""
    least, largest = conditions_of_mass(robot)
    return _DIGITS.format(least=least, largest=largest)


def conditions_of_mass(robot: Robot) -> tuple[float, float]:
    """The least and the largest condition of M (2-norm, SI units) at a hundred random states."""
    rng = np.random.default_rng(0)
    found = np.linalg.cond([robot.mass_matrix(robot.functions.random(rng)) for _ in range(100)])
    return float(found.min()), float(found.max())


_DIGITS = """
Single precision rounds the seventh digit. Of the robots that come with flexdyn_ros it keeps efforts, M and
energies to 2e-5 of their largest term, and accelerations to 1e-5 of the forces that they balance, |M da| <=
1e-5 (|M||a| + |h| + |tau|). How far the accelerations themselves are off
depends on the condition of M (SI units), which is between {least:.0e} and {largest:.0e} at random states: an
acceleration may lose as many digits more.
"""

_README = """# {robot}: equations of motion in C99

Generated by flexdyn_ros. `{name}.c` needs `<math.h>` and, for NULL, `<stddef.h>`; it allocates nothing and
keeps nothing between calls; several threads may call it, each with its own `work` ({work} numbers of type
`{scalar}`).

| function | what it computes |
|---|---|
{functions}

All functions return 0, or 1 if a result is not finite. Units are SI; sizes are {sizes}; the order of
coordinates and efforts is that of `{name}_q_names`, `{name}_v_names` and `{name}_tau_names`. Quaternions (x,
y, z, w) in `q` must have unit length: nothing checks that. Efforts on coordinates whose motion is prescribed
are ignored.
{step}{parameters}{digits}
Try it: the program prints by how much the results differ from those of the library in Python.

    cc -std=c99 -O2 {name}.c main.c -o try -lm && ./try

gcc and clang make it faster with `-march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math`, none
of which changes the order of sums.
"""


def c(
    robot: Robot,
    folder: str | os.PathLike[str],
    verbs: Sequence[str] | str = DEFAULT_VERBS,
    parameters: Sequence[str] = (),
    scalar: str = "double",
    *,
    frames: Sequence[str] | None = None,
    method: str = "auto",
    dt: float = NOMINAL_STEP,
) -> list[Path]:
    """Write a robot's equations as C99: NAME.h, NAME.c, README.md and an example main.c.

    NAME is the robot's, with another character for each that C does not take. One that C or another file has
    already, such as "main", "double" or "math", gets a prefix: "robot_main".

    Parameters
    ----------
    robot : Robot
    folder : path
        Made if it is not there; files of the same names are replaced, all or none.
    verbs : one or several of {"inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "energy",
            "frames", "deflections", "step"}; with cylinders on oil also {"hydraulic_step", "cylinder_forces",
            "oil_rates"}; of closed mechanisms with prescribed joints not inverse_dynamics
    parameters : sequence of str
        Names of `robot.parameters`, wildcards allowed, that become the argument p.
    scalar : {"double", "float"}
    frames : sequence of str, optional
        Whose positions and rotations `frames` answers; all by default.
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        Of the fixed step; "auto" is what `simulate` takes for steps of dt [s]. hydraulic_step is
        "staggered" for platforms, "rosenbrock" for trees.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UnknownNameError, UnsupportedError
        If a name is unknown, or the equations of this robot cannot be written down.
    ExportError
        If there are no verbs, or the folder cannot be written to.
    """
    made = program(robot, verbs, parameters, scalar, frames=frames, method=method, dt=dt)
    files = {
        f"{made.name}.h": made.header,
        f"{made.name}.c": made.source,
        "README.md": readme(robot, made, scalar, parameters),
        "main.c": example(robot, made, scalar),
    }
    return write_all(Path(folder), files)
