"""Robots of `kind` tree: functions of the verbs over the kernels of a rigid or a flexible tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.families.trees.rigid.kernels import entries as kernels
from flexdyn_ros.families.trees.rigid.kernels.coriolis import coriolis_many
from flexdyn_ros.families.trees.rigid.model import Frame, build_tree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.families.trees.rigid.payload import carry
from flexdyn_ros.numerics.compiling.compiler import LANES
from flexdyn_ros.robot.arguments import Rows, explain_status, numbers, refuse_nonfinite, warn_of_singular_rows
from flexdyn_ros.robot.functions import DirectFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.results import Deflection
from flexdyn_ros.robot.stations import word_for
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.robot.wrenches import rows_with_wrenches, wrench_rows

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.robot import Bending, LinkIntegrals
    from flexdyn_ros.families.trees.reactions import JointReactions
    from flexdyn_ros.robot.analysis.small_deflections import Tip

__all__ = ["TreeFunctions"]

_empty = np.empty


class TreeFunctions(DirectFunctions):
    """A tree of rigid bodies and flexible links on a fixed, planar or floating base.

    Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`. Arguments of all verbs broadcast over
    leading dimensions; q is (..., nq), v and a are (..., nv), tau is (..., nu); units SI and rad. See
    `flexdyn_ros.Robot` for what the verbs have in common.
    """

    kind = "tree"
    offers = (*DirectFunctions.offers, "bends", "tips", "modal_integrals", "joint_reactions")

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        sections: tuple[str, ...] = (),
        *,
        loose: bool = False,
    ) -> None:
        self.payloads, self.sections = payloads, sections
        self.tree = tree = carry(build_tree(description, sections, loose=loose), payloads)
        self._settle(
            description,
            tree.coordinates,
            q_names=tree.q_names,
            frame_names=[name for name in tree.frames if name not in sections],
            gravity=tree.model.gravity,
            warnings=description.warnings + tree.warnings,
        )
        self.bending: Bending | None = None
        if tree.flexible is None:
            self.kernels: Any = kernels
            self.packed = PackedTree(tree)
        else:
            from flexdyn_ros.families.trees.flexible.robot import Bending

            self.bending = Bending(tree)
            self.kernels, self.packed = self.bending.kernels, self.bending.packed
        self.entries, self.address = self.kernels, self.packed.address
        self.by_mass_matrix = tree.has_mimic
        self._seen: dict[tuple[str, ...], TreeFunctions] = {}
        self._loosened: list[Robot] = []
        self._build()

    def _build(self) -> None:
        """What other formulations make beside the tree."""

    @property
    def recipe(self) -> tuple[Any, ...]:
        return self.description, self.payloads, self.sections

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return self.tree.mass

    @property
    def bends(self) -> bool:
        """True if the robot has flexible links that are computed as such."""
        return self.bending is not None

    @property
    def tips(self) -> tuple[Tip, ...]:
        """The tips of the flexible links."""
        return () if self.bending is None else self.bending.tips

    def motion(self) -> Motion:
        """What fixed compiled steps need."""
        from flexdyn_ros.families.trees.motion import tree_motion

        return tree_motion(self.description, self.tree, self.packed, self.place)

    def place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        wanted = tuple(names)
        seeing = self.seeing(wanted)
        motion = seeing.robot.motion
        assert motion is not None
        return motion, *seeing._points(dict.fromkeys(wanted))

    def check_carrier(self, frame: str) -> None:
        self.seeing((frame,)).frame(frame)

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> Self:
        return type(self)(self.description, payloads, self.seeing((frame,)).sections)

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions; may lie outside limits."""
        return self.tree.neutral.copy()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,): joints within their limits (else within pi or 1 m), free bodies within 1 m, any
        attitude."""
        q = rng.uniform(-1.0, 1.0, self.nq)
        for c in self.coordinates:
            if c.q_index >= 0 and c.kind == "joint":
                reach = np.pi if c.unit == "rad" else 1.0
                low, high = max(c.lower, -reach), min(c.upper, reach)
                if low > high:
                    low, high = c.lower, c.upper
                q[c.q_index] = rng.uniform(low, high)
        for index, size in (self.bending.small if self.bending else {}).items():
            q[index] *= size
        for i in self._quaternions:
            x = rng.standard_normal(4)
            q[i : i + 4] = x / np.sqrt(x @ x)
        return q

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        m = self.tree.model
        return tuple(int(m.q_index[b]) + 3 for b in range(1, m.nb) if m.joint_type[b] == 2)

    # ---- what only trees have ----

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None) -> dict[str, Deflection]:
        """Deformation of each flexible link by its name, at stations (k,) (default 21) in beam axes.

        Moments and forces are the elastic ones, from the shapes; strain is 0 where the size of the section
        is unknown. {} if the robot is rigid.
        """
        rows = Rows({"q": (q, self.nq)})
        self.check({"q": rows.take("q")})
        if self.bending is None:
            return {}
        return self.bending.deflections(rows.take("q").reshape(*rows.shape, self.nq), stations)

    def modal_integrals(self, link: str, stations: Sequence[float] = (1.0,)) -> LinkIntegrals:
        """Mass, stiffness and damping data of a flexible link, and its shapes at stations; see
        `LinkIntegrals`.

        Raises
        ------
        UnknownNameError
            If the robot has no flexible link of that name.
        StateError
            If a station is not between 0 and 1.
        """
        if self.bending is None:
            raise UnknownNameError("flexible link", link, ())
        return self.bending.integrals_of(link, stations)

    def joint_reactions(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> JointReactions:
        """Force and moment that every joint transmits to its child link; see `JointReactions`.

        q (..., nq), v, a (..., nv) are a motion, wrenches those of `inverse_dynamics`. The component along
        the axis of a joint is its effort less what its springs, damping, friction and rotor take.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        UnsupportedError
            On wheels (their planar methods have `constraint_forces`), and with affine section frames.
        """
        from flexdyn_ros.families.trees.reactions import reactions_of

        seeing = self.seeing(wrenches or ())
        return reactions_of(seeing.robot, seeing.loose_copy(), q, v, a, wrenches)

    def loose_copy(self) -> Robot:
        """This robot with the joints of `build_tree(loose=True)`, by the recursions of articulated bodies."""
        if not self._loosened:
            formulation = replace(self.description.formulation, method="articulated")
            same = replace(self.description, formulation=formulation)
            self._loosened.append(Robot(TreeFunctions(same, self.payloads, self.sections, loose=True)))
        return self._loosened[0]

    # ---- rows of the verbs ----

    def inverse_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None, tau: np.ndarray) -> None:
        self.run("inverse_dynamics", rows, ("q", "v", "a"), tau, wrenches)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None, a: np.ndarray) -> None:
        self.run("forward_dynamics", rows, ("q", "v", "tau"), a, wrenches)

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        self.call(self.kernels.mass_matrix_many, rows, ("q",), M)

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        return self.filled(self.kernels.bias_terms_many, rows, ("q", "v"), 5, self.nv)

    def energy_rows(self, rows: Rows) -> np.ndarray:
        return self.filled(self.kernels.energy_many, rows, ("q", "v"), 3)

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        return self.filled(self.kernels.momenta_many, rows, ("q", "v"), 10)

    def coriolis_rows(self, rows: Rows) -> np.ndarray:
        if self.bends:
            return super().coriolis_rows(rows)
        C = _empty((rows.count, self.nv, self.nv))
        blocks = (4, self.tree.model.nb, 6, 6)

        def call(address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, C: np.ndarray) -> int:
            return coriolis_many(address, work, q, v, np.zeros(blocks), C)

        self.call(call, rows, ("q", "v"), C)
        return C

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        seeing = self.seeing(names)
        frames = [seeing.frame(name) for name in names]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        placements = np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)

        def call(address: int, work: np.ndarray, q: np.ndarray, poses: np.ndarray) -> int:
            return seeing.kernels.frames_many(address, work, q, bodies, placements, poses)

        seeing.call(call, rows, ("q",), poses)

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        seeing = self.seeing((frame,))
        body, placement = seeing.frame(frame)[1:]

        def call(address: int, work: np.ndarray, q: np.ndarray, J: np.ndarray) -> int:
            return seeing.kernels.jacobian_many(address, work, q, body, placement.p, J)

        seeing.call(call, rows, ("q",), J)

    def integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        moved = _empty((rows.count, self.nq))
        data = {name: rows.take(name) for name in ("q", "v")}
        explain_status(self.kernels.integrate_many(self.address, data["q"], data["v"], dt, moved), data)
        return moved

    def difference_rows(self, rows: Rows) -> np.ndarray:
        way = _empty((rows.count, self.nv))
        ends = {name: rows.take(name) for name in ("q0", "q1")}
        if self.kernels.difference_many(self.address, self._wraps, ends["q0"], ends["q1"], way):
            for name, q in ends.items():
                alone = self.kernels.difference_many(self.address, self._wraps, q, q, _empty(way.shape))
                explain_status(alone, {"q": q} if alone % 8 == 3 else {name: q})
        return way

    @cached_property
    def _wraps(self) -> np.ndarray:
        """Marks the coordinates of continuous joints."""
        kinds = {joint.name: joint.type for joint in self.description.joints}
        return np.array([kinds.get(c.name) == "continuous" for c in self.coordinates], dtype=bool)

    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        seeing = self.seeing(wrenches or ())
        if seeing is not self:
            return seeing.slopes_rows(rows, wrenches)
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        dq, dv = _empty((rows.count, self.nv, self.nv)), _empty((rows.count, self.nv, self.nv))
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, dq, dv = arrays
            work = self.packed.work(dtype=np.complex128)
            return self.kernels.inverse_dynamics_derivatives_many(
                self.address, work, q, v, a, bodies, offsets, w, dq, dv
            )

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), dq, dv])
        explain_status(status, data)
        return dq, dv

    # ---- behind the verbs ----

    def seeing(self, names: Iterable[Any]) -> Any:
        """This robot, or one like it for which the sections LINK@station among `names` are frames too."""
        if self.bending is None:
            return self
        missing = self.bending.section_names(names, self.tree.frames)
        if not missing:
            return self
        if missing not in self._seen:
            sections = (*self.sections, *missing)
            other = type(self)(self.description, self.payloads, sections)
            Robot(other)
            self._seen[missing] = other
        return self._seen[missing]

    def frame(self, name: str) -> Frame:
        try:
            return self.tree.frames[name]
        except (KeyError, TypeError):
            bent = self.description.flexible_links
            raise UnknownNameError(word_for(name, bent), name, self.frame_names) from None

    def _points(self, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points (k, 3) in them at which the wrenches act."""
        frames = [self.frame(name) for name in wrenches or {}]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def run(
        self,
        verb: str,
        rows: Rows,
        names: tuple[str, ...],
        out: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> None:
        """One of the dynamics over all rows: lanes without wrenches, sample by sample with them."""
        seeing = self.seeing(wrenches or ())
        if seeing is not self:
            seeing.run(verb, rows, names, out, wrenches)
            return
        data = {name: rows.take(name) for name in names}
        result = out.reshape(rows.count, self.nv)
        if not wrenches:
            plain = getattr(self.kernels, f"{verb}_many")

            def call(*arrays: np.ndarray) -> int:
                return plain(self.address, self.packed.work(LANES), *arrays)

            status = run_in_slices(call, [*data.values(), result])
        else:
            bodies, offsets = self._points(wrenches)
            loaded = getattr(self.kernels, f"{verb}_loaded")

            def call(*arrays: np.ndarray) -> int:
                q, v, x, w, y = arrays
                return loaded(self.address, self.packed.work(), q, v, x, bodies, offsets, w, y)

            status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), result])
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)

    def check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        still = np.zeros((len(q), self.nv))
        explain_status(self.kernels.integrate_many(self.address, q, still, 0.0, _empty(q.shape)), {"q": q})
        refuse_nonfinite(data)

    def partial(
        self, q: Any, v: Any, tau: Any, a: Any, given: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        seeing = self.seeing(wrenches or ())
        if seeing is not self:
            return seeing.partial(q, v, tau, a, given, wrenches)
        tau = np.zeros(self.nv) if tau is None else tau
        # accelerations of coordinates that are not given are no input: whatever they hold must not count
        a = np.where(given, numbers(a, "a", self.nv), 0.0)
        rows = rows_with_wrenches(
            wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv), a=(a, self.nv)
        )
        data = {name: rows.take(name) for name in ("q", "v", "tau", "a")}
        checked = {name: array.copy() if name in ("tau", "a") else array for name, array in data.items()}
        data["tau"], data["a"] = data["tau"].copy(), data["a"].copy()
        data["tau"][:, given] = 0.0
        self.solve_partially(rows, data, checked, given, wrenches)
        shape = (*rows.shape, self.nv)
        return data["tau"].reshape(shape), data["a"].reshape(shape)

    def solve_partially(
        self,
        rows: Rows,
        data: dict[str, np.ndarray],
        given_data: Mapping[str, np.ndarray],
        given: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> None:
        """Write what is not given into data["a"] and data["tau"]; given_data: what to blame, as it came."""
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w = arrays
            work, M = self.packed.work(), _empty((self.nv, self.nv))
            return self.kernels.partial_dynamics_many(
                self.address, work, M, q, v, tau, given, a, bodies, offsets, w
            )

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches)])
        if status:
            explain_status(status, given_data)
            warn_of_singular_rows(data["a"], given_data, "the mass matrix", rows.shape)
            data["tau"][~np.isfinite(data["a"]).all(axis=1)] = np.nan
