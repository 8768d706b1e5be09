"""Elements between two frames of a tree: springs, dampers, cylinders."""

from __future__ import annotations

from flexdyn_ros.description.elements.oil import CylinderHydraulics, SharedSupply
from flexdyn_ros.description.elements.platforms import EndStop
from flexdyn_ros.description.elements.urdf import ZERO, Context, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import (
    boolean,
    child,
    element,
    not_negative,
    number,
    positive,
    reference,
    vector,
    words,
)
from flexdyn_ros.description.places import suggestion

#: what an end is called that does not move
WORLD = "world"
_FRAMES = "world, a link, or a station LINK@s of a flexible link (s from 0 to 1, root, tip)"


@element("ends", "The two frames that an element acts between.", kw_only=True)
class Ends:
    """Attributes `base` and `end` of an element, and where it sits in these frames."""

    name: str = reference("name of the element")
    base: str = reference("frame of one end: world, a link, or LINK@s on a flexible link")
    base_xyz: Vec3 = vector("m", "point in the frame of the base", default=ZERO)
    end: str = reference("frame of the other end")
    end_xyz: Vec3 = vector("m", "point in the frame of the end", default=ZERO)
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        for attribute in ("base", "end"):
            _check_frame(statement, context, attribute)
        if self.base == self.end:
            statement.fail("both ends are on one frame", "end", f"another frame than '{self.base}'")


def is_station(text: str) -> bool:
    """Whether a text is a station, a fraction from 0 to 1, root or tip."""
    try:
        return text in ("root", "tip") or 0.0 <= float(text) <= 1.0
    except ValueError:
        return False


def _check_frame(statement: Statement, context: Context, attribute: str) -> None:
    """Refuse the name of a frame that is not there."""
    name = statement.get(attribute)
    if name == WORLD or name in context.links:
        return
    link, sign, station = name.rpartition("@")
    if sign and link in context.links:
        if link not in context.flexible:
            message = f"link '{link}' does not bend, and has no stations"
            statement.fail(message, attribute, f"'{link}', and a point in its frame")
        if not is_station(station):
            statement.fail(f"'{station}' is no station", attribute, "LINK@s with s from 0 to 1, root or tip")
        return
    known = [WORLD, *context.links]
    statement.fail(f"there is no frame of that name{suggestion(link or name, known)}", attribute, _FRAMES)


@element("spring", "A spring and damper along the line between two points.", key="name", kw_only=True)
class Spring(Ends):
    """It pulls with k (l - l0) + d dl/dt; tension_only: while longer than l0, and never pushing."""

    stiffness: float = not_negative("N/m", "k", default=0.0)
    damping: float = not_negative("N s/m", "d", default=0.0)
    free_length: float = not_negative("m", "length l0 without force", default=0.0)
    tension_only: bool = boolean("pulls only, as a rope or a cable does", default=False)

    def check(self, statement: Statement, context: Context) -> None:
        super().check(statement, context)
        if self.stiffness == 0.0 and self.damping == 0.0:
            statement.fail("a spring that does nothing", "stiffness", "> 0, or damping > 0")


@element("damper", "A damper along the line between two points.", key="name", kw_only=True)
class Damper(Ends):
    """It pulls with d dl/dt."""

    damping: float = not_negative("N s/m", "d")


@element("torsion_spring", "A spring and damper about an axis of the base.", key="name", kw_only=True)
class TorsionSpring(Ends):
    """It turns the end back with k (angle - reference) + d d(angle)/dt; the angle is that of the twist of the
    end about the axis, both frames turned by their rpy."""

    base_rpy: Vec3 = vector("rad", "turn of the element in the frame of the base", default=ZERO)
    end_rpy: Vec3 = vector("rad", "turn of the element in the frame of the end", default=ZERO)
    axis: Vec3 = vector("-", "axis, in the turned frame of the base")
    stiffness: float = not_negative("N m/rad", "k")
    damping: float = not_negative("N m s/rad", "d", default=0.0)
    reference: float = number("rad", "angle without moment", default=0.0)

    def check(self, statement: Statement, context: Context) -> None:
        super().check(statement, context)
        if not any(self.axis):
            statement.fail("an axis of no length", "axis", "a direction")


@element("force", "A cylinder that exerts the force it is told.")
class Force:
    maximum: float | None = positive("N", "largest force", shown="none", default=None)


@element("electric", "An electric cylinder: force and speed have limits.")
class Electric:
    maximum: float = positive("N", "largest force")
    speed: float = positive("m/s", "largest speed")


