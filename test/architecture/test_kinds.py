"""Files outside families/ do not ask which family a robot is of; those that still do are counted, and may
only become fewer."""

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
CONCRETE = re.compile(r"flexdyn_ros\.families\.(continuum|stewart|trees|wheeled)\b")

#: questions left in each file; each waits for a facet of `Family` or a method that every robot has
LEFT = {
    "checking.py": 2,
    "cli/identify.py": 1,
    "cli/ros/up.py": 1,
    "cli/view.py": 2,
    "expanded/outlines.py": 1,
    "expanded/shown_tree.py": 2,
    "expanded/visuals.py": 5,
    "expanding.py": 3,
    "export/fmi/robot.py": 1,
    "export/fmi/variables.py": 1,
    "export/tracing/hydraulics.py": 5,
    "identification/linear/models.py": 1,
    "identification/linear/stribeck.py": 1,
    "identification/output/adjustable.py": 2,
    "identification/output/described.py": 4,
    "identification/output/inputs.py": 1,
    "identification/urdf/writing.py": 2,
    "nodes/dynamics_server/services.py": 1,
    "nodes/hydraulic_actuators/node.py": 1,
    "nodes/platform_controller.py": 1,
    "nodes/ros/conversions.py": 1,
    "nodes/simulator/extras/pressures.py": 2,
    "nodes/simulator/extras/registered.py": 2,
    "nodes/simulator/health.py": 1,
    "nodes/simulator/telemetry.py": 1,
    "nodes/soft_arm_controller.py": 3,
    "nodes/state_publisher/leg_markers.py": 1,
    "nodes/state_publisher/picture.py": 1,
    "nodes/state_publisher/scenery.py": 3,
    "robot/coordinates.py": 1,
    "simulation/events.py": 2,
    "simulation/live/hydraulic_policy.py": 3,
    "simulation/plan.py": 1,
    "simulation/record.py": 3,
    "simulation/samples.py": 1,
    "simulation/simulate.py": 1,
    "simulation/steps/controlled.py": 1,
    "simulation/steps/drive.py": 1,
    "simulation/steps/fused_hydraulics.py": 4,
    "simulation/trajectory.py": 2,
    "simulation/verdict.py": 2,
    "studies/experiments/lifting.py": 1,
    "studies/experiments/motions.py": 1,
    "studies/experiments/reach.py": 1,
    "studies/experiments/soft.py": 1,
    "view/around/ground.py": 3,
    "view/around/stage.py": 1,
    "view/drawing/generated_shapes.py": 6,
    "view/drawing/loads.py": 7,
    "view/drawing/shown_robot.py": 1,
    "view/drive.py": 4,
    "view/panels/knobs.py": 1,
}


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


def test_no_more_files_ask_which_family_a_robot_is_of():
    more = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.split("/")[0] not in BELOW:
            lines = list(questions(ast.parse(path.read_text())))
            if len(lines) > LEFT.get(name, 0):
                more.append(f"{name}: lines {lines}, {LEFT.get(name, 0)} before")
    assert not more


@pytest.mark.parametrize(
    "source",
    [
        "hasattr(robot, 'wheel_forces')",
        "getattr(self._robot, 'tips', ())",
        "x = robot.description.platform is None",
        "description.wheels",
        "from flexdyn_ros.families.trees.robot import f",
        "from flexdyn_ros.families import wheeled",
        "import flexdyn_ros.families.stewart.model",
    ],
)
def test_every_form_of_the_question_is_seen(source):
    assert list(questions(ast.parse(source))) == [1]


@pytest.mark.parametrize(
    "source", ["getattr(robot, verb)", "robot.tips", "from flexdyn_ros.families.record import Family"]
)
def test_what_every_family_answers_is_no_question(source):
    assert not list(questions(ast.parse(source)))
