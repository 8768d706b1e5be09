"""`colcon build` at the root finds both packages; the install tree holds what it should, and runs."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
EXECUTABLES = {name: place.partition(":")[0] for name, place in SCRIPTS.items()}
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv*", "build", "install", "log", "out", "__pycache__", ".*_cache"
)

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(
        importlib.util.find_spec("colcon_core") is None, reason="colcon is not installed here"
    ),
]


def environment(*prefixes):
    """Variables under which colcon and nodes find the packages of this environment, and of `prefixes`."""
    known = [str(prefix) for prefix in prefixes] + [sys.prefix]
    if os.environ.get("AMENT_PREFIX_PATH"):
        known += os.environ["AMENT_PREFIX_PATH"].split(os.pathsep)
    paths = os.pathsep.join(known)
    return os.environ | {
        "AMENT_PREFIX_PATH": paths,
        "CMAKE_PREFIX_PATH": paths,
        "PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]]),
    }


def colcon(folder, *arguments, timeout=550):
    run = subprocess.run(
        [sys.executable, "-m", "colcon", *arguments],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return run.stdout


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """A copy of the repository with flexdyn_ros built; the interfaces are those of the environment."""
    folder = tmp_path_factory.mktemp("colcon") / "flexdyn_ros"
    shutil.copytree(ROOT, folder, ignore=LEFT_BEHIND)
    colcon(folder, "build", "--base-paths", ".")
    return folder


def test_colcon_finds_both_packages_at_the_root():
    listed = colcon(ROOT, "list", "--names-only").split()
    assert sorted(listed) == ["flexdyn_interfaces", "flexdyn_ros"]


def test_every_executable_is_installed(workspace):
    installed = workspace / "install" / "flexdyn_ros" / "lib" / "flexdyn_ros"
    assert {path.name for path in installed.iterdir()} == set(EXECUTABLES)


@pytest.mark.parametrize("folder", ["launch", "config", "rviz", "urdf"])
def test_every_shared_file_is_installed(workspace, folder):
    share = workspace / "install" / "flexdyn_ros" / "share" / "flexdyn_ros"

    def files(root):
        return {
            path.relative_to(root)
            for path in root.rglob("*")
            if path.is_file() and path.parent.name != "__pycache__"
        }

    assert files(share / folder) == files(ROOT / folder)
    assert (share / "package.xml").is_file()


def test_the_library_runs_from_the_install_tree(workspace):
    """The installed copy, not the repository, is imported, and finds the robots installed with it."""
    prefix = workspace / "install" / "flexdyn_ros"
    site = next(prefix.glob("lib/python*/site-packages"))
    code = (
        "import flexdyn_ros; from flexdyn_ros.description import read\n"
        "print(flexdyn_ros.__file__, read('canadarm2').file, sep='\\n')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace.parent, env=environment(prefix) | {"PYTHONPATH": str(site)},
        capture_output=True, text=True, timeout=550, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    module, robot = run.stdout.split()
    assert Path(module).is_relative_to(prefix)
    assert Path(robot).is_relative_to(prefix / "share" / "flexdyn_ros" / "urdf")


def test_a_node_runs_from_the_install_tree_with_parameters_remapping_and_namespace(workspace, tmp_path):
    pytest.importorskip("flexdyn_interfaces")
    from node_process import Client
    from sensor_msgs.msg import JointState

    prefix = workspace / "install" / "flexdyn_ros"
    share, site = prefix / "share" / "flexdyn_ros", next(prefix.glob("lib/python*/site-packages"))
    command = [str(prefix / "lib" / "flexdyn_ros" / "simulator"), "--ros-args"]
    command += ["--params-file", str(share / "config" / "simulator.yaml")]
    command += ["-r", "__ns:=/tree", "-r", "joint_states:=states", "-p", "description_file:=seven_joint_arm"]
    with (tmp_path / "log.txt").open("w") as log, Client("install_tree_probe") as client:
        node = subprocess.Popen(
            command, cwd=tmp_path, env=environment(prefix) | {"PYTHONPATH": str(site)}, stdout=log, stderr=log
        )
        try:
            client.listen(JointState, "/tree/states")
            message = client.next("/tree/states", 200.0)
            assert "elbow_pitch" in message.name
            node.send_signal(signal.SIGINT)
            assert node.wait(120.0) == 0
        finally:
            node.kill()
            node.wait()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_plain_colcon_build_builds_the_interfaces(tmp_path):
    """Both packages from nothing; the interfaces are then imported from the install tree."""
    folder = tmp_path / "flexdyn_ros"
    shutil.copytree(ROOT, folder, ignore=LEFT_BEHIND)
    colcon(folder, "build", timeout=800)
    prefix = folder / "install" / "flexdyn_interfaces"
    site = next(prefix.glob("lib/python*/site-packages"))
    code = "import flexdyn_interfaces.srv as s; print(s.__file__); s.MassMatrix.Request(positions=[0.0])"
    run = subprocess.run(
        ["bash", "-c", f'source install/local_setup.bash && "{sys.executable}" -c "{code}"'],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=550, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).is_relative_to(site)
