"""`flexdyn compile`: exit codes, options of other targets, empty choices; options that say which robot."""

import inspect
import json
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from models import two_link_arm
from typer.testing import CliRunner

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.cli import app, terminal
from flexdyn_ros.cli.commands import COMMANDS
from flexdyn_ros.errors import FlexdynWarning


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    """A machine without a C compiler."""
    from flexdyn_ros.export.native.library import find_compiler

    find_compiler.cache_clear()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    yield
    find_compiler.cache_clear()


def test_native_without_a_compiler_fails_and_says_what_is_missing(flexdyn, no_compiler):
    code, out, err = flexdyn("compile", "two_link", "--target", "native")
    assert code == 1
    for word in ("no C compiler", "cc, gcc, clang", "apt install gcc", "CC"):
        assert word in " ".join(err.split())
    assert "is compiled" not in out + err


def test_doctor_says_what_goes_without_a_compiler(flexdyn, no_compiler):
    _, out, _ = flexdyn("doctor", "--json")
    found = {one["name"]: one for one in json.loads(out)["findings"] if one["topic"] == "compiler"}
    assert found["C"]["state"] == found["C++"]["state"] == "optional"
    assert "flexdyn compile" in found["C"]["remedy"]


def test_specialized_without_a_compiler_warns_and_answers_the_robot(no_compiler):
    robot = flexdyn_ros.load("two_link")
    with pytest.warns(FlexdynWarning, match="no C compiler"):
        assert export.specialized(robot) is robot


@pytest.mark.parametrize(
    ("target", "option", "takes"),
    [
        ("c", ("--fmi", "3.0"), "fmu"),
        ("c", ("--cylinders",), "fmu, ros2_control"),
        ("fmu", ("--verbs", "step"), "c"),
        ("fmu", ("--scalar", "float"), "c"),
        ("native", ("--verbs", "step"), "c"),
        ("native", ("--parameters", "*/mass"), "c, fmu"),
        ("native", ("--output", "x"), "c, fmu, ros2_control"),
        ("native", ("--fmi", "2.0"), "fmu"),
    ],
)
def test_an_option_of_another_target_is_refused_by_name(tmp_path, monkeypatch, target, option, takes):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["compile", "two_link", "--target", target, *option])
    said = " ".join(done.output.replace("│", " ").split())
    assert done.exit_code == 2
    assert option[0] in said
    assert f"option of target {takes}; target {target} takes no" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--verbs", "--parameters"])
def test_a_list_of_nothing_is_refused(tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["compile", "two_link", "--target", "c", option, " , "])
    assert done.exit_code == 2
    assert option in done.output
    assert "names nothing" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_robot_is_written_here_whatever_it_is_called(flexdyn, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("arm.urdf").write_text(two_link_arm().replace('name="two_link"', 'name="../up"'))
    code, _, err = flexdyn("compile", "arm.urdf", "--target", "c", "--verbs", "bias_forces")
    assert code == 0, err
    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert Path(".._up_c/robot_up.c").is_file()


def test_the_rigid_twin_is_compiled(flexdyn, tmp_path):
    code, _, err = flexdyn(
        "compile", "flexible_two_link", "--target", "c", "--verbs", "bias_forces", "--rigid", "-o", tmp_path
    )
    assert code == 0, err
    header = (tmp_path / "flexible_two_link.h").read_text()
    assert "#define FLEXIBLE_TWO_LINK_NV 2\n" in header


def test_every_command_that_loads_a_robot_takes_the_same_options():
    from importlib import import_module

    from flexdyn_ros.cli.commands import _PLACES

    shared = {"config": terminal.Config, "settings": terminal.Settings, "rigid": terminal.Rigid}
    loading = []
    for name in COMMANDS:
        module = import_module(f"flexdyn_ros.cli.{_PLACES[name]}")
        function = getattr(module, name.replace("-", "_"))
        if "robot" not in inspect.signature(function).parameters:
            continue
        loading.append(name)
        hints = get_type_hints(function, include_extras=True)
        for option, kind in shared.items():
            assert hints.get(option) == kind, f"{name} lacks {get_args(kind)[1].param_decls}"
    assert {"check", "simulate", "view", "compile", "identify", "derive", "expand", "up"} == set(loading)
