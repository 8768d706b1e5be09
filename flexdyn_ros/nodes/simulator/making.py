"""The simulation of a node: its robot at the start, commands and drive as the parameters say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import inf

import numpy as np

from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.loading import from_description
from flexdyn_ros.multibody.elements.cylinder.circuits import without_oil
from flexdyn_ros.nodes.ros.declaration import ParameterError, declare_family
from flexdyn_ros.nodes.ros.managed import ManagedNode
from flexdyn_ros.nodes.simulator.extras import hydraulics_of
from flexdyn_ros.nodes.simulator.parameters import (
    DAMPING,
    POSITIONS,
    STIFFNESS,
    VELOCITIES,
    SimulatorParameters,
    steps_per_force,
)
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError
from flexdyn_ros.simulation.live.external_drive import ExternalDrive
from flexdyn_ros.simulation.live.oil_drive import OilDrive
from flexdyn_ros.simulation.live.platform_drive import Legs, PlatformDrive, leg_gains
from flexdyn_ros.simulation.live.simulation import Driven, Simulation, default_gains
from flexdyn_ros.simulation.steps.clock import onto_constraints
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion


def oil_outside(robot: Robot, settings: SimulatorParameters) -> tuple[Robot, tuple[str, ...]]:
    """The robot that is simulated here, and the names of its cylinders whose oil another process computes.

    Raises
    ------
    ParameterError
        If there is no such cylinder, or its supply feeds one that stays.
    """
    if settings.hydraulics != "external" or robot.hydraulics is None:
        return robot, ()
    names = settings.external_cylinders or robot.hydraulics.names
    try:
        return from_description(without_oil(robot.description, names)), names
    except FlexdynError as error:
        raise ParameterError(f"parameter external_cylinders: {error}") from None


def make_simulation(
    node: ManagedNode, robot: Robot, settings: SimulatorParameters, outside: Sequence[str] = ()
) -> Simulation:
    """The robot at its start, with a step behind it that compiled what there is to compile; outside: names of
    the cylinders whose oil another process computes."""
    q0, v0 = initial_state(node, robot)
    stiffness, damping = servo_gains(node, robot, q0)
    stepping = {"dt": settings.step, "method": settings.method}
    stepping |= {"limits": settings.limits, "saturate": settings.saturate}
    buffer = _make_buffer(robot, settings)
    drive = _make_drive(robot, settings, stiffness, damping, outside)
    if drive is not None and drive.hydraulics != "none":
        # cylinders have end stops and largest pressures of their own
        stepping |= {"limits": "report", "saturate": False}
    simulation = Simulation(robot, buffer, q0, v0, stiffness, damping, drive, **stepping)
    simulation.stepper.advance(1)
    robot.energy(q0, v0)
    simulation.reset()
    return simulation


def _make_buffer(robot: Robot, settings: SimulatorParameters) -> CommandBuffer:
    try:
        return CommandBuffer(
            Legs.of(robot) if robot.legs else Driven.of(robot),
            settings.joints,
            settings.command_interface,
            settings.command_timeout,
            settings.on_stale_command,
            settings.servo_gravity_compensation,
            settings.before_first_command,
            settings.servo_extrapolation,
            settings.nan_in_commands,
        )
    except CommandError as error:
        raise ParameterError(str(error)) from None


def _make_drive(
    robot: Robot,
    settings: SimulatorParameters,
    stiffness: np.ndarray,
    damping: np.ndarray,
    outside: Sequence[str],
) -> PlatformDrive | OilDrive | ExternalDrive | None:
    """What advances a platform, or a robot with cylinders; None where the stepper does by itself."""
    hydraulics, timeout = hydraulics_of(robot, settings.hydraulics), settings.command_timeout or inf
    fused = robot.hydraulics is not None and not robot.legs and hydraulics != "none"
    inner = OilDrive(robot, stiffness, damping, timeout) if fused else None
    if outside:
        return ExternalDrive(
            robot,
            outside,
            damping,
            inner=inner,
            lockstep=settings.lockstep,
            steps_per_force=steps_per_force(settings),
            timeout=timeout,
        )
    if robot.legs:
        return PlatformDrive(robot, hydraulics, stiffness, damping, timeout=timeout)
    return inner


def specialized_robot(node: ManagedNode, robot: Robot) -> Robot:
    """The robot compiled for this machine, itself where that does not work; says why in the log."""
    from flexdyn_ros.export import specialized

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            robot = specialized(robot)
        except UnsupportedError as error:
            node.get_logger().warning(str(error))
    for warning in found:
        node.get_logger().warning(str(warning.message))
    return robot


def initial_state(node: ManagedNode, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and v (nv,): neutral and at rest, or as a prescribed drive begins, but for parameters
    initial.positions.NAME and initial.velocities.NAME.

    Raises ParameterError if they are no state of the robot.
    """
    still = initial_motion(robot, drive_of(robot, None), 0.0)
    neutral = dict(zip(robot.q_names, still[0].tolist(), strict=True))
    moving = dict(zip(robot.v_names, still[1].tolist(), strict=True))
    positions = declare_family(node, POSITIONS, neutral)
    velocities = declare_family(node, VELOCITIES, moving)
    q0, v0 = np.array(list(positions.values())), np.array(list(velocities.values()))
    try:
        robot.energy(q0, v0)
        start = onto_constraints(robot, q0, v0)
    except FlexdynError as error:
        raise ParameterError(f"parameters initial.positions: {error}") from None
    if start.text:
        node.get_logger().warning(start.text)
    return start.q, start.v


def servo_gains(node: ManagedNode, robot: Robot, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nu,): parameters servo.stiffness.NAME and servo.damping.NAME, else derived from
    inertia and limits.

    Raises ParameterError if one is negative.
    """
    gains = []
    is_platform = robot.legs
    driven = Legs.of(robot).coordinates if is_platform else Driven.of(robot).coordinates
    rows = driven if is_platform else [c for c in driven if c.actuated]
    derive = leg_gains if is_platform else default_gains
    for family, derived in zip((STIFFNESS, DAMPING), derive(robot, q0), strict=True):
        found = declare_family(node, family, {c.name: float(derived[c.v_index]) for c in rows})
        gain = np.zeros(len(driven))
        for c in rows:
            gain[c.v_index] = found[c.name]
        gains.append(gain)
    return gains[0], gains[1]
