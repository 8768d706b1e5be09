"""A node survives what one message or request runs into, says it, and goes on."""

import threading

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
rclpy = pytest.importorskip("rclpy")

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterValue  # noqa: E402
from rcl_interfaces.srv import (  # noqa: E402
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from flexdyn_ros.nodes.ros import managed  # noqa: E402
from flexdyn_ros.nodes.ros.executor import EnduringExecutor  # noqa: E402
from flexdyn_ros.nodes.ros.outbox import MIDDLEWARE_ERROR  # noqa: E402

UNKNOWN = Parameter(name="x", value=ParameterValue(type=200))
NODES = {
    "simulator": "two_link",
    "dynamics_server": "two_link",
    "state_publisher": "two_link",
    "hydraulic_actuators": "stewart_1t",
    "pd_controller": "two_link",
    "computed_torque": "two_link",
    "input_shaper": "two_link",
    "platform_controller": "stewart_1t",
    "soft_arm_controller": "soft_arm",
}


#: the executor is that of all nodes; simulators and servers add threads of their own
QUICK = ("simulator", "dynamics_server", "pd_controller")


@pytest.mark.parametrize(
    ("module", "robot"),
    [pytest.param(*pair, marks=[] if pair[0] in QUICK else pytest.mark.slow) for pair in NODES.items()],
)
def test_a_node_survives_requests_to_services_of_rclpy(module, robot, tmp_path):
    node = NodeProcess(
        module, "-p", f"description_file:={robot}", "-p", "autostart:=false", log=tmp_path / "log.txt"
    )
    with node, Client() as client:
        client.call(SetParameters, f"/{module}/set_parameters", parameters=[])
        for kind, name, fields in (
            (SetParameters, "set_parameters", {"parameters": [UNKNOWN]}),
            (SetParametersAtomically, "set_parameters_atomically", {"parameters": [UNKNOWN]}),
            (GetParameters, "get_parameters", {"names": ["", "\x00", "no/such", "a" * 100_000]}),
            (GetParameterTypes, "get_parameter_types", {"names": ["", "no.such"]}),
            (DescribeParameters, "describe_parameters", {"names": ["", "no.such"]}),
            (ListParameters, "list_parameters", {"prefixes": ["", ".", "\n"], "depth": 2**64 - 1}),
            (ChangeState, "change_state", {"transition": Transition(id=255, label="no such")}),
            (ChangeState, "change_state", {"transition": Transition(id=255)}),
        ):
            # rclpy answers none of what it does not expect, that of jazzy no transition to nowhere
            if f"/{module}/{name}" not in client._clients:
                if kind is ChangeState:
                    made = client._clients[f"/{module}/{name}"] = client.node.create_client(
                        kind, f"/{module}/{name}"
                    )
                    client.until(made.service_is_ready, f"no service {name}")
                else:
                    client.call(kind, f"/{module}/{name}")
            client.ask(kind, f"/{module}/{name}", **fields)
            client.call(GetState, f"/{module}/get_state")
        assert node.alive
        assert client.call(GetState, f"/{module}/get_state").current_state.label == "unconfigured"
        found = client.call(GetParameters, f"/{module}/get_parameters", names=["description_file"])
        assert found.values[0].string_value == robot
        assert "set_parameters ran into ValueError: " in node.text()
        assert "; the node goes on" in node.text()


@pytest.fixture
def spun():
    """A node, what it logs, and a function that spins it until a condition holds; and a client node."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("endures", context=context)
    texts = []
    logger = type("Log", (), {"error": lambda _, text, **__: texts.append(text)})()
    node.get_logger = lambda: logger
    executor = EnduringExecutor(node)
    other = rclpy.create_node("asks", context=context)
    asking = rclpy.executors.SingleThreadedExecutor(context=context)
    asking.add_node(other)

    def until(condition):
        for _ in range(3000):
            executor.spin_once(timeout_sec=0.01)
            asking.spin_once(timeout_sec=0.0)
            if condition():
                return
        raise AssertionError(f"never; logged {texts}")

    yield node, other, texts, until
    executor.shutdown()
    asking.shutdown()
    context.try_shutdown()


def test_a_message_that_cannot_be_taken_does_not_make_the_topic_deaf(spun, monkeypatch):
    node, other, texts, until = spun
    heard, publisher = [], other.create_publisher(String, "words", 10)
    node.create_subscription(String, "words", lambda message: heard.append(message.data), 10)
    until(lambda: publisher.get_subscription_count() == 1)
    take = rclpy.executors.Executor._take_subscription
    failures = iter([UnicodeDecodeError("utf-8", b"", 0, 1, "no text"), MIDDLEWARE_ERROR("no message")])

    def fail(self, subscription):
        taken = take(self, subscription)
        if taken is not None and (error := next(failures, None)) is not None:
            raise error
        return taken

    monkeypatch.setattr(rclpy.executors.Executor, "_take_subscription", fail)
    for word in ("first", "second", "third"):
        publisher.publish(String(data=word))
    until(lambda: heard == ["third"])
    assert texts[0].startswith("the callback of topic /words ran into UnicodeDecodeError")
    assert texts[1] == "the middleware refused: no message"


def test_a_service_answers_after_a_request_that_failed(spun):
    node, other, texts, until = spun
    calls = []

    def answer(request, response):
        calls.append(request)
        if len(calls) == 1:
            raise KeyError("x" * 10_000_000)
        return response

    node.create_service(Trigger, "ask", answer)
    client = other.create_client(Trigger, "ask")
    until(client.service_is_ready)
    client.call_async(Trigger.Request())
    until(lambda: calls)
    second = client.call_async(Trigger.Request())
    until(second.done)
    assert len(texts) == 1
    assert "ran into KeyError" in texts[0]
    assert len(texts[0]) < 1000


def test_all_that_is_ready_has_its_turn(spun):
    node, other, _, until = spun
    heard, timer = [], node.create_timer(0.0, lambda: None)
    publishers = [other.create_publisher(String, topic, 10) for topic in ("first", "second")]
    for topic in ("first", "second"):
        node.create_subscription(String, topic, lambda message: heard.append(message.data), 10)
    until(lambda: all(publisher.get_subscription_count() for publisher in publishers))
    for publisher in publishers:
        publisher.publish(String(data=publisher.topic))
    until(lambda: len(heard) == 2)
    node.destroy_timer(timer)


def test_mistakes_of_the_node_itself_end_it(spun):
    node, _, texts, until = spun
    timer = node.create_timer(0.0, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        until(lambda: False)
    node.destroy_timer(timer)
    node.executor.create_task(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        until(lambda: False)
    assert texts == []


def test_an_answer_that_the_middleware_refuses_does_not_end_the_node(spun, monkeypatch):
    node, _, texts, _ = spun
    failures, ending, turns = [], threading.Event(), iter(range(3))

    def refuse(*_):
        if next(turns) == 2:
            ending.set()
        raise MIDDLEWARE_ERROR("cannot publish data")

    monkeypatch.setattr(node.executor, "wait_for_ready_callbacks", refuse)
    managed._spin(node.executor, failures, ending)
    assert failures == []
    assert texts == ["the middleware refused: cannot publish data"] * 3
