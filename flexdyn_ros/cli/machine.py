"""`flexdyn doctor` and `warm`: what this machine has, what is missing, and kernels compiled in advance."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from ctypes.util import find_library
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

import flexdyn_ros
from flexdyn_ros.cli.terminal import Json, messages, print_json, tables
from flexdyn_ros.nodes.ros.surroundings import SHARED_MEMORY, shared_memory
from flexdyn_ros.numerics.compiling.cache import cache_folder

#: extras whose packages only those need who work on flexdyn_ros itself
_FOR_DEVELOPERS = ("test", "docs", "benchmark")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    state is "found", "missing" (something does not work without it), "optional" (not there, needed for one
    purpose only) or "told" (a fact); remedy says how to get it, or what goes without.
    """

    topic: str
    name: str
    state: str
    value: str
    remedy: str = ""


def findings() -> Iterator[Finding]:
    """All findings, topic by topic."""
    yield from _python()
    yield from _packages()
    yield from _compiler()
    yield from _caches()
    yield from _ros()
    yield from _pictures()


def _python() -> Iterator[Finding]:
    version, fits = platform.python_version(), (3, 11) <= sys.version_info[:2] <= (3, 13)
    remedy = "" if fits else "Python 3.11, 3.12 or 3.13"
    yield Finding("python", "Python", "found" if fits else "missing", f"{version}, {sys.executable}", remedy)
    yield Finding("python", "machine", "told", f"{platform.system()} {platform.machine()}, {_memory()}")
    place = Path(flexdyn_ros.__file__).parent
    yield Finding("python", "flexdyn_ros", "found", f"{flexdyn_ros.__version__}, {place}")


def _memory() -> str:
    processors = f"{os.cpu_count()} processors"
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return processors
    return f"{processors}, {size / 2**30:.1f} GB"


# ---- packages ----


def _packages() -> Iterator[Finding]:
    required, extras = _declared()
    for name in required:
        version = _version(name)
        state = "missing" if version is None else "found"
        yield Finding("packages", name, state, version or "", "" if version else f"pip install {name}")
    for extra, names in extras.items():
        if extra in _FOR_DEVELOPERS:
            continue
        absent = [name for name in names if _version(name) is None]
        there = ", ".join(f"{name} {_version(name)}" for name in names if name not in absent)
        value = f"without {', '.join(absent)}" if absent else there
        remedy = f"pip install 'flexdyn_ros[{extra}]'" if absent else ""
        yield Finding("packages", f"[{extra}]", "optional" if absent else "found", value, remedy)


def _declared() -> tuple[list[str], dict[str, list[str]]]:
    """Names of required packages, and of those of each extra; from the sources where there are some."""
    sources = Path(flexdyn_ros.__file__).parents[1] / "pyproject.toml"
    if sources.is_file():
        project = tomllib.loads(sources.read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        return _names(project["dependencies"]), {extra: _names(lines) for extra, lines in extras.items()}
    lines = metadata.requires("flexdyn_ros") or []
    found: dict[str, list[str]] = {}
    for line in lines:
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)""", line)
        if extra:
            found.setdefault(extra.group(1), []).extend(_names([line]))
    return _names(line for line in lines if "extra" not in line), found


def _names(lines: Iterable[str]) -> list[str]:
    names = (re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines)
    return [name for name in dict.fromkeys(names) if name != "flexdyn_ros"]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# ---- compiler and caches ----


def _compiler() -> Iterator[Finding]:
    """Compilers of C, as exports look for them, and of C++."""
    c = os.environ.get("CC", "").split()[:1] or ["cc", "gcc", "clang"]
    purpose = "for FMUs and robots compiled for this machine (flexdyn compile), not for anything else"
    yield _program("C", c, f"apt install gcc, or name one in CC; {purpose}")
    purpose = "needed to build the ROS interfaces, not for Python (Numba brings its own)"
    yield _program("C++", [os.environ.get("CXX", ""), "c++", "g++", "clang++"], f"apt install g++; {purpose}")


def _program(name: str, commands: Iterable[str], remedy: str) -> Finding:
    found = next((path for command in commands if command and (path := shutil.which(command))), None)
    return Finding("compiler", name, "found" if found else "optional", found or "", "" if found else remedy)


def _caches() -> Iterator[Finding]:
    folder = cache_folder()
    size, files = _size(folder)
    compiled = sum(1 for path in files if path.suffix == ".nbi")
    value = f"{folder}, {size / 2**20:.0f} MB, {compiled} kernels"
    if not _writable(folder):
        remedy = "set NUMBA_CACHE_DIR to a folder that you may write to; else each process compiles anew"
        yield Finding("caches", "kernels", "missing", f"{value}, not writable", remedy)
    elif not compiled:
        yield Finding("caches", "kernels", "optional", value, "flexdyn warm; else first calls take seconds")
    else:
        yield Finding("caches", "kernels", "found", value)


def _size(folder: Path) -> tuple[int, list[Path]]:
    """Bytes of the files below a folder, and these."""
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return sum(path.stat().st_size for path in files), files


def _writable(folder: Path) -> bool:
    """Whether files can be written there, or the folder can be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


# ---- ROS 2 ----


