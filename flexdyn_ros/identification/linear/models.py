"""What a robot's efforts are linear in: numbers and which of them are chosen, regressor, and the robot with
other numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy
from flexdyn_ros.robot.parameters import Parameter, Regressor, names_that_fit
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.verbs import Robot

#: the ten numbers of a body, as they follow its name
INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


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


def linear_model(robot: Robot) -> LinearModel:
    """The model of `robot.parameters`.

    Raises
    ------
    UnsupportedError
        If the robot has none.
    """
    try:
        return OwnModel(robot, robot.parameters)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"'{robot.name}' of kind {robot.kind} has no parameters to fit: its family must offer "
            f"`parameters`, `regressor` and `with_parameters` ({error})"
        ) from None


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
    while link != robot.description.root:
        joint = robot.description.joint_to(link)
        if joint.type != "fixed" or joint.name in robot.section_names:
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
