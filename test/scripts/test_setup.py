"""scripts/setup and scripts/run: what they do, and what they say when they wait, take long, or fail."""

import ast
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_repository import FakeRepository, at_the_gate, is_alive, until


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "home").mkdir()
    return FakeRepository(tmp_path / "flexdyn", tmp_path / "home")


def finish(repository, process):
    """Let a script go on; what it said on standard error, after it succeeded."""
    repository.open_gate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return errors


def kernel_calls(repository):
    return [call.rpartition(" ")[2] for call in repository.calls("compiling.warmup")]


# ---- what is done ----


@pytest.fixture
def without_python(repository):
    """Runs scripts/run where every Python fails; its exit code."""
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (repository.folder / ".venv/bin" / name).unlink(missing_ok=True)
    none = repository.gate.parent / "none"
    none.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (none / name).write_text("#!/bin/sh\nexit 3\n")
        (none / name).chmod(0o755)
    path = f"{none}:/usr/bin:/bin"
    return lambda **variables: repository.run("run", "true", PATH=path, **variables).returncode


def everything_is_made(repository):
    """All sources are older than the set-up, which wrote bytecode into their folders."""
    for path in repository.folder.rglob("*"):
        if path.exists():
            os.utime(path, (1e9, 1e9))
    assert repository.run("run", "true").returncode == 0
    for path in (repository.folder, *repository.folder.glob("scripts/**")):
        os.utime(path, (1e9, 1e9))


def test_a_command_starts_no_python_where_everything_is_made(repository, without_python, tmp_path):
    assert without_python() != 0
    everything_is_made(repository)
    assert without_python() == 0
    assert without_python(NUMBA_CACHE_DIR=str(tmp_path / "cache")) != 0
    assert without_python(FLEXDYN_PYTHON="python3.none") != 0


def test_a_command_runs_where_nothing_can_be_noted(repository, without_python):
    (repository.folder / ".venv/flexdyn/made-2").mkdir()
    done = repository.run("run", "true")
    assert (done.returncode, "made-2" in done.stderr) == (0, False)
    assert without_python() != 0


@pytest.mark.parametrize("change", ["edited", "removed", "new", "kernels", "environment", "moved"])
def test_a_command_looks_again_where_something_changed(repository, without_python, change):
    everything_is_made(repository)
    assert without_python() == 0
    source = repository.folder / "flexdyn_ros/numerics/c.py"
    if change == "edited":
        source.write_text("x = 1\n")
    elif change == "removed":
        source.unlink()
    elif change == "new":
        (source.parent / "d.py").write_text("")
    elif change == "kernels":
        shutil.rmtree(repository.gate.parent / ".cache")
    elif change == "environment":
        (repository.folder / ".venv/bin/python").unlink()
    else:
        repository.folder = repository.folder.rename(repository.folder.with_name("elsewhere"))
    assert without_python() != 0


def test_what_was_made_is_not_made_again(repository):
    assert repository.run("setup").returncode == 0
    assert repository.calls()
    assert "ready" in repository.run("setup").stderr
    assert repository.calls() == []


def test_the_demo_fetches_no_test_packages_and_compiles_its_own_kernels_only(repository):
    assert repository.run("setup", "--demo").returncode == 0
    calls = repository.calls()
    others = ("requirements-test", "requirements.txt", "colcon")
    assert not [call for call in calls if any(name in call for name in others)]
    assert len([call for call in calls if "requirements-demo" in call]) == 1
    assert [call for call in calls if "compiling.warmup" in call] == [
        "python -m flexdyn_ros.numerics.compiling.warmup demo"
    ]
    assert repository.run("setup", "--test").returncode == 0
    calls = repository.calls()
    assert len([call for call in calls if "requirements-test" in call]) == 1
    assert len([call for call in calls if "requirements.txt" in call]) == 2  # of the library, of the tests
    assert len(calls) == 3  # and the kernels that tests start with


