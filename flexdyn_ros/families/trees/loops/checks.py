"""What `check` tells of loops: rows, rank, and the motions that they leave."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.robot.verbs import Robot

#: displacement along the motions that loops leave [rad, m], and the share of it that a structure which is no
#: mechanism keeps; how many displacements; share of singular values below which one is zero there
_AWAY, _KEPT, _POSES, _RANK = 1e-2, 0.3, 2, 1e-7


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


def doubts_of_loops(robot: Robot) -> tuple[str, ...]:
    """Sentences on a neutral pose whose rank is not that of the poses beside it.

    Two displacements along the motions that loops leave there are assembled. Where they return, the motion is
    of first order only: the structure is shaky. Where the rank is higher beside the neutral pose, that is
    singular; where it is lower, more motions begin there.
    """
    q = robot.neutral()
    # coordinates that assembly holds (modes, motors) are no part of the count
    J = robot.loop_jacobian(q)
    N = np.linalg.svd(J)[2][robot.nv - robot.mobility :].T
    rank, rng = robot.nv - robot.mobility, np.random.default_rng(0)
    found: set[str] = set()
    for _ in range(_POSES if robot.mobility else 0):
        x = N @ rng.standard_normal(N.shape[1])
        x *= _AWAY / np.abs(x).max()
        try:
            beside = robot.assemble(robot.integrate(q, x, 1.0))
        except ConvergenceError:
            continue
        if np.abs(robot.difference(q, beside)).max() < _KEPT * _AWAY:
            found.add(
                f"the loops leave {robot.mobility} motions at the neutral pose by their rank, but poses "
                "beside it cannot be closed: a shaky structure, no mechanism; lengths that are in line?"
            )
            continue
        values = np.linalg.svd(robot.loop_jacobian(beside), compute_uv=False)
        other = int((values > _RANK * values[0]).sum())
        if other > rank:
            found.add(
                f"the neutral pose is singular (dead centre): the rank of the loops is {rank} there and "
                f"{other} beside it, so that mobility and accelerations there are not those of other poses; "
                "<assembly start=...> begins elsewhere"
            )
        elif other < rank:
            found.add(
                f"the rank of the loops is {rank} at the neutral pose and {other} beside it: more motions "
                "begin there"
            )
    return tuple(sorted(found))
