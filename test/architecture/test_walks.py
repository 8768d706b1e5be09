"""The longest ways through the code, traced as they run: the page that walks them tells the truth."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TITLES = ("mass matrix", "joint command", "inverse-dynamics request", "valve command", "`<spring>`")


def on_the_page(number):
    """(most files whose functions run, files that the page names) of a walk."""
    page = (ROOT / "docs/architecture.md").read_text()
    section = page.split("## Five walks")[1].split("\n## ")[0]
    part = re.split(r"^\* ", section, flags=re.MULTILINE)[1:][number]
    assert TITLES[number] in part
    return int(re.search(r"\((\d+) files\)", part)[1]), re.findall(r"`([\w/]+\.py)`", part)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.ros) for n in (1, 2, 3)), 4])
def test_a_walk_runs_the_files_that_the_page_names_and_no_more_than_it_says(number):
    if number in (1, 2, 3):
        pytest.importorskip("rclpy")
        pytest.importorskip("flexdyn_interfaces.msg")
    program = Path(__file__).with_name("walking.py")
    done = subprocess.run(
        [sys.executable, program, str(number)], capture_output=True, text=True, timeout=550, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    ran = json.loads(done.stdout.splitlines()[-1])
    most, named = on_the_page(number)
    assert named
    assert not [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in ran)], ran
    assert len(ran) <= most, ran
