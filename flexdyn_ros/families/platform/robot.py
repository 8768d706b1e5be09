"""Robots of `kind` platform: functions of the verbs; what legs have beside them is in legs.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import SingularityError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.families.platform.kernels import entries as kernels
from flexdyn_ros.families.platform.legs import OFFERS, LegKinematics
from flexdyn_ros.families.platform.margins import homogeneous
from flexdyn_ros.families.platform.model import (
    build_mechanism,
    mechanism_parameters,
    platform_tables,
    with_bodies,
)
from flexdyn_ros.families.platform.packed import PackedPlatform
from flexdyn_ros.families.platform.reach import check_reach
from flexdyn_ros.families.platform.refusals import ROUND_LEGS, check_spin
from flexdyn_ros.families.trees.rigid.kernels import entries as tree_entries
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree
from flexdyn_ros.families.trees.rigid.parameters import carry, changed
from flexdyn_ros.numerics.compiling.status import BAD_QUATERNION
from flexdyn_ros.robot.analysis.equilibrium import Statics, find_equilibrium
from flexdyn_ros.robot.arguments import (
    Rows,
    explain_status,
    refuse_nonfinite,
    rows_with_wrenches,
    warn_of_singular_rows,
    wrench_rows,
)
from flexdyn_ros.robot.entries.functions import EntryFunctions, Points
from flexdyn_ros.robot.parameters import Payload, without_payloads
from flexdyn_ros.robot.results import Equilibrium, PositionLimits
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
    from flexdyn_ros.robot.motion import Motion
    from flexdyn_ros.robot.parameters import Parameter

_empty = np.empty
#: number of the first body of the first leg, its cross, and how many bodies a leg has
FIRST_LEG_BODY, BODIES_OF_LEG = 2, 3
#: smallest singular value of the homogeneous Jacobian at which inverse dynamics still answers
SINGULAR_BELOW = 1e-6
#: beyond its stroke a leg may start by this [m], and with a warning by this share of its stroke
START_ROUNDING, FAR_OUTSIDE = 1e-9, 0.1


class PlatformFunctions(EntryFunctions):
    """A rigid platform on six legs, each a universal joint, a slider and a spherical joint.

    q is the pose of the platform's frame in the world (position, quaternion x y z w), v its twist (angular;
    linear) in world axes, tau the six axial forces of cylinder on rod, in the order of the legs: M(q) a +
    h(q, v) = J^T tau + sum J^T w. Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`.
    """

    kind = "platform"
    offers = ("legs", "hydraulics", "effort_limits")
    observed = EntryFunctions.observed | {"bias", "actuation"}
    tells_pivot = True
    #: the servo-hydraulic cylinders of the legs; None without `<hydraulics>`
    hydraulics: Hydraulics | None

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        changes: tuple[tuple[str, float], ...] = (),
        *,
        bare: RigidTree | None = None,
        like: PlatformFunctions | None = None,
        plain: bool = True,
    ) -> None:
        """changes: values of parameters of the open mechanism without payloads; bare: that mechanism, and
        like: the platform with other bodies, if they are there; plain: legs that are axisymmetric are
        computed as such."""
        self.payloads, self.changes, self._plain = payloads, changes, plain
        self._bare = changed(build_mechanism(description), dict(changes)) if bare is None else bare
        self._tree = carry(self._bare, payloads)
        if like is None:
            self.tables, self.hydraulics = (
                platform_tables(description, self._tree),
                _cylinders_of(description),
            )
        else:
            self.tables, self.hydraulics = with_bodies(like.tables, description, self._tree), like.hydraulics
        self.legs = self.tables.legs
        gravity = np.array(description.gravity)
        gravity.setflags(write=False)
        self._settle(
            description,
            self.tables.coordinates,
            q_names=self.tables.q_names,
            frame_names=tuple(self.tables.frames),
            gravity=gravity,
            effort_names=tuple(leg.name for leg in self.legs),
            warnings=description.warnings,
        )
        self.packed = PackedPlatform(self.tables, plain=plain)
        self.address, self.table = self.packed.address, self.packed.wrapped
        self.legwork = LegKinematics(self)
        self.extras = dict.fromkeys(OFFERS, self.legwork)
        if bare is None:
            check_spin(description, self.tables.leg_of_wrong_spin)
            check_reach(description, self.tables, self.packed)

    @property
    def recipe(self) -> tuple[object, ...]:
        return (self.description, self.payloads, self.changes)

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return self.tables.mass

    @cached_property
    def effort_limits(self) -> np.ndarray:
        """Largest axial forces of the legs (6,), infinite where none is stated [N]."""
        limits = [leg.effort_limit if leg.effort_limit > 0.0 else np.inf for leg in self.legs]
        return np.array(limits)

    def check_carrier(self, frame: str) -> None:
        body = self.frame(frame).body
        if body >= FIRST_LEG_BODY and (body - FIRST_LEG_BODY) % BODIES_OF_LEG == 0:
            raise UnsupportedError(
                f"frame '{frame}' belongs to the cross of a universal joint, which is massless in the "
                "equations: no payload can be fixed to it; fix it to the cylinder, which turns about the "
                "same point"
            )

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> PlatformFunctions:
        found = PlatformFunctions(self.description, payloads, self.changes, bare=self._bare, like=self)
        check_spin(self.description, found.tables.leg_of_wrong_spin)
        return found

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return mechanism_parameters(self.description, self._tree)

    def with_parameters(self, values: Mapping[str, float]) -> PlatformFunctions:
        own = mechanism_parameters(self.description, self._bare)
        new = without_payloads(values, self.parameters, own)
        changes = tuple({**dict(self.changes), **new}.items())
        bare = changed(self._bare, new)
        found = PlatformFunctions(
            self.description, self.payloads, changes, bare=bare, like=self, plain=self._plain
        )
        leg = found.tables.leg_of_wrong_spin
        if leg is not None:
            raise StateError(
                f"with these parameters leg '{leg}' is not axisymmetric, and leg_spin 'none' neglects spin "
                f"about its axis; expected leg_spin {ROUND_LEGS}"
            )
        return found

    def probe(self, values: Mapping[str, float]) -> Robot:
        """The platform without payloads that has these values of all `parameters`, whatever they are."""
        return Robot(PlatformFunctions(self.description, bare=changed(self._tree, values), like=self))

    def open_to_parameters(self) -> Robot:
        """The platform by the kernels of legs of any inertia."""
        open_to = PlatformFunctions(
            self.description, self.payloads, self.changes, bare=self._bare, like=self, plain=False
        )
        return Robot(open_to)

    def neutral(self) -> np.ndarray:
        """The pose at home (7,)."""
        return self.tables.neutral.copy()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random pose (7,) within strokes and angles, on the side of singularities on which home is."""
        home, size = self.neutral(), max(leg.stroke for leg in self.legs)
        for trial in range(40):
            steps = rng.uniform(-1.0, 1.0, (32, 6)) * 0.9**trial
            q = self.robot.integrate(home, steps * np.repeat([0.7, 0.6 * size], 3), 1.0)
            # legs that touch and ball joints beyond their limits are let through
            inside = np.flatnonzero(self.legwork.workspace_margins(q).mask & ~np.int64(8 | 16) == 0)
            if inside.size:
                return q[inside[0]].copy()
        return home

    @cached_property
    def limits(self) -> PositionLimits:
        names, lower, upper = self.legwork.leg_limits
        return PositionLimits(names, lower, upper, np.full(len(names), -1))

    def limited_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.legwork.limited_motion(q, v)

    def check_start(self, q: np.ndarray) -> str:
        """A rod that is out of its cylinder, or beyond its bottom, by more than a tenth of the stroke is an
        error."""
        strokes = np.array([leg.stroke for leg in self.legs])
        used = self.legwork.inverse_kinematics(q).stroke
        beyond = np.maximum(-used, used - strokes)
        wrong = np.flatnonzero(beyond > START_ROUNDING)
        if not wrong.size:
            return ""
        legs = "; ".join(
            f"leg '{self.legs[i].name}' uses {used[i]:.4g} m, expected 0 to {strokes[i]:g} m" for i in wrong
        )
        text = f"platform '{self.description.name}' starts outside its strokes: {legs}"
        if (beyond[wrong] > FAR_OUTSIDE * strokes[wrong]).any():
            raise StateError(text)
        return text

    def effort_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of the legs and their rates."""
        found = self.legwork.inverse_kinematics(q, v)
        assert found.rate is not None
        return found.length, found.rate

    @property
    def end_frame(self) -> str:
        """The platform."""
        platform = self.description.platform
        assert platform is not None
        return platform.link

    @property
    def end_frames(self) -> tuple[str, ...]:
        """The platform."""
        return (self.end_frame,)

    def motion(self) -> Motion:
        """Compiled fixed steps."""
        from flexdyn_ros.families.platform.motion import platform_motion

        return platform_motion(self)

    def place(self, wanted: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Where wrenches on frames act, for the fixed steps."""
        motion = self.robot.motion
        assert motion is not None
        return motion, *self.points(tuple(dict.fromkeys(wanted)))

    # ---- rows of the verbs ----

    def takes_given(self, given: np.ndarray) -> bool:
        """Never: the balance of platforms takes forces of legs, no wrench."""
        return False

    def refuse_efforts(
        self,
        status: int,
        data: Mapping[str, np.ndarray],
        pivot: np.ndarray,
        tau: np.ndarray,
        batch: tuple[int, ...],
    ) -> None:
        near = np.flatnonzero(~(pivot[:, 0] >= kernels.SUSPICIOUS_PIVOT) & np.isfinite(data["q"]).all(axis=1))
        singular = near
        if near.size:
            Jh = homogeneous(self.legwork.leg_jacobian(data["q"][near]), self.tables.reach)
            smallest = np.linalg.svd(Jh, compute_uv=False)[:, -1]
            singular = near[smallest < SINGULAR_BELOW]
            if singular.size and batch == ():
                least = float(smallest[0])
                raise SingularityError(
                    f"the leg Jacobian is singular: smallest singular value {least:.3g}", least
                )
            tau[singular] = np.nan
        if status or singular.size:
            explain_status(status, data)
            warn_of_singular_rows(tau, data, "the leg Jacobian", batch)

    def required_efforts(
        self, data: Mapping[str, np.ndarray], points: Points, wrenches: np.ndarray, tau: np.ndarray
    ) -> int:
        status = self.balances(data, points, wrenches, tau)
        good = np.isfinite(tau).all(axis=1)
        # tau of J^T tau = M a + h - sum J^T w; at singular poses, which are refused, that of the least size
        J = self.legwork.leg_jacobian(data["q"][good])
        tau[good] = np.einsum("nji,nj->ni", np.linalg.pinv(J), tau[good])
        return status

    def integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        moved, data = _empty((rows.count, 7)), {name: rows.take(name) for name in ("q", "v")}
        status = tree_entries.integrate_many(self.address, data["q"], data["v"], dt, moved)
        explain_status(status, data)
        return moved

    def difference_rows(self, rows: Rows) -> np.ndarray:
        way, ends = _empty((rows.count, 6)), {name: rows.take(name) for name in ("q0", "q1")}
        wraps = np.zeros(6, dtype=bool)
        if tree_entries.difference_many(self.address, wraps, ends["q0"], ends["q1"], way):
            for name, array in ends.items():
                self.check({"q": array}, name)
        return way

    def springs_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        if self.hydraulics is None:
            K = self.slopes_rows(rows, None)[0]
            return K, np.zeros_like(K)
        q = rows.take("q")
        J = self.legwork.leg_jacobian(q)
        springs = self.hydraulics.stiffness(self.legwork.inverse_kinematics(q).length)
        dampers = np.broadcast_to(self.hydraulics.model.column("viscous"), springs.shape)
        K, D = (np.einsum("nki,nk,nkj->nij", J, x, J) for x in (springs, dampers))
        return K, D

    def rest(
        self, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, object] | None
    ) -> Equilibrium:
        still = np.zeros(6)
        if not tau.any() and not wrenches and self.gravity.any() and not held.all():
            free = ", ".join(name for name, stays in zip(self.v_names, held, strict=True) if not stays)
            raise StateError(
                f"static_equilibrium of platform '{self.description.name}' leaves {free} free, and nothing "
                "carries them: the legs are no springs and tau is 0; expected leg forces tau, or "
                "hold=robot.v_names, which gives the leg forces that hold this pose ('joints' are none of a "
                "platform's coordinates)"
            )

        def weight(q: np.ndarray) -> np.ndarray:
            rows, h = rows_with_wrenches(wrenches, q=(q, 7), v=(still, 6), a=(still, 6)), _empty((1, 6))
            data = {name: rows.take(name) for name in ("q", "v", "a")}
            points = self.points(tuple(wrenches or ()))
            explain_status(self.balances(data, points, wrench_rows(rows, wrenches), h), data)
            return h[0]

        def stiffness(q: np.ndarray) -> np.ndarray:
            motion = {"q": (q, 7), "v": (still, 6), "a": (still, 6), "tau": (tau, 6)}
            return self.slopes_rows(rows_with_wrenches(wrenches, **motion), wrenches)[0][0]

        statics = Statics(
            load=lambda q: weight(q) - self.actuation_matrix(q) @ tau,
            stiffness=stiffness,
            mass=self.robot.mass_matrix,
            move=lambda q, dq: self.robot.integrate(q, dq, 1.0),
        )
        scale = float(np.abs(weight(q)).max())
        found = find_equilibrium(statics, q, np.zeros(6), held, scale=scale)
        return found._replace(tau=self.robot.inverse_dynamics(found.q, still, still, wrenches))

    # ---- behind the verbs ----

    def frame(self, name: str) -> Frame:
        try:
            return self.tables.frames[name]
        except (KeyError, TypeError):
            raise UnknownNameError("frame", name, self.frame_names) from None

    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and placements in them (k, 12) of frames."""
        frames = [self.frame(name) for name in names]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)

    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points (k, 3) in them of the origins of frames."""
        frames = [self.frame(name) for name in names]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def check(self, data: Mapping[str, np.ndarray], shown: str = "q") -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        status = tree_entries.integrate_many(self.address, q, np.zeros((len(q), 6)), 0.0, _empty(q.shape))
        if status:
            explain_status(status, {"q": q} if status % 8 == BAD_QUATERNION else {shown: q})
        refuse_nonfinite(data)


def _cylinders_of(description: RobotDescription) -> Hydraulics | None:
    """The cylinders, if a leg has any; DescriptionError if only some have, or their numbers have no
    answer."""
    assert description.platform is not None
    if all(leg.hydraulics is None for leg in description.platform.legs):
        return None
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics

    return Hydraulics.of(description)
