"""The steps of a set-up, with a ROS 2 installation (home 1) and with the wheels of ROS 2 (home 2)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from provision.environment import Environment
from provision.failing import COMPILER, HEADERS, VENV, SetupError
from provision.lock import Lock
from provision.running import Step

HERE = Path(__file__).parent
#: packages of messages of which we compile our part where they are not there
FALLBACKS = ("control_msgs", "tf2_msgs")
#: which kernels are compiled beforehand; the others when they are first called
GROUPS = {"demo": "demo", "use": "start", "test": "common", "part": "demo"}
#: rosdep keys of package.xml that Ubuntu 24.04 has no package for, or that ask pip to write into the system
BY_PIP = "python3-numba python3-urchin-pip"
WRITE_BYTECODE = "import compileall, sys; [compileall.compile_dir(x, quiet=2) for x in sys.argv[1:]]"
#: what takes the longest chain of commands goes first; the kernels take what it leaves
KERNELS_LEAVE = 5


def steps(environment: Environment, purpose: str, holder: str) -> list[Step]:
    """What has to be there for a purpose: demo, use, test, or part of the tests, without messages of ROS 2.

    `holder` is told to set-ups that wait.
    """
    lock = Lock(environment.logs / "lock", holder)
    recipe = (Installation if environment.home == 1 else Wheels)(environment, lock)
    found = [recipe.venv(), *recipe.steps(), kernels(environment, GROUPS[purpose], holder)]
    without = {
        "demo": {"library-packages", "test-packages"},
        "use": {"test-packages"},
        "part": {"interfaces", *FALLBACKS},
    }
    return [step for step in found if step.name not in without.get(purpose, ())]


class Recipe:
    """What both homes have in common."""

    #: options of `python -m venv`
    venv_options: tuple[str, ...] = ()

    def __init__(self, environment: Environment, lock: Lock) -> None:
        self.environment = environment
        self.lock = lock
        self.python = str(environment.python)

    def step(self, name: str, key: str, commands, lock: Lock | None = None, **options) -> Step:
        """A step of this environment; its key depends on the Python and on the folder too."""
        return Step(name, self.environment.stamps / name, key, commands, lock or self.lock, **options)

    def venv(self) -> Step:
        key = f"{self.environment.venv} of {self.environment.maker}, home {self.environment.home}"
        hint = "another Python can be named: FLEXDYN_PYTHON=/path/to/python"
        return self.step("venv", key, self.make_venv, hint=hint)

    def make_venv(self) -> Iterator[list[str]]:
        try:
            import ensurepip  # noqa: F401
            import venv  # noqa: F401
        except ImportError:
            raise SetupError(f"{sys.executable} has no venv or no ensurepip", VENV) from None
        shutil.rmtree(self.environment.venv, ignore_errors=True)
        yield [sys.executable, "-m", "venv", *self.venv_options, str(self.environment.venv)]

    def bytecode(self, *folders: Path) -> list[str]:
        """Writes the bytecode of this package and of other folders where that of Python is not to be written
        as it runs, or cannot be. A file that is not Python, as while it is edited, ends no set-up: who
        imports it is told."""
        folders = self.environment.root / "flexdyn_ros", *folders
        return [self.python, "-c", WRITE_BYTECODE, *map(str, folders)]

    def output_of(self, code: str) -> str | None:
        """What the environment's Python prints for a program; None if that fails."""
        run = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False)
        return None if run.returncode else run.stdout.strip()


