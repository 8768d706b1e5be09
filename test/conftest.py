"""What all tests share: examples that are the same in every run, and ROS that stays on this machine."""

import fcntl
import gc
import os
import random
import shutil
import stat
import sys
import time
from pathlib import Path

import kept_compiler
import pytest

# a run started without scripts/test must not be heard by anything else either
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randint(1, 100)))

# matrices here are small: threads of BLAS wait for each other, busily, in all processes that share the tests;
# fits of `identification` take a quarter of the processor's time with one. NumPy is not imported yet
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# graphs and derivations make millions of objects, few of them in cycles: by the defaults, looking for those
# takes a fifth of the time of a process that runs tests
gc.set_threshold(50_000, 10, 20)
gc.disable()  # until tests are collected: what that makes stays


def folder_in_memory(memory="/dev/shm", room=4e9):
    """A folder of this user for files of tests, in memory; None where it has no room or runs no programs.

    The tests write half a gigabyte in 25,000 files, each of which takes a disk up to 3 ms when it goes. Those
    of runs that fail are kept, of the last three.
    """
    try:
        system = os.statvfs(memory)
        if system.f_flag & os.ST_NOEXEC or system.f_bavail * system.f_frsize < room:
            return None
        folder = Path(memory, f"flexdyn-tests-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return str(folder) if is_ours else None


if "TMPDIR" not in os.environ and (folder := folder_in_memory()):
    os.environ["TMPDIR"] = folder

# processes that share the tests do not hear each other's nodes
worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
os.environ["ROS_DOMAIN_ID"] = str((int(os.environ["ROS_DOMAIN_ID"]) + int(worker) - 1) % 101 + 1)

try:
    import hypothesis
except ImportError:
    hypothesis = None

if hypothesis is not None:
    # compiling a kernel, or another program, makes examples slow; the failing one is printed with its blob
    patient = hypothesis.settings(
        deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    # the same examples in every run: what fails, fails again. `--hypothesis-profile=explore` draws others
    hypothesis.settings.register_profile("flexdyn", patient, derandomize=True)
    hypothesis.settings.register_profile("explore", patient)
    hypothesis.settings.load_profile("flexdyn")


def remove_shared_memory_of_killed_nodes(folder):
    """What Fast DDS keeps for nodes that were killed, by hundreds of which discovery takes a minute.

    Nodes that live hold the lock of their files. The variable FASTDDS_BUILTIN_TRANSPORTS does not keep them
    out of shared memory: with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST the middleware chooses transports.
    """
    for lock in Path(folder).glob("fastdds_*_el"):
        name = lock.name.removesuffix("_el")
        try:
            with lock.open() as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for file in (name, f"{name}_el", f"sem.{name}_mutex"):
                    (lock.parent / file).unlink(missing_ok=True)
        except OSError:
            continue


def pytest_sessionstart(session):
    if not hasattr(session.config, "workerinput"):
        remove_shared_memory_of_killed_nodes("/dev/shm")
        kept_compiler.forget_old(time.time())


def pytest_collection_finish():
    """What was collected, half a million objects, is not looked through again in search of garbage."""
    gc.freeze()
    gc.enable()


def pytest_report_header():
    return f"ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']} HYPOTHESIS=flexdyn profile"


def pytest_collection_modifyitems(items):
    """Tests marked `ros` say why they do not run where there is no ROS."""
    marked = [item for item in items if item.get_closest_marker("ros")]
    if not marked:
        return
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        skip = pytest.mark.skip(reason=f"ROS 2 cannot be imported here ({error})")
        for item in marked:
            item.add_marker(skip)


#: the compiler that whoever runs the tests chose
CHOSEN = os.environ.get("CC")


def compiling_by(tmp_path_factory, names, flags=""):
    """The package compiles by the first of these compilers, whose results are kept, or by the chosen one."""
    from flexdyn_ros.export.native.library import find_compiler

    compiler = next((name for name in names if shutil.which(name)), None)
    if compiler is None or CHOSEN:
        yield
        return
    script = tmp_path_factory.mktemp("compiler") / "cc"
    kept = Path(__file__).with_name("kept_compiler.py")
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{kept}' {compiler} \"$@\" {flags}\n")
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", str(script))
        find_compiler.cache_clear()
        yield
    find_compiler.cache_clear()


def compile_without_optimization(tmp_path_factory):
    """The package compiles without optimization, in a third of the time: for tests of what C computes.

    What optimized code computes is asked by test/export/test_fmu.py, test_native.py and test_c_code.py.
    """
    # clang takes half the time of gcc for long functions
    yield from compiling_by(tmp_path_factory, ("clang", "cc", "gcc"), "-O0")


quick_compiler = pytest.fixture(scope="module", name="quick_compiler")(compile_without_optimization)
quick_compiler_here = pytest.fixture(name="quick_compiler_here")(compile_without_optimization)


@pytest.fixture
def own_compiler(tmp_path_factory):
    """The package compiles as it does, by the compiler that it finds."""
    yield from compiling_by(tmp_path_factory, ("cc", "gcc", "clang"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests in real time run while nothing else does."""
    if config.getvalue("dist") != "loadfile":
        return None
    from serial_last import SerialLast

    return SerialLast(config, log)
