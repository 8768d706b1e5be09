"""What the simulator publishes and hears beside the topics of every robot, family by family.

An extra of EXTRAS is made from a `Setting`, if the robot has what it is about; the telemetry calls it at its
rates. A new family adds its extra here and changes neither simulator nor telemetry.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectory

from flexdyn_interfaces.msg import ElementStates, HydraulicCommand, HydraulicState, WheelStates
from flexdyn_ros.nodes.ros.conversions import fill_hydraulic_state, time_message
from flexdyn_ros.nodes.ros.outbox import OK, WARN, status
from flexdyn_ros.nodes.simulator.cylinders import ExternalTopics, OilTopics
from flexdyn_ros.nodes.simulator.extra import Extra, Setting
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import CommandError
from flexdyn_ros.simulation.live.external_drive import ExternalDrive
from flexdyn_ros.simulation.live.hydraulic_inputs import InputError, ranges_of, read_command
from flexdyn_ros.simulation.live.joint_path import TrajectoryError, distant_start
from flexdyn_ros.simulation.live.message_fields import doubles, numbers_of
from flexdyn_ros.simulation.live.platform_drive import BANDWIDTH, PlatformDrive
from flexdyn_ros.simulation.live.pose_path import check_reach, read_pose_path
from flexdyn_ros.simulation.live.simulation import REACH, Simulation
from flexdyn_ros.simulation.recordings.cdr import PatchedMessage
from flexdyn_ros.simulation.recordings.topics import robot_deflection_layout, station_numbers


def hydraulics_of(robot: Robot, wanted: str) -> str:
    """ "none", "fused" or "external": as wanted, "none" where there are no cylinders."""
    return wanted if robot.hydraulics is not None else "none"


def leg_gains(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and critical damping (6,) of servos on leg lengths; the rule of `default_gains`."""
    J = robot.leg_jacobian(q)
    inertia = 1.0 / np.einsum("ij,ji->i", J, np.linalg.solve(robot.mass_matrix(q), J.T))
    effort = np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 0.0)
    stiffness = np.maximum(inertia * BANDWIDTH**2, effort / REACH)
    return stiffness, 2.0 * np.sqrt(stiffness * inertia)


class PlatformTopics(Extra):
    """Topics of a simulated platform.

    Parameters
    ----------
    setting : Setting
        Whose simulation is driven by a PlatformDrive, or by an ExternalDrive, which has topics of its own
        for the legs.
    """

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self.drive: PlatformDrive | ExternalDrive = setting.simulation.drive
        robot = self._simulation.robot
        self._pose = setting.make("~/platform_pose")
        self.inputs = {"~/platform_trajectory": self._on_trajectory}
        if isinstance(self.drive, ExternalDrive):
            return
        self._legs = setting.make("leg_states")
        self._leg_message = JointState(name=list(robot.effort_names))
        if self.drive.hydraulics == "fused":
            self._hydraulic = setting.make("~/hydraulic_state")
            self._hydraulic_message = HydraulicState(names=list(robot.effort_names))
            self._ranges = ranges_of(robot.hydraulics, np.inf)
            self.inputs["~/hydraulic_command"] = self._on_hydraulic_command

    # ---- out ----

    def publish_fast(self, stamp: Time) -> None:
        """Pose, legs, cylinders."""
        x, y, z, qx, qy, qz, qw = self._simulation.stepper.q.tolist()
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, "world"
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z, o.x, o.y, o.z, o.w = x, y, z, qx, qy, qz, qw
        self._pose.publish(message)
        if isinstance(self.drive, ExternalDrive):
            return
        self._publish_legs()
        if self.drive.fused is not None:
            self._hydraulic_message.header.stamp = stamp
            fill_hydraulic_state(self._hydraulic_message, self.drive.fused.cylinders)
            self._hydraulic.publish(self._hydraulic_message)

    def _publish_legs(self) -> None:
        """Lengths, rates and forces of the legs, at the simulated time."""
        stepper, message = self._simulation.stepper, self._leg_message
        legs = self._simulation.robot.inverse_kinematics(stepper.q.copy(), stepper.v.copy())
        message.header.stamp = time_message(round(stepper.t * 1e9))
        message.position, message.velocity = doubles(legs.length), doubles(legs.rate)
        message.effort = doubles(stepper.effort)
        self._legs.publish(message)

    # ---- in ----

    def _on_trajectory(self, message: MultiDOFJointTrajectory, simulation: Simulation) -> None:
        stepper = simulation.stepper
        try:
            if isinstance(self.drive, ExternalDrive):
                raise TrajectoryError("a platform whose forces come from outside follows no trajectory")
            path = read_pose_path(message, simulation.robot, stepper.t, stepper.q.copy(), stepper.v.copy())
            check_reach(path)
        except TrajectoryError as error:
            raise self._simulation.buffer.refuse(error) from None
        simulation.buffer.yield_to_others()
        simulation.buffer.remark = distant_start(message, stepper.t)
        self.drive.follow(path)

    def _on_hydraulic_command(self, message: HydraulicCommand, simulation: Simulation) -> None:
        try:
            setpoint = read_command(message, self._ranges)
        except InputError as error:
            raise self._simulation.buffer.refuse(error) from None
        simulation.buffer.yield_to_others()
        assert isinstance(self.drive, PlatformDrive)
        self.drive.take_setpoint(setpoint, simulation.stepper.t, time.monotonic())

    # ---- health ----

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """NODE: legs."""
        drive = self.drive
        if isinstance(drive, ExternalDrive):
            return []
        level, text = (
            (WARN, "no command: valves closed") if drive.stale else (OK, "hydraulics " + drive.hydraulics)
        )
        values: dict[str, object] = {"hydraulics": drive.hydraulics}
        if drive.fused is not None:
            flags = int(np.bitwise_or.reduce(drive.fused.state().flags))
            values |= {"flags": flags, "faults": drive.fused.faults}
        return [status(level, f"{node}: legs", text, values)]


