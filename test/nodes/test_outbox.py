"""A middleware that refuses a message, and a mistake of ours in a tick, are told and survived."""

from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")

from pendulums import double_pendulum  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from flexdyn_ros.nodes import Simulator  # noqa: E402
from flexdyn_ros.nodes.ros.outbox import MIDDLEWARE_ERROR, Outbox  # noqa: E402
from flexdyn_ros.nodes.simulator.recorder import Recorder  # noqa: E402
from flexdyn_ros.nodes.topics import RELIABLE  # noqa: E402
from flexdyn_ros.simulation import records  # noqa: E402


class Log:
    """A logger that keeps texts."""

    def __init__(self):
        self.texts = []

    def error(self, text, **_):
        self.texts.append(text)


def refuse(*_):
    raise MIDDLEWARE_ERROR("cannot publish data")


def test_a_message_that_the_middleware_refuses_is_counted_told_and_recorded(tmp_path):
    log = Log()
    outbox = Outbox(SimpleNamespace(get_logger=lambda: log))
    publisher = SimpleNamespace(
        topic="joint_states",
        topic_name="/joint_states",
        msg_type=JointState,
        qos_profile=RELIABLE,
        is_activated=True,
        publish=refuse,
    )
    recorder = Recorder(str(tmp_path / "run.mcap"), double_pendulum())
    made = recorder.recording(lambda *_: outbox.guarded(publisher))("joint_states")
    for _ in range(3):
        made.publish(JointState())
    recorder.close()
    assert outbox.lost == 3
    assert log.texts[-1] == "a message on joint_states is lost (3 so far): cannot publish data"
    assert [topic for topic, _ in records(tmp_path / "run.mcap")].count("/joint_states") == 3


@pytest.fixture
def simulator():
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": "two_link", "autostart": False, "start_paused": True, "use_clock": False}
    node = Simulator(
        context=context, parameter_overrides=[Parameter(key, value=value) for key, value in given.items()]
    )
    assert node.trigger_configure().name == "SUCCESS"
    assert node.trigger_activate().name == "SUCCESS"
    yield node
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.destroy_node()
    context.try_shutdown()


def test_every_publisher_of_a_node_survives_a_refusal(simulator, monkeypatch):
    monkeypatch.setattr("rclpy.publisher.Publisher.publish", refuse)
    before = simulator.outbox.lost
    assert simulator._tick(1)
    # joint states and state, at least
    assert simulator.outbox.lost >= before + 2
    assert not simulator._simulation.fault


def test_a_mistake_in_a_tick_is_a_fault_that_is_told_and_reset(simulator, monkeypatch):
    def fail():
        raise ZeroDivisionError("a mistake")

    reports = []
    monkeypatch.setattr(simulator._telemetry, "publish_due", fail)
    monkeypatch.setattr(simulator.diagnostics, "publish", reports.append)
    assert not simulator._tick(1)
    simulator.report()
    (status,) = [s for s in reports[-1].status if s.name == "simulator: simulation"]
    assert status.level == b"\x02"
    assert status.message == "ZeroDivisionError: a mistake; waits for reset or set_dynamics_state"
    monkeypatch.undo()
    assert simulator._on_reset(None, Trigger.Response()).success
    assert simulator._tick(1)
