"""Functional mock-up units as archives: description, source and binaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from math import prod
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from flexdyn_ros.errors import UnknownNameError, UnsupportedError, needs
from flexdyn_ros.export.c_code.program import Program
from flexdyn_ros.export.c_code.text import c_comment
from flexdyn_ros.export.files import chosen_names, replacing
from flexdyn_ros.export.fmi.description import Variable, model_description, terminals_and_icons, token_of
from flexdyn_ros.export.native.library import Compiler, find_compiler
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.workspace import free_bodies

VERSIONS = ("2.0", "3.0")
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


def chosen_platforms(fmi: str, platforms: Sequence[str] | str) -> tuple[str, ...]:
    """The platforms; UnknownNameError for another version or platform, ExportError for none."""
    UnknownNameError.check("version of FMI", fmi, VERSIONS)
    return chosen_names("platform", platforms, PLATFORMS)


class Unit(NamedTuple):
    """What an archive is made of.

    name: of the model; identifier: of its library; fmi: version; kinds, variables, step: of the description;
    texts: C source by file names; header: token -> text of robot.h.
    """

    name: str
    identifier: str
    fmi: str
    kinds: Sequence[str]
    variables: Sequence[Variable]
    step: float
    texts: Mapping[str, str]
    header: Callable[[str], str]

    def write(
        self,
        path: Path,
        platforms: Sequence[str],
        groups: Mapping[str, Mapping[str, str]],
        picture: bytes | None = None,
    ) -> Path:
        """Write the archive; groups: variables by terminals and members."""
        self._refuse_twins()
        texts, folder = dict(self.texts), files("flexdyn_ros.export.fmi") / "sources"
        for name in ("model.h", "model.c", "fmi.c"):
            texts[name] = (folder / name).read_text(encoding="utf-8")
        texts["fmi.c"] = f"#define FMI {self.fmi[0]}\n{texts['fmi.c']}"
        variables = (repr(x) for x in self.variables)
        token = token_of(self.fmi, *texts.values(), self.header(""), *variables)
        texts["robot.h"] = self.header(token)
        described = model_description(
            self.name, self.identifier, token, self.fmi, self.kinds, self.variables, self.step
        )
        contents = {"modelDescription.xml": described.encode()}
        for name in platforms:
            place, binary = _binary(texts, self.identifier, self.fmi, name)
            contents[place] = binary
        if picture is not None:
            contents["model.png" if self.fmi == "2.0" else "terminalsAndIcons/icon.png"] = picture
        if self.fmi == "3.0":
            contents["terminalsAndIcons/terminalsAndIcons.xml"] = terminals_and_icons(groups).encode()
        contents |= {f"sources/{name}": text.encode() for name, text in texts.items()}
        return _write(path, contents)

    def _refuse_twins(self) -> None:
        """UnsupportedError if two variables have one name: an actuator called time, say."""
        seen: set[str] = set()
        for x in self.variables:
            if x.name in seen:
                raise UnsupportedError(
                    f"robot {self.name!r} cannot be an FMU: two of its variables have the name {x.name!r}; "
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
    with replacing(path) as (draft,), ZipFile(draft, "w", ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return path


#: functions that write further outputs, one after the other
_OUTPUT_VERBS = ("frames", "deflections", "energy", "cylinder_forces")
#: usual sizes of the oil's numbers by their units
_NOMINAL = {"Pa": 1e6, "1/s": 100.0, "m": 1e-5, "": 1.0}
_BLOCKS = ("u", "q", "v", "z", "p")


class Calls(NamedTuple):
    """What the macros of robot.h stand for: calls that give 0 if all is finite."""

    rates: str
    step: str
    outputs: str
    indicators: str = "0"
    #: moves states onto constraints; none by default
    project: str = ""


def robot_header(robot: Robot, made: Program, variables: Sequence[Variable], step: float, token: str) -> str:
    """The text of the file for a robot."""
    driven = [robot.effort_names.index(name) for name in robot.actuators]
    q_of_v = [c.q_index for c in robot.coordinates]
    bodies = free_bodies(robot)
    sizes = {
        "NQ": robot.nq, "NV": robot.nv, "EFFORTS": robot.nu, "FREE": len(bodies),
        "WORK": made.work + robot.nu,
    }  # fmt: skip
    tables = [_table("int driven", driven), _table("int q_of_v", q_of_v), _free(bodies)]
    if _takes_both(made):
        tables.append(_beside_valves(robot, made))
    return header_text(robot.name, made.name, variables, sizes, step, token, _calls(made), tables)


def header_text(
    title: str,
    name: str,
    variables: Sequence[Variable],
    sizes: dict[str, int],
    step: float,
    token: str,
    calls: Calls,
    tables: Sequence[str],
) -> str:
    """The text of the file: sizes, start values, functions and tables."""
    blocks = {key: [x for x in variables if x.block == key] for key in (*_BLOCKS, "y", "e")}
    sizes = sizes | {f"N{key.upper()}": len(blocks[key]) for key in "uzpye"}
    start = [[x.start or 0.0 for x in blocks[key]] or [0.0] for key in _BLOCKS]
    return "\n".join(
        [
            f"/* {c_comment(title)}: generated by flexdyn_ros. */",
            f'#ifndef FLEXDYN_ROBOT_H\n#define FLEXDYN_ROBOT_H\n\n#include "{name}.h"\n',
            f'#define TOKEN "{token}"',
            *(f"#define {key} {size}" for key, size in sizes.items()),
            f"#define STEP {step!r}",
            f"#define START {{0.0, {', '.join(f'{{{_listed(values)}}}' for values in start)}}}",
            f"#define PARAMETERS(model) ({'(model)->now.p' if blocks['p'] else 'NULL'})",
            f"#define RATES(q, v, z, tau, p, dv, dz, work) ({calls.rates})",
            f"#define TAKE_STEP(q, v, z, tau, p, h, work) ({calls.step})",
            f"#define OUTPUTS(u, q, v, z, p, y, work) ({calls.outputs})",
            f"#define INDICATORS(q, v, z, tau, p, e, work) ({calls.indicators})",
            f"#define CONSTRAINED {int(bool(calls.project))}",
            f"#define PROJECT(q, v, p, q1, v1, work) ({calls.project or 0})",
            "",
            *tables,
            _table("double nominal_oil", [_NOMINAL[x.unit] for x in blocks["z"]]),
            "\n#endif\n",
        ]
    )


def _takes_both(made: Program) -> bool:
    """Whether the step with oil takes efforts beside openings: of trees."""
    step = made.functions.get("hydraulic_step")
    return step is not None and any(key == "tau" for key, _ in step.inputs)


def _beside_valves(robot: Robot, made: Program) -> str:
    """Functions with efforts and openings in one array, in the order of the efforts."""
    assert robot.hydraulics is not None
    of_oil = [robot.effort_names.index(name) for name in robot.hydraulics.names]
    words = {"name": made.name, "n": len(of_oil), "table": _table("int of_oil", of_oil)}
    has_events = "oil_event_indicators" in made.functions
    return (_BESIDE_VALVES + (_EVENTS_BESIDE_VALVES if has_events else "")).format(**words)


_BESIDE_VALVES = """{table}
static void take_openings(const double *tau, double *valves)
{{
    int i;
    for (i = 0; i < {n}; i++) {{
        valves[i] = tau[of_oil[i]];
    }}
}}
static int take_step(double *q, double *v, double *z, const double *tau, const double *p, double h,
                     double *work)
{{
    double valves[{n}];
    take_openings(tau, valves);
    return {name}_hydraulic_step(q, v, z, tau, valves, p, h, work);
}}
static int find_rates(const double *q, const double *v, const double *z, const double *tau, const double *p,
                      double *dv, double *dz, double *work)
{{
    double valves[{n}], forces[{n}], all[EFFORTS];
    int i;
    take_openings(tau, valves);
    if ({name}_cylinder_forces(q, v, z, p, forces, work)) {{
        return 1;
    }}
    for (i = 0; i < EFFORTS; i++) {{
        all[i] = tau[i];
    }}
    for (i = 0; i < {n}; i++) {{
        all[of_oil[i]] = forces[i];
    }}
    return {name}_forward_dynamics(q, v, all, p, dv, work) || {name}_oil_rates(q, v, z, valves, p, dz, work);
}}
"""
_EVENTS_BESIDE_VALVES = """static int find_indicators(const double *q, const double *v, const double *z,
                           const double *tau, const double *p, double *e, double *work)
{{
    double valves[{n}];
    take_openings(tau, valves);
    return {name}_event_indicators(q, v, z, valves, p, e, work);
}}
"""


def _free(bodies: Sequence[tuple[int, int]]) -> str:
    places = ", ".join(f"{{{a}, {b}}}" for a, b in bodies) or "{0, 0}"
    return f"static const struct {{ int quaternion, twist; }} free_bodies[] = {{{places}}};"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(map(repr, values)) or "0"


def _table(what: str, values: Sequence[float]) -> str:
    return f"static const {what}[] = {{{_listed(values)}}};"


def _calls(made: Program) -> Calls:
    """Calls of a robot's functions."""
    name, forces = made.name, f"(work) + {made.work}"
    rates = f"{name}_forward_dynamics(q, v, tau, p, dv, work)"
    step, arguments = f"{name}_step(q, v, tau, p, h, work)", "q, v, tau"
    has_events = any(verb.endswith("event_indicators") for verb in made.functions)
    project = f"{name}_project(q, v, p, q1, v1, work)" if "project" in made.functions else ""
    if _takes_both(made):
        return Calls(
            "find_rates(q, v, z, tau, p, dv, dz, work)",
            "take_step(q, v, z, tau, p, h, work)",
            _outputs(made),
            "find_indicators(q, v, z, tau, p, e, work)" if has_events else "0",
            project,
        )
    if "hydraulic_step" in made.functions:
        rates = (
            f"{name}_cylinder_forces(q, v, z, p, {forces}, work) || "
            f"{name}_forward_dynamics(q, v, {forces}, p, dv, work) || "
            f"{name}_oil_rates(q, v, z, tau, p, dz, work)"
        )
        step, arguments = f"{name}_hydraulic_step(q, v, z, tau, p, h, work)", "q, v, z, tau"
    indicators = f"{name}_event_indicators({arguments}, p, e, work)" if has_events else "0"
    return Calls(rates, step, _outputs(made), indicators, project)


def _outputs(made: Program) -> str:
    """Calls of the functions that write the outputs y, one after the other."""
    calls, at = [], 0
    for verb in _OUTPUT_VERBS:
        if verb not in made.functions:
            continue
        function = made.functions[verb]
        places = []
        for _, shape in function.outputs:
            places.append(f"(y) + {at}")
            at += prod(shape)
        inputs = ", ".join("z" if key == "oil" else key for key, _ in function.inputs if key != "p")
        calls.append(f"{made.name}_{verb}({inputs}, p, {', '.join(places)}, work)")
    return " || ".join(calls)
