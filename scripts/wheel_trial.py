"""The wheel in empty environments; called by scripts/try_wheel, with the repository's Python."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))

import pages  # noqa: E402
from browser import Page, browser, found_chromium  # noqa: E402

VERSIONS = ("3.11", "3.12", "3.13")
#: what a build leaves, and what is no part of it
LEFT_OUT = (".git", ".venv*", "build", "install", "log", "out", "*.egg-info", "__pycache__", ".*_cache")
LOAD_ALL = "import flexdyn_ros, sys\nfor name in sys.argv[1:]:\n    print(name, flexdyn_ros.load(name).nv)\n"
#: of the caller's environment: how it speaks, where it gets packages
KEPT = ("LANG", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "https_proxy", "http_proxy", "no_proxy")
MISSING_VIEWER = "pip install 'flexdyn_ros[view]'"


class Failed(Exception):
    """A step did not do what it should."""


class Place:
    """An empty environment with an empty home and an empty folder to work in."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python
        for name in ("home", "work"):
            (folder / name).mkdir(parents=True)
        # nothing of the caller's: no PYTHONPATH, no caches, no ROS
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(folder / "home"),
            "PATH": f"{folder}/venv/bin:/usr/local/bin:/usr/bin:/bin",
            "COLUMNS": "80",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, *words: str, code: int = 0) -> str:
        """What a command of the environment prints."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(words, cwd=self.folder / "work", env=self.environment, text=True, **pipes)
        with (self.folder / "log").open("a") as log:
            log.write(f"$ {' '.join(words)}\n{done.stdout}\n")
        if done.returncode != code or "Traceback" in done.stdout:
            told = f"exit code {done.returncode}, expected {code}\n{done.stdout[-2000:]}"
            raise Failed(f"{' '.join(words)}: {told}")
        return done.stdout


def expect(text: str, *parts: str) -> None:
    """Failed if a part is not in the text."""
    for part in parts:
        if part not in text:
            raise Failed(f"{part!r} is not in:\n{text[-2000:]}")


# ---- steps ----


def install(place: Place, wheel: Path) -> None:
    subprocess.run([place.python, "-m", "venv", place.folder / "venv"], check=True, env=place.environment)
    place.run("pip", "install", "-q", str(wheel))


def read_robots(place: Place, wheel: Path) -> None:
    # the one for ros2_control includes another
    names = sorted(
        path.name.split(".")[0] for path in (ROOT / "urdf").iterdir() if "control" not in path.name
    )
    told = place.run("python", "-c", LOAD_ALL, *names)
    expect(told, *names)


def readme(place: Place, wheel: Path) -> None:
    programs = [block.text for block in pages.blocks(ROOT / "README.md") if block.language == "python"]
    told = place.run("python", "-c", "\n".join(programs))
    expect(told, "(14, 14)", "23 5")


def commands(place: Place, wheel: Path) -> None:
    expect(place.run("flexdyn", "--help"), "check", "simulate", "view")
    for robot in ("seven_joint_arm", "canadarm2"):
        expect(place.run("flexdyn", "check", robot), "Coordinates")
    expect(place.run("flexdyn", "check", "canadarm2"), "Modes at q = 0, joints locked", "0.40011")


def simulate(place: Place, wheel: Path) -> None:
    place.run("flexdyn", "simulate", "canadarm2", "--duration", "1", "--save", "run.npz")
    if not (place.folder / "work" / "run.npz").stat().st_size:
        raise Failed("run.npz is empty")


def view_without_extra(place: Place, wheel: Path) -> None:
    told = place.run("flexdyn", "view", "canadarm2", code=4)
    expect(told, MISSING_VIEWER)


def install_view(place: Place, wheel: Path) -> None:
    # what the message of the step before says, word by word
    place.run("pip", "install", "-q", MISSING_VIEWER.split("'")[1])


def view(place: Place, wheel: Path) -> None:
    port = 8700
    log = place.folder / "view.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            ["flexdyn", "view", "canadarm2", "--quality", "low", "--port", str(port)],
            cwd=place.folder / "work", env=place.environment, stdout=output, stderr=subprocess.STDOUT,
            executable=place.folder / "venv" / "bin" / "flexdyn",
        )  # fmt: skip
    try:
        port = served(server, log)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60.0) as page:
            expect(page.read().decode(), "<html", "</html>")
        look(place, port)
    finally:
        server.terminate()
        server.wait(60.0)
    if "Traceback" in log.read_text():
        raise Failed(log.read_text()[-2000:])


def served(server: subprocess.Popen, log: Path) -> int:
    """The port that the viewer tells."""
    deadline = time.monotonic() + 600.0
    while (told := re.search(r" at http://\S*?:(\d+)\S*;", log.read_text())) is None:
        if server.poll() is not None or time.monotonic() > deadline:
            raise Failed(f"flexdyn view did not begin:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)
    return int(told[1])


def look(place: Place, port: int) -> None:
    """A browser shows the page: without errors, and not blank."""
    if found_chromium() is None or importlib.util.find_spec("playwright") is None:
        print("wheel: without chromium and playwright nobody looks at the page", flush=True)
        return
    with browser() as chrome:
        page = Page(chrome, port, 960, 540, path="/?fixedDpr=0.5")
        picture = page.picture()
        page.page.screenshot(path=str(place.folder / "view.png"))
    if page.errors or picture.std() < 5.0:
        raise Failed(f"errors of the page: {page.errors}, scatter of the picture {picture.std():.1f}")


STEPS: dict[str, Callable[[Place, Path], None]] = {
    "pip install WHEEL": install,
    "every shipped robot is read": read_robots,
    "programs of the README": readme,
    "flexdyn --help, check": commands,
    "flexdyn simulate": simulate,
    "flexdyn view without its extra says what it needs": view_without_extra,
    "pip install with the extra view": install_view,
    "flexdyn view": view,
}


# ---- the wheel, the Pythons ----


def build(folder: Path) -> Path:
    """The wheel, from a copy: a build in the repository would take along what an older one left."""
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*LEFT_OUT))
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*words, "-w", str(folder), str(folder / "source")], check=True)
    shutil.rmtree(folder / "source")
    return next(folder.glob("*.whl"))


def find_pythons() -> list[str]:
    """Paths of Pythons 3.11 to 3.13: those on the path, else those of pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in VERSIONS:
        others = sorted(versions.glob(f"{version}.*/bin/python"))
        candidates = [shutil.which(f"python{version}"), *map(str, others)]
        fitting = [path for path in candidates if path and can_make_environments(path)]
        if not fitting:
            print(f"wheel: no Python {version} here: not tried", flush=True)
        found += fitting[:1]
    return found