class DeflectionMessage:
    """LinkDeflections of a robot as bytes, at the default stations; for a topic that is published often."""

    def __init__(self, robot: Robot) -> None:
        bent = robot.deflections(robot.neutral())
        self._message = PatchedMessage(robot_deflection_layout(robot, bent, robot.description.root))
        self._links = tuple(bent)

    def filled(self, stamp: Time, bent: dict[str, object]) -> bytes:
        """The message of `robot.deflections(q)` for one q, with a stamp."""
        numbers = iter(self._message.numbers.values())
        for link in self._links:
            for values in station_numbers(bent[link]):
                next(numbers)[:] = values
        return self._message.stamped(stamp)


class Deflections(Extra):
    """`deflections`: how every flexible link bends, with strains and section forces."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self._publisher = setting.make("deflections")
        self._message = DeflectionMessage(setting.simulation.robot)

    def publish_slow(self, stamp: Time) -> None:
        """The present deflections."""
        bent = self._simulation.robot.deflections(self._simulation.stepper.q)
        self._publisher.publish(self._message.filled(stamp, bent))


class WheelTopics(Extra):
    """`~/wheels`, `~/wheels/NAME/wrench`; `~/speed_command` for bases whose motion is prescribed."""

    def __init__(self, setting: Setting) -> None:
        self._prefix = setting.settings.frame_prefix
        self._simulation: Simulation = setting.simulation
        self._wheels = setting.make("~/wheels")
        names = setting.simulation.robot.wheel_names
        self._wrenches = [setting.make("~/wheels/{}/wrench", name) for name in names]
        driven = [c.v_index for c in setting.simulation.robot.coordinates if c.prescribed]
        self._drive = driven[0] if driven else -1
        self.inputs = {"~/speed_command": self._hear} if driven else {}

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """Whether all wheels push at the ground now."""
        robot, stepper = self._simulation.robot, self._simulation.stepper
        wheels = robot.wheel_forces(stepper.q, stepper.v)
        lost = [name for name, stands in zip(robot.wheel_names, wheels.in_contact, strict=True) if not stands]
        message = f"off the ground: {', '.join(lost)}" if lost else "all wheels on the ground"
        values = {"margin": f"{wheels.margin:.6g} N", "load_transfer": f"{wheels.load_transfer:.6g}"}
        values |= {f"normal_force_{n}": f"{f:.6g} N" for n, f in zip(robot.wheel_names, wheels.normal)}
        return [status(WARN if lost else OK, f"{node}: contact", message, values)]

    def _hear(self, message: Float64, simulation: Simulation) -> None:
        """Take over a commanded speed [m/s]."""
        if not np.isfinite(message.data):
            raise CommandError(f"speed_command is {message.data}, expected a finite speed in m/s")
        assert simulation.speed_servo is not None
        simulation.speed_servo.command(float(message.data))

    def publish_fast(self, stamp: Time) -> None:
        """Forces of the wheels."""
        stepper, robot = self._simulation.stepper, self._simulation.robot
        wheels = robot.wheel_forces(stepper.q, stepper.v)
        message = WheelStates(names=list(robot.wheel_names))
        message.header.stamp, message.header.frame_id = stamp, "world"
        message.normal_forces, message.suspension_forces = wheels.normal.tolist(), wheels.suspension.tolist()
        message.travels, message.in_contact = wheels.travel.tolist(), wheels.in_contact.tolist()
        if self._drive >= 0:
            message.drive_force = float(stepper.effort[self._drive])
            message.drive_force_with_slope = message.drive_force + float(
                robot.slope_force(stepper.q, stepper.v)
            )
        self._wheels.publish(message)
        for publisher, name, force in zip(self._wrenches, robot.wheel_names, wheels.normal, strict=True):
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = stamp, f"{self._prefix}{name}/wheel"
            wrench.wrench.force.z = float(force)
            publisher.publish(wrench)


class Pressures(Extra):
    """Takes the absolute pressures [Pa] of all actuators, in the order of the robot's effort names.

    Each is held between vacuum and the highest pressure of its section (<pressure maximum>); the force is
    area x (p - atmosphere), taken like a command of efforts: it ages, and is limited as they are. The lag of
    the supply is simulated by the steps, for commanded forces too.
    """

    def __init__(self, robot: Robot) -> None:
        self.inputs = {"~/pressure_commands": self.take}
        assert robot.pressure_areas is not None
        self._areas = robot.pressure_areas
        self._least, self._most = robot.pressure_forces

    def forces(self, message: Float64MultiArray) -> np.ndarray:
        """Actuator forces (nu,) [N]; CommandError if the array is not one finite pressure per actuator."""
        pressures = numbers_of(message.data)
        if pressures.shape != self._areas.shape:
            raise CommandError(f"data has {pressures.size} pressures, expected {self._areas.size}")
        wrong = np.flatnonzero(~np.isfinite(pressures))
        if wrong.size:
            raise CommandError(f"data[{wrong[0]}] is {pressures[wrong[0]]}, expected a pressure in Pa")
        return np.asarray(np.clip(self._areas * pressures + self._least, self._least, self._most))

    def take(self, message: Float64MultiArray, simulation: Simulation) -> None:
        """The callback of the topic."""
        try:
            forces = self.forces(message)
        except CommandError as error:
            raise simulation.buffer.refuse(error) from None
        command = JointState(name=list(simulation.robot.effort_names), effort=doubles(forces))
        simulation.buffer.take_joint_state(command, simulation.stepper.t, time.monotonic())


class ElementStateTopic(Extra):
    """States that elements have beside positions and velocities."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self._states = setting.make("~/element_states")

    def publish_fast(self, stamp: Time) -> None:
        """The states."""
        self._states.publish(element_states(self._simulation, stamp))


