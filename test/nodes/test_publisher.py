"""`flexdyn pub` between two participants: the message arrives, and what cannot be sent is refused by name."""

import threading

import pytest

pytestmark = pytest.mark.ros
rclpy = pytest.importorskip("rclpy")

from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory  # noqa: E402

from flexdyn_ros.errors import FlexdynError  # noqa: E402
from flexdyn_ros.nodes import publish  # noqa: E402
from flexdyn_ros.nodes.one_shot import _type_of  # noqa: E402


@pytest.fixture
def heard():
    """What a listener to /pub_test/words has heard."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("pub_listener", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    words, ended = [], threading.Event()
    node.create_subscription(String, "/pub_test/words", lambda message: words.append(message.data), 10)

    def spin():
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin)
    thread.start()
    yield words
    ended.set()
    thread.join(10.0)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


def test_a_message_is_heard_as_often_as_it_is_sent(heard):
    assert publish("words", {"data": "hello"}, namespace="pub_test", times=3, rate=50.0) == 1
    assert heard == ["hello"] * 3


def test_a_best_effort_listener_has_learnt_of_the_publisher_before_the_message():
    """What comes before is lost to it: its node is asked something first, by a participant of later words."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("careless_listener", context=context, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    lossy = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    events = []
    node.create_subscription(String, "/pub_test/careless", lambda message: events.append(message.data), lossy)

    def asked(request, response):
        events.append(node.count_publishers("/pub_test/careless"))
        return response

    node.create_service(GetParameters, "~/get_parameters", asked)
    thread = threading.Thread(target=lambda: publish("careless", {"data": "word"}, namespace="pub_test"))
    thread.start()
    try:
        while thread.is_alive():
            executor.spin_once(timeout_sec=0.05)
        assert events == [1, "word"]
    finally:
        thread.join(30.0)
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


@pytest.mark.parametrize(
    ("kind", "is_stamped"),
    [(JointState, True), (JointTrajectory, False), (MultiDOFJointTrajectory, False)],
)
def test_a_trajectory_starts_at_once_and_other_messages_bear_the_time(kind, is_stamped):
    """Who listens may follow simulated time: a start in wall time would lie in a far future."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("stamp_listener", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    stamps = []
    node.create_subscription(
        kind, "/pub_test/stamps", lambda message: stamps.append(message.header.stamp), 10
    )
    sent = threading.Thread(
        target=lambda: [
            publish("/pub_test/stamps", fields)
            for fields in ({}, {"header": {"frame_id": "f"}}, {"header": {"stamp": {"sec": 7}}})
        ]
    )
    sent.start()
    for _ in range(1000):
        executor.spin_once(timeout_sec=0.05)
        if len(stamps) == 3:
            break
    sent.join()
    executor.shutdown()
    context.try_shutdown()
    assert [stamp.sec > 0 for stamp in stamps] == [is_stamped, is_stamped, True]
    assert stamps[2].sec == 7


def test_what_does_not_fit_the_listener_is_refused(heard):
    with pytest.raises(FlexdynError, match="dat"):
        publish("/pub_test/words", {"dat": "hello"})
    with pytest.raises(FlexdynError, match="std_msgs/msg/String, not std_msgs/msg/Bool"):
        publish("/pub_test/words", {}, "std_msgs/msg/Bool", timeout=5.0)
    assert heard == []


def test_nobody_who_listens_is_told():
    with pytest.raises(FlexdynError, match="nobody listens to /pub_test/silence"):
        publish("/pub_test/silence", {}, timeout=0.2)


def test_a_type_that_a_listener_names_imports_no_package_that_has_no_messages(tmp_path, monkeypatch):
    trap = tmp_path / "trap" / "msg"
    trap.mkdir(parents=True)
    (tmp_path / "trap" / "__init__.py").write_text("raise SystemExit('imported')")
    (trap / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(FlexdynError, match="no interface package 'trap' is installed here"):
        _type_of("trap/msg/Door")
    for kind in ("os.path/msg/join", "../trap/msg/Door", "trap/Door", "/msg/"):
        with pytest.raises(FlexdynError, match="expected PACKAGE/msg/NAME"):
            _type_of(kind)
    assert _type_of("std_msgs/msg/String") is String
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(FlexdynError, match="no interface package 'trap'"):
        _type_of("trap/msg/Door")
