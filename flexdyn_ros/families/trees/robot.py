"""Robots of `kind` tree: functions of the verbs over the kernels of a rigid or a flexible tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.motion import tree_table, with_actuation
from flexdyn_ros.families.trees.regressor import changed, parameters_of, warn_of_changes
from flexdyn_ros.families.trees.rigid.conditioning import weak_bodies as find_weak_bodies
from flexdyn_ros.families.trees.rigid.kernels import entries as rigid
from flexdyn_ros.families.trees.rigid.kernels import steps as rigid_steps
from flexdyn_ros.families.trees.rigid.kernels.coriolis import coriolis_many
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree, build_tree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.families.trees.rigid.parameters import carry, motors_of
from flexdyn_ros.multibody.joints.registry import joint_model
from flexdyn_ros.numerics.algebra.manifold import FREE
from flexdyn_ros.robot.analysis.modes import MOST_VELOCITIES
from flexdyn_ros.robot.arguments import Rows, explain_status, flat_wrenches, refuse_nonfinite, word_for
from flexdyn_ros.robot.coordinates import Coordinate, quaternions_of
from flexdyn_ros.robot.entries.functions import EntryFunctions
from flexdyn_ros.robot.functions import ChosenReactions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Payload, without_payloads
from flexdyn_ros.robot.results import Contacts, Deflection, Loads, PositionLimits
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.robot import Bending, LinkIntegrals
    from flexdyn_ros.families.trees.loads import JointReactions, LooseJoints, TreeLoads
    from flexdyn_ros.families.trees.regressor import TreeRegressor
    from flexdyn_ros.robot.analysis.validity import Tip
    from flexdyn_ros.robot.interface import RobotInterface
    from flexdyn_ros.robot.parameters import Parameter

_empty = np.empty

#: limits beyond are no limits for `random` [rad or m]
_FARTHEST_LIMIT = 1000.0
#: numbers of a beam, in the order of `BeamLink.stiffness`, and stations at which their mean is taken
_STIFFNESS = ("GJ", "EIy", "EIz", "EA")
STATIONS = 41


class TreeFunctions(EntryFunctions):
    """A tree of rigid bodies and flexible links on a fixed, planar or floating base.

    Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`. Arguments of all verbs broadcast over
    leading dimensions; q is (..., nq), v and a are (..., nv), tau is (..., nu); units SI and rad. See
    `flexdyn_ros.Robot` for what the verbs have in common.
    """

    kind = "tree"
    offers = ("coriolis_matrix", "bends", "tips", "modal_integrals", "joint_reactions")

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        sections: tuple[str, ...] = (),
        changes: tuple[tuple[str, float], ...] = (),
        layers: tuple[type[Layer], ...] = (),
        *,
        loose: bool = False,
        plain: bool = True,
        bare: RigidTree | None = None,
    ) -> None:
        """changes: values of parameters of the tree without payloads; layers: around the tree, from inside;
        plain: by kernels that may hold for these values alone; bare: that tree, if it is there."""
        stations = (name for layer in layers for name in layer.sections(description))
        sections = tuple(dict.fromkeys((*stations, *sections)))
        self.payloads, self.sections, self.changes = payloads, sections, changes
        self.is_loose, self.is_plain, self._kinds_of_layers = loose, plain, layers
        if bare is None:
            tree = build_tree(description, sections, loose=loose)
            ends = [pair for layer in layers for pair in layer.driven_ends(description, tree)]
            bare = self.changed_tree(with_actuation(tree, description, ends), dict(changes))
        self.bare, self.tree = bare, carry(bare, payloads)
        tree = self.tree
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
            self.table = tree_table(tree, rigid, rigid_steps)
            self.packed = PackedTree(tree)
        else:
            from flexdyn_ros.families.trees.flexible.robot import Bending

            self.bending = Bending(tree)
            self.table, self.packed = self.bending.table, self.bending.packed
        self.address = self.packed.address
        self._seen: dict[tuple[str, ...], TreeFunctions] = {}
        #: the neutral pose; loops say another one
        self.home = self.tree.neutral
        self.kind = next((layer.kind for layer in layers if layer.kind), self.kind)
        self.begins_at_zero = any(layer.begins_at_zero for layer in layers)
        self.layers: tuple[Layer, ...] = ()
        for layer in layers:
            self.layers += (layer(self),)
        self.extras = {name: layer for layer in self.layers for name in layer.offers}
        self._build()

    def _build(self) -> None:
        """What other formulations make beside the tree."""

    @property
    def recipe(self) -> tuple[object, ...]:
        return self.description, self.payloads, self.sections, self.changes, self._kinds_of_layers

    @property
    def made_with(self) -> tuple[type[Layer], ...]:
        """The kinds of the layers that are around the tree by now."""
        return tuple(map(type, self.layers))

    def like(self, description: RobotDescription | None = None, /, **other: Any) -> Self:
        """The functions of a robot like this one but for other arguments; those of `__init__` by name."""
        names = ("payloads", "sections", "changes", "layers")
        given: dict[str, Any] = dict(zip(names, self.recipe[1:], strict=True)) | other
        return type(self)(description or self.description, **given)

    @cached_property
    def by_mass_matrix(self) -> bool:  # type: ignore[override]
        """True where the recursion of the tree does not do."""
        return any(layer.by_mass_matrix for layer in self.layers) or self.needs_mass_matrix

    @cached_property
    def singles(self) -> Mapping[str, Callable[[], tuple[Callable[..., int], int]]]:  # type: ignore[override]
        """Those of the outermost layer."""
        return self.layers[-1].singles() if self.layers else {}

    @cached_property
    def needs_mass_matrix(self) -> bool:
        """True for mimic joints, and where the mass matrix is singular: the recursion cannot tell its last
        pivots from rounding."""
        return self.tree.has_mimic or bool(
            self.weak_bodies and self.nv <= MOST_VELOCITIES and self._is_singular()
        )

    @cached_property
    def checked(self) -> bool:  # type: ignore[override]
        """True if the recursion may divide by rounding at some posture: not for planar bases, whose axes are
        at right angles."""
        m = self.tree.model
        weak = [b for b in self.weak_bodies if m.joint_type[b] == FREE or self._is_of_joint(m.v_index[b])]
        return bool(weak) and not self.by_mass_matrix

    def _is_of_joint(self, v_index: int) -> bool:
        return self.coordinates[v_index].kind == "joint"

    @cached_property
    def weak_bodies(self) -> tuple[int, ...]:
        """Bodies whose pivots in the recursion may be nothing but rounding."""
        return find_weak_bodies(self.tree)

    def _is_singular(self) -> bool:
        """Whether M is singular to rounding at one of three postures."""
        rng = np.random.default_rng(0)
        rows = Rows({"q": (np.array([self._random_of_tree(rng) for _ in range(3)]), self.nq)})
        M = _empty((rows.count, self.nv, self.nv))
        self.mass_matrix_rows(rows, M)
        square = np.einsum("nii->ni", M)
        if not (square > 0.0).all():
            return True
        size = np.sqrt(square)
        return bool(np.linalg.eigvalsh(M / size[:, :, None] / size[:, None])[:, 0].min() < 1e-12)

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included, and of what is around them [kg]."""
        return self.tree.mass + sum(layer.mass for layer in self.layers)

    @property
    def bends(self) -> bool:
        """True if the robot has flexible links or elastic joints that are computed as such: it moves in ways
        that its efforts do not command."""
        return self.bending is not None or bool(self._motors)

    @property
    def tips(self) -> tuple[Tip, ...]:
        """The tips of the flexible links."""
        return () if self.bending is None else self.bending.tips

    def motion(self) -> Motion | None:
        """What fixed compiled steps need."""
        return self.motion_within(None)

    def motion_within(self, outer: Layer | None) -> Motion:
        """What they need of the tree and the layers within one of them; None: all."""
        from flexdyn_ros.families.trees.motion import tree_motion

        motion = tree_motion(self)
        for layer in self.layers:
            if layer is outer:
                break
            motion = layer.motion(motion)
        return motion

    # ---- what layers drive ----

    @cached_property
    def _driven(self) -> tuple[Coordinate, ...]:
        return tuple(c for layer in self.layers for c in layer.driven)

    @property
    def lines(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(c.name for c in self._driven)

    @property
    def effort_coordinates(self) -> tuple[Coordinate, ...]:
        return (*self.coordinates, *self._driven)

    @cached_property
    def limits(self) -> PositionLimits:
        own, driven = super().limits, self._driven
        lower, upper = ([getattr(c, end) for c in driven] for end in ("lower", "upper"))
        return PositionLimits(
            (*own.names, *(c.name for c in driven)),
            np.concatenate([own.lower, lower]),
            np.concatenate([own.upper, upper]),
            np.concatenate([own.places, np.full(len(driven), -1)]),
        )

    def limited_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._with_driven(super().limited_motion(q, v), q, v)

    def effort_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._with_driven(super().effort_motion(q, v), q, v)

    def _with_driven(
        self, own: tuple[np.ndarray, np.ndarray], q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates with those of what layers drive behind them."""
        for layer in self.layers:
            if layer.driven:
                both = zip(own, layer.driven_motion(q, v), strict=True)
                own = tuple(np.concatenate(pair, axis=-1) for pair in both)  # type: ignore[assignment]
        return own

    @property
    def contacts(self) -> Contacts | None:  # type: ignore[override]
        """Those of the layer that has some."""
        return next((layer.contacts for layer in self.layers if layer.contacts), None)

    def refuse(self, verb: str) -> None:
        for layer in self.layers:
            layer.refuse(verb)

    def springs_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        K, D = super().springs_rows(rows)
        for layer in self.layers:
            layer.add_springs(rows.take("q"), K, D)
        return K, D

    @property
    def is_constrained(self) -> bool:  # type: ignore[override]
        return any(layer.is_constraint for layer in self.layers)

    def project(
        self, q: np.ndarray, v: np.ndarray, held: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        for layer in self.layers:
            q, v = layer.project(q, v, held)
        return q, v

    def efforts_for(self, *state: Any) -> np.ndarray:
        for layer in reversed(self.layers):
            if (found := layer.efforts_for(*state)) is not None:
                return found
        return super().efforts_for(*state)

    def closed(self, q: np.ndarray, held: Sequence[str] = ()) -> np.ndarray:
        for layer in self.layers:
            q = layer.closed(q, held)
        return q

    def inverse_inertia(self, q: np.ndarray) -> np.ndarray:
        for layer in reversed(self.layers):
            if (found := layer.inverse_inertia(q)) is not None:
                return found
        return super().inverse_inertia(q)

    def motions(self, q: np.ndarray) -> np.ndarray:
        for layer in reversed(self.layers):
            if (found := layer.motions(q)) is not None:
                return found
        return super().motions(q)

    def remarks(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> list[str]:
        return [text for layer in self.layers for text in layer.remarks(q, v, t)]

    # ---- payloads and parameters ----

    def place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        wanted = tuple(names)
        seeing = self.seeing(wanted)
        motion = seeing.robot.motion
        assert motion is not None
        return motion, *seeing.points(list(dict.fromkeys(wanted)))

    def check_carrier(self, frame: str) -> None:
        self.seeing((frame,)).frame(frame)

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> Self:
        seeing = self.seeing((frame,))
        return self.like(payloads=payloads, sections=seeing.sections, bare=seeing.bare)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.parameters_with(self.tree)

    def parameters_with(self, tree: RigidTree) -> tuple[Parameter, ...]:
        """The parameters of a robot with this tree."""
        around = (p for layer in self.layers for p in layer.parameters(tree))
        return (*parameters_of(tree), *around)

    def changed_tree(self, tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
        """A tree with other values of parameters."""
        tree = changed(tree, values)
        for layer in self._kinds_of_layers:
            tree = layer.changed_tree(tree, values)
        return tree

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        new = without_payloads(values, *map(self.parameters_with, (self.tree, self.bare)))
        bare = self.changed_tree(self.bare, new)
        warn_of_changes(self.bare, bare)
        changes = tuple({**dict(self.changes), **new}.items())
        return self.like(changes=changes, bare=bare)

    def probe(self, values: Mapping[str, float]) -> Robot:
        """The robot without payloads that has these values of all `parameters`, whatever they are."""
        bare = self.changed_tree(self.tree, values)
        return Robot(self.like(payloads=(), changes=tuple(values.items()), bare=bare))

    def open_to_parameters(self) -> RobotInterface:
        return Robot(self.like(plain=False)) if self.layers else super().open_to_parameters()

    def regressor_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._probes.columns(rows) if self.layers else self._regressor.rows(rows)

    @property
    def regressor_one(self) -> Callable[..., int] | None:
        known = self.tree.flexible is None and not self.layers
        return self._regressor.one if known else None

    @cached_property
    def _regressor(self) -> TreeRegressor:
        from flexdyn_ros.families.trees.regressor import TreeRegressor

        return TreeRegressor(self, self.tree)

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions; with loops the closed pose near `<assembly start>`. May lie
        outside limits."""
        return self.home.copy()

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,): joints within their limits (without, or beyond 1000 rad or m: within pi or 1 m),
        free bodies within 1 m, any attitude, springs of motors wound by up to 0.01 rad (m)."""
        q = self._random_of_tree(rng)
        for layer in self.layers:
            q = layer.random(q, rng)
        return q

    def _random_of_tree(self, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,) without regard to what is around the tree."""
        q = rng.uniform(-1.0, 1.0, self.nq)
        for c in self.coordinates:
            if c.q_index >= 0 and c.kind == "joint":
                reach = np.pi if c.unit == "rad" else 1.0
                q[c.q_index] = rng.uniform(*_range(c.lower, c.upper, reach))
        for index, size in (self.bending.small if self.bending else {}).items():
            q[index] *= size
        for joint, motor in self._motors.items():
            q[self.coordinates[motor].q_index] *= 0.01
            q[self.coordinates[motor].q_index] += q[self.coordinates[joint].q_index]
        for i in self._quaternions:
            x = rng.standard_normal(4)
            q[i : i + 4] = x / np.sqrt(x @ x)
        return q

    def at_home(self, q: np.ndarray) -> np.ndarray:
        """q (nq,) with platforms at home on the links that carry them."""
        for layer in self.layers:
            q = layer.at_home(q)
        return q

    def check_start(self, q: np.ndarray) -> str:
        return "; ".join(filter(None, (layer.check_start(q) for layer in self.layers)))

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        return tuple(index for index, _ in quaternions_of(self.coordinates))

    # ---- what only trees have ----

    def deflections(
        self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None
    ) -> dict[str, Deflection]:
        """Deformation of each flexible link by its name, at stations (k,) (default 21) in beam axes.

        Moments and forces are the elastic ones, from the shapes; strain is NaN where the size of the
        section is unknown. {} if the robot is rigid.
        """
        rows = Rows({"q": (q, self.nq)})
        self.check({"q": rows.take("q")})
        if self.bending is None:
            return {}
        return self.bending.deflections(rows.take("q").reshape(*rows.shape, self.nq), stations)

    def deflection_of(self, link: str, q: np.ndarray, stations: np.ndarray) -> Deflection:
        """Deformation of one flexible link at rows of q (..., nq), unchecked."""
        assert self.bending is not None
        return self.bending.deflection_of(link, q, stations)

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

    def implied(self, words: Sequence[str]) -> float | None:
        """Stiffness or mass of a flexible link, which follow from its section where the file does not say
        them."""
        if len(words) != 4 or words[0] != "links" or words[2] != "beam":
            return None
        record = self.description.flexible_links.get(words[1])
        if record is None or record.beam is None:
            return None
        from flexdyn_ros.families.trees.flexible.beams.properties import beam_link

        beam, stations = beam_link(self.description, record), np.linspace(0.0, 1.0, STATIONS)
        if words[3] in _STIFFNESS:
            return float(beam.stiffness(stations)[:, _STIFFNESS.index(words[3])].mean())
        if words[3] == "mass_per_length":
            return float(np.mean(beam.beam.mu(stations)))
        return None

    def reactions_in(self, joints: Sequence[str]) -> ChosenReactions | None:
        hidden = any(layer.hides_reactions for layer in self.layers)
        if hidden and not (joints and self.is_constrained):
            return super().reactions_in(joints)
        from flexdyn_ros.families.trees.loads import JointWrenches

        return JointWrenches(self.robot, tuple(dict.fromkeys(("base", *joints))))

    def joint_reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        tau: np.ndarray | None = None,
    ) -> JointReactions:
        """Force and moment that every joint transmits to its child link; see `JointReactions`.

        q (..., nq), v, a (..., nv) are a motion, wrenches those of `inverse_dynamics`; of tau (..., nu) the
        forces of cylinders count, which do nothing where it is left out. The component along
        the axis of a joint is its effort less what its springs, damping, friction and rotor take.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        UnsupportedError
            On wheels (their planar methods have `constraint_forces`), and with affine section frames.
        """
        self.refuse("joint_reactions")
        return self.seeing(wrenches or ())._loosened.reactions(q, v, a, wrenches, tau)

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        for layer in reversed(self.layers):
            layer.refuse("loads")
            if (found := layer.loads_rows(rows, wrenches, stations)) is not None:
                return found
        s = np.zeros(1) if self.bending is None else self.bending.stations(stations)
        found = self.seeing(wrenches or ())._loads.rows(rows, flat_wrenches(rows, wrenches) or {}, s)
        hidden = {link for layer in self.layers for link in layer.pushed_links}
        return {link: loads for link, loads in found.items() if link not in hidden}

    @cached_property
    def _loads(self) -> TreeLoads:
        from flexdyn_ros.families.trees.loads import TreeLoads

        cut: Any = self.loose.functions
        links = () if self.bending is None else self.bending.links
        return TreeLoads(self.robot, links, cut.tree, self._loosened)

    @cached_property
    def loose(self) -> Robot:
        """This robot with the joints of `build_tree(loose=True)`, by the recursions of articulated bodies."""
        formulation = replace(self.description.formulation, method="articulated")
        same = replace(self.description, formulation=formulation)
        kinds = tuple(kind for kind in self._kinds_of_layers if not kind.hides_reactions)
        arguments = same, self.payloads, self.sections, self.changes, kinds
        return Robot(TreeFunctions(*arguments, loose=True))

    @cached_property
    def _loosened(self) -> LooseJoints:
        from flexdyn_ros.families.trees.loads import LooseJoints

        return LooseJoints(self.robot, self.loose)

    # ---- rows of the verbs ----

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        found = super().momenta_rows(rows)
        for layer in self.layers:
            layer.add_momenta(rows, found)
        return found

    def takes_given(self, given: np.ndarray) -> bool:
        return all(layer.takes_given(given) for layer in self.layers)

    def coriolis_rows(self, rows: Rows) -> np.ndarray:
        if self.bending is not None or any(layer.has_inertia for layer in self.layers):
            return super().coriolis_rows(rows)
        C = _empty((rows.count, self.nv, self.nv))
        blocks = (4, self.tree.model.nb, 6, 6)

        def call(address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, C: np.ndarray) -> int:
            return coriolis_many(address, work, q, v, np.zeros(blocks), C)

        self.call(call, rows, ("q", "v"), C)
        return C

    def integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        moved = _empty((rows.count, self.nq))
        data = {name: rows.take(name) for name in ("q", "v")}
        explain_status(rigid.integrate_many(self.address, data["q"], data["v"], dt, moved), data)
        return moved

    def difference_rows(self, rows: Rows) -> np.ndarray:
        way = _empty((rows.count, self.nv))
        ends = {name: rows.take(name) for name in ("q0", "q1")}
        if rigid.difference_many(self.address, self._wraps, ends["q0"], ends["q1"], way):
            for name, q in ends.items():
                alone = rigid.difference_many(self.address, self._wraps, q, q, _empty(way.shape))
                explain_status(alone, {"q": q} if alone % 8 == 3 else {name: q})
        for joint, motor in self._motors.items():
            # motors take the turns of their continuous joints
            at = self.coordinates[joint].q_index
            way[:, motor] += way[:, joint] - (ends["q1"][:, at] - ends["q0"][:, at])
        return way

    @cached_property
    def flat(self) -> bool:  # type: ignore[override]
        """True if `difference` is the difference of the numbers in q."""
        return self.nq == self.nv and not self._wraps.any()

    @cached_property
    def _motors(self) -> dict[int, int]:
        """Indices in v of the motors of elastic joints, by those of their joints."""
        return motors_of(self.tree)

    @cached_property
    def _wraps(self) -> np.ndarray:
        """Marks the coordinates of continuous joints."""
        models = (joint_model(self.description, joint) for joint in self.description.joints)
        wrapped = {c.name for model in models if model.wraps for c in model.coordinates}
        return np.array([c.name in wrapped for c in self.coordinates], dtype=bool)

    # ---- behind the verbs ----

    def seeing(self, names: Iterable[object]) -> Any:
        """This robot, or one like it for which the sections LINK@station among `names` are frames too."""
        if self.bending is None:
            return self
        missing = self.bending.section_names(names, self.tree.frames)
        if not missing:
            return self
        if missing not in self._seen:
            other = self.like(sections=(*self.sections, *missing))
            Robot(other)
            self._seen[missing] = other
        return self._seen[missing]

    def frame(self, name: str) -> Frame:
        try:
            return self.tree.frames[name]
        except (KeyError, TypeError):
            bent = self.description.flexible_links
            raise UnknownNameError(word_for(name, bent), name, self.frame_names) from None

    def points(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        frames = [self.frame(name) for name in names]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def placements(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        frames = [self.frame(name) for name in names]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)

    def check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        still = np.zeros((len(q), self.nv))
        explain_status(rigid.integrate_many(self.address, q, still, 0.0, _empty(q.shape)), {"q": q})
        refuse_nonfinite(data)


def _range(lower: float, upper: float, reach: float) -> tuple[float, float]:
    """Limits that are drawn from; those that are infinite, or so far that nobody means them, are replaced."""
    low_holds, high_holds = (abs(limit) <= _FARTHEST_LIMIT for limit in (lower, upper))
    if not low_holds:
        lower = min(-reach, upper - reach) if high_holds else -reach
    if not high_holds:
        upper = max(reach, lower + reach)
    # no -0: a range from 0 to -0 has a negative width for NumPy
    return lower + 0.0, upper + 0.0
