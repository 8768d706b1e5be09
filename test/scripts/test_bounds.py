"""Packages of the system that are too old are not taken, and what rosdep cannot install is skipped."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from provision.steps import BY_PIP, bounds  # noqa: E402


def test_pip_is_held_to_the_bounds_of_the_package():
    found = bounds((ROOT / "pyproject.toml").read_text())
    assert {"matplotlib>=3.8", "numba>=0.60", "urchin>=0.0.29", "viser>=1.1,<1.2"} <= set(found)
    # the installation's own numpy stays, launch_testing wants an old pytest
    assert not [line for line in found if re.match(r"(numpy|pytest)[<>=]", line)]


def test_the_keys_that_are_skipped_are_those_of_the_manifest_and_of_the_page():
    manifest = (ROOT / "package.xml").read_text()
    for key in BY_PIP.split():
        assert f"<exec_depend>{key}</exec_depend>" in manifest
    assert f'--skip-keys "{BY_PIP}"' in (ROOT / "docs" / "install.md").read_text()


def test_a_link_makes_the_interfaces_a_package_that_others_find(tmp_path):
    find = pytest.importorskip("catkin_pkg.packages").find_package_paths
    (tmp_path / "flexdyn_ros").symlink_to(ROOT)
    assert find(str(tmp_path)) == ["flexdyn_ros"]
    (tmp_path / "flexdyn_interfaces").symlink_to("flexdyn_ros/flexdyn_interfaces")
    assert sorted(find(str(tmp_path))) == ["flexdyn_interfaces", "flexdyn_ros"]
