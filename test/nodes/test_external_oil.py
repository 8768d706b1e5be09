"""Oil of trees in a process of its own: by names of cylinders, beside joints, in lockstep, on record."""

import signal
from contextlib import ExitStack

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
AnyReader = pytest.importorskip("rosbags.highlevel").AnyReader

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from mounted_platforms import CARRIAGE  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from oil_robots import FLUID, hanging  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import ElementStates, HydraulicCommand, HydraulicState  # noqa: E402
from flexdyn_ros.description import read  # noqa: E402
from flexdyn_ros.errors import DescriptionError, UnknownNameError  # noqa: E402
from flexdyn_ros.loading import from_description  # noqa: E402
from flexdyn_ros.multibody.elements.cylinder.circuits import without_oil  # noqa: E402
from flexdyn_ros.nodes import seconds_of  # noqa: E402
from flexdyn_ros.nodes.hydraulic_actuators import part_of  # noqa: E402
from flexdyn_ros.nodes.ros.declaration import ParameterError  # noqa: E402
from flexdyn_ros.nodes.simulator.cylinders import ExternalTopics  # noqa: E402
from flexdyn_ros.nodes.simulator.extra import Setting  # noqa: E402
from flexdyn_ros.nodes.simulator.making import oil_outside  # noqa: E402
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters  # noqa: E402
from flexdyn_ros.simulation import FusedHydraulics, Stepper  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError  # noqa: E402
from flexdyn_ros.simulation.live.external_drive import ExternalDrive  # noqa: E402
from flexdyn_ros.simulation.live.hydraulic_inputs import ranges_of  # noqa: E402
from flexdyn_ros.simulation.live.hydraulic_policy import Actuation, Limits  # noqa: E402
from flexdyn_ros.simulation.live.simulation import Driven, Simulation, default_gains  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import types  # noqa: E402

SPACE = "/boomed"
AT = f"{SPACE}/hydraulic_actuators"


#: two loads, each on a supply of its own
APART = '<hydraulics supply="second_oil">'.join(
    hanging(
        second_mass=100.0,
        in_robot=f'<supply name="second_oil" pressure="160e5" tank_pressure="3e5">{FLUID}</supply>',
    ).rsplit('<hydraulics supply="oil">', 1)
)


class Pair:
    """Both nodes of a robot, stepped, beside the same robot with its cylinders in the compiled steps."""

    def __init__(self, client, tmp_path, name, *more, part=()):
        file = ["-r", f"__ns:={SPACE}", "-p", f"description_file:={name}"]
        own = ["-p", "hydraulics:=external", "-p", "start_paused:=true", "-p", "method:=rk4", *more]
        wired = ["-p", "command_timeout:=3600.0", "-r", "~/leg_state:=leg_states"]
        wired += ["-r", "~/leg_force:=joint_commands", *part]
        log = tmp_path / "simulator.txt"
        self.plant = NodeProcess("simulator", *file, *own, "-r", "/clock:=clock", log=log)
        self.oil = NodeProcess("hydraulic_actuators", *file, *wired, log=tmp_path / "oil.txt")
        self.client, robot = client, flexdyn_ros.load(name)
        self.stepper = Stepper(robot, 1e-3, "rk4")
        self.fused = FusedHydraulics(self.stepper, "valve")

    def __enter__(self):
        with ExitStack() as stack:
            for node in (self.plant, self.oil):
                stack.enter_context(node)
            for node in (self.plant, self.oil):
                node.wait_for_text("ready", 150.0)
            self.nodes = stack.pop_all()
        return self

    def __exit__(self, *what):
        self.nodes.close()

    def taken(self):
        """Commands and states of cylinders that the oil has taken."""
        words = self.client.call(SetBool, f"{AT}/enable", data=True).message.split("; ")[1].split(" ")
        return int(words[0]), int(words[3])

    def command(self, message):
        before = self.taken()[0]
        self.client.insist(
            HydraulicCommand, f"{AT}/command", message, lambda: self.taken()[0] > before, "not taken", 5.0
        )

    def step(self, n, **efforts):
        answer = self.client.call(srv.Step, f"{SPACE}/simulator/step", steps=n, **efforts)
        assert answer.success, answer.message
        return answer.state


