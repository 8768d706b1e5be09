"""The door: arguments of verbs become rows of contiguous float64, or an error that names the culprit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, FlexdynWarning, SingularityError, StateError, UnknownNameError
from flexdyn_ros.numerics.compiling.status import BAD_QUATERNION, QUATERNION_TOLERANCE

#: axes of an argument; NumPy's iterators and `broadcast` take 32 on all its versions, results have two more
_MOST_AXES = 30


def numbers(value: Any, name: str, size: int | None = None) -> np.ndarray:
    """`value` as a float64 array whose last axis has `size` entries.

    Raises
    ------
    DimensionError
        If it is no array of real numbers, its last axis has another length, or it has more than 30 axes.
    StateError
        If it is a masked array, some of whose numbers are masked.
    """
    # imported by whoever made one; another thread may just be importing it
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())
    if isinstance(value, masked) and np.ma.is_masked(value):
        count = int(np.ma.getmaskarray(value).sum())
        raise StateError(f"masked entries in {name}: {count}, expected an array without any")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DimensionError(f"{name} is {_described(value)}, expected an array of real numbers") from None
    if size is not None and (array.ndim == 0 or array.shape[-1] != size):
        raise DimensionError(f"{name} has shape {array.shape}, expected (..., {size})")
    if array.ndim > _MOST_AXES:
        raise DimensionError(f"{name} has {array.ndim} axes, expected at most {_MOST_AXES}")
    return array


def finite_number(value: Any, name: str) -> float:
    """`value` as a float.

    Raises
    ------
    DimensionError, StateError
        If it is no single real number; if it is NaN or infinite.
    """
    number = numbers(value, name)
    if number.shape != ():
        raise DimensionError(f"{name} has shape {number.shape}, expected a single number")
    if not np.isfinite(number):
        raise StateError(f"{name} is {number}, expected a finite number")
    return float(number)


def by_name(value: Any, name: str, content: str) -> Mapping[str, object]:
    """`value`, a mapping whose keys are names; an empty one for None.

    Raises
    ------
    DimensionError
        If it is no mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DimensionError(f"{name} is {_described(value)}, expected a mapping from name to {content}")
    return value


