"""The list of commands imports none of them."""

import importlib
import re
import subprocess
import sys
from typing import get_type_hints

import pytest
import typer

from flexdyn_ros.cli.commands import _PLACES, COMMANDS, GROUPS, POINTERS, app

PROGRAM = """
import sys
from flexdyn_ros.cli.commands import COMMANDS, app
try:
    app(["--help"], prog_name="flexdyn")
except SystemExit:
    pass
heavy = {"numba", "numpy", "flexdyn_ros.checking", "flexdyn_ros.robot.verbs"} & set(sys.modules)
assert not heavy, heavy
"""


def test_help_is_quick_and_tells_of_every_command():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    from flexdyn_ros.cli.commands import COMMANDS

    assert [name for name in COMMANDS if f" {name} " not in done.stdout] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_bracket_of_units_and_examples(flexdyn, name, monkeypatch):
    """Rich would take [s] and [elbow] for markup and leave them out."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    module = importlib.import_module(f"flexdyn_ros.cli.{_PLACES[name]}")
    texts = [getattr(module, name.replace("-", "_")).__doc__]
    hints = get_type_hints(getattr(module, name.replace("-", "_")), include_extras=True)
    texts += [
        getattr(about, "help", None) for hint in hints.values() for about in getattr(hint, "__metadata__", ())
    ]
    expected = {found for text in texts if text for found in re.findall(r"\[[^\]]*\]", text)}
    code, out, _ = flexdyn(name, "--help")
    assert code == 0
    shown = " ".join(out.replace("│", " ").split())
    assert not [words for words in expected if words not in shown]


def test_commands_are_grouped_and_other_names_point_to_them(flexdyn):
    code, out, _ = flexdyn("--help")
    assert code == 0
    at = [out.index(f" {title} ─") for title in GROUPS]
    assert at == sorted(at)
    for name, words in POINTERS.items():
        code, _, error = flexdyn(name, "two_link")
        assert code == 2
        assert words.split(";")[0][:30] in " ".join(error.replace("│", " ").split())


@pytest.mark.parametrize("name", COMMANDS)
def test_helps_are_sentences_and_flags_have_no_type(flexdyn, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    _, out, _ = flexdyn(name, "--help")
    assert "bool>" not in out
    command = typer.main.get_command(app).commands[name]
    for one in command.params:
        assert one.help[0] == one.help[0].upper(), one.name
        assert one.help.rstrip("]").endswith((".", ")")), one.name
