"""A robot as a functional mock-up unit: description, source and binaries in one archive."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from flexdyn_ros.errors import UnknownNameError, UnsupportedError, needs
from flexdyn_ros.export.c_code.program import program
from flexdyn_ros.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE, model_description, token_of
from flexdyn_ros.export.fmi.header import robot_header
from flexdyn_ros.export.fmi.icon import icon_of
from flexdyn_ros.export.fmi.terminals import terminals_and_icons
from flexdyn_ros.export.fmi.variables import Variable, tips_of, variables_of
from flexdyn_ros.export.native.compiler import Compiler, find_compiler
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.export.tracing.events import event_indicators
from flexdyn_ros.export.writing import writing
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion
from flexdyn_ros.simulation.steps.stepper import finite_vector

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
    cylinders: bool = False,
) -> Path:
    """Write a robot as an FMU for Simulink, OpenModelica, AMESim and others.

    Inputs are the actuators by their names [N m, N], held over a communication step; outputs are positions
    `q.NAME`, velocities `v.NAME`, poses of frames (`FRAME.x`, `FRAME.R[1,1]` ...), deflections of flexible
    links (`LINK.deflection.y`) and energies. Positions and velocities can be set before the start. In model
    exchange stops of soft sections, wheels that lift and edges of valves are events. Names are structured:
    what is base/x in the library is base.x, other characters are within quotes.

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
    cylinders : bool
        Whether the cylinders of a platform are part of it: inputs are then the openings `LEG.valve`, the oil
        (`LEG.pressure_bore` ...) are states, forces of the cylinders `LEG.force` outputs; steps are
        "staggered". At the start the oil holds the platform at rest, valves shut.

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
    equations = Equations(robot, parameters)
    verbs = ["forward_dynamics", "energy", *(["frames"] if names else [])]
    verbs += ["deflections"] if getattr(robot, "tips", ()) else []
    verbs += ["cylinder_forces", "oil_rates", "hydraulic_step"] if cylinders else ["step"]
    if event_indicators(equations, with_oil=cylinders).results:
        verbs.append("oil_event_indicators" if cylinders else "event_indicators")
    made = program(robot, verbs, parameters, frames=names, method=method, dt=step)
    variables = variables_of(equations, made, q0, v0)
    _refuse_twins(robot, variables)
    texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source}
    for name in ("model.h", "model.c", "fmi2.c" if fmi == "2.0" else "fmi3.c"):
        texts[name] = (files("flexdyn_ros.export.fmi") / "sources" / name).read_text(encoding="utf-8")
    without_token = robot_header(robot, made, variables, step, "")
    token = token_of(fmi, *texts.values(), without_token, *(repr(x) for x in variables))
    texts["robot.h"] = robot_header(robot, made, variables, step, token)
    described = model_description(robot.name, made.name, token, fmi, kinds, variables, step)
    contents: dict[str, bytes] = {"modelDescription.xml": described.encode()}
    for name in platforms:
        place, binary = _binary(texts, made.name, fmi, name)
        contents[place] = binary
    picture = icon_of(robot, q0)
    if picture is not None:
        contents["model.png" if fmi == "2.0" else "terminalsAndIcons/icon.png"] = picture
    if fmi == "3.0":
        contents["terminalsAndIcons/terminalsAndIcons.xml"] = terminals_and_icons(variables).encode()
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
