"""Files outside families/ and multibody/ do not ask which family a robot is of: they use facets of `Family`,
and what every robot has."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexdyn_ros"

#: rooms that may know families: families, their parts, the grammar of descriptions, what chooses the family
BELOW = ("families", "multibody", "description", "loading.py")
#: attributes of a description that only robots of one family have
ELEMENTS = {"platform", "wheels", "sections"}
CONCRETE = re.compile(r"flexdyn_ros\.families\.(continuum|platform|trees|wheeled)\b")


def _name(node):
    """The last name of an expression: robot for robot, self.robot and viewer._robot."""
    return getattr(node, "id", getattr(node, "attr", "")).strip("_")


def questions(tree):
    """Lines of a module that ask for a family, in any of the four forms."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[robot, ast.Constant(), *_]):
                asks = _name(robot) in ("robot", "loaded", "description", "functions")
            case ast.Attribute(value=owner, attr=attr) if attr in ELEMENTS:
                asks = "description" in _name(owner)
            case ast.ImportFrom(module=str(module), names=names):
                asks = any(CONCRETE.match(f"{module}.{alias.name}") for alias in names)
            case ast.Import(names=names):
                asks = any(CONCRETE.match(alias.name) for alias in names)
            case _:
                continue
        if asks:
            yield node.lineno


def test_no_file_asks_which_family_a_robot_is_of():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.split("/")[0] not in BELOW:
            found += [f"{name}:{line}" for line in questions(ast.parse(path.read_text()))]
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "hasattr(robot, 'wheel_forces')",
        "getattr(self._robot, 'tips', ())",
        "x = robot.description.platform is None",
        "description.wheels",
        "from flexdyn_ros.families.trees.robot import f",
        "from flexdyn_ros.families import wheeled",
        "import flexdyn_ros.families.platform.model",
    ],
)
def test_every_form_of_the_question_is_seen(source):
    assert list(questions(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source", ["getattr(robot, verb)", "robot.tips", "from flexdyn_ros.families.record import Family"]
)
def test_what_every_family_answers_is_no_question(source):
    assert not list(questions(ast.parse(source)))