def element_states(simulation: Simulation, stamp: Time) -> ElementStates:
    """The present states of elements, in a message of its own."""
    robot = simulation.robot
    message = ElementStates(robot=robot.name, names=[state.name for state in robot.element_states])
    message.header.stamp, message.header.frame_id = stamp, "world"
    message.values = simulation.stepper.states.tolist()
    return message


#: what a simulation must have, and the extra that it then gets
EXTRAS: tuple[tuple[Callable[[Simulation], object], Callable[[Setting], Extra]], ...] = (
    (lambda simulation: simulation.robot.deflections(simulation.robot.neutral()), Deflections),
    (lambda simulation: simulation.robot.wheel_names, WheelTopics),
    (lambda simulation: simulation.robot.legs, PlatformTopics),
    (lambda simulation: isinstance(simulation.drive, ExternalDrive), ExternalTopics),
    (lambda simulation: simulation.robot.hydraulics is not None and not simulation.robot.legs, OilTopics),
    (lambda simulation: simulation.robot.element_states, ElementStateTopic),
    (
        lambda simulation: simulation.robot.pressure_areas is not None,
        lambda setting: Pressures(setting.simulation.robot),
    ),
)


def extras_of(setting: Setting) -> tuple[Extra, ...]:
    """The extras of a simulation."""
    return tuple(make(setting) for has, make in EXTRAS if has(setting.simulation))
