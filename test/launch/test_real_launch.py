"""The launch files under the real launch, launch_ros and launch_testing, where these are installed."""

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))

pytestmark = [pytest.mark.ros, pytest.mark.timeout(3000)]
if not hasattr(pytest.importorskip("launch"), "LaunchDescription"):
    # the folder launch/ of this repository, as a namespace package
    pytest.skip("the package launch is not installed", allow_module_level=True)
pytest.importorskip("launch_ros.actions")
pytest.importorskip("launch_testing.actions")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An ament prefix as colcon makes it, with the executables of this tree and links to its files."""
    prefix = tmp_path_factory.mktemp("prefix")
    executables = prefix / "lib" / "flexdyn_ros"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    share = prefix / "share" / "flexdyn_ros"
    for folder in (executables, index, share):
        folder.mkdir(parents=True)
    (index / "flexdyn_ros").touch()
    (share / "package.xml").symlink_to(ROOT / "package.xml")
    # links to files: `ros2 launch` looks into no folder that is a link
    for name in ("launch", "config", "rviz", "urdf"):
        (share / name).mkdir()
        for file in (ROOT / name).iterdir():
            (share / name / file.name).symlink_to(file)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    found = [(name, *place.split(":")) for name, place in scripts.items()]
    for name, module, function in found:
        script = executables / name
        script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return prefix


#: in place of a program of another package: lives until it is interrupted
STANDING = f"#!{sys.executable}\nimport signal, sys\nsignal.sigwait([signal.SIGINT, signal.SIGTERM])\n"


@pytest.fixture
def stand_ins(prefix, environment):
    """Packages that launch files need and that are not here, with programs that wait."""
    from ament_index_python import PackageNotFoundError, get_package_prefix

    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    needed = {"controller_manager": ["ros2_control_node", "spawner"], "joint_trajectory_controller": []}
    for package, programs in (needed | {"joint_state_topic_hardware_interface": [], "xacro": []}).items():
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            (index / package).touch()
            (prefix / "lib" / package).mkdir()
            for program in programs:
                path = prefix / "lib" / package / program
                path.write_text(STANDING)
                path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def environment(prefix, monkeypatch):
    """The prefix before all others, in this process too."""
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{prefix}{os.pathsep}{os.environ.get('AMENT_PREFIX_PATH', '')}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return os.environ


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_launch_reads_the_file_and_shows_its_arguments(file, environment):
    from launch.launch_context import LaunchContext
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch.utilities import perform_substitutions

    context = LaunchContext()
    description = PythonLaunchDescriptionSource(str(file)).get_launch_description(context)
    arguments = description.get_launch_arguments()
    assert arguments
    for argument in arguments:
        assert argument.description, argument.name
        default = perform_substitutions(context, argument.default_value)
        if argument.name in ("params_file", "controllers_file"):
            assert Path(default).is_file(), default


@pytest.mark.slow
def test_every_node_that_a_launch_file_starts_comes_up_and_ends_well(environment):
    tests = str(Path(__file__).parent / "running_launch_files.py")
    done = subprocess.run(
        [sys.executable, "-m", "launch_testing.launch_test", tests],
        capture_output=True, text=True, env=environment, check=False, timeout=2900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    # ready, and ended well, of seven launches
    assert len(re.findall(r"\.\.\. ok$", done.stderr, re.MULTILINE)) == 14, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("ros2") is None, reason="the command ros2 is not installed")
def test_the_commands_of_the_quick_start_launch_the_nodes_and_reach_them(environment, tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + (int(os.environ.get("ROS_DOMAIN_ID", "0")) + 41) % 100))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "ros.md").read_text(), re.DOTALL)
    (block,) = (block for block in blocks if "ros2 launch" in block)
    commands = block.replace("\\\n", " ").strip().splitlines()
    launch, service, topic = (shlex.split(command) for command in commands)
    log = tmp_path / "launch.txt"
    with log.open("w") as file:
        # rviz needs a screen
        launched = [word for word in launch if word != "rviz:=true"]
        process = subprocess.Popen(launched, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + 600.0
        while log.read_text().count("ready: ") < 3:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        answer = subprocess.run(service, capture_output=True, text=True, timeout=120, check=True).stdout
        assert "success=True" in answer
        assert "rows=7, cols=7" in answer
        subprocess.run(topic, capture_output=True, timeout=120, check=True)
        look = ["ros2", "topic", "echo", "--once", "/joint_states", "sensor_msgs/msg/JointState"]
        elbow = 0.0
        while abs(elbow + 1.5) > 0.05:
            assert time.monotonic() < deadline, elbow
            state = subprocess.run(look, capture_output=True, text=True, timeout=120, check=True).stdout
            elbow = float(re.findall(r"^- (.*)$", state, re.MULTILINE)[7 + 3])
    finally:
        # as Ctrl-C on a terminal
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(120)
    assert code == 0, log.read_text()
    assert log.read_text().count("process has finished cleanly") == 3, log.read_text()


#: a launch file from a terminal
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService(argv=[])
source = PythonLaunchDescriptionSource(sys.argv[1])
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source)]))
sys.exit(service.run())
"""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_interrupted_start_leaves_no_node_behind(file, environment, stand_ins, tmp_path, monkeypatch):
    """Ctrl-C at twenty moments of the first three seconds. A terminal interrupts all processes, and launch
    counts on that: it sends its nodes no SIGINT itself."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + (int(os.environ.get("ROS_DOMAIN_ID", "0")) + 43) % 100))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    begun = 0
    for number in range(20):
        log = tmp_path / f"{number}.txt"
        with log.open("w") as out:
            command = [sys.executable, "-c", LAUNCH, str(file)]
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path, start_new_session=True)
        time.sleep(0.15 * (number + 1))
        os.killpg(process.pid, signal.SIGINT)
        # launch itself may miss the first one, and waits without nodes
        deadline = time.monotonic() + 30.0
        while (left := running_in(process.pid)) and time.monotonic() < deadline:
            process.poll()
            if left == [process.pid] and time.monotonic() > deadline - 20.0:
                process.kill()
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, (number, log.read_text())
        begun += "process started" in log.read_text()
    assert begun, "no node was started: the moments are too early"


def running_in(session: int) -> list[int]:
    """Processes of a session that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its) == session and state != "Z":
            found.append(int(folder.name))
    return found
