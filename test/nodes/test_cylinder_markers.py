"""Processes: what a simulator of a boom publishes is drawn at its cylinders."""

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import HydraulicState  # noqa: E402

MARKERS, OIL, JOINTS = "/crane/deformation_markers", "/crane/simulator/hydraulic_state", "/crane/joint_states"


@pytest.mark.parametrize(("name", "has_oil"), [("boom", True), ("boom_on_cylinder", False)])
def test_forces_and_pressures_of_a_simulator_are_drawn(name, has_oil, tmp_path):
    robot = flexdyn_ros.load(name)
    names = [each for each in robot.effort_names if each not in robot.v_names]
    arguments = ["-r", "__ns:=/crane", "-p", f"description_file:={name}"]
    with (
        NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as simulator,
        NodeProcess("state_publisher", *arguments, log=tmp_path / "publisher.txt") as publisher,
        Client("marker_client") as client,
    ):
        simulator.wait_for_text("ready")
        publisher.wait_for_text("ready")
        client.listen(MarkerArray, MARKERS)
        client.listen(JointState, JOINTS)
        client.listen(HydraulicState, OIL)
        shown = {}

        def drawn():
            """Texts of all cylinders, of what they hold now that they have come to rest."""
            found = client.last.get(MARKERS)
            found = [m for m in found.markers if m.ns == "cylinder_text"] if found else []
            if len(found) != len(names) or JOINTS not in client.last or (has_oil and OIL not in client.last):
                return False
            joints, state = client.last[JOINTS], client.last.get(OIL)
            force = dict(zip(joints.name, joints.effort, strict=True))
            shown["texts"] = {m.header.frame_id: m.text for m in found}
            shown["expected"] = {
                f"{each}/rod": f"{1e-3 * force[f'{each}/length']:.1f}kN"
                + (
                    f"\n{1e-5 * state.pressure_bore[i]:.0f}|{1e-5 * state.pressure_rod[i]:.0f}bar"
                    if has_oil
                    else ""
                )
                for i, each in enumerate(names)
            }
            return shown["texts"] == shown["expected"]

        client.until(drawn, "texts are not those of the simulator")
    if has_oil:
        # shut valves hold the boom
        assert all(not text.startswith("0.0kN") for text in shown["texts"].values())
