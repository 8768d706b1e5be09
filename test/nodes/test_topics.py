"""Topics of running nodes and the tables of the pages are those of one table."""

import re
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

import rclpy  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from flexdyn_ros.nodes import computed_torque, input_shaper, pd_controller  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.node import DynamicsServer  # noqa: E402
from flexdyn_ros.nodes.hydraulic_actuators import HydraulicActuators  # noqa: E402
from flexdyn_ros.nodes.parameters import NODES  # noqa: E402
from flexdyn_ros.nodes.platform_controller import PlatformController  # noqa: E402
from flexdyn_ros.nodes.simulator.node import Simulator  # noqa: E402
from flexdyn_ros.nodes.soft_arm_controller import SoftArmController  # noqa: E402
from flexdyn_ros.nodes.state_publisher.node import StatePublisher  # noqa: E402
from flexdyn_ros.nodes.topics import TOPICS, filled, topic_of  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("nodes.md", "controllers.md", "hydraulic_actuators.md")
#: a soft arm that is moved by pressures
PRESSED = (DOCS.parent / "urdf" / "soft_arm.urdf").read_text()
PRESSED = re.sub(
    r"(<section [^>]*)/>", r'\1><pressure area="2e-4" maximum="6e5" time_constant="0.02"/></section>', PRESSED
)
#: those that every node of rclpy has
OF_ROS = {"/rosout", "/parameter_events", "/clock"}
#: robots, and parameters, by which all topics of a node are made
NODES_RUN = {
    "dynamics_server": (DynamicsServer, [{"description_file": "two_link", "publish_description": True}]),
    "simulator": (
        Simulator,
        [
            {"description_file": "canadarm2", "use_clock": True},
            {"description_file": "mobile_arm"},
            {"description_file": "stewart_1t", "hydraulics": "fused"},
            {"description_file": "stewart_1t", "hydraulics": "external", "record_file": "RECORD"},
            {"robot_description": PRESSED},
        ],
    ),
    "hydraulic_actuators": (HydraulicActuators, [{"description_file": "stewart_1t"}]),
    "state_publisher": (
        StatePublisher,
        [{"description_file": "stewart_1t"}, {"description_file": "mobile_arm"}],
    ),
    "pd_controller": (pd_controller.make_node, [{"description_file": "two_link"}]),
    "computed_torque": (computed_torque.make_node, [{"description_file": "two_link"}]),
    "input_shaper": (input_shaper.make_node, [{"description_file": "two_link"}]),
    "platform_controller": (
        PlatformController,
        [{"description_file": "stewart_1t", "output": output} for output in ("forces", "cylinders")],
    ),
    "soft_arm_controller": (
        SoftArmController,
        [{"robot_description": PRESSED, "output": output} for output in ("forces", "pressures")],
    ),
}


@pytest.fixture
def context():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    context.try_shutdown()


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_the_pages_are_up_to_date_and_say_what_each_topic_is_for(page):
    text = (DOCS / page).read_text()
    assert text == filled(text), f"run: python -m flexdyn_ros.nodes.topics docs/{page}"
    for block in re.findall(r"<!-- topics of \w+ -->\n\n((?:\|.*\n)+)", text):
        for row in block.splitlines()[2:]:
            assert re.search(r" \| \S.* \|$", row), row


def test_every_node_has_a_table_and_every_table_stands_on_a_page():
    shown = re.findall(r"<!-- topics of (\w+) -->", "".join((DOCS / page).read_text() for page in PAGES))
    assert len(shown) == len(set(shown))
    assert set(TOPICS) == set(NODES)
    assert all(any(TOPICS[node] == TOPICS[other] for other in shown) for node in NODES)


def test_a_topic_that_is_not_in_the_table_is_refused():
    with pytest.raises(KeyError, match=r"simulator has no topic joint_states \(in\)"):
        topic_of("simulator", "in", "joint_states")


def topics_of(node):
    """(direction, name, type, reliability, durability) of all topics that the graph knows of a node."""
    own = node.get_name(), node.get_namespace()
    found = set()
    for direction, names, infos in (
        ("out", node.get_publisher_names_and_types_by_node, node.get_publishers_info_by_topic),
        ("in", node.get_subscriber_names_and_types_by_node, node.get_subscriptions_info_by_topic),
    ):
        for name, _ in names(*own):
            for info in infos(name):
                if (info.node_name, info.node_namespace) == own:
                    qos = info.qos_profile
                    found.add((direction, name, info.topic_type, qos.reliability, qos.durability))
    return found


def is_of_ros(direction, name):
    """Clocks of nodes with simulated time, parameters and log, life cycle and actions."""
    return (
        (name in OF_ROS and (direction, name) != ("out", "/clock"))
        or name.endswith("/transition_event")
        or "/_action/" in name
    )


def settled(look, node):
    """What is seen of a node once that stays as it is, and holds all that the node made: the graph learns of
    topics a little later, and forgets those of an earlier node of its name."""
    found, deadline, since = look(node), time.monotonic() + 60.0, time.monotonic()

    def is_settled():
        own = {topic.topic_name for topic in (*node.publishers, *node.subscriptions)}
        return time.monotonic() - since >= 0.5 and own <= {name for _, name, *_ in found}

    while not is_settled() and time.monotonic() < deadline:
        time.sleep(0.05)
        now = look(node)
        if now != found:
            found, since = now, time.monotonic()
    return found


@pytest.mark.parametrize("kind", NODES_RUN)
def test_running_nodes_have_the_topics_of_the_table_and_no_others(context, kind, tmp_path):
    make, settings = NODES_RUN[kind]
    missing = {(topic.direction, topic.name) for topic in TOPICS[kind]}
    for given in settings:
        values = {k: str(tmp_path / "run.mcap") if v == "RECORD" else v for k, v in given.items()}
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        node = make(context=context, autostart=False, parameter_overrides=parameters)
        try:
            node.trigger_configure()
            expected = {}
            for topic in TOPICS[kind]:
                name = topic.name.replace("~", f"/{kind}")
                pattern = re.escape(name if name[0] == "/" else f"/{name}").replace(r"\{\}", r"\w+")
                expected[topic.direction, pattern] = topic
            for direction, name, type_name, reliability, durability in settled(topics_of, node):
                if is_of_ros(direction, name):
                    continue
                fitting = [t for (d, p), t in expected.items() if d == direction and re.fullmatch(p, name)]
                assert fitting, f"{kind} has {name} ({direction}), which is not in its table"
                (topic,) = fitting
                assert type_name == topic.kind.replace("/", "/msg/")
                assert (reliability, durability) == (topic.queue.reliability, topic.queue.durability), name
                missing.discard((direction, topic.name))
        finally:
            node.destroy_node()
    assert not missing, f"{kind} never made {missing}"