def _ros() -> Iterator[Finding]:
    without = "only nodes, `up`, `call` and `pub` need ROS 2: docs/install.md"
    distribution = os.environ.get("ROS_DISTRO")
    yield Finding("ros", "installation", "told", distribution or "none sourced")
    for name in ("rclpy", "flexdyn_interfaces", "control_msgs", "tf2_msgs"):
        spec = find_spec(name)
        place = str(Path(spec.origin).parent) if spec is not None and spec.origin else ""
        state = "optional" if spec is None else "found"
        remedy = without if spec is None else ""
        if spec is None and name != "rclpy" and find_spec("rclpy") is not None:
            remedy = "build and source the workspace (colcon build), or scripts/setup"
        yield Finding("ros", name, state, place, remedy)
    home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros")
    log = Path(os.environ.get("ROS_LOG_DIR") or home / "log")
    writable = _writable(log)
    remedy = "" if writable else "set ROS_HOME or ROS_LOG_DIR to a folder that you may write to"
    yield Finding("ros", "home", "found" if writable else "missing", str(home), remedy)
    yield from _dds()


def _dds() -> Iterator[Finding]:
    chosen = os.environ.get("RMW_IMPLEMENTATION")
    yield Finding("ros", "middleware", "told", chosen or "the default of the installation")
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET, the default")
    right = domain.isdecimal() and int(domain) <= 232
    remedy = "" if right else "ROS_DOMAIN_ID is a number from 0 to 101 (to 232 on Linux)"
    yield Finding("ros", "domain", "told" if right else "missing", f"{domain}, discovery {reach}", remedy)
    profiles = os.environ.get("FASTDDS_DEFAULT_PROFILES_FILE")
    if profiles:
        there = Path(profiles).is_file()
        remedy = "" if there else "unset FASTDDS_DEFAULT_PROFILES_FILE, or name a file that exists"
        yield Finding("ros", "Fast DDS profiles", "found" if there else "missing", profiles, remedy)
    if sys.platform == "linux":
        problem = next(shared_memory(), "")
        yield Finding("ros", "shared memory", "missing" if problem else "found", str(SHARED_MEMORY), problem)


# ---- pictures ----


def _pictures() -> Iterator[Finding]:
    for name, library in (("OpenGL", "GL"), ("EGL", "EGL")):
        found = find_library(library)
        remedy = "" if found else "apt install libgl1 libegl1; for rviz, the browser brings its own"
        yield Finding("pictures", name, "found" if found else "optional", found or "", remedy)
    screen = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    yield Finding("pictures", "display", "told", screen or "none: no rviz; the viewer works in any browser")
    browsers = ("chromium", "chromium-browser", "google-chrome", "firefox")
    browser = next((shutil.which(name) for name in browsers if shutil.which(name)), None)
    remedy = "" if browser else "flexdyn view shows its address: open it in a browser of another machine, too"
    yield Finding("pictures", "browser", "found" if browser else "optional", browser or "", remedy)


_TITLES = {
    "python": "Python",
    "packages": "Packages",
    "compiler": "Compiler",
    "caches": "Caches",
    "ros": "ROS 2",
    "pictures": "Pictures",
}
_MARKS = {
    "found": ("ok  ", "green"), "missing": ("MISS", "red"), "optional": ("none", "yellow"),
    "told": ("    ", ""),
}  # fmt: skip


def doctor(as_json: Json = False) -> None:
    """Check Python, packages, compiler, caches, ROS 2 and graphics; exit code 1 if something is missing.

    What is only needed for one purpose, such as ROS 2 for nodes, may be absent.
    """
    found = list(findings())
    missing = [one for one in found if one.state == "missing"]
    if as_json:
        print_json({"findings": [asdict(one) for one in found], "healthy": not missing})
    else:
        _print(found)
    if missing:
        raise typer.Exit(1)


def _print(found: list[Finding]) -> None:
    topic = ""
    for one in found:
        if one.topic != topic:
            topic = one.topic
            tables.print(_TITLES[topic], style="bold")
        tables.print(Text.assemble("  ", _MARKS[one.state], " "), end="")
        _print_text(f"{one.name:<19}{one.value}".rstrip(), 7, 26)
        if one.remedy:
            _print_text(f"       -> {one.remedy}", 0, 10)


def _print_text(text: str, begun: int, indent: int) -> None:
    """A text behind so many columns, as lines between words, the later ones indented: paths stay whole."""
    lines = wrap(
        " " * begun + text, tables.width, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    tables.print("\n".join(lines)[begun:], soft_wrap=True)


def warm(
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]...", help="all (default), common, start, demo, or a pattern like 'continuum.*'"
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="processes that compile side by side")
    ] = os.cpu_count() or 1,
) -> None:
    """Compile the kernels that are not in the cache yet, so that first calls take milliseconds."""
    from flexdyn_ros.numerics.compiling.cache import cache_folder
    from flexdyn_ros.numerics.compiling.warmup import WarmUpError, warm_up

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=messages, transient=True) as progress:
        task = progress.add_task("compiling kernels", total=None, last="")

        def report(name: str, seconds: float, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, last=f"{name} {seconds:.1f} s")

        try:
            seconds = warm_up(report, processes, groups or ("all",))
        except WarmUpError as error:
            messages.print(str(error), style="red", soft_wrap=True)
            raise typer.Exit(1) from None
    messages.print(f"kernels ready after {seconds:.1f} s, kept in {cache_folder()}", soft_wrap=True)
