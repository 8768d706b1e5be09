"""`<joint_type>`: joints that URDF has no word for, and numbers for each coordinate of a joint."""

from __future__ import annotations

from dataclasses import field

from flexdyn_ros.description.elements.urdf import Context, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import element, number, numbers, text, vector
from flexdyn_ros.description.places import Place

#: URDF types of the joints that may have a <joint_type>
_URDF_TYPES = ("floating", "planar")


@element(
    "joint_type",
    "Type of a joint that is `floating` in the URDF, and limits of its coordinates (of `planar` joints too).",
)
class JointType:
    """The names of the types, and which attributes each one takes, are those of multibody/joints.

    lower, upper, velocity, effort, damping, friction: one number for each coordinate, None where not given.
    place: of the element, for errors.
    """

    type: str | None = text(
        "ball, universal, helical or cylindrical; nothing or planar for planar joints",
        is_text=True,
        default=None,
    )
    axis: Vec3 | None = vector(
        "-",
        "universal, helical, cylindrical: axis in the joint frame",
        shown="1 0 0 (universal), 0 0 1",
        default=None,
    )
    second_axis: Vec3 | None = vector(
        "-", "universal: second axis, in the frame that the first turns", shown="0 1 0", default=None
    )
    pitch: float | None = number("m/rad", "helical: displacement per angle, not 0", default=None)
    lower: tuple[float, ...] | None = numbers("rad (m)", "lower limits", shown="none", default=None)
    upper: tuple[float, ...] | None = numbers("rad (m)", "upper limits", shown="none", default=None)
    velocity: tuple[float, ...] | None = numbers(
        "rad/s (m/s)", "velocity limits", least=0.0, shown="none", default=None
    )
    effort: tuple[float, ...] | None = numbers(
        "N m (N)", "effort limits; 0: not driven", least=0.0, shown="none", default=None
    )
    damping: tuple[float, ...] | None = numbers(
        "N m s/rad (N s/m)", "viscous damping", least=0.0, shown="0", default=None
    )
    friction: tuple[float, ...] | None = numbers(
        "N m (N)", "Coulomb friction", least=0.0, shown="0", default=None
    )
    place: Place = field(default=Place(None, None, "joint_type"))

    def check(self, statement: Statement, context: Context) -> None:
        joint = context.joints[context.owner]
        if joint.type not in _URDF_TYPES:
            message = f"joint '{joint.name}' is {joint.type}: <joint_type> has no meaning there"
            statement.fail(message, None, "a joint of type floating (planar: for its limits)")
        if "mimic" in joint.unused:
            message = f"joint '{joint.name}' mimics another"
            statement.fail(message, None, "a joint with coordinates of its own")
