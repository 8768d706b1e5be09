"""Robots of `kind` continuum: functions of the verbs, and what a soft arm has beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.families.continuum.inverse_kinematics import ACCEPTED, reach_by_steps, reach_point
from flexdyn_ros.families.continuum.kernels import entries, steps
from flexdyn_ros.families.continuum.model import (
    ATMOSPHERE,
    PackedArm,
    SectionFrame,
    SoftArm,
    arm_parameters,
    build_arm,
    carry_payloads,
    changed_arm,
)
from flexdyn_ros.families.continuum.shape import STATIONS, Solution, arc_of, deflections_of
from flexdyn_ros.numerics.algebra.placement import IDENTITY
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.arguments import Rows, numbers, refuse_nonfinite, section_of, word_for
from flexdyn_ros.robot.entries.functions import EntryFunctions
from flexdyn_ros.robot.parameters import Payload, without_payloads
from flexdyn_ros.robot.results import Deflection
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.robot.motion import Motion
    from flexdyn_ros.robot.parameters import Parameter

_empty = np.empty


class ContinuumFunctions(EntryFunctions):
    """A soft arm: sections of constant curvature in series, three actuators each, on a fixed base.

    q holds the length changes of the actuators [m], section by section; tau the actuator forces [N], positive
    when they push longer: M(q) a + h(q, v) = tau + sum J^T w. Straight poses are no singularity. Immutable,
    shared by threads, pickles. Made by `flexdyn_ros.load`. Frames are the links of the URDF and
    SECTION@station; `SECTION/base` and `SECTION/tip` are known too.
    """

    kind = "continuum"
    flat = True
    begins_at_zero = True
    table = Table({**entries.functions, **steps.functions})
    offers = (
        "coriolis_matrix", "section_names", "pressure_areas", "pressure_forces", "with_quadrature",
        "arc_parameters", "pressures", "inverse_kinematics", "pose",
    )  # fmt: skip

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        quadrature: bool = False,
        changes: tuple[tuple[str, float], ...] = (),
        *,
        bare: SoftArm | None = None,
    ) -> None:
        """changes: values of parameters of the arm without payloads; bare: that arm, if it is there."""
        self.payloads, self._quadrature, self.changes = payloads, quadrature, changes
        if bare is None:
            bare = changed_arm(description, build_arm(description, quadrature=quadrature), dict(changes))
        self._bare = bare
        self.arm = arm = carry_payloads(bare, payloads)
        self._settle(
            description,
            arm.coordinates,
            q_names=tuple(c.name for c in arm.coordinates),
            frame_names=tuple(arm.frames),
            gravity=arm.gravity,
            warnings=description.warnings,
        )
        self.section_names: tuple[str, ...] = tuple(section.joint for section in arm.sections)
        self.packed = PackedArm(arm)
        self.address = self.packed.address

    @property
    def recipe(self) -> tuple[object, ...]:
        return (self.description, self.payloads, self._quadrature, self.changes)

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of sections and links, those fixed to the world included [kg]."""
        return self.arm.mass

    def with_quadrature(self) -> Robot:
        """The same arm with the mass of its section integrated by Gauss-Legendre even if there is but one."""
        return Robot(ContinuumFunctions(self.description, self.payloads, True, self.changes))

    def check_carrier(self, frame: str) -> None:
        if frame in self.arm.frames:
            return
        section, station = section_of(frame) if isinstance(frame, str) else ("", None)
        if station is not None and section in self.section_names:
            links = ", ".join(self.frame_names)
            raise UnsupportedError(
                f"a payload within a section, at {frame!r}, is not computed; payloads hang at links: {links}"
            )
        raise UnknownNameError("frame", frame, self.frame_names)

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> ContinuumFunctions:
        return ContinuumFunctions(self.description, payloads, self._quadrature, self.changes, bare=self._bare)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return arm_parameters(self.description, self.arm)

    def with_parameters(self, values: Mapping[str, float]) -> ContinuumFunctions:
        own = arm_parameters(self.description, self._bare)
        new = without_payloads(values, self.parameters, own)
        changes = tuple({**dict(self.changes), **new}.items())
        bare = changed_arm(self.description, self._bare, new)
        return ContinuumFunctions(self.description, self.payloads, self._quadrature, changes, bare=bare)

    def probe(self, values: Mapping[str, float]) -> Robot:
        """The arm without payloads that has these values of all `parameters`, whatever they are."""
        bare = changed_arm(self.description, self.arm, values)
        return Robot(ContinuumFunctions(self.description, (), self._quadrature, bare=bare))

    def neutral(self) -> np.ndarray:
        """Undeformed: zeros (nq,)."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Random length changes (nq,) within the strokes."""
        return rng.uniform([c.lower for c in self.coordinates], [c.upper for c in self.coordinates])

    # ---- what soft arms have beside the verbs ----

    def arc_parameters(self, q: np.ndarray) -> np.ndarray:
        """(..., n, 3) per section: curvature [1/m], bending angle [rad], and the direction about the base's z
        towards which it bends [rad], 0 for a straight section."""
        rows = self._checked(q)
        full = rows.take("q").reshape(*rows.shape, self.nq)
        arcs = [arc_of(section, full[..., 3 * i : 3 * i + 3]) for i, section in enumerate(self.arm.sections)]
        return np.stack(arcs, axis=-2)

    def pressures(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Absolute pressures (..., nu) [Pa] that make actuator forces tau: p = p_atm + tau / area.

        q is not used by this law; it is asked for so that one that depends on the length may take its place.

        Raises
        ------
        UnsupportedError
            If a section has no <pressure>.
        """
        areas = self.pressure_areas
        if areas is None:
            bare = next(section.joint for section in self.arm.sections if section.pressure is None)
            raise UnsupportedError(f"section '{bare}' has no <pressure area>: its actuators take forces")
        rows = Rows({"q": (q, self.nq), "tau": (tau, self.nu)})
        data = {name: rows.take(name) for name in ("q", "tau")}
        refuse_nonfinite(data)
        return (ATMOSPHERE + data["tau"] / areas).reshape(*rows.shape, self.nu)

    @property
    def pressure_areas(self) -> np.ndarray | None:
        """Effective areas (nu,) of the actuators [m2]; None if a section has no <pressure>."""
        areas = [section.pressure.area for section in self.arm.sections if section.pressure is not None]
        return np.repeat(areas, 3) if len(areas) == len(self.arm.sections) else None

    @property
    def pressure_forces(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Actuator forces (nu,) at vacuum and at the highest pressure of each section [N]; None if a section
        has no <pressure>."""
        areas = self.pressure_areas
        if areas is None:
            return None
        tops = [section.pressure.maximum for section in self.arm.sections if section.pressure is not None]
        highest = np.repeat([np.inf if top is None else top for top in tops], 3)
        return -areas * ATMOSPHERE, areas * (highest - ATMOSPHERE)

    def inverse_kinematics(self, target: np.ndarray, q0: np.ndarray | None = None) -> Solution:
        """Length changes that bring the distal end of the last section, before its plate, to a target.

        One section and a point: closed form, whatever q0. Else damped least squares from q0 (neutral() if
        omitted; a straight arm on its own axis cannot tell where to bend), within the strokes.

        Parameters
        ----------
        target : (..., 3) position or (..., 4, 4) pose in the world [m]
        q0 : (nq,) array, optional

        Returns
        -------
        Solution
            converged: the largest deviation, `residual` [m, rad], is below 1e-9, and no actuator leaves its
            stroke (one section and a point: the only q that reaches it may).
        """
        wanted = numbers(target, "target")
        whole = wanted.ndim >= 2 and wanted.shape[-2:] == (4, 4)
        if not whole and (wanted.ndim == 0 or wanted.shape[-1] != 3):
            raise DimensionError(f"target has shape {wanted.shape}, expected (..., 3) or (..., 4, 4)")
        refuse_nonfinite({"target": wanted.reshape(1, -1)})
        if not whole and len(self.section_names) == 1:
            return self._reach_point(wanted)
        start = self.neutral() if q0 is None else numbers(q0, "q0", self.nq)
        tail = (4, 4) if whole else (3,)
        batch = wanted.shape[: wanted.ndim - len(tail)]
        name = f"{self.section_names[-1]}/tip"
        found = [
            reach_by_steps(
                lambda q: self.robot.frames(q, name),
                lambda q: self.robot.jacobian(q, name),
                each,
                start.copy(),
                self._strokes,
            )
            for each in wanted.reshape(-1, *tail)
        ]
        parts = zip(*found, strict=True) if found else ([], [], [], [])
        q, converged, iterations, residual = (np.array(list(part)) for part in parts)
        return Solution(
            q.reshape(*batch, self.nq),
            converged.reshape(batch)[()].astype(bool),
            iterations.reshape(batch)[()],
            residual.reshape(batch)[()],
        )

    def _reach_point(self, target: np.ndarray) -> Solution:
        base = self.arm.bases[0]
        q = reach_point(self.arm.sections[0], (target - base.p) @ base.R)
        reached = self.pose(q, [1.0])[..., 0, :3, 3]
        residual = np.abs(reached - target).max(axis=-1)
        lower, upper = self._strokes
        inside = ((q >= lower - ACCEPTED) & (q <= upper + ACCEPTED)).all(axis=-1)
        converged = (residual < ACCEPTED) & inside
        return Solution(q, converged, np.zeros(residual.shape, dtype=np.int64)[()], residual)

    @cached_property
    def _strokes(self) -> tuple[np.ndarray, np.ndarray]:
        """Shortest and longest length changes (nq,) of the actuators [m]."""
        c = self.coordinates
        return np.array([x.lower for x in c]), np.array([x.upper for x in c])

    def pose(self, q: np.ndarray, s: Any) -> np.ndarray:
        """Poses (..., k, 4, 4) of slices in the world, s (k,) in [0, n].

        0 is the base, 2.5 half of the third section, whole numbers the distal end of a section before its
        plate.
        """
        at = numbers(s, "s")
        if at.ndim != 1:
            raise DimensionError(f"s has shape {at.shape}, expected (k,)")
        if not ((at >= 0.0) & (at <= len(self.section_names))).all():
            raise StateError(f"s is outside 0 to {len(self.section_names)}, the number of sections")
        sections = np.maximum(np.ceil(at).astype(int) - 1, 0)
        found = [SectionFrame("", int(i), float(x - i), IDENTITY) for i, x in zip(sections, at, strict=True)]
        return self._poses(q, found)

    def deflections(
        self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None
    ) -> dict[str, Deflection]:
        """Deformation of each section by its name, at stations (k,) (default 21), in the axes of
        SECTION/base.

        There z points along the undeformed section; curvature and moment are vectors about these axes.
        Moments and forces are those of the actuators' springs; strain is that of the outermost fibre of the
        disc.
        """
        s = np.linspace(0.0, 1.0, STATIONS) if stations is None else numbers(stations, "stations")
        if s.ndim != 1:
            raise DimensionError(f"stations has shape {s.shape}, expected (k,)")
        if not ((s >= 0.0) & (s <= 1.0)).all():
            raise StateError("stations are fractions of the length, from 0 to 1")
        rows = self._checked(q)
        n, slices = len(self.arm.sections), np.append(0.0, s)
        poses = _empty((rows.count, n * len(slices), 4, 4))
        placements = np.tile([*IDENTITY.flat(), 0.0], (n * len(slices), 1))
        placements[:, 12] = np.tile(slices, n)
        self.place_frames(rows, np.repeat(np.arange(n), len(slices)), placements, poses)
        return deflections_of(
            self.arm.sections,
            rows.take("q").reshape(*rows.shape, n, 3),
            poses.reshape(*rows.shape, n, len(slices), 4, 4),
            s,
        )

    def motion(self) -> Motion:
        """What steps in time need of the arm: compiled, implicit in springs and dampers."""
        from flexdyn_ros.families.continuum.motion import continuum_motion

        return continuum_motion(self)

    def place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Where the steps let wrenches on frames act."""
        motion = self.robot.motion
        assert motion is not None
        return motion, *self.points(tuple(names))

    # ---- behind the verbs ----

    def _frame(self, name: str) -> SectionFrame:
        """The frame of a link, SECTION@station, SECTION/base or SECTION/tip."""
        if isinstance(name, str):
            if name in self.arm.frames:
                return self.arm.frames[name]
            section, eta = section_of(name)
            for end, at in (("/base", 0.0), ("/tip", 1.0)):
                if name.endswith(end):
                    section, eta = name.removesuffix(end), at
            if section in self.section_names and eta is not None:
                return SectionFrame(name, self.section_names.index(section), eta, IDENTITY)
        known = (*self.frame_names, *(f"{s}@0.5" for s in self.section_names))
        raise UnknownNameError(word_for(name, self.section_names), name, known)

    def _poses(self, q: np.ndarray, frames: list[SectionFrame]) -> np.ndarray:
        """(..., k, 4, 4) in the world."""
        rows = Rows({"q": (q, self.nq)})
        poses = _empty((rows.count, len(frames), 4, 4))
        self.place_frames(rows, *_placed(frames), poses)
        return poses.reshape(*rows.shape, len(frames), 4, 4)

    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        sections, placements = self.placements(names)
        return sections, np.ascontiguousarray(placements[:, 9:])

    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return _placed([self._frame(name) for name in names])

    def _checked(self, q: np.ndarray) -> Rows:
        """q as rows; StateError if one is not finite."""
        rows = Rows({"q": (q, self.nq)})
        self.check({"q": rows.take("q")})
        return rows


def _placed(frames: Sequence[SectionFrame]) -> tuple[np.ndarray, np.ndarray]:
    """Sections (k,), and placements (k, 13) on their slices: rotation, origin, station."""
    sections = np.array([f.section for f in frames], dtype=np.int64)
    placements = np.array([[*f.placement.flat(), f.eta] for f in frames], dtype=np.float64)
    return sections, placements.reshape(len(frames), 13)