def can_make_environments(python: str) -> bool:
    return subprocess.run([python, "-c", "import ensurepip"], capture_output=True).returncode == 0


def version_of(python: str) -> str:
    words = [python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def try_python(folder: Path, python: str, wheel: Path) -> bool:
    """Whether all steps succeed with one Python."""
    version, start = version_of(python), time.monotonic()
    place = Place(folder / version, python)
    for name, step in STEPS.items():
        began = time.monotonic()
        try:
            step(place, wheel)
        except (Failed, OSError, subprocess.SubprocessError, AssertionError) as error:
            print(f"wheel: Python {version}: {name}: failed\n{error}", flush=True)
            return False
        print(f"{time.monotonic() - began:6.1f} s  Python {version}  {name}", flush=True)
    packages = place.run("pip", "list", "--format", "freeze").split()
    shown = [line for line in packages if line.split("==")[0] in ("numpy", "scipy", "numba", "viser")]
    minutes = (time.monotonic() - start) / 60.0
    print(f"wheel: Python {version}: {minutes:.1f} min, {' '.join(shown)}", flush=True)
    return True


def main() -> int:
    """Try all Pythons; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/try_wheel")
    parser.add_argument("--python", action="append", metavar="PATH")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    if arguments.keep and arguments.keep.exists():
        parser.error(f"--keep: {arguments.keep} exists; expected a new folder")
    pythons = arguments.python or find_pythons()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep.resolve() if arguments.keep else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        wheel = build(folder)
        print(f"wheel: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        failed = [python for python in pythons if not try_python(folder, python, wheel)]
    return 1 if failed or not pythons else 0


if __name__ == "__main__":
    sys.exit(main())
