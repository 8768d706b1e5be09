"""What `check` tells of loops: rows, rank, and the motions that they leave."""

from __future__ import annotations

from flexdyn_ros.robot.verbs import Robot


def notes_of_loops(robot: Robot) -> tuple[str, ...]:
    """Rows and mobility at the neutral pose, beside the count that takes all rows for independent."""
    rows = sum(loop.rows for loop in robot.loops)
    rank, count = robot.nv - robot.mobility, len(robot.actuators)
    loops = "; ".join(
        f"'{loop.name}' ({loop.type}): {loop.rows} rows, {loop.redundant} of them redundant"
        for loop in robot.loops
    )
    doubt = "" if count == robot.mobility else "; intended?"
    return (
        f"{robot.nv} velocities, {rows} rows of loops of rank {rank}: mobility {robot.mobility} (Gruebler's "
        f"count: {robot.nv - rows}), {count} actuators{doubt} ({loops})",
    )