@element("barrel", "The barrel: a mass that swings about the pin at the base.")
class Barrel:
    mass: float = not_negative("kg", "mass")
    com: float = positive("m", "centre of mass from the pin on, along the line to the rod's pin")
    inertia: float = not_negative("kg m2", "across the line, about the centre of mass", default=0.0)
    axial_inertia: float = not_negative("kg m2", "about the line; needs axis", default=0.0)
    axis: Vec3 | None = vector(
        "-",
        "the pin is a universal joint: its axis that the base carries, in the frame of the base",
        shown="none: no spin about the line",
        default=None,
    )

    def check(self, statement: Statement, context: Context) -> None:
        if self.axis is not None and not any(self.axis):
            statement.fail("an axis of no length", "axis", "a direction")
        if self.axial_inertia > 0.0 and self.axis is None:
            statement.fail("axial inertia without spin", "axial_inertia", "0, or an axis")


@element("rod", "The rod: a mass that swings about the pin at the end.")
class Rod:
    mass: float = not_negative("kg", "mass")
    com: float = number("m", "centre of mass from the pin on, against the line: negative", below=0.0)
    inertia: float = not_negative("kg m2", "across the line, about the centre of mass", default=0.0)
    axial_inertia: float = not_negative("kg m2", "about the line; needs the barrel's axis", default=0.0)


@element("cylinder", "A cylinder between two points; its force is an effort.", key="name", kw_only=True)
class DrivenCylinder(Ends):
    """Barrel pin at `base`, rod pin at `end`; a positive force pushes them apart."""

    minimum_length: float = positive("m", "distance of the pins with the rod in")
    stroke: float = positive("m", "how far the rod comes out")
    force: Force | None = child(Force, default=None)
    electric: Electric | None = child(Electric, default=None)
    hydraulics: CylinderHydraulics | None = child(CylinderHydraulics, default=None)
    end_stop: EndStop | None = child(EndStop, default=None)
    barrel: Barrel | None = child(Barrel, default=None)
    rod: Rod | None = child(Rod, default=None)

    def check(self, statement: Statement, context: Context) -> None:
        super().check(statement, context)
        drives = [tag for tag in ("force", "electric", "hydraulics") if getattr(self, tag) is not None]
        if len(drives) > 1:
            statement.fail(f"<{drives[0]}> and <{drives[1]}> in one cylinder", None, "one of them")
        self._check_stops(statement)
        if self.rod is not None and self.rod.axial_inertia > 0.0 and self.axis is None:
            message = "axial inertia of the rod without spin"
            statement.fail(message, None, "axial_inertia 0, or an axis in <barrel>")

    def _check_stops(self, statement: Statement) -> None:
        """End stops are those of oil; they stand in one of two places."""
        oil = self.hydraulics
        if oil is None:
            if self.end_stop is not None:
                message = "<end_stop> in a cylinder without <hydraulics> is not possible yet"
                statement.fail(message, None, "<hydraulics>, or no <end_stop>")
            return
        if oil.end_stop is not None and self.end_stop is not None:
            statement.fail("<end_stop> in <hydraulics> and in <cylinder>", None, "one of them")
        if oil.end_stop is None and self.end_stop is None:
            statement.fail("<end_stop> is missing", None, "<end_stop stiffness damping/> in <hydraulics>")

    @property
    def stop(self) -> EndStop | None:
        """End stops, wherever they are stated."""
        return self.end_stop if self.hydraulics is None else self.hydraulics.end_stop or self.end_stop

    @property
    def axis(self) -> Vec3 | None:
        """Axis of the universal joint that the base carries, in its frame; None: no spin about the line."""
        return None if self.barrel is None else self.barrel.axis

    @property
    def largest_force(self) -> float:
        """0 where there is none [N]."""
        drive = self.electric or self.force
        return 0.0 if drive is None or drive.maximum is None else drive.maximum


@element("actuation", "Which joints have an actuator of their own, where that is not as usual.")
class Actuation:
    """Joints between the ends of a cylinder have none, unless `active` names them."""

    active: tuple[str, ...] = words("joints that a cylinder turns, and that have an actuator too", default=())
    passive: tuple[str, ...] = words("joints without an actuator", default=())
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        for attribute in ("active", "passive"):
            names = getattr(self, attribute)
            for name in names:
                joint = context.joints.get(name)
                if joint is None or joint.type == "fixed":
                    message = f"there is no joint '{name}' that moves{suggestion(name, context.joints)}"
                    statement.fail(message, attribute, "names of joints separated by blanks")
                if names.count(name) > 1:
                    statement.fail(f"joint '{name}' is named twice", attribute, "each once")
        both = set(self.active) & set(self.passive)
        if both:
            statement.fail(f"joint '{min(both)}' is active and passive", "passive", "one of them")


#: all of them
LINES = (DrivenCylinder, Spring, Damper, TorsionSpring, Actuation, SharedSupply)
