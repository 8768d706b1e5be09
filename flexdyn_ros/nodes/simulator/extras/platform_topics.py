"""What the simulator says and hears beside the rest when its robot is a platform."""

from __future__ import annotations

import time

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState
from flexdyn_ros.nodes.ros.conversions import fill_hydraulic_state, time_message
from flexdyn_ros.nodes.ros.diagnostics import ERROR, OK, WARN, status
from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Setting
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.hydraulic_policy import (
    InputError,
    disagreement,
    pace_word,
    ranges_of,
    read_command,
)
from flexdyn_ros.simulation.live.joint_path import TrajectoryError, distant_start
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.live.platform_drive import BANDWIDTH, PlatformDrive
from flexdyn_ros.simulation.live.pose_path import check_reach, read_pose_path
from flexdyn_ros.simulation.live.simulation import REACH, Simulation


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
        Whose simulation is driven by a PlatformDrive.
    """

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self.drive: PlatformDrive = setting.simulation.drive
        robot = self._simulation.robot
        self._pose = setting.make("~/platform_pose")
        self._legs = setting.make("leg_states")
        self.inputs = {"~/platform_trajectory": self._on_trajectory}
        self._leg_message = JointState(name=list(robot.effort_names))
        if self.drive.hydraulics == "fused":
            self._hydraulic = setting.make("~/hydraulic_state")
            self._hydraulic_message = HydraulicState(names=list(robot.effort_names))
            self._ranges = ranges_of(robot.hydraulics, np.inf)
            self.inputs["~/hydraulic_command"] = self._on_hydraulic_command
        if self.drive.hydraulics == "external":
            self.drive.send = self.publish_legs
            self._leg_message.header.frame_id = pace_word(self.drive.lockstep)

    # ---- out ----

    def publish_fast(self, stamp: Time) -> None:
        """Pose, legs, cylinders."""
        x, y, z, qx, qy, qz, qw = self._simulation.stepper.q.tolist()
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, "world"
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z, o.x, o.y, o.z, o.w = x, y, z, qx, qy, qz, qw
        self._pose.publish(message)
        if self.drive.hydraulics != "external":
            self.publish_legs()
        if self.drive.fused is not None:
            self._hydraulic_message.header.stamp = stamp
            fill_hydraulic_state(self._hydraulic_message, self.drive.fused.cylinders)
            self._hydraulic.publish(self._hydraulic_message)

    def publish_legs(self) -> None:
        """Lengths, rates and forces of the legs, at the simulated time: lockstep goes by the stamp."""
        stepper = self._simulation.stepper
        legs = self._simulation.robot.inverse_kinematics(stepper.q.copy(), stepper.v.copy())
        message = self._leg_message
        nanoseconds = round(stepper.t * 1e9)
        message.header.stamp = time_message(nanoseconds)
        self.drive.gate.newest_sent = nanoseconds
        message.position, message.velocity = doubles(legs.length), doubles(legs.rate)
        message.effort = doubles(stepper.tau if self.drive.hydraulics == "external" else stepper.effort)
        self._legs.publish(message)

    # ---- in ----

    def take_forces(self, message: JointState) -> None:
        """Leg forces of another process.

        Raises
        ------
        CommandError
            If they are malformed, or that process disagrees about lockstep.
        """
        self.drive.disagreement = disagreement(
            message.header.frame_id, "hydraulic actuators", self.drive.lockstep
        )
        if self.drive.disagreement:
            raise self._simulation.buffer.refuse(self.drive.disagreement)
        if len(message.effort) != len(message.name):
            raise self._simulation.buffer.refuse(
                f"effort has {len(message.effort)} numbers, expected {len(message.name)}"
            )
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        try:
            efforts = dict(zip(message.name, message.effort, strict=True))
            is_answer = message.header.frame_id == pace_word(lockstep=True)
            if is_answer and len(message.position) and message.position != self._leg_message.position:
                # of another state at the same time, before a reset or of another simulator
                self.drive.gate.late += 1
                return
            self.drive.gate.take(stamp, efforts, is_answer)
        except ValueError as error:
            raise self._simulation.buffer.refuse(error) from None

    def _on_trajectory(self, message: MultiDOFJointTrajectory, simulation: Simulation) -> None:
        stepper = simulation.stepper
        try:
            if self.drive.hydraulics == "external":
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
        self.drive.take_setpoint(setpoint, simulation.stepper.t, time.monotonic())

    # ---- health ----

    def statuses(self, node: str) -> list[DiagnosticStatus]:
        """NODE: legs."""
        drive = self.drive
        level, text = OK, f"hydraulics {drive.hydraulics}"
        waiting = 0.0 if drive.waiting_since is None else time.monotonic() - drive.waiting_since
        if drive.hydraulics == "external" and drive.lockstep and waiting > 0.1:
            level, text = WARN, f"no leg forces for {waiting:.1f} s: the simulation pauses"
        if drive.disagreement:
            level, text = ERROR, drive.disagreement
        elif drive.stale:
            level = ERROR if drive.hydraulics == "external" else WARN
            text = (
                "no leg forces: dampers hold"
                if drive.hydraulics == "external"
                else "no command: valves closed"
            )
        values = {
            "hydraulics": drive.hydraulics,
            "lockstep": str(drive.lockstep).lower(),
            "forces_taken": drive.gate.taken,
            "forces_repeated_or_late": drive.gate.late,
            "waiting": f"{waiting:.3f} s",
        }
        if drive.fused is not None:
            flags = int(np.bitwise_or.reduce(drive.fused.state().flags))
            values |= {"flags": flags, "faults": drive.fused.faults}
        return [status(level, f"{node}: legs", text, values)]
