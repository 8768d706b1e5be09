"""A robot as a functional mock-up unit: description, source and binaries in one archive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.resources import files
from math import prod
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from flexdyn_ros.errors import UnknownNameError, UnsupportedError, needs
from flexdyn_ros.export.c_code.program import Program, program
from flexdyn_ros.export.c_code.text import c_comment
from flexdyn_ros.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE, model_description, token_of
from flexdyn_ros.export.fmi.icon import icon_of
from flexdyn_ros.export.fmi.variables import Variable, tips_of, variables_of
from flexdyn_ros.export.native.compiler import Compiler, find_compiler
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.export.writing import writing
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion
from flexdyn_ros.simulation.steps.stepper import finite_vector
from flexdyn_ros.simulation.steps.workspace import free_bodies

__all__ = ["fmu"]

VERSIONS = ("2.0", "3.0")
KINDS = (CO_SIMULATION, MODEL_EXCHANGE)
PLATFORMS = ("host", "win64")
#: folders of binaries in both versions of the standard, and how libraries end
_FOLDERS = {
    ("Linux", "x86_64"): ("linux64", "x86_64-linux", ".so"),
    ("Linux", "aarch64"): ("aarch64-linux", "aarch64-linux", ".so"),
    ("Darwin", "x86_64"): ("darwin64", "x86_64-darwin", ".dylib"),
    ("Darwin", "arm64"): ("aarch64-darwin", "aarch64-darwin", ".dylib"),
    ("Windows", "AMD64"): ("win64", "x86_64-windows", ".dll"),
}
_WINDOWS = _FOLDERS["Windows", "AMD64"]


def fmu(
    robot: Robot,
    path: str | os.PathLike[str],
    fmi: str = "3.0",
    kind: Sequence[str] | str = KINDS,
    parameters: Sequence[str] = (),
    step: float = 1e-3,
    *,
    q0: np.ndarray | None = None,
    v0: np.ndarray | None = None,
    frames: Sequence[str] | None = None,
    method: str = "auto",
    platforms: Sequence[str] = ("host",),
) -> Path:
    """Write a robot as an FMU for Simulink, OpenModelica, AMESim and others.

    Inputs are the actuators by their names [N m, N], held over a communication step; outputs are positions
    `q.NAME`, velocities `v.NAME`, poses of frames (`FRAME.x`, `FRAME.R[1,1]` ...), deflections of flexible
    links (`LINK.deflection.y`) and energies. Positions and velocities can be set before the start.

    Parameters
    ----------
    robot : Robot
    path : path of the file
    fmi : {"3.0", "2.0"}
    kind : one or several of "co-simulation", "model-exchange"
    parameters : sequence of str
        Names of `robot.parameters`, wildcards allowed, that become parameters of the FMU.
    step : float
        Longest step of co-simulation [s]: a communication step is cut into equal ones.
    q0, v0 : (nq,), (nv,) arrays, optional
        Start values; default: neutral, at rest, or as the description drives it.
    frames : sequence of str, optional
        Default: the ends of the robot.
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        Of the steps; "auto" is what `simulate` takes.
    platforms : sequence of {"host", "win64"}
        What it runs on; "win64" needs the extra [cross].

    Returns
    -------
    Path

    Raises
    ------
    UnknownNameError, UnsupportedError, DimensionError, StateError
        If a name is unknown, the equations of this robot cannot be written down, or the start is not one.
    ExportError
        If there is no compiler, it fails, or the file cannot be written.
    """
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    UnknownNameError.check("version of FMI", fmi, VERSIONS)
    for name in kinds:
        UnknownNameError.check("kind", name, KINDS)
    for name in platforms:
        UnknownNameError.check("platform", name, PLATFORMS)
    names = tips_of(robot) if frames is None else tuple(dict.fromkeys(frames))
    q_start, v_start = initial_motion(robot, drive_of(robot, None), 0.0)
    q0 = q_start if q0 is None else finite_vector(q0, "q0", robot.nq)
    v0 = v_start if v0 is None else finite_vector(v0, "v0", robot.nv)
    robot.energy(q0, v0)  # refuses what is no state
    verbs = ["forward_dynamics", "energy", "step"]
    verbs += ["frames"] if names else []
    verbs += ["deflections"] if getattr(robot, "tips", ()) else []
    made = program(robot, verbs, parameters, frames=names, method=method, dt=step)
    variables = variables_of(Equations(robot, parameters), names, q0, v0)
    _refuse_twins(robot, variables)
    texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source}
    for name in ("model.h", "model.c", "fmi2.c" if fmi == "2.0" else "fmi3.c"):
        texts[name] = (files("flexdyn_ros.export.fmi") / "sources" / name).read_text(encoding="utf-8")
    without_token = _robot_header(robot, made, variables, step, "")
    token = token_of(fmi, *texts.values(), without_token, *(repr(x) for x in variables))
    texts["robot.h"] = _robot_header(robot, made, variables, step, token)
    described = model_description(robot.name, made.name, token, fmi, kinds, variables, step)
    contents: dict[str, bytes] = {"modelDescription.xml": described.encode()}
    for name in platforms:
        place, binary = _binary(texts, made.name, fmi, name)
        contents[place] = binary
    picture = icon_of(robot, q0)
    if picture is not None:
        contents["model.png" if fmi == "2.0" else "terminalsAndIcons/icon.png"] = picture
    contents |= {f"sources/{name}": text.encode() for name, text in texts.items()}
    return _write(Path(path), contents)


def _refuse_twins(robot: Robot, variables: Sequence[Variable]) -> None:
    """UnsupportedError if two variables have one name: an actuator called time, say."""
    seen: set[str] = set()
    for x in variables:
        if x.name in seen:
            raise UnsupportedError(
                f"robot {robot.name!r} cannot be an FMU: two of its variables have the name {x.name!r}; "
                "expected other names of joints, links or frames"
            )
        seen.add(x.name)


def _robot_header(robot: Robot, made: Program, variables: Sequence[Variable], step: float, token: str) -> str:
    """robot.h: what model.c has to know of the robot."""
    blocks = {key: [x for x in variables if x.block == key] for key in ("u", "q", "v", "p", "y")}
    values = {key: [x.start or 0.0 for x in blocks[key]] or [0.0] for key in ("u", "q", "v", "p")}
    q_of_v = [c.q_index for c in robot.coordinates]
    bodies = free_bodies(robot)
    driven = [robot.effort_names.index(name) for name in robot.actuators]
    sizes = {
        "NU": len(blocks["u"]), "NQ": robot.nq, "NV": robot.nv, "NP": len(blocks["p"]),
        "NY": len(blocks["y"]), "EFFORTS": robot.nu, "FREE": len(bodies), "WORK": max(made.work, 1),
    }  # fmt: skip
    start = ", ".join(f"{{{', '.join(repr(x) for x in values[key])}}}" for key in ("u", "q", "v", "p"))
    parameters = "(model)->now.p" if blocks["p"] else "NULL"
    return "\n".join(
        [
            f"/* {c_comment(robot.name)}: generated by flexdyn_ros. */",
            f'#ifndef FLEXDYN_ROBOT_H\n#define FLEXDYN_ROBOT_H\n\n#include "{made.name}.h"\n',
            f'#define TOKEN "{token}"',
            *(f"#define {key} {size}" for key, size in sizes.items()),
            f"#define STEP {step!r}",
            f"#define START {{0.0, {start}}}",
            f"#define PARAMETERS(model) ({parameters})",
            f"#define FORWARD_DYNAMICS {made.name}_forward_dynamics",
            f"#define TAKE_STEP {made.name}_step",
            f"#define OUTPUTS(q, v, p, y, work) ({_outputs(made)})\n",
            f"static const int driven[] = {{{_listed(driven)}}};",
            f"static const int q_of_v[] = {{{_listed(q_of_v)}}};",
            "static const struct { int quaternion, twist; } free_bodies[] = "
            f"{{{', '.join(f'{{{a}, {b}}}' for a, b in bodies) or '{0, 0}'}}};\n",
            "#endif\n",
        ]
    )


def _listed(values: Sequence[int]) -> str:
    return ", ".join(str(x) for x in values) or "0"


def _outputs(made: Program) -> str:
    """Calls of the functions that write the outputs y, one after the other."""
    calls, at = [], 0
    for verb in ("frames", "deflections", "energy"):
        if verb not in made.functions:
            continue
        function = made.functions[verb]
        places = []
        for _, shape in function.outputs:
            places.append(f"(y) + {at}")
            at += prod(shape)
        inputs = ", ".join(key for key, _ in function.inputs if key != "p")
        calls.append(f"{made.name}_{verb}({inputs}, p, {', '.join(places)}, work)")
    return " || ".join(calls)


def _binary(texts: dict[str, str], name: str, fmi: str, platform: str) -> tuple[str, bytes]:
    """Where the library of a platform lies in the archive, and its bytes."""
    if platform == "win64":
        with needs("ziglang", "cross"):
            import ziglang  # noqa: F401
        compiler, folder = Compiler.of_zig("x86_64-windows-gnu"), _WINDOWS
    else:
        compiler = find_compiler()
        folder = _FOLDERS.get((system(), machine()), (machine(), f"{machine()}-{system().lower()}", ".so"))
    with TemporaryDirectory(prefix="flexdyn-") as room:
        for file, text in texts.items():
            (Path(room) / file).write_text(text, encoding="utf-8")
        sources = [file for file in texts if file.endswith(".c")]
        file, flags = f"{name}{folder[2]}", ("-O2", "-fvisibility=hidden")
        library = compiler.shared_library(Path(room), sources, file, flags)
        return f"binaries/{folder[0 if fmi == '2.0' else 1]}/{file}", library.read_bytes()


def _write(path: Path, contents: dict[str, bytes]) -> Path:
    """The archive; equal contents give equal bytes."""
    with writing(path.parent) as room:
        with ZipFile(room / path.name, "w", ZIP_DEFLATED) as archive:
            for name, data in contents.items():
                archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
        os.replace(room / path.name, path)
    return path
