"""Elements of robots on wheels: wheel, suspension and tyre, road, drive."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from flexdyn_ros.description.elements.beam_table import numbers_of
from flexdyn_ros.description.elements.urdf import Context, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import (
    child,
    children,
    choice,
    element,
    file_name,
    integer,
    not_negative,
    number,
    numbers,
    positive,
    reference,
    vector,
)
from flexdyn_ros.errors import StateError


@element("suspension", "Spring and damper between mount and hub, or ground where there is no tyre.")
class Suspension:
    stiffness: float = positive("N/m", "spring")
    damping: float = not_negative("N s/m", "damper")
    free_length: float = positive("m", "length without load")


@element("tyre", "A tyre and the unsprung mass of its hub; adds the coordinate WHEEL/hub_z.")
class Tyre:
    stiffness: float = positive("N/m", "vertical stiffness")
    damping: float = not_negative("N s/m", "vertical damping")
    radius: float = positive("m", "unloaded radius")
    mass: float = positive("kg", "unsprung mass")


@element(
    "wheel",
    "A suspended wheel; name, the rigid link that carries it, and its upper mount on that link.",
    key="name",
)
class Wheel:
    name: str = reference("name of the wheel")
    link: str = reference("rigid link that carries it")
    xyz: Vec3 = vector("m", "upper mount in the frame of the link; y = 0 with a planar base")
    suspension: Suspension = child(Suspension)
    tyre: Tyre | None = child(Tyre, default=None)
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        context.check_link(statement, "link")
        if self.link in context.flexible:
            statement.fail("the wheel hangs on a flexible link", "link", "a rigid link")
        if context.base.type == "fixed":
            statement.fail("a wheel under a fixed base", None, '<base type="planar"/> or floating')
        if context.base.type == "planar" and self.xyz[1] != 0.0:
            statement.fail("a wheel beside the plane of a planar base", "xyz", "y = 0")


@element("wave", "One wave of kind sines.", repeated=True)
class Wave:
    amplitude: float = not_negative("m", "amplitude")
    wavelength: float = positive("m", "wave length")
    phase: float = number("rad", "phase at start", default=0.0)


_SINE, _SINES = ("kind", ("sine",)), ("kind", ("sine", "sines"))
_BUMP, _SLOPE = ("kind", ("bump", "step")), ("kind", ("slope",))
_ISO, _TABLE = ("kind", ("iso8608",)), ("kind", ("table",))


@element(
    "road",
    "Height of the road over the world abscissa. Its text is the table `X z X z ...` of kind table.",
    one_of=(("file",), ("points",)),
    of_callable=True,
)
class Road:
    """Height z [m] over the world abscissa X [m]. `function` is a Python callable X -> (z, dz/dX), kind
    `callable`."""

    kind: str = choice(
        "flat sine sines bump step slope table iso8608", "shape of the profile", default="flat"
    )
    start: float = number("m", "abscissa where the profile begins", default=0.0)
    contact: str = choice("monitor unilateral stop", "what happens at lift-off", default="monitor")
    amplitude: float | None = not_negative(
        "m", "amplitude of the sine", only=_SINE, needed=_SINE, default=None
    )
    wavelength: float | None = positive(
        "m", "wave length of the sine", only=_SINE, needed=_SINE, default=None
    )
    phase: float | None = number("rad", "phase of the sine at start", only=_SINE, implied=0.0, default=None)
    offset: float | None = number(
        "m", "height added to the sine or sines", only=_SINES, implied=0.0, default=None
    )
    height: float | None = number("m", "height of bump or step", only=_BUMP, needed=_BUMP, default=None)
    length: float | None = positive("m", "length of bump or step", only=_BUMP, needed=_BUMP, default=None)
    grade: float | None = number(
        "-", "rise over run; level before the start", only=_SLOPE, needed=_SLOPE, default=None
    )
    road_class: str | None = choice(
        "A B C D E", "road class of ISO 8608", name="class", only=_ISO, needed=_ISO, default=None
    )
    seed: int | None = integer(
        "of the random phases; the same seed gives the same road", least=0, only=_ISO, implied=0, default=None
    )
    lines: int | None = integer(
        "number of spectral lines", within=(2, 100000), only=_ISO, implied=500, default=None
    )
    n_min: float | None = positive("1/m", "lowest spatial frequency", only=_ISO, implied=0.011, default=None)
    n_max: float | None = positive("1/m", "highest spatial frequency", only=_ISO, implied=2.83, default=None)
    file: str | None = file_name("text file of X z, one pair a line", only=_TABLE, default=None)
    waves: tuple[Wave, ...] = children(Wave, default=())
    points: tuple[tuple[float, float], ...] = numbers(
        "m", "pairs X z of kind table", only=_TABLE, is_text=True, default=()
    )
    function: Callable[[float], object] | None = None

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        kind, waves = values["kind"], statement.all("wave")
        if waves and kind != "sines":
            waves[0].fail(f"waves with kind = {kind}", None, "kind = sines")
        if kind == "sines" and not waves:
            expected = "at least one <wave amplitude wavelength phase/>"
            statement.fail("kind sines without <wave>", "kind", expected)
        if kind == "table":
            values["points"] = _points(values, statement, context, "rising abscissae X")
        if kind == "iso8608" and values["n_min"] >= values["n_max"]:
            statement.fail("n_min is not below n_max", "n_min", f"a number below {values['n_max']:g}")

    def __getstate__(self) -> dict[str, Any]:
        """StateError for a function that pickle cannot find again by its name."""
        name = getattr(self.function, "__qualname__", "")
        if "<" in name:
            raise StateError(
                f"the road of this robot is the function '{name}', which cannot be pickled: expected a "
                "function at the top level of a module, or a road of another kind, as a table"
            )
        return dict(self.__dict__)


_SPEED, _PROFILE = ("type", ("speed",)), ("type", ("profile",))


@element(
    "drive",
    "How base/x is moved: prescribed (speed, profile), or free with the force as an effort (force).",
    one_of=(("file",), ("points",)),
)
class Drive:
    """base/x prescribed (`speed`, or `profile` with points (t, x)), or free with the force as an effort
    (`force`)."""

    type: str = choice("speed profile force", "what is given", default="speed")
    speed: float | None = number("m/s", "constant speed", only=_SPEED, needed=_SPEED, default=None)
    start: float | None = number("m", "base/x at t = 0", only=_SPEED, default=0.0)
    file: str | None = file_name("text file of t x, one pair a line", only=_PROFILE, default=None)
    points: tuple[tuple[float, float], ...] = numbers(
        "s, m", "pairs t x of type profile", only=_PROFILE, is_text=True, default=()
    )

    @staticmethod
    def settle(values: dict[str, object], statement: Statement, context: Context) -> None:
        if values["type"] == "profile":
            values["points"] = _points(values, statement, context, "rising times t")


def _points(
    values: dict[str, object], statement: Statement, context: Context, rising: str
) -> tuple[tuple[float, float], ...]:
    """Pairs from the text or the file of a road table or a drive profile."""
    what, numbers = numbers_of(values, "points", statement, context)
    if not numbers:
        statement.fail("no points are given", "file", "a file, or pairs of numbers as text")
    if len(numbers) % 2 or len(numbers) < 4:
        statement.fail(f"{len(numbers)} numbers are no pairs", what, "two or more pairs of numbers")
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if any(after[0] <= before[0] for before, after in pairwise(points)):
        statement.fail("the points do not rise", what, rising)
    return points
