"""What the package knows of a family of robots: one record of data and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanded.urdf_joints import Joints, joints_of_the_urdf
from flexdyn_ros.multibody.constraints.loop import refuse_loops
from flexdyn_ros.multibody.elements.registry import refuse_elements
from flexdyn_ros.multibody.links.registry import refuse_links
from flexdyn_ros.records import frozen

if TYPE_CHECKING:
    from lxml import etree

    from flexdyn_ros.robot.functions import FamilyFunctions
    from flexdyn_ros.robot.verbs import Robot


def refuse_mixtures(description: RobotDescription) -> None:
    """DescriptionError for what stands between frames of trees, and for their links, in robots of another
    kind."""
    refuse_elements(description)
    refuse_links(description)
    if description.extras:
        refuse_loops(description, f"in a robot of kind {description.kind}")


@frozen
class Inertia:
    """A pseudo-inertia about the beam's root, beam axes.

    mass [kg], first_moment int r dm [kg m], second_moments int r r^T dm as xx yy zz xy xz yz [kg m2].
    """

    mass: float
    first_moment: tuple[float, ...]
    second_moments: tuple[float, ...]

    @classmethod
    def of(cls, P: np.ndarray) -> Inertia:
        """From a pseudo-inertia (4, 4), unit first."""
        second = P[[1, 2, 3, 1, 1, 2], [1, 2, 3, 2, 3, 3]]
        return cls(float(P[0, 0]), tuple(P[0, 1:].tolist()), tuple(second.tolist()))


@frozen
class FlexibleLinkReport:
    """A flexible link: length [m], modes by field, and the masses T = B + P + R of the contract's mass rule.

    whole (T): `<inertial>`, zero without one; beam (B), bodies (P), remainder (R); outcome: what became of R.
    mass: of the link [kg], as it moves.
    """

    link: str
    length: float
    modes: str
    whole: Inertia
    beam: Inertia
    bodies: Inertia
    remainder: Inertia
    outcome: str
    notes: tuple[str, ...] = ()
    mass: float = 0.0


class Findings(NamedTuple):
    """Results of the checks that are a family's own; held: coordinates that springs between frames act on."""

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[FlexibleLinkReport, ...] = ()
    held: tuple[str, ...] = ()


def _no_appearance(description: RobotDescription) -> Appearance:
    return Appearance()


def _expand_joints(root: etree._Element, robot: Robot, segments: int | None) -> Joints:
    """The joints of the URDF alone."""
    return joints_of_the_urdf(robot)


@frozen(kw_only=True)
class Family:
    """A family of robots; functions import what they need when they are called.

    Parameters
    ----------
    kind : str
        `Robot.kind`, by which others name the family.
    claims : callable (description) -> bool
        Whether a description is of this family. Of several that claim one, the first in the registry has it.
    functions : callable (description) -> FamilyFunctions
        What computes the verbs; DescriptionError or UnsupportedError if it cannot.
    check : callable (robot) -> Findings
        Model checks and warnings of `flexdyn_ros.check`.
    expand : callable (root, robot, segments) -> (parts, efforts)
        Adds the family's frames and joints to the tree of elements of the expanded description; what moves
        its joints, and the column of tau of each that has an actuator.
    appearance : callable (description) -> Appearance
        What views draw beside links and joints.
    elements : tuple of classes
        Elements of `<flexdyn>` that only this family has, made by `vocabulary.element`.
    rviz : callable (description) -> str
        Which of the files rviz/NAME.rviz shows the robot.
    controller : str
        The node that leads the robot by default: pd_controller leads every robot that is driven joint by
        joint, another one robots of its family alone.
    joint_driven : bool
        Whether it is driven joint by joint.
    refuse : callable (description) -> None
        DescriptionError for what the description holds and robots of the family cannot have: springs,
        dampers, cylinders, deforming links and loops, unless the family says otherwise.
    parameter_paths : callable (description) -> iterable of (name, path)
        Where the description holds parameters that the family adds to those of joints, as options name it.
    layers : callable (description) -> tuple of classes of layers
        Of trees: what is around the tree, from inside. None for robots that are no trees.
    """

    kind: str
    claims: Callable[[RobotDescription], bool]
    functions: Callable[[RobotDescription], FamilyFunctions]
    check: Callable[[Robot], Findings] = lambda robot: Findings()
    expand: Callable[[etree._Element, Robot, int | None], Joints] = _expand_joints
    appearance: Callable[[RobotDescription], Appearance] = _no_appearance
    elements: tuple[type, ...] = ()
    rviz: Callable[[RobotDescription], str] = lambda description: "tree"
    controller: str = "pd_controller"
    joint_driven: bool = True
    refuse: Callable[[RobotDescription], None] = refuse_mixtures
    parameter_paths: Callable[[RobotDescription], Iterable[tuple[str, str]]] = lambda description: ()
    layers: Callable[[RobotDescription], tuple[Any, ...]] | None = None
