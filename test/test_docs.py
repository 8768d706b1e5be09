"""The pages of the documentation build without a warning; their generated parts and pictures are there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAMILIES = ("rigid", "flexible", "mobile", "soft", "platform")


def test_pages_build_without_warnings(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    options = ["-q", "-W", "--keep-going", "-c", "docs", "-d", str(tmp_path / "trees")]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(tmp_path / "pages")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr
    front = (tmp_path / "pages" / "docs" / "index.html").read_text()
    for name in FAMILIES:
        assert f"families/{name}.html" in front
    # both references that are made from the code
    assert "parameters.html" in front
    assert "schema.html" in front


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_commands_a_picture_and_theory(name):
    text = (ROOT / "docs" / "families" / f"{name}.md").read_text()
    for command in ("check", "simulate", "view"):
        assert re.search(rf"^flexdyn {command} \w+", text, re.MULTILINE)
    assert "../images/" in text
    assert "../theory/" in text
    (configuration,) = re.findall(r"`rviz/(\w+)\.rviz`", text)
    assert (ROOT / "rviz" / f"{configuration}.rviz").is_file()
