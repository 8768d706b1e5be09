"""Statuses in /diagnostics: those of several robots keep apart."""

import pytest

pytestmark = pytest.mark.ros
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from rclpy.parameter import Parameter  # noqa: E402

from flexdyn_ros.nodes import (  # noqa: E402
    DynamicsServer,
    HydraulicActuators,
    Simulator,
)


def statuses(context, make, space, **parameters):
    """Names of what a node in a namespace reports."""
    given = {"autostart": False, **parameters}
    node = make(
        context=context,
        namespace=space,
        parameter_overrides=[Parameter(key, value=value) for key, value in given.items()],
    )
    assert node.trigger_configure().name == "SUCCESS"
    reports = []
    node.diagnostics.publish = reports.append
    node.report()
    node.trigger_cleanup()
    node.destroy_node()
    return [status.name for status in reports[0].status]


@pytest.fixture
def context():
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    context.try_shutdown()


def test_statuses_bear_the_namespace_of_their_node_and_in_the_root_its_name(context):
    arm = {"description_file": "two_link"}
    platform = {"description_file": "stewart_1t"}
    still = {"start_paused": True, "use_clock": False}
    for make, name, given, kinds, spaces in (
        (Simulator, "simulator", arm | still, ["simulation", "commands", "limits", "clock"], ("", "left")),
        (DynamicsServer, "dynamics_server", arm, ["requests", "clock"], ("/lab/right",)),
        (HydraulicActuators, "hydraulic_actuators", platform, ["legs", "clock"], ("left",)),
    ):
        for space in spaces:
            prefix = f"/{space.strip('/')}/" if space else ""
            assert statuses(context, make, space, **given) == [f"{prefix}{name}: {kind}" for kind in kinds]
