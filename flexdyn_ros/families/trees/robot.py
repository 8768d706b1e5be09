"""Robots of `kind` tree: the verbs of the protocol over the kernels of a rigid or a flexible tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnknownNameError, UnsupportedError
from flexdyn_ros.families.trees.rigid.kernels import entries as kernels
from flexdyn_ros.families.trees.rigid.kernels.coriolis import coriolis_many
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree, build_tree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.families.trees.rigid.payload import carry
from flexdyn_ros.numerics.compiling.compiler import LANES
from flexdyn_ros.robot.analysis.partial import partial_motion
from flexdyn_ros.robot.arguments import Rows, explain_status, numbers, refuse_nonfinite, warn_of_singular_rows
from flexdyn_ros.robot.derived_verbs import DirectVerbs
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.results import Deflection
from flexdyn_ros.robot.stations import word_for
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.wrenches import rows_with_wrenches, wrench_rows

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.robot import Bending, LinkIntegrals
    from flexdyn_ros.families.trees.lagrange.affine_frames import AffineFrames
    from flexdyn_ros.families.trees.lagrange.model import LagrangeModel
    from flexdyn_ros.families.trees.lagrange.verbs import LagrangianPath
    from flexdyn_ros.families.trees.reactions import JointReactions
    from flexdyn_ros.robot.analysis.small_deflections import Tip
    from flexdyn_ros.robot.motion import Motion

__all__ = ["TreeRobot"]

_empty = np.empty


class TreeRobot(DirectVerbs):
    """A tree of rigid bodies and flexible links on a fixed, planar or floating base.

    Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`. Arguments of all verbs broadcast over
    leading dimensions; q is (..., nq), v and a are (..., nv), tau is (..., nu); units SI and rad. See
    `flexdyn_ros.Robot` for what the verbs have in common.
    """

    kind = "tree"

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        sections: tuple[str, ...] = (),
        *,
        loose: bool = False,
    ) -> None:
        self._payloads, self._sections = payloads, sections
        self._tree = tree = carry(build_tree(description, sections, loose=loose), payloads)
        self._settle(
            description,
            tree.coordinates,
            q_names=tree.q_names,
            frame_names=[name for name in tree.frames if name not in sections],
            gravity=tree.model.gravity,
            warnings=description.warnings + tree.warnings,
        )
        self._kernels: Any = kernels
        self._bending: Bending | None = None
        if tree.flexible is None:
            self._packed: Any = PackedTree(tree)
        else:
            from flexdyn_ros.families.trees.flexible.robot import Bending

            self._bending = Bending(tree)
            self._kernels, self._packed = self._bending.kernels, self._bending.packed
            self._seen: dict[tuple[str, ...], TreeRobot] = {}
        self._loosened: list[TreeRobot] = []
        self._rolling = self._on_wheels(description)
        if self._rolling is not None:
            self._kernels, self._packed = self._rolling.kernels, self._rolling.packed
        self._address = self._packed.address
        self._lagrangian = None
        self._affine = self._bending is not None and description.formulation.frame == "affine"
        if description.formulation.method == "lagrange":
            bends = self._bending
            bent = None if bends is None else bends.lagrange_model(description.formulation)
            self._lagrangian = _lagrangian_path(tree, bent)
        self._affine_frames: AffineFrames | None = None
        if self._affine and self._lagrangian is not None:
            from flexdyn_ros.families.trees.lagrange.affine_frames import AffineFrames

            self._affine_frames = AffineFrames(tree, self._lagrangian.model)
        self._by_mass_matrix = tree.has_mimic
        self._take_shortcuts(self._kernels if self._lagrangian is None else None)
        self._complete = True

    def _on_wheels(self, description: RobotDescription) -> Any:
        """What the tree stands on, for families that have it."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.description, self._payloads, self._sections)

    # ---- what the robot is ----

    @cached_property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included, and of the hubs of wheels [kg]."""
        return self._tree.mass + (0.0 if self._rolling is None else self._rolling.hubs.mass)

    @property
    def bends(self) -> bool:
        """True if the robot has flexible links that are computed as such."""
        return self._bending is not None

    @property
    def tips(self) -> tuple[Tip, ...]:
        """The tips of the flexible links."""
        return () if self._bending is None else self._bending.tips

    @cached_property
    def motion(self) -> Motion | None:
        """What fixed compiled steps need."""
        from flexdyn_ros.families.trees.motion import tree_motion

        general = tree_motion(self.description, self._tree, self._packed, self._place)
        if self._affine and self._lagrangian is not None:
            from flexdyn_ros.families.trees.lagrange.motion import lagrange_motion

            return lagrange_motion(general, self._lagrangian.model)
        return general if self._rolling is None else self._rolling.motion(general)

    def _place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        wanted = tuple(names)
        if wanted:
            self._need_rotations("wrenches")
        seeing = self._seeing(wanted)
        assert seeing.motion is not None
        return seeing.motion, *seeing._points(dict.fromkeys(wanted))

    def _check_carrier(self, frame: str) -> None:
        self._seeing((frame,))._frame(frame)

    def _carrying(self, frame: str, payloads: tuple[Payload, ...]) -> Self:
        return type(self)(self.description, payloads, self._seeing((frame,))._sections)

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions; may lie outside limits."""
        return self._tree.neutral.copy()

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random q (nq,): joints within their limits (else within pi or 1 m), free bodies within 1 m, any
        attitude."""
        rng = np.random.default_rng() if rng is None else rng
        q = rng.uniform(-1.0, 1.0, self.nq)
        for c in self.coordinates:
            if c.q_index >= 0 and c.kind == "joint":
                reach = np.pi if c.unit == "rad" else 1.0
                low, high = max(c.lower, -reach), min(c.upper, reach)
                if low > high:
                    low, high = c.lower, c.upper
                q[c.q_index] = rng.uniform(low, high)
        for index, size in (self._bending.small if self._bending else {}).items():
            q[index] *= size
        for i in self._quaternions:
            x = rng.standard_normal(4)
            q[i : i + 4] = x / np.sqrt(x @ x)
        return q

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        m = self._tree.model
        return tuple(int(m.q_index[b]) + 3 for b in range(1, m.nb) if m.joint_type[b] == 2)

    # ---- what only trees have ----

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Deflection]:
        """Deformation of each flexible link by its name, at stations (k,) (default 21) in beam axes.

        Moments and forces are the elastic ones, from the shapes; strain is 0 where the size of the section
        is unknown. {} if the robot is rigid.
        """
        rows = Rows({"q": (q, self.nq)})
        self._check({"q": rows.take("q")})
        if self._bending is None:
            return {}
        return self._bending.deflections(rows.take("q").reshape(*rows.shape, self.nq), stations)

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
        if self._bending is None:
            raise UnknownNameError("flexible link", link, ())
        return self._bending.integrals_of(link, stations)

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

        if self._rolling is not None:
            raise UnsupportedError(
                f"robot {self.name!r} stands on wheels: joint_reactions are those of kind 'tree', see "
                "constraint_forces"
            )
        self._need_rotations("joint_reactions")
        seeing = self._seeing(wrenches or ())
        return reactions_of(seeing, seeing._loose_copy(), q, v, a, wrenches)

    def _loose_copy(self) -> TreeRobot:
        """This robot with the joints of `build_tree(loose=True)`."""
        if not self._loosened:
            formulation = self.description.formulation
            if not self._affine:
                formulation = replace(formulation, method="articulated")
            same = replace(self.description, formulation=formulation)
            self._loosened.append(TreeRobot(same, self._payloads, self._sections, loose=True))
        return self._loosened[0]

    # ---- rows of the verbs ----

    def _inverse_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None, tau: np.ndarray) -> None:
        self._run("inverse_dynamics", rows, ("q", "v", "a"), tau, wrenches)

    def _forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None, a: np.ndarray) -> None:
        self._run("forward_dynamics", rows, ("q", "v", "tau"), a, wrenches)

    def _mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        if self._lagrangian is None:
            self._call(self._kernels.mass_matrix_many, rows, ("q",), M)
        else:
            self._check({"q": rows.take("q")})
            M[...] = self._lagrangian.mass_matrix(rows.take("q"))

    def _bias_terms_rows(self, rows: Rows) -> np.ndarray:
        if self._lagrangian is not None:
            self._check({name: rows.take(name) for name in ("q", "v")})
            return self._lagrangian.terms(rows.take("q"), rows.take("v"))
        return self._filled(self._kernels.bias_terms_many, rows, ("q", "v"), 5, self.nv)

    def _energy_rows(self, rows: Rows) -> np.ndarray:
        if self._affine and self._lagrangian is not None:
            self._check({name: rows.take(name) for name in ("q", "v")})
            return self._lagrangian.energies(rows.take("q"), rows.take("v"))
        return self._filled(self._kernels.energy_many, rows, ("q", "v"), 3)

    def _momenta_rows(self, rows: Rows) -> np.ndarray:
        if self._affine_frames is not None:
            from flexdyn_ros.families.trees.lagrange.affine_frames import momenta

            data = {name: rows.take(name) for name in ("q", "v")}
            self._check(data)
            root = self._affine_frames.poses(data["q"], [self._frame(self.description.root)])[:, 0]
            return momenta(self._tree, self._loose_copy(), data["q"], data["v"], root)
        found = self._filled(self._kernels.momenta_many, rows, ("q", "v"), 10)
        if self._rolling is not None:
            work, q, v = self._packed.work(), np.array(rows.take("q")), np.array(rows.take("v"))
            self._rolling.hubs.add_momenta(self._kernels, self._address, work, q, v, found)
        return found

    def _coriolis_rows(self, rows: Rows) -> np.ndarray:
        if self.bends:
            from flexdyn_ros.robot.analysis.coriolis import coriolis_of

            return coriolis_of(self, self._free_twists, rows.take("q"), rows.take("v"))
        C = _empty((rows.count, self.nv, self.nv))
        blocks = (4, self._tree.model.nb, 6, 6)

        def call(address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, C: np.ndarray) -> int:
            return coriolis_many(address, work, q, v, np.zeros(blocks), C)

        self._call(call, rows, ("q", "v"), C)
        return C

    def _frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        seeing = self._seeing(names)
        frames = [seeing._frame(name) for name in names]
        if seeing._affine_frames is not None:
            self._check({"q": rows.take("q")})
            poses[...] = seeing._affine_frames.poses(rows.take("q"), frames)
            return
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        placements = np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)

        def call(address: int, work: np.ndarray, q: np.ndarray, poses: np.ndarray) -> int:
            return seeing._kernels.frames_many(address, work, q, bodies, placements, poses)

        seeing._call(call, rows, ("q",), poses)

    def _jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        seeing = self._seeing((frame,))
        if seeing._affine_frames is not None:
            self._check({"q": rows.take("q")})
            J[...] = seeing._affine_frames.jacobian(rows.take("q"), seeing._frame(frame))
            return
        body, placement = seeing._frame(frame)[1:]

        def call(address: int, work: np.ndarray, q: np.ndarray, J: np.ndarray) -> int:
            return seeing._kernels.jacobian_many(address, work, q, body, placement.p, J)

        seeing._call(call, rows, ("q",), J)

    def _integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        moved = _empty((rows.count, self.nq))
        data = {name: rows.take(name) for name in ("q", "v")}
        explain_status(self._kernels.integrate_many(self._address, data["q"], data["v"], dt, moved), data)
        return moved

    def _difference_rows(self, rows: Rows) -> np.ndarray:
        way = _empty((rows.count, self.nv))
        ends = {name: rows.take(name) for name in ("q0", "q1")}
        if self._kernels.difference_many(self._address, self._wraps, ends["q0"], ends["q1"], way):
            for name, q in ends.items():
                alone = self._kernels.difference_many(self._address, self._wraps, q, q, _empty(way.shape))
                explain_status(alone, {"q": q} if alone % 8 == 3 else {name: q})
        return way

    @cached_property
    def _wraps(self) -> np.ndarray:
        """Marks the coordinates of continuous joints."""
        kinds = {joint.name: joint.type for joint in self.description.joints}
        return np.array([kinds.get(c.name) == "continuous" for c in self.coordinates], dtype=bool)

    def _slopes_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing._slopes_rows(rows, wrenches)
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        if self._affine and self._lagrangian is not None:
            if wrenches:
                self._need_rotations("wrenches")
            self._check(data)
            return self._lagrangian.derivatives(**data)
        dq, dv = _empty((rows.count, self.nv, self.nv)), _empty((rows.count, self.nv, self.nv))
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, dq, dv = arrays
            work = self._packed.work(dtype=np.complex128)
            return self._kernels.inverse_dynamics_derivatives_many(
                self._address, work, q, v, a, bodies, offsets, w, dq, dv
            )

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), dq, dv])
        explain_status(status, data)
        return dq, dv

    # ---- behind the verbs ----

    def _need_rotations(self, what: str) -> None:
        """UnsupportedError if section frames are affine: they stretch what hangs on them."""
        if self._affine:
            raise UnsupportedError(
                f"{what} with affine section frames (preset 'paper'): not computed, these are no rotations; "
                "load with frame 'so3'"
            )

    def _seeing(self, names: Iterable[Any]) -> TreeRobot:
        """This robot, or one like it for which the sections LINK@station among `names` are frames too."""
        if self._bending is None:
            return self
        missing = self._bending.section_names(names, self._tree.frames)
        if not missing:
            return self
        if missing not in self._seen:
            self._seen[missing] = type(self)(self.description, self._payloads, (*self._sections, *missing))
        return self._seen[missing]

    def _frame(self, name: str) -> Frame:
        try:
            return self._tree.frames[name]
        except (KeyError, TypeError):
            bent = self.description.flexible_links
            raise UnknownNameError(word_for(name, bent), name, self.frame_names) from None

    def _points(self, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points (k, 3) in them at which the wrenches act."""
        frames = [self._frame(name) for name in wrenches or {}]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def _run(
        self,
        verb: str,
        rows: Rows,
        names: tuple[str, ...],
        out: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> None:
        """One of the dynamics over all rows: lanes without wrenches, sample by sample with them."""
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            seeing._run(verb, rows, names, out, wrenches)
            return
        data = {name: rows.take(name) for name in names}
        result = out.reshape(rows.count, self.nv)
        if self._lagrangian is not None:
            self._check(data)
            load = self._generalized(data["q"], rows, wrenches)
            result[...] = getattr(self._lagrangian, verb)(*data.values(), load)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)
            return
        if not wrenches:
            plain = getattr(self._kernels, f"{verb}_many")

            def call(*arrays: np.ndarray) -> int:
                return plain(self._address, self._packed.work(LANES), *arrays)

            status = run_in_slices(call, [*data.values(), result])
        else:
            bodies, offsets = self._points(wrenches)
            loaded = getattr(self._kernels, f"{verb}_loaded")

            def call(*arrays: np.ndarray) -> int:
                q, v, x, w, y = arrays
                return loaded(self._address, self._packed.work(), q, v, x, bodies, offsets, w, y)

            status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), result])
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)

    def _check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        still = np.zeros((len(q), self.nv))
        explain_status(self._kernels.integrate_many(self._address, q, still, 0.0, _empty(q.shape)), {"q": q})
        refuse_nonfinite(data)

    def _generalized(self, q: np.ndarray, rows: Rows, wrenches: Mapping[str, Any] | None) -> np.ndarray:
        """sum J^T w (count, nv) of external wrenches."""
        load = np.zeros((rows.count, self.nv))
        loads = wrench_rows(rows, wrenches)
        if self._affine and loads[..., :3].any():
            raise UnsupportedError(
                "moments on affine section frames (preset 'paper'): these are no rotations, only forces act "
                "on them; load with frame 'so3'"
            )
        for i, name in enumerate(wrenches or {}):
            load += np.einsum("nij,ni->nj", self.jacobian(q, name), loads[:, i])
        return load

    def _partial(
        self, q: Any, v: Any, tau: Any, a: Any, given: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing._partial(q, v, tau, a, given, wrenches)
        if self._rolling is not None and given[self._rolling.eliminated].any():
            return partial_motion(self, q, v, tau, a, given, wrenches)
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
        if self._lagrangian is not None:
            self._check(checked)
            load = self._generalized(data["q"], rows, wrenches)
            data["tau"], data["a"] = self._lagrangian.partial_dynamics(**data, given=given, load=load)
            warn_of_singular_rows(data["a"], checked, "the mass matrix", rows.shape)
            return data["tau"].reshape(*rows.shape, self.nv), data["a"].reshape(*rows.shape, self.nv)
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w = arrays
            work, M = self._packed.work(), _empty((self.nv, self.nv))
            return self._kernels.partial_dynamics_many(
                self._address, work, M, q, v, tau, given, a, bodies, offsets, w
            )

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches)])
        if status:
            explain_status(status, checked)
            warn_of_singular_rows(data["a"], checked, "the mass matrix", rows.shape)
            data["tau"][~np.isfinite(data["a"]).all(axis=1)] = np.nan
        shape = (*rows.shape, self.nv)
        return data["tau"].reshape(shape), data["a"].reshape(shape)


def _lagrangian_path(tree: RigidTree, model: LagrangeModel | None) -> LagrangianPath:
    """Imported only when asked for: with its modes and integrals it costs as much as all the rest."""
    from flexdyn_ros.families.trees.lagrange.verbs import LagrangianPath

    return LagrangianPath(tree.model, model)
