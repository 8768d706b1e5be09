"""Closed joints between two frames of a tree."""

from __future__ import annotations

import math

from flexdyn_ros.description.elements.lines import Ends
from flexdyn_ros.description.elements.urdf import ZERO, Context, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import choice, element, positive, text, vector, words
from flexdyn_ros.description.places import suggestion

#: types with a direction in the frame of the base; of these, with one in the frame of the end too
_AXIAL = ("revolute", "prismatic", "cylindrical", "universal", "planar", "point_on_line", "point_on_plane")
_TWO_AXES = _AXIAL[:5]
#: types that compare the orientations of both frames
_TURNED = ("fixed", *_TWO_AXES)
#: types for which the orientation of the base frame counts
_BASED = ("fixed", *_AXIAL, "spherical")


@element("loop", "A closed joint between two frames of a tree.", key="name", kw_only=True)
class Loop(Ends):
    """The relative motions of `end` in `base` that the type does not leave are zero."""

    type: str = choice(
        " ".join((*_BASED, "distance")), "joint that closes the loop; distance: a massless rod"
    )
    base_rpy: Vec3 | None = vector(
        "rad", "turn of the joint in the frame of the base", only=("type", _BASED), implied=ZERO, default=None
    )
    end_rpy: Vec3 | None = vector(
        "rad", "turn of the joint in the frame of the end", only=("type", _TURNED), implied=ZERO, default=None
    )
    axis: Vec3 | None = vector(
        "-",
        "axis, line or normal, in the turned frame of the base",
        only=("type", _AXIAL),
        needed=("type", _AXIAL),
        shown="none",
        default=None,
    )
    end_axis: Vec3 | None = vector(
        "-",
        "the same in the turned frame of the end; universal: the other axis of the cross",
        only=("type", _TWO_AXES),
        needed=("type", ("universal",)),
        shown="axis",
        default=None,
    )
    length: float | None = positive(
        "m",
        "length of the rod",
        only=("type", ("distance",)),
        needed=("type", ("distance",)),
        shown="none",
        default=None,
    )

    branch: str = choice(
        "near any",
        "near: wide gaps are closed little by little, and a pose beyond a singular one is refused",
        default="near",
    )

    def check(self, statement: Statement, context: Context) -> None:
        super().check(statement, context)
        for attribute in ("axis", "end_axis"):
            given = getattr(self, attribute)
            if given is not None and not any(given):
                statement.fail("an axis of no length", attribute, "a direction")


@element("assembly", "Where the loops of a robot are closed from.")
class Assembly:
    """`neutral()` is the closed pose that is nearest to the start."""

    start: str = text("pairs NAME value of coordinates; all others are zero", shown="zeros", default="")
    lock: tuple[str, ...] = words("coordinates that assembly may not move", default=())
    maximum_change: float | None = positive(
        "rad, m", "largest change of a coordinate by `assemble` and `project`", shown="none", default=None
    )
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        pairs = self.start.split()
        for name, value in zip(pairs[::2], pairs[1::2], strict=False):
            self._check_name(statement, context, "start", name)
            try:
                is_number = math.isfinite(float(value))
            except ValueError:
                is_number = False
            if not is_number:
                statement.fail(f"'{value}' is no finite number", "start", "pairs NAME value")
        if len(pairs) % 2:
            statement.fail("a name without a value", "start", "pairs NAME value")
        if len({*pairs[::2]}) < len(pairs[::2]):
            statement.fail("a coordinate is named twice", "start", "each once")
        for name in self.lock:
            self._check_name(statement, context, "lock", name)

    @staticmethod
    def _check_name(statement: Statement, context: Context, attribute: str, name: str) -> None:
        joint = context.joints.get(name.split("/")[0])
        if joint is None or joint.type == "fixed" or joint.mimic is not None:
            message = f"there is no joint '{name}' that moves by itself{suggestion(name, context.joints)}"
            statement.fail(message, attribute, "joints, or coordinates JOINT/...")

    @property
    def values(self) -> dict[str, float]:
        """Values of the start by coordinate."""
        pairs = self.start.split()
        return dict(zip(pairs[::2], map(float, pairs[1::2]), strict=True))


#: both of them
LOOPS = (Loop, Assembly)
