"""What a robot's efforts are linear in: numbers and which of them are chosen, regressor, and the robot with
other numbers."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

import numpy as np

from flexdyn_ros.errors import ConvergenceError, FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy
from flexdyn_ros.robot.parameters import Parameter, Payload, Regressor, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: rates and accelerations of random states [rad/s or m/s, rad/s2 or m/s2]
SPEED, ACCELERATION = 2.0, 5.0
#: how far measured poses may be off the loops of a robot [m, rad]
_OPEN = 0.01
#: random states a parameter, and the share of the largest singular value below which one is none
_STATES, _SPAN = 2, 1e-7
#: a step of a walk along loops [rad, m]
_STRIDE = 0.3
#: the ten numbers of a body, as they follow its name
INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
#: projectors on what closed states tell, by robot: a second of random assemblies
_SPANS: WeakKeyDictionary[Robot, np.ndarray] = WeakKeyDictionary()


def is_inertial(name: str) -> bool:
    """Whether a parameter is one of the ten numbers of a body."""
    return name.rpartition("/")[2] in INERTIAL


def about_com(numbers: np.ndarray, rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> tuple[np.ndarray, list[float]]:
    """Centre of mass (3,), and the six entries about it in axes of rpy, of ten numbers about the origin."""
    m, h = float(numbers[0]), numbers[1:4]
    com = h / m if m > 0.0 else np.zeros(3)
    about = tensor_of(numbers[4:].tolist()) - m * (com @ com * np.eye(3) - np.outer(com, com))
    R = rotation_of_rpy(rpy)
    return com, entries_of(R.T @ about @ R)


def tensor_of(entries: Sequence[float]) -> np.ndarray:
    """The matrix (3, 3) of the entries (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = entries
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def entries_of(tensor: np.ndarray) -> list[float]:
    """The entries (xx, xy, xz, yy, yz, zz) of a matrix (3, 3)."""
    return [float(tensor[i, j]) for i in range(3) for j in range(i, 3)]


def with_payloads(robot: Robot, payloads: Iterable[Payload]) -> Robot:
    """The robot with those payloads."""
    for load in payloads:
        robot = robot.with_payload(load.frame, load.mass, load.com, tensor_of(load.inertia))
    return robot


class LinearModel(ABC):
    """tau = Y(q, v, a) p + tau0 of one robot."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers p."""

    @abstractmethod
    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        """Y (..., nu, np) and tau0 (..., nu)."""

    @abstractmethod
    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        """The robot with other values; unchecked, they need not be such that bodies and joints can have
        them."""

    @abstractmethod
    def states(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        """Random q (count, nq) within limits, v and a (count, nv)."""


def linear_model(robot: Robot) -> LinearModel:
    """The model of `robot.parameters`.

    Raises
    ------
    UnsupportedError
        If the robot has none.
    """
    try:
        parameters = robot.parameters
    except UnsupportedError as error:
        raise UnsupportedError(
            f"'{robot.name}' of kind {robot.kind} has no parameters to fit: its family must offer "
            f"`parameters`, `regressor` and `with_parameters` ({error})"
        ) from None
    model = ClosedModel if robot.functions.is_constrained else OwnModel
    return model(robot, parameters)


class OwnModel(LinearModel):
    """The model that a robot has itself."""

    def __init__(self, robot: Robot, parameters: tuple[Parameter, ...]) -> None:
        self._robot, self._parameters = robot, parameters

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        return self._robot.regressor(q, v, a)

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        if checked:
            return self._robot.with_parameters(values)
        return Robot(self._robot.functions.with_parameters(values))

    def states(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        q = np.array([self._robot.random(rng) for _ in range(count)])
        v, a = rng.uniform(-1.0, 1.0, (2, count, self._robot.nv))
        return q, SPEED * v, ACCELERATION * a


class ClosedModel(LinearModel):
    """u = Y' p + tau0' of the actuators of a robot with loops; rows of all other efforts are zero.

    With a basis N of the motions that loops leave and the columns B_S of the actuators,

        N' B_S u = N' B (Y p + tau0),

    in which the forces of the loops are not (Khalil & Dombre 2002, "Modeling, Identification and Control of
    Robots", chapter 12). It takes as many actuators as there are motions.

    UnsupportedError of its regressor, if the robot has not as many actuators as its loops leave motions.
    """

    def __init__(self, robot: Robot, parameters: tuple[Parameter, ...]) -> None:
        self._robot, self._parameters = robot, parameters
        self._driven = [robot.effort_names.index(name) for name in robot.actuators]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        Y, tau0 = self._projected(q, v, a)
        # loops that noise leaves open tell nothing of parameters that closed ones do not tell
        return Regressor(Y @ self._span, tau0)

    def _projected(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        robot = self._robot
        if len(self._driven) != robot.mobility:
            raise UnsupportedError(
                f"robot '{robot.name}' has {len(self._driven)} actuators for {robot.mobility} motions that "
                "its loops leave: its efforts do not tell the parameters, expected as many"
            )
        gap = np.abs(robot.loop_residual(q)).max(initial=0.0)
        if gap > _OPEN:
            raise StateError(
                f"positions leave the loops of '{robot.name}' open by {gap:.3g} m (rad), expected at most "
                f"{_OPEN:g}: offsets of encoders, or another robot"
            )
        V = np.linalg.svd(robot.loop_jacobian(q))[2]
        N = np.swapaxes(V[..., robot.nv - robot.mobility :, :], -1, -2)
        # rates along the loops: what is across them is noise
        v = (N @ (np.swapaxes(N, -1, -2) @ v[..., None]))[..., 0]
        Y, tau0 = robot.regressor(q, v, a)
        projected = np.swapaxes(N, -1, -2) @ robot.actuation_matrix(q)
        both = projected @ np.concatenate([Y, tau0[..., None]], axis=-1)
        found = np.zeros((*Y.shape[:-1], Y.shape[-1] + 1))
        found[..., self._driven, :] = np.linalg.solve(projected[..., self._driven], both)
        return Regressor(found[..., :-1], found[..., -1])

    @property
    def _span(self) -> np.ndarray:
        """Projector (np, np) of rows of the regressor on those that closed states have."""
        if (found := _SPANS.get(self._robot)) is not None:
            return found
        count = _STATES * len(self._parameters)
        Y = self._projected(*self.states(np.random.default_rng(0), count)).Y[:, self._driven]
        rows = Y.reshape(-1, Y.shape[-1])
        size = np.linalg.norm(rows, axis=0)
        size = np.where(size > 0.0, size, 1.0)
        _, values, V = np.linalg.svd(rows / size, full_matrices=False)
        kept = V[values > _SPAN * values[0]]
        _SPANS[self._robot] = span = np.asarray((kept.T @ kept) / size[:, None] * size)
        return span

    def states(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        """Of a walk along the loops: a random pose takes as long as ten steps."""
        robot, still = self._robot, np.zeros(self._robot.nu)
        q, (v, a) = np.empty((count, robot.nq)), np.empty((2, count, robot.nv))
        there = robot.random(rng)
        for i in range(count):
            first, second, third = rng.uniform(-1.0, 1.0, (3, robot.nv))
            q[i], along = there, robot.project(there, first)[1]
            v[i] = SPEED * along
            # any acceleration that the loops allow, and one along them
            a[i] = robot.forward_dynamics(q[i], v[i], still) + ACCELERATION * robot.project(q[i], second)[1]
            there = self._step(q[i], robot.project(q[i], third)[1], rng)
        return q, v, a

    def _step(self, q: np.ndarray, way: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A closed pose a step from q (nq,) along `way` (nv,), or back; a random one where limits or loops
        allow neither."""
        robot = self._robot
        for stride in (_STRIDE, -_STRIDE):
            there = robot.integrate(q, way, stride / max(float(np.abs(way).max()), 1e-9))
            with warnings.catch_warnings(), suppress(ConvergenceError):
                warnings.simplefilter("ignore", FlexdynWarning)
                there = robot.project(there, way)[0]
                if all(c.lower <= there[c.q_index] <= c.upper for c in robot.coordinates if c.q_index >= 0):
                    return there
        return robot.random(rng)

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        if checked:
            return self._robot.with_parameters(values)
        return Robot(self._robot.functions.with_parameters(values))


def needed_efforts(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Efforts (n, nu) that a robot needs for measured motions, whose noise leaves loops a little open."""
    if not robot.functions.is_constrained:
        return robot.inverse_dynamics(q, v, a)
    model = linear_model(robot)
    Y, tau0 = model.regressor(q, v, a)
    return np.asarray(Y @ [p.value for p in model.parameters] + tau0)


def bodies_and_joints(robot: Robot, model: LinearModel) -> tuple[Parameter, ...]:
    """The parameters of rigid bodies, joints, soft sections and wheels.

    Those of beams hold the mode shapes, which a description with another stiffness chooses anew: they are
    fitted as numbers of the description.
    """
    bent = robot.description.flexible_links
    return tuple(p for p in model.parameters if is_inertial(p.name) or p.name.rpartition("/")[0] not in bent)


def without_carried(robot: Robot, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Parameters less those of links that move with a link that has numbers itself, such as a payload on a
    rigid link: no motion tells the two apart. One on the tip of a link that bends is kept."""
    named = {p.name.rpartition("/")[0] for p in parameters if is_inertial(p.name)}
    carried = {link for link in named if _carrier(robot, link) in named - {link}}
    return tuple(p for p in parameters if p.name.rpartition("/")[0] not in carried)


def _carrier(robot: Robot, link: str) -> str | None:
    """The link that fixed joints lead to from a link, unless one that bends is between."""
    moving = {c.name.partition("/")[0] for c in robot.coordinates}
    while link != robot.description.root:
        joint = robot.description.joint_to(link)
        if joint.type != "fixed" or joint.name in moving:
            return link
        link = joint.parent
        if robot.bends and link in robot.description.flexible_links:
            return None
    return link


def chosen_parameters(
    robot: Robot, model: LinearModel, patterns: str | Sequence[str] | None
) -> tuple[Parameter, ...]:
    """The parameters of a robot that fit patterns, in their order; None: the inertial ones. Those that
    `without_carried` leaves out are taken by patterns that fit no others, such as "payload/*".

    Raises
    ------
    UnknownNameError
        For a pattern that fits none.
    """
    known, names = model.parameters, [p.name for p in model.parameters]
    usual = {p.name for p in without_carried(robot, known)}
    if patterns is None:
        return tuple(p for p in known if is_inertial(p.name) and p.name in usual)
    wanted: set[str] = set()
    for pattern in (patterns,) if isinstance(patterns, str) else patterns:
        fitting = set(names_that_fit(names, pattern))
        wanted |= fitting & usual or fitting
    return tuple(p for p in known if p.name in wanted)