def test_kernels_begin_to_compile_before_the_wheels_of_ros_are_fetched(repository):
    at = {"FAKE_WAITS": "requirements-ros"}
    process = at_the_gate(repository, "setup", **at)
    until(lambda: "compiling.warmup" in repository.calls_file.read_text())
    finish(repository, process)


def test_no_packages_are_exchanged_while_messages_are_compiled(repository):
    """FMPy brings lark, which takes the place of the lark-parser that the generators of messages import."""
    at = {"FAKE_WAITS": f"cmake --build {repository.folder}/build/flexdyn_interfaces"}
    process = at_the_gate(repository, "setup", "--test", **at)
    until(lambda: (repository.folder / ".venv/flexdyn/package").exists())
    time.sleep(0.3)
    assert "requirements-test" not in repository.calls_file.read_text()
    finish(repository, process)
    assert len(repository.calls("requirements-test")) == 1


def test_two_caches_keep_their_stamps(repository, tmp_path):
    for name in ("one", "two", "one", "two"):
        assert repository.run("setup", NUMBA_CACHE_DIR=str(tmp_path / name)).returncode == 0
    assert kernel_calls(repository) == ["start", "start"]


def test_kernels_are_compiled_again_where_the_cache_was_emptied(repository, tmp_path):
    repository.run("setup", NUMBA_CACHE_DIR=str(tmp_path / "one"))
    shutil.rmtree(tmp_path / "one")
    repository.calls()
    repository.run("setup", NUMBA_CACHE_DIR=str(tmp_path / "one"))
    assert kernel_calls(repository) == ["start"]


def test_kernels_are_compiled_again_where_their_sources_changed(repository):
    repository.run("setup")
    repository.calls()
    (repository.folder / "flexdyn_ros" / "numerics" / "c.py").write_text("c = 1\n")
    repository.run("setup")
    assert kernel_calls(repository) == ["start"]


def test_an_interrupted_set_up_goes_on_where_it_was(repository):
    process = at_the_gate(repository, "setup", FAKE_WAITS="compiling.warmup")
    child = repository.waiting()
    until(lambda: (repository.folder / ".venv" / "flexdyn" / "interfaces").exists())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("setup: interrupted; what is done stays done")
    assert "Traceback" not in errors
    until(lambda: not is_alive(child))
    repository.calls()
    assert repository.run("setup").returncode == 0
    assert not [call for call in repository.calls() if "requirements-kernels" in call or "cmake" in call]


def test_pip_installs_what_uv_could_not(repository):
    assert repository.run("setup", FAKE_FAILS="uv pip", FAKE_OUTPUT="no such index").returncode == 0
    calls = repository.calls("requirements-demo")
    assert [call.split()[0] for call in calls] == ["uv", "python"]


def test_uv_is_given_the_settings_of_pip(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    from provision.install_packages import settings_of_uv

    for variable in ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS", "SSL_CERT_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("UV_INDEX", "mine")
    found = settings_of_uv(
        "global.index-url='https://index.example/simple'\nglobal.extra-index-url='https://a https://b'\n"
        ":env:.find-links='/wheels /more'\ninstall.cert='/ca.pem'\nfreeze.timeout='10'\nglobal.colour='red'\n"
    )
    assert found == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "SSL_CERT_FILE": "/ca.pem",
    }


# ---- what it says ----


def test_nothing_is_said_where_nothing_is_to_be_done(repository):
    repository.run("setup")
    done = repository.run("run", "echo", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")


def test_a_terminal_shows_step_and_count_as_they_go_on(repository):
    ours, theirs = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs, 2)
        variables = repository.environment | {"FAKE_WAITS": "compiling.warmup", "TERM": "xterm"}
        script = str(repository.folder / "scripts" / "setup")
        os.execve(script, [script], variables)
    os.close(theirs)
    shown = b""
    try:
        while b"kernels 1/2 first_kernel" not in shown:
            shown += os.read(ours, 4096)
        assert b"\r\x1b[K" in shown
    finally:
        repository.open_gate()
        while True:
            try:
                if not os.read(ours, 4096):
                    break
            except OSError:  # the other side is closed
                break
        os.close(ours)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_killed_set_up_leaves_nothing_behind_that_keeps_others_waiting(repository):
    holder = at_the_gate(repository, "setup", FAKE_WAITS="cmake")
    child = repository.waiting()
    holder.kill()
    holder.communicate()
    until(lambda: not is_alive(child))
    done = repository.run("setup")
    assert done.returncode == 0
    assert "waits for" not in done.stderr


