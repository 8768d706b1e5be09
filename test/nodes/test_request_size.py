"""The size of a request counts all its lists, before any work on it; names are cut in messages."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import ExternalWrench  # noqa: E402
from flexdyn_ros.errors import UnknownNameError  # noqa: E402
from flexdyn_ros.nodes import SERVICES, doubles  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.requests import LARGEST_ANSWER, LISTS, POSE, size_of  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.scheduler import RequestScheduler  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.services import answer  # noqa: E402
from flexdyn_ros.simulation.live.message_fields import twice  # noqa: E402

BY_NAME = {service.name: service for service in SERVICES}
LONG = "x" * 20_000_000
ROBOT = flexdyn_ros.load("canadarm2")
Q = doubles(ROBOT.neutral())


class Untouched:
    """A robot that tells its names and computes nothing."""

    def __getattr__(self, name):
        if name in ("name", "nq", "nv", "nu", "frame_names", "q_names", "coordinates", "actuators", "kind"):
            return getattr(ROBOT, name)
        raise AssertionError(f"{name} was asked of the robot before the request was refused")


def ask(name, of=ROBOT, **fields):
    service = BY_NAME[name]
    request = service.type.Request(**fields)
    return answer(service, {"canadarm2": of}, request, service.type.Response(), 100_000)


@pytest.mark.parametrize(
    ("name", "field", "entry"),
    [
        ("frames", "frames", "boom_1"),
        ("deflections", "stations", 0.5),
        ("inverse_dynamics", "wrenches", ExternalWrench(frame="boom_1", axes="boom_1")),
        ("forward_dynamics", "wrenches", ExternalWrench(frame="boom_1")),
        ("static_equilibrium", "wrenches", ExternalWrench(frame="boom_1")),
        ("static_equilibrium", "held", "shoulder_roll"),
        ("static_equilibrium", "effort_names", "shoulder_roll"),
        ("linearize", "effort_names", "shoulder_roll"),
        ("modes", "locked", "shoulder_roll"),
        ("mass_matrix", "names", "shoulder_roll"),
        ("compute_energy", "names", "shoulder_roll"),
    ],
)
def test_a_list_that_is_too_long_is_refused_before_any_work(name, field, entry):
    more = {"samples": 1} if hasattr(BY_NAME[name].type.Request, "samples") else {}
    response = ask(name, Untouched(), **more, positions=Q, **{field: [entry] * 100_000})
    assert not response.success
    assert response.message.startswith(f"{field} has 100000 entries, expected at most ")


def test_every_list_of_a_request_is_bounded_or_counted():
    """A list that a new service brings has to be thought of."""
    by_samples = {
        "positions", "velocities", "accelerations", "efforts", "prescribed", "lengths", "poses", "twists",
    }  # fmt: skip
    by_robot = {"names", "effort_names"}
    for service in SERVICES:
        kinds = service.type.Request.get_fields_and_field_types()
        lists = {field for field, kind in kinds.items() if kind.startswith("sequence")}
        assert lists <= {*LISTS, *by_samples, *by_robot}, service.name


def test_the_size_counts_entries_for_every_sample():
    assert size_of(srv.MassMatrix.Request(samples=3)) == 3
    assert size_of(srv.Frames.Request(samples=3, frames=["a", "b"])) == 9
    assert size_of(srv.Deflections.Request(samples=2, stations=[0.0] * 100)) == 202
    wrenches = [ExternalWrench()] * 10
    assert size_of(srv.InverseDynamics.Request(samples=1, wrenches=wrenches)) == 11
    assert size_of(srv.ForwardKinematics.Request(lengths=[1.0] * 12)) == 2


def test_requests_with_lists_are_not_answered_in_the_thread_that_spins():
    settings = SimpleNamespace(max_waiting=8, max_waiting_samples=100, max_samples=100)
    scheduler = RequestScheduler(SimpleNamespace(), {}, settings, lambda *_: None)
    try:
        for name, fields in (
            ("frames", {"frames": ["boom_1"] * 100}),
            ("deflections", {"stations": [0.5] * 100}),
            ("inverse_dynamics", {"wrenches": [ExternalWrench()] * 1000}),
        ):
            service = BY_NAME[name]
            # an earlier, small request was quick
            small = service.type.Request(samples=1)
            scheduler._costs.learn(service, small, size_of(small), 1e-5)
            assert scheduler._is_quick(service, small, size_of(small)), name
            large = service.type.Request(samples=1, **fields)
            assert not scheduler._is_quick(service, large, size_of(large)), name
    finally:
        scheduler.close("over")


def test_results_that_are_too_large_are_refused_before_any_work():
    responses = [
        ask("deflections", Bending(), samples=50_000, positions=[0.0], stations=[0.5] * 100),
        ask("bias_forces", Bending(), samples=2**32 - 1, positions=[0.0]),
        ask("inverse_dynamics", Bending(), samples=2**32 - 1),
        ask("forward_dynamics", Bending(), samples=2**32 - 1),
        ask("compute_energy", Bending(), samples=2**32 - 1),
        ask("forward_kinematics", Bending(), lengths=[1.0] * 6 * 6000),
    ]
    for response in responses:
        assert "numbers, expected at most 3000000, thus " in response.message
        assert "ask for fewer samples, frames or stations at a time, or call the library" in response.message


def test_the_page_names_the_limits_that_the_server_keeps():
    page = (Path(__file__).parents[2] / "docs" / "services.md").read_text()
    limit = f"{LARGEST_ANSWER:,}"
    assert page.count(f"{limit} numbers") + page.count(f"none: {limit}") == 3
    assert f"as long as {POSE} numbers" in " ".join(page.split())
    rows = {row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", page, re.MULTILINE)}
    for service in SERVICES:
        width = service.width(ROBOT, service.type.Request())
        if not width:
            assert service.name not in rows, service.name
        elif service.name.endswith("_kinematics"):
            assert rows[service.name] == "platforms and soft arms"
        else:
            assert rows[service.name] == f"{LARGEST_ANSWER // width:,}", service.name


class Bending(Untouched):
    """As before; how its links bend is known from its description."""

    description = ROBOT.description


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mass_matrix", {"robot": LONG}),
        ("jacobian", {"frame": LONG}),
        ("frames", {"frames": [LONG]}),
        ("mass_matrix", {"names": [LONG]}),
        ("mass_matrix", {"names": [LONG, LONG]}),
        ("linearize", {"effort_names": [LONG], "efforts": [0.0], "velocities": [0.0] * ROBOT.nv}),
        (
            "linearize",
            {"effort_names": [LONG, LONG], "efforts": [0.0] * 2, "velocities": [0.0] * ROBOT.nv},
        ),
        ("modes", {"locked": [LONG]}),
        (
            "inverse_dynamics",
            {
                "wrenches": [ExternalWrench(frame=LONG)],
                "velocities": [0.0] * ROBOT.nv,
                "accelerations": [0.0] * ROBOT.nv,
            },
        ),
        ("static_equilibrium", {"held": [LONG]}),
    ],
)
def test_a_name_of_megabytes_is_cut_in_the_message(name, fields):
    more = {"samples": 1} if "samples" in BY_NAME[name].type.Request.get_fields_and_field_types() else {}
    response = ask(name, positions=Q, **more, **fields)
    assert not response.success
    assert len(response.message) < 2100
    assert "xxx... (20000000 characters)" in response.message


def test_an_unknown_name_is_cut_but_kept_whole_beside_the_message():
    error = UnknownNameError("frame", LONG, ["tool0", "y" * 1000])
    assert len(str(error)) < 500
    assert error.name == LONG
    assert str(UnknownNameError("frame", "tool", ["tool0"])) == "unknown frame 'tool'; did you mean tool0?"


def test_a_name_that_is_there_twice_is_found_in_one_pass():
    class Counted(str):
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return str(self) == str(other)

        __hash__ = str.__hash__

    names = [Counted(i) for i in range(5000)]
    assert twice([*names, Counted(0)]) == "0"
    assert Counted.compared < 100_000


def test_wrenches_in_axes_of_frames_add_up_as_before():
    q = np.stack([ROBOT.neutral(), ROBOT.random(np.random.default_rng(1))])
    zero = doubles(np.zeros(2 * ROBOT.nv))
    messages, loads = [], np.zeros((2, 6))
    for axes, force in (("", 3.0), ("boom_1", 5.0), ("boom_1", 2.0), ("boom_2", 1.0)):
        message = ExternalWrench(frame="boom_1", axes=axes)
        message.wrench.force.x, message.wrench.torque.y = force, 1.0
        messages.append(message)
        R = ROBOT.frames(q, axes)[:, :3, :3] if axes else np.broadcast_to(np.eye(3), (2, 3, 3))
        loads += np.concatenate((R @ [0.0, 1.0, 0.0], R @ [force, 0.0, 0.0]), axis=1)
    response = ask(
        "inverse_dynamics",
        samples=2, positions=doubles(q), velocities=zero, accelerations=zero, wrenches=messages,
    )  # fmt: skip
    expected = ROBOT.inverse_dynamics(q, np.zeros((2, ROBOT.nv)), np.zeros((2, ROBOT.nv)), {"boom_1": loads})
    np.testing.assert_allclose(response.efforts, expected.ravel(), rtol=1e-12, atol=1e-12)
