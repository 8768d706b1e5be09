"""Every error that flexdyn_ros raises on purpose: one root, one child per thing a caller can do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from reprlib import Repr
from typing import Any

from flexdyn_ros.escaping import LINES, printable

__all__ = [
    "ConvergenceError",
    "DescriptionError",
    "DimensionError",
    "FlexdynError",
    "FlexdynWarning",
    "MissingExtraError",
    "SimulationError",
    "SingularityError",
    "StateError",
    "UnknownNameError",
    "UnsupportedError",
    "needs",
]


#: in the place of an extra: packages that pip does not bring
ROS = "ros"
_OF_ROS = (
    " of ROS 2: source an installation that has it and the workspace that was built on it, or run "
    "scripts/setup (docs/install.md)"
)
#: longer names are no slips of the pen
LONGEST_NAME = 200
#: values in messages: a list that holds itself a thousandfold, or a text of megabytes, is not written out
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 3, 1000, 1000, 100
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = _SHORT.maxarray = 20


def shortened(text: str, most: int = 100) -> str:
    """A text as messages show it: beyond `most` characters cut, and how long it is.

    Names come from requests and files of others, and may be megabytes long.
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def _shown(value: Any) -> str:
    text = _SHORT.repr(value)
    return text if len(text) <= _SHORT.maxother else text[: _SHORT.maxother] + "..."


class FlexdynError(Exception):
    """Root of all errors of this package.

    Names in its text come from files of others: what would move the cursor of a terminal is written as \\x1b.
    """

    def __str__(self) -> str:
        return printable(super().__str__(), LINES)


class FlexdynWarning(UserWarning):
    """Something that makes an answer doubtful; the answer is still given."""

    def __str__(self) -> str:
        return printable(super().__str__(), LINES)


class DescriptionError(FlexdynError, ValueError):
    """A robot description is wrong.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    file, line, element, attribute : optional
        Where: file name (None for text), line number counted from 1, element path, attribute name.
    value, expected : optional
        What was given and what would have been right.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        element: str | None = None,
        attribute: str | None = None,
        value: Any = None,
        expected: str | None = None,
    ) -> None:
        self.message, self.file, self.line = message, file, line
        self.element, self.attribute, self.value, self.expected = element, attribute, value, expected
        super().__init__(self._text())

    def _text(self) -> str:
        place = self.file or "<text>"
        if self.line is not None:
            place += f":{self.line}"
        where = f" in {self.element}" if self.element else ""
        if self.attribute:
            where += f", attribute '{self.attribute}'"
        given = "" if self.value is None else f"; given {_shown(self.value)}"
        expected = f"; expected {self.expected}" if self.expected else ""
        return f"{place}{where}: {self.message}{given}{expected}"

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("file", "line", "element", "attribute", "value", "expected")
        where = {name: getattr(self, name) for name in names}
        return _rebuild_description_error, (self.message, where)


def _rebuild_description_error(message: str, where: dict[str, Any]) -> DescriptionError:
    return DescriptionError(message, **where)


class DimensionError(FlexdynError, ValueError):
    """An array does not have the shape that the robot requires."""


class StateError(FlexdynError, ValueError):
    """A state holds NaN, infinity, or a quaternion that is not of unit length."""


class UnknownNameError(FlexdynError, LookupError):
    """A name that the robot does not have; the message lists names that are near it."""

    def __init__(self, what: str, name: str, known: Iterable[str] = ()) -> None:
        from difflib import get_close_matches  # not at the top: few errors need it

        self.what, self.name, self.known = what, name, tuple(known)
        # names that are alike are sought among names only: the search takes the square of their length
        is_short = len(str(name)) <= LONGEST_NAME
        near = get_close_matches(str(name), self.known, n=3, cutoff=0.5) if is_short else []
        near, name = [shortened(one) for one in near], shortened(name) if isinstance(name, str) else name
        hint = near or [shortened(one) for one in self.known[:8]]
        more = "" if near or len(self.known) <= 8 else f", ... ({len(self.known)} in all)"
        tail = f"; known names: {', '.join(hint)}{more}" if hint else ""
        if near:
            tail = f"; did you mean {' or '.join(near)}?"
        super().__init__(f"unknown {what} {name!r}{tail}")

    @classmethod
    def check(cls, what: str, name: str, known: Collection[str]) -> None:
        """Raise it unless the name is known."""
        if name not in known:
            raise cls(what, name, known)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnknownNameError, (self.what, self.name, self.known)


class SingularityError(FlexdynError, ArithmeticError):
    """A matrix that must be inverted is singular; `measure` says how nearly."""

    def __init__(self, message: str, measure: float | None = None) -> None:
        self.measure = measure
        super().__init__(message)


class ConvergenceError(FlexdynError, ArithmeticError):
    """An iteration did not converge."""

    def __init__(self, message: str, residual: float | None = None, iterations: int | None = None) -> None:
        self.residual, self.iterations = residual, iterations
        super().__init__(message)


class SimulationError(FlexdynError, RuntimeError):
    """A simulation could not go on; `trajectory` holds what was computed up to the last good state."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        self.trajectory = trajectory
        super().__init__(message)


class UnsupportedError(FlexdynError, NotImplementedError):
    """The robot's family or formulation does not offer this; the message says which does."""


class ExportError(FlexdynError, RuntimeError):
    """Files of an exported robot could not be made; the message says why."""


class MissingExtraError(FlexdynError, ImportError):
    """An optional dependency is missing; the message says what to install.

    Parameters
    ----------
    package : str
        Its name.
    extra : str
        The extra of pyproject.toml that brings it; ROS for what comes with ROS 2; "" for what is installed
        with this package.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        remedy = f"pip install 'flexdyn_ros[{extra}]'" if extra else f"pip install {package}"
        super().__init__(f"this needs the package '{package}'{_OF_ROS if extra == ROS else f': {remedy}'}")

    def __reduce__(self) -> tuple[Any, ...]:
        return MissingExtraError, (self.package, self.extra)


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Around imports of an optional dependency: MissingExtraError where it is not installed.

    Of ROS 2 it names the package that is missing, which may be another one of the same imports.
    """
    try:
        yield
    except ImportError as error:
        missing = (error.name or "").partition(".")[0] if extra == ROS else ""
        raise MissingExtraError(missing or package, extra) from None