@pytest.fixture
def client():
    with Client("external_oil_client") as client:
        yield client


def mounted(tmp_path):
    """File of a platform with oil that stands on a carriage."""
    file = tmp_path / "mounted.urdf"
    file.write_text(read("stewart_1t").text.replace("<flexdyn>", CARRIAGE + "<flexdyn>", 1))
    return str(file)


@pytest.mark.parametrize(
    ("name", "openings", "joint"),
    [
        ("boom", [0.3, -0.2, 0.1], ""),
        # quicker: "mounted" has a joint beside its oil too
        pytest.param("excavator", [0.3, -0.2, 0.1], "swing", marks=pytest.mark.slow),
        ("mounted", [0.1, -0.1, 0.05, 0.02, -0.03, 0.08], "turn"),
    ],
)
def test_nodes_in_lockstep_equal_the_fused_run_and_record_pressures(tmp_path, client, name, openings, joint):
    record = tmp_path / "run.mcap"
    source = mounted(tmp_path) if name == "mounted" else name
    with Pair(client, tmp_path, source, "-p", f"record_file:={record}") as pair:
        cylinders, stepper = pair.fused.hydraulics, pair.stepper
        client.listen(HydraulicState, f"{AT}/hydraulic_state")
        client.listen(ElementStates, f"{AT}/element_states")
        # by names, in another order
        pair.command(HydraulicCommand(names=cylinders.names[::-1], values=openings[::-1]))
        pair.fused.command(openings)
        efforts = {}
        if joint:
            # what moves beside the oil, by the simulator itself
            efforts = {"effort_names": [joint], "efforts": [50.0]}
            stepper.tau[stepper.robot.effort_names.index(joint)] = 50.0
        state = pair.step(300, **efforts)
        stepper.advance(300)
        np.testing.assert_allclose(state.positions, stepper.q, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(state.efforts, stepper.effort, rtol=1e-9, atol=1e-6)
        assert abs(stepper.q - stepper.robot.neutral()).max() > 0.003
        client.until(lambda: pair.taken()[1] == 301, "the last state is not answered")
        # the node is one tick ahead: it has answered the state that the simulator has now
        stepper.advance(1)
        both = (f"{AT}/hydraulic_state", f"{AT}/element_states")
        client.until(
            lambda: all(client.last[x].header.stamp.nanosec == 300_000_000 for x in both), "no pressures"
        )
        seen = client.last[f"{AT}/hydraulic_state"]
        np.testing.assert_allclose(seen.pressure_bore, pair.fused.cylinders["pressure_bore"], rtol=1e-9)
        states = client.last[f"{AT}/element_states"]
        assert states.names == [state.name for state in stepper.robot.element_states]
        np.testing.assert_allclose(states.values, stepper.states, rtol=1e-9, atol=1e-9)
        assert pair.oil.end(signal.SIGINT) == 0
        assert pair.plant.end(signal.SIGINT) == 0
    with AnyReader([record], default_typestore=types()) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts[f"{AT}/hydraulic_state"] >= 300
    assert counts[f"{SPACE}/leg_states"] >= 300
    assert counts[f"{AT}/element_states"] >= 300
    assert f"{SPACE}/simulator/element_states" not in counts
    # thirty milliseconds hold more than a vibration of the platform on its oil
    long = () if name == "mounted" else range(60, 90)
    check_playback(record, cylinders, openings, {*range(20, 25), *range(200, 250, 3), *long})


def check_playback(record, cylinders, openings, lost):
    """What was recorded gives the same forces again; where leg states were lost, nearly. (`excavator`
    played from a bag that had lost them: 40 kN of 524 when cylinders were filled anew after 20 ms.)"""
    with AnyReader([record], default_typestore=types()) as reader:
        found = {f"{SPACE}/leg_states": {}, f"{AT}/hydraulic_state": {}}
        chosen = [c for c in reader.connections if c.topic in found]
        for connection, _, raw in reader.messages(chosen):
            message = reader.deserialize(raw, connection.msgtype)
            found[connection.topic][message.header.stamp.sec, message.header.stamp.nanosec] = message
    legs, oil = found.values()
    stamps = sorted(set(legs) & set(oil))
    assert len(stamps) >= 300
    force = np.array([oil[stamp].force for stamp in stamps])
    some = {stamp for i, stamp in enumerate(stamps) if i not in lost}
    for kept in (set(stamps), some):
        limits = Limits(command_timeout=3600.0, lockstep=True)
        actuation = Actuation(cylinders, ranges_of(cylinders, 10.0), limits)
        told = {}
        for stamp in (stamp for stamp in stamps if stamp in kept):
            now = seconds_of(legs[stamp].header.stamp)
            if actuation._setpoint is None and np.any(oil[stamp].valve_command):
                actuation.take_command(HydraulicCommand(values=openings), now)
            assert actuation.take_leg_state(legs[stamp], now)
            assert actuation.tick_in_lockstep(now)
            told[stamp] = actuation.cylinders["force"].copy()
        expected = np.array([oil[stamp].force for stamp in told])
        off = np.abs(np.array(list(told.values())) - expected).max(axis=0) / np.ptp(force, axis=0)
        assert actuation.counters.missing_leg_states == len(stamps) - len(kept)
        assert np.all(off <= (2e-2 if kept is some else 1e-12))


@pytest.fixture
def simulation():
    """Two loads on one supply, whose forces another process sends."""
    whole = flexdyn_ros.load(hanging(second_mass=100.0))
    robot = from_description(without_oil(whole.description, ("lift", "second_lift")))
    gains = default_gains(robot, robot.neutral())
    buffer = CommandBuffer(Driven.of(robot), (), "effort", 0.1, "hold", False, "zero", False)
    drive = ExternalDrive(robot, ("lift", "second_lift"), gains[1])
    return Simulation(robot, buffer, robot.neutral(), np.zeros(2), *gains, drive, dt=1e-3)


class Topic:
    """A publisher that keeps what it is given."""

    def __init__(self, *what):
        self.sent = []

    def publish(self, message):
        self.sent.append(message)


def test_forces_name_all_cylinders_and_nothing_else(simulation):
    topics = ExternalTopics(Setting(simulation, None, Topic))
    topics.publish_states()
    holding = topics._states.sent[-1].effort
    np.testing.assert_allclose(holding, [300.0 * 9.81, 100.0 * 9.81], rtol=1e-9)
    assert not topics.is_meant(JointState(name=["slide"], effort=[1.0]))
    assert topics.is_meant(JointState(name=["lift", "slide"], effort=[1.0, 2.0]))
    for names, text in ((["lift"], "lack second_lift"), (["lift", "slide"], "come with 'slide'")):
        with pytest.raises(CommandError, match=text):
            topics.take_forces(JointState(name=names, effort=[1.0] * len(names)))
    free = JointState(name=["lift", "second_lift"], effort=[1.0, 2.0])
    free.header.frame_id = "free_running"
    with pytest.raises(CommandError, match="lockstep is true here and false"):
        topics.take_forces(free)
    assert simulation.tick(1)
    assert simulation.stepper.steps == 0, "time goes on without forces"
    assert topics.statuses("plant")[0].values[0].value == "external"


def test_without_forces_a_free_simulation_holds_then_dampers_act(simulation):
    drive = simulation.drive
    drive.lockstep = False
    for _ in range(20):
        assert simulation.tick(10)
    np.testing.assert_allclose(simulation.stepper.q, 0.0, atol=1e-9)
    drive.gate.take(1, {"lift": 300.0 * 9.81 + 30.0, "second_lift": 981.0})
    assert simulation.tick(1)
    assert simulation.stepper.a[0] == pytest.approx(0.1, rel=1e-6)
    drive.gate.wall_time -= 1.0
    assert simulation.tick(200)
    assert drive.stale
    # falling against a damper, not freely
    assert -0.5 * 9.81 * 0.2 < simulation.stepper.v[0] < 0.0


def test_a_pump_that_stops_and_a_cylinder_that_leaks_are_told_and_the_node_lives(tmp_path, client):
    base = f"{AT}/set_parameters_atomically"
    with Pair(client, tmp_path, "boom") as pair:
        client.listen(DiagnosticArray, "/diagnostics")

        def change(name, value):
            given = [Parameter(name, value=value).to_parameter_msg()]
            return client.call(SetParametersAtomically, base, parameters=given).result

        def told():
            found = client.next("/diagnostics").status
            return "; ".join(s.message for s in found if s.name == f"{AT}: legs")

        assert change("supplies.oil.speed", 0.0).successful
        assert change("cylinders.lift_cylinder.leakage", 1e-8).successful
        pair.command(HydraulicCommand(values=[0.5, 0.0, 0.0]))
        state = pair.step(200)
        pair.fused.command([0.5, 0.0, 0.0])
        pair.stepper.set_supply("oil", speed=0.0)
        pair.stepper.set_leakage("lift_cylinder", 1e-8)
        pair.stepper.advance(200)
        np.testing.assert_allclose(state.positions, pair.stepper.q, rtol=0.0, atol=1e-9)
        stopped, leaks = "the pump of 'oil' stands still", "'lift_cylinder' leaks 1e-08 m3/(s Pa) to the tank"
        client.until(lambda: f"{stopped}; {leaks}" in told(), "the faults are not told")
        # they last through a reset, which fills the cylinders anew
        assert client.call(Trigger, f"{SPACE}/simulator/reset").success
        pair.step(5)
        client.until(lambda: f"{stopped}; {leaks}" in told(), "the faults are forgotten")
        refused = change("supplies.oil.speed", float("nan"))
        assert not refused.successful
        assert "supplies.oil.speed" in refused.reason
        assert pair.oil.alive


def test_one_cylinder_outside_and_one_in_the_steps_equal_the_fused_run(tmp_path, client):
    file = tmp_path / "apart.urdf"
    file.write_text(APART)
    more = ("-p", "external_cylinders:=[second_lift]")
    with Pair(client, tmp_path, str(file), *more, part=("-p", "cylinders:=[second_lift]")) as pair:
        pair.command(HydraulicCommand(names=["second_lift"], values=[-0.2]))
        # the force control of the cylinder in the steps
        state = pair.step(300, effort_names=["lift"], efforts=[3100.0])
        pair.fused.command([3100.0, -0.2], ("force", "valve"))
        pair.stepper.advance(300)
        np.testing.assert_allclose(state.positions, pair.stepper.q, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(state.efforts, pair.stepper.effort, rtol=1e-9, atol=1e-6)
        assert pair.stepper.q[0] > 1e-3
        assert pair.stepper.q[1] < -1e-2
        answer = client.call(srv.GetElementStates, f"{SPACE}/simulator/get_element_states")
        assert all(name.startswith("lift/") for name in answer.states.names)


def test_a_supply_of_cylinders_inside_and_outside_is_refused_by_name(tmp_path):
    file = tmp_path / "shared.urdf"
    file.write_text(hanging(second_mass=100.0))
    whole = flexdyn_ros.load(file)
    said = (
        r"shared.urdf:\d+ in cylinder 'lift'.*another process computes 'lift' and not 'second_lift'.*'oil'.*"
        r"a supply of its own for 'lift'"
    )
    with pytest.raises(DescriptionError, match=f"(?s){said}"):
        without_oil(whole.description, ["lift"])
    with pytest.raises(UnknownNameError, match="lft"):
        without_oil(whole.description, ["lft"])
    dry = without_oil(whole.description, ["lift", "second_lift"])
    assert from_description(dry).hydraulics is None
    settings = SimulatorParameters(hydraulics="external", external_cylinders=("lift",))
    with pytest.raises(ParameterError, match=f"(?s)external_cylinders: .*{said}"):
        oil_outside(whole, settings)
    for name, text in (("lift", "another process computes 'second_lift' and not 'lift'"), ("lft", "lft")):
        with pytest.raises(ParameterError, match=f"cylinders: (?s:.*){text}"):
            part_of(whole, (name,))
    legs = flexdyn_ros.load("stewart_1t")
    with pytest.raises(DescriptionError, match=r"'leg_1' and not 'leg_2'"):
        without_oil(legs.description, ["leg_1"])
    assert from_description(without_oil(legs.description, legs.hydraulics.names)).hydraulics is None
