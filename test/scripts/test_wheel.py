"""The wheel holds all that the package reads; `scripts/try_wheel` tries it in empty environments."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from wheel_trial import LEFT_OUT  # noqa: E402

BUILD = "from setuptools import build_meta; build_meta.build_wheel('built')"
#: tells where the package and each robot are
READ = """
import sys, flexdyn_ros
print(flexdyn_ros.__file__)
for name in sys.argv[1:]:
    print(flexdyn_ros.load(name).description.file)
"""
SHARED = ("launch", "config", "rviz", "urdf")


def files_below(folder):
    # a folder of messages is a link
    found = (Path(at) / name for at, _, names in os.walk(folder, followlinks=True) for name in names)
    return {p.relative_to(ROOT).as_posix(): p.read_bytes() for p in found if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Bytes of each file of the wheel, by where it is installed: site/ and, of an environment, share/."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*LEFT_OUT))
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=source, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next((source / "built").glob("*.whl"))) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    data = next(name.split("/")[0] for name in held if ".data/" in name)
    return {name.removeprefix(f"{data}/data/"): content for name, content in held.items()}


def test_the_wheel_holds_every_file_of_the_package(wheel):
    expected = files_below(ROOT / "flexdyn_ros")
    assert len(expected) > 500
    assert [name for name, content in expected.items() if wheel.get(name) != content] == []
    # and nothing that an older build left
    assert {name for name in wheel if name.startswith("flexdyn_ros/")} == set(expected)


@pytest.mark.parametrize("folder", SHARED)
def test_the_wheel_holds_what_ros_and_robots_by_name_look_for(wheel, folder):
    expected = files_below(ROOT / folder)
    assert expected
    assert [
        name for name, content in expected.items() if wheel.get(f"share/flexdyn_ros/{name}") != content
    ] == []


def test_every_shipped_robot_is_read_from_the_unpacked_wheel_alone(wheel, tmp_path):
    for name, content in wheel.items():
        path = tmp_path / (name if name.startswith("share/") else f"site/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    robots = sorted(
        path.name.split(".")[0] for path in (ROOT / "urdf").iterdir() if "control" not in path.name
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "AMENT_PREFIX_PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", READ, *robots],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.split()
    assert len(told) == 1 + len(robots)
    assert all(Path(name).is_relative_to(tmp_path) for name in told)