def test_a_child_that_outlives_its_set_up_does_not_hold_the_lock(repository):
    """The lock's file is not open in commands, which ended set-ups may leave behind."""
    process = at_the_gate(repository, "setup", FAKE_WAITS="cmake")
    opened = {os.readlink(link) for link in Path(f"/proc/{repository.waiting()}/fd").iterdir()}
    assert not [path for path in opened if path.endswith("/lock")]
    finish(repository, process)


def test_set_ups_with_caches_of_their_own_do_not_wait_for_each_other(repository, tmp_path):
    repository.run("setup", "--test")
    first = at_the_gate(
        repository, "setup", NUMBA_CACHE_DIR=str(tmp_path / "one"), FAKE_WAITS="compiling.warmup"
    )
    done = repository.run("setup", NUMBA_CACHE_DIR=str(tmp_path / "two"))
    assert done.returncode == 0
    assert "waits for" not in done.stderr
    finish(repository, first)


# ---- how it fails ----

FAILURES = {
    "network": (
        "requirements-ros", "error: Failed to fetch: https://index.example\n  dns error", "packages",
        "the package index cannot be reached", "check the connection",
    ),
    "no such version": (
        "requirements-ros", "ERROR: No matching distribution found for ros-rclpy==9.1.2", "packages",
        "the package index has no ros-rclpy==9.1.2 for this Python and machine", "x86-64 Linux",
    ),
    "disk full": (
        "requirements-kernels", "ERROR: Could not install packages: [Errno 28] No space left on device",
        "kernel-packages", "the disk is full", "free some 3 GB",
    ),
    "no compiler": (
        "cmake -G", "CMake Error: No CMAKE_CXX_COMPILER could be found.", "interfaces",
        "there is no C++ compiler", "apt install g++",
    ),
    "no headers": (
        "cmake --build", "a.c:1:10: fatal error: Python.h: No such file or directory", "interfaces",
        "Python.h was not found", "apt install python3-dev",
    ),
    "kernel": (
        "compiling.warmup", "Traceback\nkernel aba.run could not be compiled: LoweringError: no", "kernels",
        "kernel aba.run could not be compiled: LoweringError: no", "NUMBA_CACHE_DIR",
    ),
    "something else": (
        "cmake --build", "ninja: error: build stopped: it rained\nlast words", "interfaces",
        "ninja: error: build stopped: it rained", "the log tells more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_step_tells_cause_and_remedy_in_two_lines(repository, name):
    words, output, step, cause, remedy = FAILURES[name]
    steps_beside = {"FAKE_FAILS": words, "FAKE_OUTPUT": output}
    done = repository.run("setup", "--quiet", **steps_beside)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == f"setup: step '{step}' failed: {cause} (log: build/setup/{step}.log)"
    assert second.startswith("setup: remedy: ")
    assert remedy in second
    assert output in (repository.folder / "build" / "setup" / f"{step}.log").read_text()


def test_a_missing_compiler_is_told_before_the_download(repository):
    (repository.folder / ".venv" / "bin" / "c++").unlink()
    done = repository.run("setup", "--quiet", CXX="no-such-compiler")
    cause = "there is no C++ compiler (no-such-compiler); ROS 2 messages are compiled"
    assert cause in done.stderr.splitlines()[0]
    assert "apt install g++" in done.stderr.splitlines()[1]
    assert not repository.calls("requirements-ros")


def test_a_missing_cmake_is_named(repository):
    (repository.folder / ".venv" / "bin" / "cmake").unlink()
    done = repository.run("setup", "--quiet", PATH=str(tools(repository)))
    assert "cmake was not found" in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) == 2


def tools(repository):
    """A folder with what the scripts call, and no cmake."""
    folder = repository.folder / "tools"
    folder.mkdir()
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    for name in ("bash", "env", "dirname", "sed", "sleep"):
        where = next(Path(path) / name for path in ("/usr/bin", "/bin") if (Path(path) / name).exists())
        (folder / name).symlink_to(where)
    return folder


def test_a_cache_that_cannot_be_written_is_named(repository, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = repository.run("setup", "--quiet", NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert f"{tmp_path / 'file'}/flexdyn_ros/ready cannot be written" in first
    assert "NUMBA_CACHE_DIR=FOLDER" in second


def test_a_python_that_is_none_is_told_with_what_helps(repository):
    done = repository.run("setup", FLEXDYN_PYTHON="/bin/false")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == "setup: FLEXDYN_PYTHON=/bin/false is not a Python >= 3.11"
    assert "remedy:" in second


def test_a_command_that_is_not_there_is_told_with_what_brings_it(repository):
    done = repository.run("run", "no-such-command")
    assert done.returncode == 127
    assert "scripts/setup --test" in done.stderr


# ---- other Pythons ----


@pytest.fixture
def other_python(tmp_path):
    """A Python that says it is 3.99."""
    path = tmp_path / "python3.99"
    path.write_text("#!/bin/sh\necho 3.99\n")
    path.chmod(0o755)
    return str(path)


def test_another_python_has_an_environment_of_its_own(repository, other_python):
    asked = {"FLEXDYN_PYTHON": other_python}
    code = "source scripts/env; echo $flexdyn_venv $flexdyn_python $AMENT_PREFIX_PATH ${PATH%%:*}"
    venv = repository.folder / ".venv-3.99"
    assert repository.shell(code, **asked) == f"{venv} {venv}/bin/python {venv} {venv}/bin"
    default = repository.folder / ".venv"
    assert repository.shell(code).split()[0] == str(default)
    # one of the default version is not another one
    same = repository.shell(
        "source scripts/env; FLEXDYN_PYTHON=$(flexdyn_find_python); source scripts/env; echo $flexdyn_venv"
    )
    assert same == str(default)


def test_another_distribution_of_ros_has_an_environment_and_wheels_of_its_own(repository, other_python):
    (repository.folder / "scripts" / "requirements-ros-jazzy.txt").touch()
    code = "source scripts/env; echo $flexdyn_venv"
    venv = repository.folder / ".venv-jazzy"
    assert repository.shell(code, FLEXDYN_DISTRO="jazzy") == str(venv)
    assert repository.shell(code, FLEXDYN_DISTRO="kilted") == str(repository.folder / ".venv")
    both = repository.shell(code, FLEXDYN_DISTRO="jazzy", FLEXDYN_PYTHON=other_python)
    assert both == str(repository.folder / ".venv-3.99-jazzy")
    assert "no such" in repository.shell(
        "source scripts/env 2>/dev/null || echo no such", FLEXDYN_DISTRO="ardent"
    )


def test_a_shell_changes_from_one_python_to_another_and_back(repository, other_python):
    code = f"""
    source scripts/env; FLEXDYN_PYTHON={other_python}; source scripts/env
    echo $PATH | tr : '\\n' | grep -c '[.]venv'
    echo ${{PATH%%:*}}; unset FLEXDYN_PYTHON; source scripts/env; echo ${{PATH%%:*}}"""
    number, there, back = repository.shell(code).split()
    assert int(number) == 1
    assert there == f"{repository.folder}/.venv-3.99/bin"
    assert back == f"{repository.folder}/.venv/bin"


@pytest.fixture
def provisioned(monkeypatch, tmp_path):
    """Two environments of one folder with what it takes to make them: (environment, steps)."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    from provision.environment import Environment
    from provision.steps import steps

    for name in ("requirements-uv.txt", "requirements-kernels.txt"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        (tmp_path / "scripts" / name).write_text("uv==1\n")
    made = []
    for name, version in ((".venv", "3.11.2"), (".venv-3.99", "3.99.0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyvenv.cfg").write_text(f"version = {version}\n")
        environment = Environment(tmp_path, tmp_path / name, 2)
        made.append((environment, steps(environment, "test", "")))
    return made


def test_environments_share_no_build_folders_and_no_stamps_of_kernels(provisioned, tmp_path):
    (default, steps), (other, its_steps) = provisioned
    assert default.logs == tmp_path / "build" / "setup"
    assert other.logs == tmp_path / "build" / "3.99" / "setup"
    for one, two in zip(steps, its_steps, strict=True):
        assert one.stamp != two.stamp
        assert one.name == two.name


def test_environments_wait_for_each_other_only_where_they_write_the_same_folder(provisioned):
    """Compiled kernels, and flexdyn_ros.egg-info."""
    (_, steps), (_, its_steps) = provisioned
    common = [one.name for one, two in zip(steps, its_steps, strict=True) if one.lock.path == two.lock.path]
    assert common == ["package", "kernels"]
    first, second = (next(step for step in found if step.name == "package") for found in (steps, its_steps))
    assert first.lock.take(print)
    assert not second.lock.take(lambda words: None)
    first.lock.release()
    assert second.lock.take(print)
    second.lock.release()


def test_test_packages_wait_for_everything_that_is_compiled_from_messages(provisioned):
    after = {step.name: step.after for step in provisioned[0][1]}
    assert {"interfaces", "control_msgs", "tf2_msgs"} <= set(after["test-packages"])


def test_interfaces_that_another_version_of_the_parser_parsed_are_parsed_again(repository):
    parsed = repository.folder / "build" / "parsed"
    for count in (1, 2):
        assert repository.run("setup").returncode == 0
        assert len(list(parsed.iterdir())) == count
        (repository.folder / "scripts" / "requirements-ros.txt").open("a").write("ros-rosidl-parser==9.9.9\n")


def test_bytecode_is_written_where_python_does_not_write_it_as_it_runs(repository):
    """In containers PYTHONDONTWRITEBYTECODE is usual: commands would compile what they import each time."""
    assert repository.run("setup", "--test", PYTHONDONTWRITEBYTECODE="1").returncode == 0
    calls = repository.calls()
    installs = [call for call in calls if call.startswith("uv pip install")]
    assert installs
    assert [call for call in installs if "--compile-bytecode" not in call] == []
    own = f"python -c {write_bytecode(repository.folder)} {repository.folder}/flexdyn_ros"
    assert [call for call in calls if call.startswith(own)] == [own]
    (repository.folder / "flexdyn_ros/numerics/c.py").write_text("x = 1\n")
    assert repository.run("setup", "--test").returncode == 0
    assert own in repository.calls()


def write_bytecode(folder):
    """The program that set-ups run for it."""
    text = (folder / "scripts/provision/steps.py").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("WRITE_BYTECODE = "))
    return ast.literal_eval(line.partition(" = ")[2])


def test_a_file_that_is_not_python_keeps_no_command_from_running(tmp_path):
    (tmp_path / "wrong.py").write_text("def f(:\n")
    (tmp_path / "right.py").write_text("x = 1\n")
    command = [
        sys.executable,
        "-c",
        write_bytecode(Path(__file__).parents[2]),
        str(tmp_path),
        str(tmp_path / "nowhere"),
    ]
    without = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    without.pop("PYTHONPYCACHEPREFIX", None)
    subprocess.run(command, check=True, timeout=120, env=without)
    assert [path.name.partition(".")[0] for path in (tmp_path / "__pycache__").iterdir()] == ["right"]


def test_pip_writes_bytecode_where_it_installs_what_uv_could_not(repository):
    assert repository.run("setup", FAKE_FAILS="uv pip", FAKE_OUTPUT="no such index").returncode == 0
    pip = [call for call in repository.calls() if "pip install" in call and call.startswith("python")]
    assert pip
    assert not [call for call in pip if "--no-compile" in call]