def _described(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


class Rows:
    """Several arguments broadcast together: `shape` is the batch, `count` its size, `take(name)` the rows of
    one.

    Parameters
    ----------
    arguments : mapping from name to (value, size of the last axis, or a tuple of the last axes)
    """

    def __init__(self, arguments: Mapping[str, tuple[Any, int | tuple[int, ...]]]) -> None:
        self.shape: tuple[int, ...] = ()
        self.count = 1
        self._tails: dict[str, tuple[int, ...]] = {}
        leading = _plain_leading(arguments.values())
        self._as_given = leading is not None
        if leading is not None:
            self._arrays = {name: value for name, (value, _) in arguments.items()}
            self.shape, self.count = leading, prod(leading)
        else:
            self._broadcast(arguments)

    def _broadcast(self, arguments: Mapping[str, tuple[Any, int | tuple[int, ...]]]) -> None:
        self._arrays = {}
        for name, (value, size) in arguments.items():
            tail = (size,) if isinstance(size, int) else size
            array = numbers(value, name, tail[-1])
            if array.ndim < len(tail) or array.shape[array.ndim - len(tail) :] != tail:
                raise DimensionError(
                    f"{name} has shape {array.shape}, expected (..., {', '.join(map(str, tail))})"
                )
            self._arrays[name], self._tails[name] = array, tail
        leading = {name: a.shape[: a.ndim - len(self._tails[name])] for name, a in self._arrays.items()}
        try:
            self.shape = np.broadcast_shapes(*leading.values())
        except ValueError:
            text = ", ".join(f"{name} {shape}" for name, shape in leading.items())
            raise DimensionError(f"leading dimensions do not broadcast: {text}") from None
        self.count = prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments."""
        return tuple(self._arrays)

    def take(self, name: str) -> np.ndarray:
        """Rows (count, ...) of one argument, C-contiguous and writable (entries take no other)."""
        if self._as_given:
            array = self._arrays[name]
            return array if self.shape else array[None]
        array, tail = self._arrays[name], self._tails[name]
        full = np.broadcast_to(array, self.shape + tail) if array.shape != self.shape + tail else array
        return np.require(full.reshape((self.count, *tail)), requirements=("C", "A", "W"))

    def keep_apart(self, out: np.ndarray) -> None:
        """Copy the arguments whose memory may be that of `out`, so that results do not overwrite them."""
        for name, array in self._arrays.items():
            if np.may_share_memory(array, out):
                self._arrays[name] = array.copy()


_FLOAT = np.dtype(np.float64)


def _plain_leading(arguments: Iterable[tuple[Any, int | tuple[int, ...]]]) -> tuple[int, ...] | None:
    """() or (count,) if entries take all values as they are, which are vectors (size,) or rows (count, size);
    else None."""
    leading: tuple[int, ...] | None = None
    for value, size in arguments:
        if type(value) is not np.ndarray or value.dtype is not _FLOAT or value.ndim > 2:
            return None
        shape, flags = value.shape, value.flags
        if shape[-1:] != (size,) or not (flags.c_contiguous and flags.writeable and flags.aligned):
            return None
        if leading is None:
            leading = shape[:-1]
        elif leading != shape[:-1]:
            return None
    return leading


def check_out(out: Any, shape: tuple[int, ...], rows: Rows | None = None) -> np.ndarray:
    """The array to write to: `out` if it fits, a new one if it is None.

    Arguments in `rows` that overlap with `out` are copied first, as NumPy's own functions do.
    """
    if out is None:
        return np.empty(shape)
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != np.float64
        or out.shape != shape
        or not out.flags.c_contiguous
    ):
        given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise DimensionError(f"out is {given}, expected a C-contiguous float64 array of shape {shape}")
    if not out.flags.writeable:
        raise DimensionError("out is read-only")
    if rows is not None:
        rows.keep_apart(out)
    return out


def explain_status(status: int, rows: Mapping[str, np.ndarray]) -> None:
    """Raise the StateError that a kernel's status stands for; return if the arguments are not to blame."""
    if status == 0:
        return
    code, index = status % 8, status // 8
    single = next(iter(rows.values())).shape[0] == 1
    where = "" if single else f" of sample {index}"
    if code == BAD_QUATERNION:
        raise StateError(
            f"a quaternion in q{where} is not of unit length within {QUATERNION_TOLERANCE:g}: "
            f"q = {rows['q'][index]}"
        )
    for name, array in rows.items():
        bad = np.flatnonzero(~np.isfinite(array[index].ravel()))
        if bad.size:
            raise StateError(
                f"{name}[{bad[0]}]{where} is {array[index].ravel()[bad[0]]}, expected a finite number"
            )


def refuse_nonfinite(data: Mapping[str, np.ndarray]) -> None:
    """StateError if rows (n, ...) of some argument hold NaN or infinity."""
    for name, rows in data.items():
        wrong = np.flatnonzero(~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim))))
        if wrong.size:
            explain_status(2 + 8 * int(wrong[0]), {name: rows})


def warn_of_singular_rows(
    result: np.ndarray,
    rows: Mapping[str, np.ndarray],
    what: str,
    batch: tuple[int, ...],
    cause: Callable[[int], tuple[str, float]] | None = None,
) -> None:
    """Deal with non-finite rows of a result whose arguments are good: raise for a single state (batch is
    ()), else make them NaN and warn.

    cause: of the number of a row, why it is singular, as a sentence, and its measure.
    """
    bad = _rows_without_result(result, rows)
    if not bad.size:
        return
    text, measure = ("", 0.0) if cause is None else cause(int(bad[0]))
    if batch == ():
        text = text or f"{what} is singular, or the state so large that the result overflows"
        raise SingularityError(text, measure)
    result[bad] = np.nan
    text = f"{what} is singular in {bad.size} of {len(result)} samples; their rows are NaN" + (
        f" (sample {bad[0]}: {text})" if text else ""
    )
    warnings.warn(text, FlexdynWarning, 4)


def warn_of_overflow(
    result: np.ndarray, rows: Mapping[str, np.ndarray], what: str, batch: tuple[int, ...]
) -> None:
    """The same where large states alone are to blame: StateError for a single state."""
    if np.isfinite(result).all():
        return
    bad = _rows_without_result(result, rows)
    if not bad.size:
        return
    if batch == ():
        sizes = ", ".join(f"|{name}| up to {np.abs(array).max():.3g}" for name, array in rows.items())
        raise StateError(f"{what} overflows float64: {sizes}, expected a smaller state")
    result[bad] = np.nan
    text = f"{what} overflows float64 in {bad.size} of {len(result)} samples; their rows are NaN"
    warnings.warn(text, FlexdynWarning, 4)


