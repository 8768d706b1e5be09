"""What the simulator says in /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from flexdyn_ros.nodes.ros.outbox import ERROR, OK, WARN, status
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters
from flexdyn_ros.nodes.simulator.recorder import Recorder
from flexdyn_ros.robot.analysis.validity import at_most
from flexdyn_ros.simulation.live.pace import Pace
from flexdyn_ros.simulation.live.simulation import Simulation
from flexdyn_ros.simulation.verdict import step_for

#: largest error of the balance of energy that is not worth a word, as a share of the kinetic energy
LARGEST_IMBALANCE = 1e-2


def simulator_health(
    node: str, simulation: Simulation, pace: Pace, settings: SimulatorParameters, messages_lost: int = 0
) -> list[DiagnosticStatus]:
    """Statuses NODE: simulation, commands, limits; `messages_lost` is what the
    middleware did not take."""
    return [
        _simulation_status(node, simulation, pace, settings, messages_lost),
        _commands_status(node, simulation, settings),
        _limits_status(node, simulation),
    ]


def _simulation_status(
    node: str, simulation: Simulation, pace: Pace, settings: SimulatorParameters, messages_lost: int
) -> DiagnosticStatus:
    report = pace.report()
    behind = 0.0 < report.recent_factor < 0.95 * settings.real_time_factor
    level, message = OK, "paused" if pace.paused else "running"
    if simulation.fault:
        level, message = ERROR, f"{simulation.fault}; waits for reset or set_dynamics_state"
    elif behind and not pace.paused:
        level, message = WARN, f"slower than asked for: {report.recent_factor:.3f} of real time"
    elif simulation.balance_share > LARGEST_IMBALANCE:
        step = step_for(LARGEST_IMBALANCE, simulation.balance_share, settings.step, simulation.stepper.method)
        level, message = (
            WARN,
            (
                f"the energy is off by {simulation.balance_share:.2g} of the largest kinetic energy: a "
                f"step of {at_most(step, 1)} s would do"
            ),
        )
    stepper = simulation.stepper
    values = {
        "time": f"{stepper.t:.6f} s",
        "real_time_factor": f"{report.recent_factor:.5f}",
        "real_time_factor_mean": f"{report.real_time_factor:.5f}",
        "ticks": report.ticks,
        "late_ticks": report.late_ticks,
        "lateness_median": f"{1e6 * report.lateness_median:.1f} us",
        "lateness_p99": f"{1e6 * report.lateness_p99:.1f} us",
        "overruns": report.overruns,
        "step": f"{settings.step:g} s",
        "method": stepper.method,
        "messages_lost": messages_lost,
        "energy_balance_error": f"{simulation.energy_balance_error:.6g} J",
        "energy_balance_share": f"{simulation.balance_share:.3g}",
    }
    return status(level, f"{node}: simulation", message, values)


def _commands_status(node: str, simulation: Simulation, settings: SimulatorParameters) -> DiagnosticStatus:
    buffer = simulation.buffer
    level, message = OK, "following commands" if buffer.accepted else "no commands yet"
    if buffer.stale:
        level, message = WARN, f"stale, {settings.on_stale_command}: {', '.join(buffer.stale)}"
    elif buffer.remark:
        level, message = WARN, buffer.remark
    elif buffer.rejected:
        level, message = WARN, f"{buffer.rejected} refused, last: {buffer.last_rejection}"
    values = {
        "accepted": buffer.accepted,
        "rejected": buffer.rejected,
        "last_rejection": buffer.last_rejection,
        "remark": buffer.remark,
        "stale": ", ".join(buffer.stale),
        "on_stale_command": settings.on_stale_command,
    }
    return status(level, f"{node}: commands", message, values)


def _limits_status(node: str, simulation: Simulation) -> DiagnosticStatus:
    stepper, names = simulation.stepper, simulation.robot.effort_names
    outside = [name for name, at in zip(names, stepper.at_stop, strict=True) if at]
    clipped = [name for name, at in zip(names, stepper.saturated, strict=True) if at]
    fast = [c.name for c in simulation.robot.coordinates if abs(stepper.v[c.v_index]) > c.velocity_limit]
    level = WARN if outside or clipped or fast else OK
    parts = [
        f"{what}: {', '.join(found)}"
        for what, found in (
            ("outside position limits", outside),
            ("effort clipped", clipped),
            ("too fast", fast),
        )
        if found
    ]
    values = {
        "outside_position_limits": ", ".join(outside),
        "effort_clipped": ", ".join(clipped),
        "above_velocity_limit": ", ".join(fast),
    }
    return status(level, f"{node}: limits", "; ".join(parts) or "within limits", values)


def recording_health(node: str, recorder: Recorder) -> DiagnosticStatus:
    """Status NODE: recording. ERROR when the recording has ended early or messages are missing in it."""
    level, message = OK, f"recording to {recorder.path}"
    if recorder.failure:
        level, message = ERROR, recorder.failure
    elif recorder.lost:
        level, message = ERROR, f"{recorder.lost} messages are missing: {recorder.path} is written too slowly"
    values = {"written": recorder.written, "lost": recorder.lost}
    return status(level, f"{node}: recording", message, values)
