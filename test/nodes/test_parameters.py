"""Parameters are declared once; documentation and configuration files say the same."""

from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")

import rclpy  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from flexdyn_ros.description.language.vocabulary import (  # noqa: E402
    choice,
    element,
    number,
    words,
)
from flexdyn_ros.nodes import parameters as p  # noqa: E402
from flexdyn_ros.nodes.controllers.parameters import PdControllerParameters  # noqa: E402
from flexdyn_ros.nodes.ros import declaration as d  # noqa: E402
from flexdyn_ros.nodes.ros.robot_parameters import CONSTRAINTS  # noqa: E402
from flexdyn_ros.nodes.simulator.parameters import POSITIONS, STIFFNESS, SimulatorParameters  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = [
    "bringup",
    "platform",
    "simulator",
    "dynamics_server",
    "hydraulic_actuators",
    "state_publisher",
    "joint_controllers",
]


@pytest.fixture
def make_node():
    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = []

    def make(**overrides):
        values = [Parameter(name.replace("__", "."), value=value) for name, value in overrides.items()]
        nodes.append(rclpy.create_node("parameters", context=context, parameter_overrides=values))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


def test_the_page_is_up_to_date():
    written = (ROOT / "docs" / "parameters.md").read_text()
    assert written == p.page(), "run: python -m flexdyn_ros.nodes.parameters > docs/parameters.md"


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_files_hold_declared_parameters_of_the_declared_type(name, make_node):
    content = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    assert content
    for key, block in content.items():
        node = name if key == "/**" else key.removeprefix("/**/")
        record = p.NODES[node]
        overrides = block["ros__parameters"]
        unknown = set(overrides) - set(d.names_of(record))
        assert not unknown, f"{name}.yaml: {node} has no parameter {unknown}"
        d.declare(make_node(**overrides), record)


def test_defaults_are_found_without_overrides(make_node):
    assert d.declare(make_node(), SimulatorParameters) == SimulatorParameters()


def test_integers_are_taken_where_numbers_are_meant(make_node):
    assert d.declare(make_node(publish_rate_hz=50), SimulatorParameters).publish_rate_hz == 50.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 0.0),
        ("step", float("nan")),
        ("step", "fast"),
        ("real_time_factor", -1.0),
        ("on_stale_command", "panic"),
        ("joints", ["a", "a"]),
        ("saturate", 1),
    ],
)
def test_a_bad_value_is_refused_with_its_name(name, value, make_node):
    with pytest.raises(d.ParameterError, match=name):
        d.declare(make_node(**{name: value}), SimulatorParameters)


def test_a_family_refuses_names_that_the_robot_does_not_have(make_node):
    node = make_node(initial__positions__elbow=1.0)
    with pytest.raises(d.ParameterError, match="elbow"):
        d.declare_family(node, POSITIONS, {"shoulder": 0.0})


def test_a_family_reads_what_is_given_and_keeps_the_rest(make_node):
    node = make_node(initial__positions__elbow=1)
    found = d.declare_family(node, POSITIONS, {"shoulder": 0.25, "elbow": 0.0})
    assert found == {"shoulder": 0.25, "elbow": 1.0}


def test_a_family_refuses_values_below_its_bound_but_not_its_default(make_node):
    gains = PdControllerParameters.families[0]
    found = d.declare_family(make_node(gains__elbow__p=3.0), gains, ["elbow"])
    assert found == {"elbow.p": 3.0, "elbow.d": -1.0}
    with pytest.raises(d.ParameterError, match=r"gains\.elbow\.d is -2\.0, expected at least 0, or -1"):
        d.declare_family(make_node(gains__elbow__d=-2.0), gains, ["elbow"])
    with pytest.raises(d.ParameterError, match=r"constraints\.goal_time is -1\.0, expected at least 0$"):
        d.declare_family(make_node(constraints__goal_time=-1.0), CONSTRAINTS, ["elbow"])
    with pytest.raises(d.ParameterError, match=r"constraints\.wrist\.goal: no such coordinate"):
        d.declare_family(make_node(constraints__wrist__goal=1.0), CONSTRAINTS, ["elbow"])


def test_a_family_is_described_with_the_name_of_the_coordinate(make_node):
    node = make_node()
    d.declare_family(node, POSITIONS, {"elbow": 0.0})
    about = node.describe_parameter("initial.positions.elbow").description
    assert about == "position of coordinate elbow after start and reset [rad, m]"
    limits = {name: node.describe_parameter(name).additional_constraints for name in node._parameters}
    assert limits["initial.positions.elbow"] == "a finite number"
    node = make_node()
    d.declare_family(node, STIFFNESS, {"elbow": 0.0})
    about = node.describe_parameter("servo.stiffness.elbow")
    assert about.additional_constraints == "a finite number, at least 0"


@pytest.mark.parametrize("kind", sorted(p.NODES))
def test_every_parameter_tells_what_it_is_and_what_it_may_be(kind, make_node):
    """As `ros2 param describe` prints it: a sentence; numbers with a range, choices with all of them."""
    node = make_node()
    d.declare(node, p.NODES[kind])
    for name in d.names_of(p.NODES[kind]):
        if not node.has_parameter(name):
            continue  # of a family: declared with the names of a robot
        about = node.describe_parameter(name)
        assert len(about.description) > 8, name
        if about.type == Parameter.Type.DOUBLE.value:
            assert about.floating_point_range, name
        if about.type == Parameter.Type.INTEGER.value:
            assert about.integer_range, name


def test_one_declaration_makes_a_parameter_its_descriptor_its_check_and_its_row(make_node, monkeypatch):
    @element("toy", "A toy node.")
    class ToyParameters:
        stiffness: float = number("N/m", "of the toy", within=(0.0, 10.0), default=2.0, live=True)
        law: str = choice("soft hard", "of contact", name="contact.law", default="soft")
        parts: tuple[str, ...] = words("that it has", default=())

    node = make_node(stiffness=3)
    assert d.declare(node, ToyParameters) == ToyParameters(3.0, "soft", ())
    assert d.names_of(ToyParameters) == ("stiffness", "contact.law", "parts")
    about = node.describe_parameter("stiffness")
    assert (about.description, about.read_only) == ("of the toy [N/m]", False)
    (limits,) = about.floating_point_range
    assert (limits.from_value, limits.to_value) == (0.0, 10.0)
    assert node.describe_parameter("contact.law").additional_constraints == "one of soft, hard"
    with pytest.raises(d.ParameterError, match=r"contact\.law is 'wet', expected one of soft, hard"):
        d.declare(make_node(contact__law="wet"), ToyParameters)
    monkeypatch.setitem(p.NODES, "toy", ToyParameters)
    assert "| `stiffness` | 2.0 | N/m | 0 to 10 | of the toy (*live*) |\n" in p.page()
    assert "| `contact.law` | soft |  | soft, hard | of contact |" in p.page()