def _rows_without_result(result: np.ndarray, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Numbers of the rows that are not finite; StateError if arguments are not."""
    refuse_nonfinite(rows)
    return np.flatnonzero(~np.isfinite(result).all(axis=tuple(range(1, result.ndim))))


# External wrenches beside the other arguments of a verb.


def rows_with_wrenches(wrenches: Mapping[str, object] | None, **arguments: Any) -> Rows:
    """Arguments, name=(value, size), and wrenches broadcast together."""
    given = by_name(wrenches, "wrenches", "(..., 6) arrays")
    loads = {f"wrenches[{name!r}]": (value, 6) for name, value in given.items()}
    return Rows({**arguments, **loads})


def flat_wrenches(rows: Rows, wrenches: Mapping[str, object] | None) -> dict[str, np.ndarray] | None:
    """Rows (count, 6) of each of the wrenches of `rows_with_wrenches`; None if there are none."""
    return {name: rows.take(f"wrenches[{name!r}]") for name in wrenches} if wrenches else None


def wrench_rows(rows: Rows, wrenches: Mapping[str, object] | None) -> np.ndarray:
    """The wrenches (count, k, 6) of `rows_with_wrenches`; StateError if one is not finite."""
    loads = [rows.take(f"wrenches[{name!r}]") for name in wrenches or {}]
    if not loads:
        return np.zeros((rows.count, 0, 6))
    stacked = np.ascontiguousarray(np.stack(loads, axis=1))
    finite = np.isfinite(stacked).all(axis=(0, 2))
    if not finite.all():
        name = list(wrenches or {})[int(np.argmin(finite))]
        explain_status(2, {f"wrenches[{name!r}]": stacked.reshape(1, -1)})
    return stacked


# Efforts of a robot from what its actuators do, by order or by name.


def scattered_efforts(
    u: object, actuators: tuple[str, ...], index: Mapping[str, int], nu: int, name: str = "u"
) -> np.ndarray:
    """tau (..., nu) with u (..., na), or a mapping from names to (...), at the actuators' places [N m, N].

    Parameters
    ----------
    actuators : names of the na actuators
    index : places in tau of the names of all efforts
    name : what errors call u

    Raises
    ------
    DimensionError, StateError, UnknownNameError
        For another shape, NaN or infinity, a name that is no actuator.
    """
    if isinstance(u, Mapping):
        values = {key: numbers(value, f"{name}[{key!r}]") for key, value in u.items()}
        for key in values:
            if key not in actuators:
                raise UnknownNameError("actuator", key, actuators)
        try:
            batch = np.broadcast_shapes(*(value.shape for value in values.values()))
        except ValueError:
            shapes = ", ".join(f"{key} {value.shape}" for key, value in values.items())
            raise DimensionError(f"the entries of {name} do not broadcast: {shapes}") from None
    else:
        array = numbers(u, name, len(actuators))
        values = {key: array[..., i] for i, key in enumerate(actuators)}
        batch = array.shape[:-1]
    tau = np.zeros((*batch, nu))
    for key, value in values.items():
        tau[..., index[key]] = value
    if np.isfinite(tau).all():
        return tau
    key, value = next((key, value) for key, value in values.items() if not np.isfinite(value).all())
    wrong = value[~np.isfinite(value)].flat[0]
    raise StateError(f"{name} of actuator {key!r} is {wrong}, expected a finite number")


# Frames on a bent body: BODY@station, the station a fraction of the undeformed length, `root` or `tip`.


def station_of(text: str) -> float | None:
    """A station, 0 to 1, from its text; None if it is none."""
    try:
        station = {"root": 0.0, "tip": 1.0}.get(text)
        station = float(text) if station is None else station
    except ValueError:
        return None
    return station if 0.0 <= station <= 1.0 else None


def section_of(name: str) -> tuple[str, float | None]:
    """Body and station of a frame BODY@station; ("", None) if the name has no such form."""
    body, sign, text = name.rpartition("@")
    station = station_of(text) if sign else None
    return ("", None) if station is None else (body, station)


def word_for(name: object, bodies: Iterable[str]) -> str:
    """What an unknown frame is called in an error: a frame, or a station beside those of a bent body."""
    body, sign, _ = str(name).rpartition("@")
    if sign and body in set(bodies):
        return "station, expected 0 (root) to 1 (tip), in frame"
    return "frame"
