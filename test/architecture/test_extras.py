"""Every extra that a message or a page advises to install exists, and brings the package that is missing."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from flexdyn_ros.errors import ROS, MissingExtraError, needs

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(lines):
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in lines}


REQUIRED = names(PROJECT["dependencies"])
EXTRAS = {extra: names(lines) for extra, lines in PROJECT["optional-dependencies"].items()}
#: packages that others need and bring
BROUGHT = {"zstandard": "mcap", "lz4": "mcap"}


#: functions that advise to install something
ADVISE = ("needs", "MissingExtraError")


def advised():
    """(place, package, extra) of calls that advise to install something."""
    for path in sorted((ROOT / "flexdyn_ros").rglob("*.py")):
        text = path.read_text()
        if not any(name in text for name in ADVISE):
            continue
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ADVISE:
                package, extra = call.args
                if isinstance(package, ast.Constant):
                    place = f"{path.relative_to(ROOT)}:{call.lineno}"
                    yield place, package.value, ROS if isinstance(extra, ast.Name) else extra.value


def test_extras_that_messages_advise_bring_what_is_missing():
    found = list(advised())
    assert len(found) > 20
    wrong = [
        (place, package, extra)
        for place, package, extra in found
        if extra != ROS
        and BROUGHT.get(package, package).lower().replace("_", "-")
        not in (EXTRAS.get(extra, ()) if extra else REQUIRED)
    ]
    assert not wrong


def test_extras_that_texts_and_pages_advise_exist():
    texts = [
        *(path for folder in ("flexdyn_ros", "docs", "examples", "benchmarks", "scripts", "launch", "config")
          for ending in ("py", "md", "rst", "txt", "yaml", "ipynb")
          for path in (ROOT / folder).rglob(f"*.{ending}")),
        ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml",
    ]  # fmt: skip
    wrong = [
        (path.relative_to(ROOT), extra)
        for path in texts
        for listed in re.findall(r"(?:flexdyn_ros|install '?\.)\[([\w,\- ]+)\]", path.read_text())
        for extra in listed.replace(" ", "").split(",")
        if extra not in EXTRAS
    ]
    assert not wrong


def test_packages_of_ros_are_not_asked_of_pip():
    with (
        pytest.raises(MissingExtraError, match=r"'no_such_package' of ROS 2: source") as error,
        needs("rclpy", ROS),
    ):
        import no_such_package  # noqa: F401
    assert "pip install" not in str(error.value)


def test_packages_that_come_with_this_one_are_asked_of_pip_by_their_names():
    assert str(MissingExtraError("xacro", "")).endswith("pip install xacro")
