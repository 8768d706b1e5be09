"""What tests of exported robots share: states, graphs evaluated in Python, C compiled and called."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
from pathlib import Path

import kept_compiler
import numpy as np
from models import random_state

import flexdyn_ros
from flexdyn_ros import export

__all__ = [
    "COMPILERS",
    "QUICKEST",
    "STRICT",
    "CLibrary",
    "at_random",
    "compiled",
    "fmu_motion",
    "fmu_name",
    "residual",
    "run_example",
]

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
#: takes half the time of gcc for long functions that are not optimized
QUICKEST = "clang" if "clang" in COMPILERS else "gcc"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def at_random(robot, seed=0):
    """q, v, a, tau of a robot; no efforts on prescribed coordinates."""
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, rng)
    tau = rng.standard_normal(robot.nu)
    given = np.array([c.prescribed for c in robot.coordinates], dtype=bool)
    if given.size == tau.size:
        tau[given] = 0.0
    return q, 0.3 * v, a, tau


def residual(robot, q, v, tau, found, expected):
    """|M (a - b)| by |M| |b| + |h| + |B tau|: accelerations change by far more at one rounding of q."""
    M = robot.mass_matrix(q)
    scale = np.abs(M) @ np.abs(expected) + np.abs(robot.bias_forces(q, v))
    scale = scale + np.abs(robot.actuation_matrix(q)) @ np.abs(tau)
    return float((np.abs(M @ (found - expected)) / scale.max()).max())


def fmu_name(*parts: str) -> str:
    """A name of the library as FMUs have it."""
    return re.sub(r"/(\d+)(?=/|$)", r"[\1]", ".".join(parts)).replace("/", ".")


def fmu_motion(path: Path, robot, tau, kind: str, interval: float, stop: float, **options) -> np.ndarray:
    """Positions (n, nq) of an FMU over time, under constant efforts."""
    import fmpy

    names = [fmu_name("q", name) for name in robot.q_names]
    inputs = dict(zip(robot.effort_names, tau, strict=True))
    given = {fmu_name(name): inputs[name] for name in robot.actuators}
    found = fmpy.simulate_fmu(
        str(path),
        stop_time=stop,
        output_interval=interval,
        fmi_type=kind,
        output=names,
        start_values=given,
        record_events=False,
        **options,
    )
    return np.array([[row[name] for name in names] for row in found])


def exchanged_error(robot, q0, v0, tau, path) -> float:
    """Largest error of positions of the model-exchange FMU over 0.2 s, beside an accurate run."""
    export.fmu(robot, path, q0=q0, v0=v0, kind="model-exchange")
    # its inputs are the efforts of actuators
    tau = np.where(np.isin(robot.effort_names, robot.actuators), tau, 0.0)
    law = flexdyn_ros.continuous(lambda t, q, v: tau)
    run = flexdyn_ros.simulate(robot, 0.2, q0, v0, control=law, rtol=1e-10, sample=1e-2, method="dop853")
    found = fmu_motion(path, robot, tau, "ModelExchange", 1e-3, 0.2, relative_tolerance=1e-9)[::10]
    return float(np.abs(found - run.q).max())


class CLibrary:
    """Functions of a C package, called with arrays."""

    def __init__(self, path: Path, name: str, dtype=np.float64) -> None:
        self.library, self.name, self.dtype = ctypes.CDLL(str(path)), name, dtype
        self.work = np.zeros(100_000, dtype)

    def call(self, verb: str, *arguments, p=None, sizes=()):
        """Results of sizes; AssertionError unless the function says that they are finite."""
        given = [np.ascontiguousarray(x, self.dtype) for x in arguments]
        results = [np.zeros(size, self.dtype) for size in sizes]
        p = None if p is None else np.ascontiguousarray(p, self.dtype)
        pointers = [*given, p, *results, self.work]
        status = getattr(self.library, f"{self.name}_{verb}")(
            *(None if x is None else x.ctypes.data_as(ctypes.c_void_p) for x in pointers)
        )
        assert status == 0, verb
        return results[0] if len(results) == 1 else results

    def step(self, q, v, tau, dt, p=None):
        """q, v after a step."""
        q, v = np.array(q, self.dtype), np.array(v, self.dtype)
        tau = np.ascontiguousarray(tau, self.dtype)
        scalar = ctypes.c_double if self.dtype == np.float64 else ctypes.c_float
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, tau)]
        p = None if p is None else np.ascontiguousarray(p, self.dtype).ctypes.data_as(ctypes.c_void_p)
        function = getattr(self.library, f"{self.name}_step")
        assert function(*pointers, p, scalar(dt), self.work.ctypes.data_as(ctypes.c_void_p)) == 0
        return q, v


def compiled(folder: Path, name: str, *flags: str, compiler=QUICKEST, dtype=np.float64) -> CLibrary:
    """The C files of a folder as a library; not optimized unless flags say so."""
    command = [compiler, *STRICT, "-O0", "-shared", "-fPIC", *flags, f"{name}.c", "-o", f"{name}.so", "-lm"]
    kept_compiler.run(command, folder, check=True)
    return CLibrary(folder / f"{name}.so", name, dtype)


def run_example(folder: Path, *flags: str, compiler="gcc") -> subprocess.CompletedProcess:
    """main.c of a folder, compiled and run; not optimized unless flags say so."""
    sources = sorted(path.name for path in folder.glob("*.c"))
    command = [compiler, *STRICT, "-O0", *flags, *sources, "-o", "try", "-lm"]
    kept_compiler.run(command, folder, check=True)
    return subprocess.run(["./try"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def evaluated(function, **inputs):
    """Outputs of a traced function at numbers, node by node."""
    graph, values = function.graph, {}
    of_two = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "div": lambda a, b: float(np.divide(a, b)), "pow": math.pow, "atan2": math.atan2,
        "copysign": math.copysign, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "eq": lambda a, b: a == b, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
        "neg": lambda a: -a, "not": lambda a: not a, "select": lambda c, a, b: a if c else b, "fabs": abs,
        "sqrt": lambda x: math.sqrt(x) if x >= 0.0 else math.nan,
    }  # fmt: skip
    for i in graph.needed(function.results):
        operation, *rest = graph.nodes[i]
        if operation == "constant":
            values[i] = float(rest[0])
        elif operation == "input":
            values[i] = float(inputs[rest[0]][rest[1]])
        else:
            values[i] = of_two.get(operation, getattr(math, operation, None))(*(values[j] for j in rest))
    flat, found, k = [values[i] for i in function.results], [], 0
    for _, shape in function.outputs:
        size = math.prod(shape)
        found.append(np.array(flat[k : k + size], float).reshape(shape))
        k += size
    return found[0] if len(found) == 1 else found
