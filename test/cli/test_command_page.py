"""docs/command_reference.md is what the command gives."""

import importlib.util
from pathlib import Path

from flexdyn_ros.cli.commands import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"


def maker():
    spec = importlib.util.spec_from_file_location("make_command_page", DOCS / "make_command_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_page_is_up_to_date():
    make = maker()
    assert make.PAGE.read_text() == make.page(), "run: python docs/make_command_page.py"


def test_the_command_page_has_every_command_option_and_default():
    text = maker().page()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## flexdyn {name}" for name in COMMANDS
    ]
    simulate = text.split("## flexdyn simulate")[1].split("\n## ")[0]
    assert "`flexdyn simulate ROBOT [OPTIONS]`" in text
    for words in ("`--tau NAME=VALUE`", "`--method", "`1e-06`", "`--rigid`", "[s]"):
        assert words in simulate
    assert "\\[" not in text