class Wheels(Recipe):
    """No ROS 2 installation: its wheels, and the interfaces compiled into the virtual environment."""

    def __init__(self, environment: Environment, lock: Lock) -> None:
        super().__init__(environment, lock)
        # an installation writes flexdyn_ros.egg-info, which all environments of the repository have in common
        self.package_lock = Lock(environment.root / "build" / "package.lock", lock.holder)
        # by one version of the parser
        self.parsed = environment.build / "parsed" / environment.hash_of(environment.ros_list)

    def steps(self) -> list[Step]:
        hashed, version = self.environment.hash_of, self.environment.version
        names = ("-kernels", "-demo", "", "-test", "-colcon")
        lists = {name: f"scripts/requirements{name}.txt" for name in names}
        lists["-ros"] = self.environment.ros_list
        numbers = f"{hashed(lists['-kernels'])}-{version}"
        ros = f"{hashed(lists['-ros'])}-{version}"
        demo = f"{hashed(lists['-demo'])}-{numbers}-{ros}"
        library = f"{hashed(lists[''])}-{demo}"
        interfaces = f"{hashed('flexdyn_interfaces')}-{ros}"
        package = f"{hashed('pyproject.toml', 'setup.py', 'setup.cfg')}-{version}"
        fallback = f"{hashed('fallback', 'flexdyn_interfaces/cmake')}-{ros}"
        written = f"{hashed('flexdyn_ros')}-{package}-{interfaces}-{fallback}"
        test = f"{hashed(lists['-test'], lists['-colcon'])}-{library}"
        return [
            self.packages("kernel-packages", numbers, lists["-kernels"], after=("venv",)),
            self.packages("packages", demo, lists["-ros"], lists["-demo"], after=("kernel-packages",)),
            self.packages("library-packages", library, lists["-ros"], lists[""], after=("packages",)),
            self.messages("interfaces", interfaces, partial(self.build, "flexdyn_interfaces")),
            *(self.messages(name, fallback, partial(self.build_fallback, name)) for name in FALLBACKS),
            self.step("package", package, self.install_package, self.package_lock, after=("packages",)),
            self.step("bytecode", written, self.write_bytecode, after=("package", "interfaces", *FALLBACKS)),
            # the library's own once more: all versions have to agree; not while messages are compiled, for
            # the lark of FMPy takes the place of the lark-parser that their generators import
            self.packages(
                "test-packages", test, *(lists[name] for name in ("-ros", "", "-test", "-colcon")),
                after=("library-packages", "package", "interfaces", *FALLBACKS),
            ),
        ]  # fmt: skip

    def packages(self, name: str, key: str, *lists: str, after: tuple[str, ...]) -> Step:
        uv = re.search(r"^uv==\S+", (self.environment.root / "scripts/requirements-uv.txt").read_text(), re.M)
        assert uv is not None
        installer = [sys.executable, str(HERE / "install_packages.py"), self.python, uv[0]]
        requirements = [word for path in lists for word in ("-r", path)]

        def commands() -> Iterator[list[str]]:
            if name == "packages" and not (self.environment.stamps / "interfaces").exists():
                self.check_compiler()  # before a minute of downloads, not after
            yield [*installer, *requirements]

        return self.step(name, key, commands, after=after, hint="the log names the package")

    def install_package(self) -> Iterator[list[str]]:
        options = ["--no-deps", "--no-build-isolation", "--editable"]
        yield [self.python, "-m", "pip", "install", *options, "."]

    def write_bytecode(self) -> Iterator[list[str]]:
        """Of this package and of messages that were compiled here; installers write that of the others."""
        places = [
            self.environment.venv.glob(f"lib/*/site-packages/{name}")
            for name in ("flexdyn_interfaces", *FALLBACKS)
        ]
        yield self.bytecode(*chain(*places))

    def check_compiler(self) -> None:
        compiler = os.environ.get("CXX", "c++")
        if shutil.which(shlex.split(compiler)[0]) is None:
            raise SetupError(f"there is no C++ compiler ({compiler}); ROS 2 messages are compiled", COMPILER)
        code = "import sysconfig; print(sysconfig.get_paths()['include'])"
        maker = str(self.environment.maker)
        include = subprocess.run([maker, "-I", "-c", code], capture_output=True, text=True, check=False)
        if include.returncode == 0 and not Path(include.stdout.strip(), "Python.h").is_file():
            raise SetupError(f"Python.h of {maker} was not found; ROS 2 messages need it", HEADERS)

    def messages(self, name: str, key: str, commands) -> Step:
        """A package of interfaces; each of its files is parsed once (parsing/sitecustomize.py)."""
        path = os.pathsep.join(filter(None, [str(HERE / "parsing"), os.environ.get("PYTHONPATH")]))
        parsed = {"PYTHONPATH": path, "FLEXDYN_PARSED": str(self.parsed)}
        return self.step(name, key, commands, after=("packages",), environment=parsed)

    def build(self, folder: str) -> Iterator[list[str]]:
        """Configure, compile and install a package of interfaces, as far as Python nodes need it."""
        self.check_compiler()
        self.parsed.mkdir(parents=True, exist_ok=True)
        venv = self.environment.venv
        target = self.environment.build / Path(folder).name
        shutil.rmtree(target, ignore_errors=True)
        yield [
            "cmake", "-G", "Ninja", "-S", folder, "-B", str(target),
            "-DBUILD_TESTING=OFF", "-DFLEXDYN_PYTHON_ONLY=ON", "-DCMAKE_C_FLAGS=-O1", "-DCMAKE_CXX_FLAGS=-O1",
            f"-DCMAKE_PREFIX_PATH={venv}", f"-DCMAKE_INSTALL_PREFIX={venv}",
            f"-DPython3_EXECUTABLE={self.python}",
        ]  # fmt: skip
        yield ["cmake", "--build", str(target), "--target", "install"]

    def build_fallback(self, name: str) -> Iterator[list[str]]:
        """Our part of a package of messages, where the package itself is not there."""
        own = self.environment.stamps / f"own_{name}"
        if own.exists() or self.output_of(f"import {name}") is None:
            yield from self.build(f"fallback/{name}")
            own.touch()


