"""What SECURITY.md and the viewer's page tell of limits and defaults is what the code does."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECURITY = (ROOT / "SECURITY.md").read_text()
VIEWER = (ROOT / "docs" / "viewer.md").read_text()
SCRIPTS = ("run", "demo", "test")


def discovery_range(**given):
    """As a shell has it that sourced scripts/env."""
    kept = {name: value for name, value in os.environ.items() if name != "ROS_AUTOMATIC_DISCOVERY_RANGE"}
    command = 'source scripts/env && echo "$ROS_AUTOMATIC_DISCOVERY_RANGE"'
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=kept | given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_environment_keeps_nodes_on_this_machine_unless_told_otherwise():
    assert discovery_range() == "LOCALHOST"
    assert discovery_range(ROS_AUTOMATIC_DISCOVERY_RANGE="SUBNET") == "SUBNET"
    for name in SCRIPTS:
        assert re.search(r'^source "\$here/env"', (ROOT / "scripts" / name).read_text(), re.MULTILINE), name


def test_limits_of_visitors_are_those_that_are_documented():
    pytest.importorskip("msgspec")
    from flexdyn_ros.view import visitors
    from flexdyn_ros.view.panels import run

    said = " ".join(VIEWER.split())
    for words in (
        f"{visitors.MOST_VISITORS} pages",
        f"messages of {visitors.LARGEST_MESSAGE // 2**20} MB",
        f"{visitors.PACE:g} messages per second and page",
        f"{visitors.LARGEST_UPLOAD // 2**20} MB of recordings",
    ):
        assert words in said, words
    assert run.LONG_JOBS == 1


def test_the_page_says_where_weaknesses_are_reported_as_long_as_the_address_is_a_placeholder():
    address = re.search(r'<maintainer email="([^"]+)"', (ROOT / "package.xml").read_text())[1]
    assert f'email = "{address}"' in (ROOT / "pyproject.toml").read_text()
    is_placeholder = address.endswith("example.org")
    assert ("example.org" in SECURITY) == is_placeholder, "SECURITY.md speaks of a placeholder that is gone"
    assert "package.xml" in SECURITY


def test_viewer_and_command_listen_on_loopback_by_default():
    import inspect

    pytest.importorskip("viser")
    from flexdyn_ros.cli.view import view
    from flexdyn_ros.view import Viewer

    for function in (view, Viewer.__init__):
        assert inspect.signature(function).parameters["host"].default == "127.0.0.1"
