"""Trees with elastic joints: motors behind springs, around the verbs of the tree (Spong 1987)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import SingularityError
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.elastic.kernels.verbs import verbs
from flexdyn_ros.families.trees.elastic.model import ElasticJoints, without_elasticity
from flexdyn_ros.families.trees.formulations import tree_functions
from flexdyn_ros.families.trees.reactions import JointReactions
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.verbs.kernels_of import InterpretedKernels
from flexdyn_ros.robot.analysis.small_deflections import Tip
from flexdyn_ros.robot.arguments import Rows, numbers, refuse_nonfinite
from flexdyn_ros.robot.entries.derivatives import DerivativeEntries
from flexdyn_ros.robot.entries.observed import Head
from flexdyn_ros.robot.functions import ChosenReactions, DirectFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.results import Deflection, Loads
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches


class PackedJoints:
    """What a tree is packed in, and the motors' numbers: see `PackedTree`."""

    def __init__(self, tree: PackedTree, joints: ElasticJoints) -> None:
        self.address, self.numbers = tree.address, tree.numbers
        self.floats = (*tree.floats, joints.numbers)


class ElasticTreeFunctions(DerivativeEntries, DirectFunctions):
    """A `TreeFunctions` some of whose joints are driven through a spring; the verbs of `flexdyn_ros.Robot`.

    A motor's coordinate q_m is on the joint's side of the gear and follows all others. Spring and damper pull
    with s = k (q_m - q_j) + d (v_m - v_j) on the joint and with -s on the motor, whose inertia is N^2 J:

        M a + h - s e_j = tau,    N^2 J a_m + s = tau_m

    The spin of rotors is left out of momentum and of gyroscopic terms, as for stiff joints. Immutable, shared
    by threads, pickles.
    """

    kind = "tree"
    offers = (*DirectFunctions.offers, "bends", "tips", "modal_integrals", "joint_reactions")
    entries = verbs
    #: moves in ways that its efforts do not command: steps have to be implicit or small
    bends = True

    def __init__(
        self,
        description: RobotDescription,
        tree: TreeFunctions | None = None,
        joints: ElasticJoints | None = None,
    ) -> None:
        """tree and joints: those of the description with other parameters or payloads, if they are there."""
        self.tree = tree_functions(without_elasticity(description)) if tree is None else tree
        Robot(self.tree)
        inner = self.tree
        self.joints = joints = joints or ElasticJoints.of(description, inner.coordinates, inner.nq)
        self.address, self.packed = inner.address, PackedJoints(inner.packed, joints)
        self.direct, self.observed = inner.direct, inner.observed
        self._seen: dict[tuple[str, ...], ElasticTreeFunctions] = {}
        self._settle(
            description,
            joints.coordinates,
            q_names=inner.q_names + joints.names,
            frame_names=inner.frame_names,
            gravity=inner.gravity,
            warnings=inner.warnings,
        )
        self.payloads = self.tree.payloads
        self.elements = inner.robot.elements
        if self.elements:
            self.offers = (*self.offers, "elements", "element_names", "element_forces")
        self._motions: list[tuple[Motion, Motion]] = []

    @property
    def recipe(self) -> tuple[object, ...]:
        return (self.description, self.tree, self.joints)

    # ---- what the robot is ----

    def motion(self) -> Motion | None:
        """What fixed compiled steps need; None where the tree has none."""
        motion = self.tree.robot.motion
        return None if motion is None else self._around(motion)

    def _around(self, tree: Motion) -> Motion:
        """Motion with motors of the tree's own, or of one that sees more frames; one for each."""
        for known, motion in self._motions:
            if known is tree:
                return motion
        from flexdyn_ros.families.trees.elastic.motion import elastic_motion

        motion = elastic_motion(tree, self.joints, self.tree.nq, self._place)
        self._motions.append((tree, motion))
        return motion

    def _place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        inner = self.tree.robot.motion
        assert inner is not None
        tree, bodies, points = inner.place(names)
        return self._around(tree), bodies, points

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return self.tree.mass

    def check_carrier(self, frame: str) -> None:
        self.tree.check_carrier(frame)

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> ElasticTreeFunctions:
        return ElasticTreeFunctions(self.description, self.tree.carrying(frame, payloads), self.joints)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the tree, JOINT/rotor being the motor's, then the numbers of the springs."""
        motors = {parameter.name: parameter for parameter in self.joints.parameters}
        return (*(motors.pop(own.name, own) for own in self.tree.parameters), *motors.values())

    def with_parameters(self, values: Mapping[str, float]) -> ElasticTreeFunctions:
        names = {parameter.name for parameter in self.joints.parameters}
        tree = self.tree.with_parameters({name: x for name, x in values.items() if name not in names})
        return ElasticTreeFunctions(self.description, tree, self.joints.changed(values))

    def regressor_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        n, joints = self.tree.nv, self.joints
        Y = np.zeros((rows.count, self.nv, len(self.parameters)))
        tau0 = np.zeros((rows.count, self.nv))
        own, tau0[:, :n] = self.tree.regressor_rows(self._inner(rows, "q", "v", "a"))
        Y[:, :n, : own.shape[2]] = own
        q, v, a = (rows.take(name) for name in ("q", "v", "a"))
        places = {parameter.name: i for i, parameter in enumerate(self.parameters)}
        at = np.array([places[parameter.name] for parameter in joints.parameters]).reshape(3, -1)
        motors = np.arange(n, self.nv)
        Y[:, :, at[0]] = 0.0
        Y[:, motors, at[0]] = a[:, n:]
        for columns, wound in ((at[1], joints.wound(q)), (at[2], v[:, n:] - v[:, joints.v])):
            Y[:, motors, columns] = wound
            Y[:, joints.v, columns] = -wound
        return Y, tau0

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions; springs at rest."""
        return np.concatenate([self.tree.neutral(), np.zeros(self.joints.count)])

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,): that of the tree, springs wound by up to 0.01 rad (m)."""
        q = self.tree.random(rng)
        return np.concatenate([q, q[self.joints.q] + rng.uniform(-0.01, 0.01, self.joints.count)])

    # ---- what only trees have ----

    def deflections(
        self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None
    ) -> dict[str, Deflection]:
        """Deformation of each flexible link; see `TreeFunctions.deflections`."""
        rows = Rows({"q": (q, self.nq)})
        inner = self._inner(rows, "q").take("q")
        return self.tree.deflections(inner.reshape(*rows.shape, self.tree.nq), stations)

    def deflection_of(self, link: str, q: np.ndarray, stations: np.ndarray) -> Deflection:
        """Deformation of one flexible link; see `TreeFunctions.deflection_of`."""
        return self.tree.deflection_of(link, q[..., : self.tree.nq], stations)

    @property
    def tips(self) -> tuple[Tip, ...]:
        """The tips of the flexible links."""
        return self.tree.tips

    def modal_integrals(self, link: str, stations: Sequence[float] = (1.0,)) -> Any:
        """Constants of a flexible link; see `TreeFunctions.modal_integrals`."""
        return self.tree.modal_integrals(link, stations)

    def implied(self, words: Sequence[str]) -> float | None:
        return self.tree.implied(words)

    def reactions_in(self, joints: Sequence[str]) -> ChosenReactions | None:
        from flexdyn_ros.families.trees.reactions import JointWrenches

        return JointWrenches(self.robot, tuple(dict.fromkeys(("base", *joints))))

    def joint_reactions(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None = None
    ) -> JointReactions:
        """Force and moment that every joint transmits to its child link, the motors' inertia left out; see
        `TreeFunctions.joint_reactions`."""
        q, v, a = numbers(q, "q", self.nq), numbers(v, "v", self.nv), numbers(a, "a", self.nv)
        nq, nv = self.tree.nq, self.tree.nv
        return self.tree.joint_reactions(q[..., :nq], v[..., :nv], a[..., :nv], wrenches)

    @property
    def element_names(self) -> tuple[str, ...]:
        """Names of springs and dampers between frames."""
        return tuple(element.name for element in self.elements)

    def element_forces(self, q: np.ndarray, v: np.ndarray) -> Any:
        """What they do; see `ElementTreeFunctions.element_forces`."""
        q, v = numbers(q, "q", self.nq), numbers(v, "v", self.nv)
        return self.tree.robot.element_forces(q[..., : self.tree.nq], v[..., : self.tree.nv])

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        sizes = {"q": self.tree.nq, "v": self.tree.nv, "a": self.tree.nv}
        motion = {name: (rows.take(name)[:, :size], size) for name, size in sizes.items()}
        loads = flat_wrenches(rows, wrenches)
        return self.tree.loads_rows(rows_with_wrenches(loads, **motion), loads, stations)

    # ---- for exporters ----

    @property
    def kernels(self) -> InterpretedKernels | None:
        """The tree's kernels, and the motors around them."""
        inner, n, nq = self.tree.kernels, self.tree.nv, self.tree.nq
        if inner is None:
            return None

        def joints() -> ElasticJoints:
            """With the numbers that the exporter put in their place."""
            numbers = self.joints.numbers
            return replace(self.joints, numbers=floats_at(numbers.ctypes.data, numbers.size))

        def inverse(address: int, work: Any, q: np.ndarray, v: Any, a: np.ndarray, tau: Any) -> None:
            inner.inverse(address, work, q[:nq], v[:n], a[:n], tau[:n])
            tau[n:] = joints().inertia * a[n:]
            joints().add_pull(q[None], v[None], -1.0, tau[None])

        def mass(address: int, work: Any, q: np.ndarray, M: Any) -> None:
            inner.mass(address, work, q[:nq], M[:n, :n])
            M[range(n, self.nv), range(n, self.nv)] = joints().inertia

        return InterpretedKernels(inner.prepare, inverse, mass, inner.frames)

    def seeing(self, names: Iterable[Any]) -> ElasticTreeFunctions:
        tree = self.tree.seeing(names)
        if tree is self.tree:
            return self
        if tree.sections not in self._seen:
            other = self._seen[tree.sections] = ElasticTreeFunctions(self.description, tree, self.joints)
            Robot(other)
        return self._seen[tree.sections]

    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.tree.points(names)

    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        return self.tree.placements(names)

    # ---- for entries of single states ----

    @cached_property
    def flat(self) -> bool:  # type: ignore[override]
        """True if `difference` is the difference of the numbers in q."""
        return self.tree.flat

    def new_head(
        self, *needed: str, looking: str = "", results: int = 0, efforts: int = 0, **options: Any
    ) -> Head:
        """A head whose robot is the layer of motors around a head of the tree."""
        tree, joints = self.tree, self.joints
        sizes = {"bias_terms": 5 * tree.nv, "jacobian": results // self.nv * tree.nv}
        shared = {name: options[name] for name in ("frames",) if name in options}
        inner = tree.new_head(
            *needed,
            *(("mass",) if looking == "mass" else ()),
            looking=looking,
            results=sizes.get(looking, results),
            efforts=tree.nv if efforts else 0,
            **shared,
        )
        layer = Header(inner.address, 0, tree.nq, tree.nv, joints.count, joints.q, joints.v, joints.numbers)
        robot = layer.address, (inner, layer)
        return Head(self, *needed, looking=looking, results=results, efforts=efforts, robot=robot, **options)

    # ---- rows of the verbs ----

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        data = self._checked(rows, "q", "v", "a")
        n, nq = self.tree.nv, self.tree.nq
        loads = flat_wrenches(rows, wrenches)
        tau[:, :n] = self.tree.robot.inverse_dynamics(
            data["q"][:, :nq], data["v"][:, :n], data["a"][:, :n], loads
        )
        tau[:, n:] = self.joints.inertia * data["a"][:, n:]
        self.joints.add_pull(data["q"], data["v"], -1.0, tau)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        data = self._checked(rows, "q", "v", "tau")
        n, nq = self.tree.nv, self.tree.nq
        force = data["tau"].copy()
        self.joints.add_pull(data["q"], data["v"], 1.0, force)
        loads = flat_wrenches(rows, wrenches)
        inner = self.tree.robot.forward_dynamics(data["q"][:, :nq], data["v"][:, :n], force[:, :n], loads)
        a[:, :n] = inner
        with np.errstate(divide="ignore", invalid="ignore"):
            a[:, n:] = force[:, n:] / self.joints.inertia
        if rows.shape == () and not np.isfinite(a).all():
            raise SingularityError("the mass matrix is singular", 0.0)

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        data = self._checked(rows, "q")
        M[...] = 0.0
        n = self.tree.nv
        M[:, :n, :n] = self.tree.robot.mass_matrix(data["q"][:, : self.tree.nq])
        at = np.arange(n, self.nv)
        M[:, at, at] = self.joints.inertia

    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        data = self._checked(rows, "q", "v")
        n = self.tree.nv
        terms = np.zeros((5, rows.count, self.nv))
        terms[:, :, :n] = np.stack(self.tree.robot.bias_terms(data["q"][:, : self.tree.nq], data["v"][:, :n]))
        self.joints.add_pull(data["q"], np.zeros_like(data["v"]), -1.0, terms[2])
        self.joints.add_pull(np.zeros_like(data["q"]), data["v"], -1.0, terms[3])
        return terms.swapaxes(0, 1)

    def energy_rows(self, rows: Rows) -> np.ndarray:
        data = self._checked(rows, "q", "v")
        n = self.tree.nv
        energy = np.stack(self.tree.robot.energy(data["q"][:, : self.tree.nq], data["v"][:, :n]), axis=1)
        energy[:, 0] += 0.5 * (data["v"][:, n:] ** 2) @ self.joints.inertia
        energy[:, 2] += 0.5 * self.joints.wound(data["q"]) ** 2 @ self.joints.stiffness
        return energy

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        return self.tree.momenta_rows(self._inner(rows, "q", "v"))

    def coriolis_rows(self, rows: Rows) -> np.ndarray:
        C, n = np.zeros((rows.count, self.nv, self.nv)), self.tree.nv
        C[:, :n, :n] = self.tree.coriolis_rows(self._inner(rows, "q", "v"))
        return C

    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None:
        self.tree.frames_rows(self._inner(rows, "q"), names, poses)

    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None:
        J[...] = 0.0
        J[..., : self.tree.nv] = self.tree.robot.jacobian(self._inner(rows, "q").take("q"), frame)

    def jacobians_rows(self, rows: Rows, names: Sequence[str], J: np.ndarray) -> None:
        J[...] = 0.0
        J[..., : self.tree.nv] = self.tree.robot.jacobian(self._inner(rows, "q").take("q"), list(names))

    def jacobian_rates_rows(self, rows: Rows, names: Sequence[str]) -> np.ndarray:
        return self.tree.jacobian_rates_rows(self._inner(rows, "q", "v"), names)

    def integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        data = self._checked(rows, "q", "v")
        moved = self.tree.integrate_rows(self._inner(rows, "q", "v"), dt)
        motors = data["q"][:, self.tree.nq :] + dt * data["v"][:, self.tree.nv :]
        return np.concatenate([moved, motors], axis=1)

    def difference_rows(self, rows: Rows) -> np.ndarray:
        data = self._checked(rows, "q0", "q1")
        inner = self.tree.difference_rows(self._inner(rows, "q0", "q1"))
        j, nq = self.joints, self.tree.nq
        # motors take the turns of their continuous joints
        turned = inner[:, j.v] - (data["q1"][:, j.q] - data["q0"][:, j.q])
        motors = data["q1"][:, nq:] - data["q0"][:, nq:] + turned
        return np.concatenate([inner, motors], axis=1)

    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        data = self._checked(rows, "q", "v", "a")
        n, nq = self.tree.nv, self.tree.nq
        inner = self.tree.robot.inverse_dynamics_derivatives(
            data["q"][:, :nq], data["v"][:, :n], data["a"][:, :n], flat_wrenches(rows, wrenches)
        )[:2]
        dq, dv = np.zeros((2, rows.count, self.nv, self.nv))
        for whole, part, slope in zip(
            (dq, dv), inner, (self.joints.stiffness, self.joints.damping), strict=True
        ):
            whole[:, :n, :n] = part
            self.joints.add_slopes(slope, whole)
        return dq, dv

    # ---- behind the verbs ----

    def check(self, data: Mapping[str, np.ndarray]) -> None:
        refuse_nonfinite(data)
        self.tree.check({"q": np.ascontiguousarray(data["q"][:, : self.tree.nq])})

    def _checked(self, rows: Rows, *names: str) -> dict[str, np.ndarray]:
        """Rows of the arguments; StateError where one is not finite (quaternions are the tree's to check)."""
        data = {name: rows.take(name) for name in names}
        refuse_nonfinite(data)
        return data

    def _inner(self, rows: Rows, *names: str) -> Rows:
        """Rows of the arguments as the tree has them."""
        data = self._checked(rows, *names)
        sizes = {name: self.tree.nq if name.startswith("q") else self.tree.nv for name in names}
        return Rows({name: (data[name][:, :size], size) for name, size in sizes.items()})