class Installation(Recipe):
    """A ROS 2 installation is sourced: colcon builds both packages with the virtual environment's Python."""

    venv_options = ("--system-site-packages",)

    def steps(self) -> list[Step]:
        hashed, version = self.environment.hash_of, self.environment.version
        lists = [f"scripts/requirements{name}.txt" for name in ("-kernels", "-demo", "")]
        library = f"{hashed(*lists)}-{version}"
        test = f"{hashed('scripts/requirements-test.txt')}-{library}"
        sources = (
            "flexdyn_interfaces", "pyproject.toml", "setup.py", "setup.cfg", "package.xml",
            "flexdyn_ros", "launch", "config", "urdf", "rviz",
        )  # fmt: skip
        built = f"{hashed(*sources)}-{library}"
        missing = (
            "if ROS packages are missing: rosdep install --from-paths . flexdyn_interfaces --ignore-src "
            f"--skip-keys '{BY_PIP}'"
        )
        return [
            self.step(
                "kernel-packages", library, lambda: self.install("-kernels", "-demo", ""), after=("venv",)
            ),
            self.step("test-packages", test, lambda: self.install("-test"), after=("kernel-packages",)),
            self.step("colcon", built, self.build, after=("kernel-packages",), hint=missing),
        ]

    def install(self, *lists: str) -> Iterator[list[str]]:
        """The installation's numpy stays, messages were compiled for it; launch_testing wants pytest < 9.

        Of what else the system has, versions that are too old are not taken: Ubuntu 24.04 has matplotlib 3.6.
        """
        numpy = self.output_of("import numpy; print(f'numpy=={numpy.__version__}')") or ""
        constraints = self.environment.venv / "constraints.txt"
        ours = (self.environment.root / "pyproject.toml").read_text()
        constraints.write_text("".join(f"{line}\n" for line in (numpy, "pytest<9", *bounds(ours))))
        wanted = []
        for name in lists:
            text = (self.environment.root / f"scripts/requirements{name}.txt").read_text()
            wanted += [line.partition("==")[0] for line in text.splitlines() if line and line[0] not in "#-"]
        options = ["--compile", "-c", str(constraints)]
        yield [self.python, "-m", "pip", "install", *options, *wanted]

    def build(self) -> Iterator[list[str]]:
        looked_for = "import importlib.util, sys; sys.exit(importlib.util.find_spec('colcon') is None)"
        if self.output_of(looked_for) is None:
            remedy = "Debian, Ubuntu: apt install python3-colcon-common-extensions"
            raise SetupError(f"ROS {os.environ['ROS_DISTRO']} is sourced, but colcon is missing", remedy)
        yield [self.python, "-m", "colcon", "build", "--event-handlers", "console_direct+"]
        yield self.bytecode(self.environment.root / "install")


def bounds(pyproject: str) -> list[str]:
    """Lower and upper bounds of the packages that a pyproject.toml names, but for numpy and pytest."""
    project = tomllib.loads(pyproject)["project"]
    named = chain(project["dependencies"], *project["optional-dependencies"].values())
    bounded = {line for line in named if re.search("[<>]", line)}
    return sorted(line for line in bounded if not re.match("(numpy|pytest)[<>]", line))


def kernels(environment: Environment, group: str, holder: str) -> Step:
    """Compiled kernels. Their stamp and their lock lie in the cache, so that every cache has its own."""
    rooms = tuple(f"flexdyn_ros/{room}" for room in ("expanded", "families", "multibody", "numerics"))
    sources = environment.hash_of(*rooms, "scripts/requirements-kernels.txt")
    key = f"{sources}-{environment.version}"
    command = [str(environment.python), "-m", "flexdyn_ros.numerics.compiling.warmup", group]
    path = os.pathsep.join(filter(None, [str(environment.root), os.environ.get("PYTHONPATH")]))
    return Step(
        "kernels",
        environment.cache / "ready" / f"{group}-{key}",
        key,
        lambda: iter([command]),
        Lock(environment.cache / "ready" / "lock", holder),
        after=("venv", "kernel-packages"),
        hint="NUMBA_CACHE_DIR=FOLDER starts an empty cache",
        niceness=KERNELS_LEAVE,
        environment={"PYTHONPATH": path},
    )
