"""Reactions in joints and loads along links of a robot with loops: those of the open tree, on which its loops
act as external wrenches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexdyn_ros.families.trees.loads import JointReactions
from flexdyn_ros.families.trees.loops.closing import OPEN
from flexdyn_ros.families.trees.loops.dynamics import least_efforts, null_space
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.robot.analysis.allocation import chosen_actuators
from flexdyn_ros.robot.arguments import Rows, flat_wrenches, rows_with_wrenches
from flexdyn_ros.robot.results import Loads


class Reacting:
    """What the loops of a robot do to its tree in given motions.

    Efforts that are left out are those of least square that make the motion, as of `inverse_dynamics`; of
    accelerations that the loops do not allow, the nearest in the metric of M. Redundant rows share their
    forces with the least norm.
    """

    def __init__(self, forces: Forces) -> None:
        self._forces, self._closing = forces, forces.closing

    def joint_reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        tau: np.ndarray | None = None,
    ) -> JointReactions:
        """Force and moment that every joint of the tree transmits to its child link; see `JointReactions`.

        q (..., nq), v, a (..., nv) are a motion that the loops allow, wrenches those of `inverse_dynamics`;
        tau (..., nu) are the efforts in it, by default those that make it. Where rows are redundant,
        `loop_reactions` says which components are determined.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        """
        f = self._closing.functions
        motion = {"q": (q, f.nq), "v": (v, f.nv), "a": (a, f.nv)}
        motion |= {} if tau is None else {"tau": (tau, f.nu)}
        rows = rows_with_wrenches(wrenches, **motion)
        state, acting = self._acting(rows, wrenches)
        given = {name: x.reshape(*rows.shape, x.shape[1]) for name, x in state.items()}
        loads = {name: w.reshape(*rows.shape, 6) for name, w in acting.items()}
        reactions: JointReactions = self._closing.open.joint_reactions(
            given["q"], given["v"], given["a"], loads, given["tau"]
        )
        return reactions

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """See `Layer.loads_rows`."""
        state, acting = self._acting(rows, wrenches)
        motion = {name: (x.reshape(*rows.shape, x.shape[1]), x.shape[1]) for name, x in state.items()}
        loads = {name: w.reshape(*rows.shape, 6) for name, w in acting.items()}
        within = self._closing.open.functions
        return within.loads_rows(rows_with_wrenches(loads, **motion), loads, stations)

    def _acting(
        self, rows: Rows, wrenches: Mapping[str, object] | None
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Rows of q, v, a, tau of the motion, and wrenches (N, 6) = (moment; force) on frames, at their
        origins, world axes: those that are given, and those of the loops."""
        f, robot, geometry = self._closing.functions, self._closing.open, self._closing.geometry
        state = {name: rows.take(name) for name in rows.names if name in ("q", "v", "a", "tau")}
        f.check(state)
        closure = geometry.at(state["q"], state["v"])
        is_open = self._closing.refuse_open(closure, state["v"], rows.shape, OPEN)
        M = robot.mass_matrix(state["q"])
        missed = np.einsum("nij,nj->ni", closure.J, state["a"]) + closure.bias
        none = np.zeros((*state["a"].shape, 1))
        state["a"] = (
            state["a"] + self._closing.factors(M, closure.J).solve(none, -missed[..., None])[0][..., 0]
        )
        given = flat_wrenches(rows, wrenches) or {}
        acting = {name: w.copy() for name, w in given.items()}
        needed = robot.inverse_dynamics(state["q"], state["v"], state["a"], given or None)[:, : f.nv]
        B, lam = robot.actuation_matrix(state["q"]), np.zeros(closure.residual.shape)
        chosen, nothing = chosen_actuators(f.robot, "all"), np.zeros((0, 0))
        if "tau" not in state:
            state["tau"] = np.zeros((rows.count, f.nu))
            for i in range(rows.count):
                N = null_space(closure.J[i])
                weights = self._forces.weights(chosen)
                columns = N.T @ B[i][:, chosen]
                none_free = N.T[:, :0]
                u, _, _ = least_efforts(N.T @ needed[i], columns, none_free, nothing, weights)
                state["tau"][i, chosen] = u
        for i in range(rows.count):
            lam[i] = np.linalg.lstsq(closure.J[i].T, needed[i] - B[i] @ state["tau"][i], rcond=1e-10)[0]
        lam[is_open] = np.nan
        for k, loop in enumerate(geometry.loops):
            mine = geometry.loop_of == k
            both = np.einsum("nr,nrk->nk", lam[:, mine], closure.lines[:, mine]).reshape(rows.count, 2, 6)
            for mount, wrench in zip((loop.base, loop.end), np.moveaxis(both, 1, 0), strict=True):
                if mount.frame is None:
                    continue
                R = robot.frames(state["q"], mount.frame)[:, :3, :3]
                own = wrench.copy()
                own[:, :3] += np.cross(R @ mount.placement.p, wrench[:, 3:])
                before = acting.get(mount.frame)
                acting[mount.frame] = own if before is None else before + own
        return state, acting
