"""Single states of the usual types: a function that goes straight to one entry, whose result is the answer.

Arguments are looked at only when the entry objects: then, and for whatever else a verb can do, its general
way in verbs.py answers, or says what is wrong. All these functions are one text, filled in for each verb by
its signature: a function that asked at run time which verb it is would cost a tenth of a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.numerics.compiling.teaching import is_interpreted

_empty = np.empty
#: what entries raise at arguments of other types
_OBJECTIONS = TypeError, ValueError
Way = Callable[..., Any]
#: gives an entry, loaded, and the address that it takes
Load = Callable[[], tuple[Way, int]]

_TEXT = """
def {verb}({declared}):
    if {plain}:
        try:
            {new}
            if call(address, {given}, {results}) == 0{also}:
                return {answer}
        except objections:
            if call is None:
                load()
                return {verb}({again})
    return general({passed})
"""

#: of frames that were asked for before
_TEXT_OF_FRAMES = """
def {verb}({declared}):
    if not ({plain}):
        return general({passed})
    try:
        call, {addresses}, shape, keeps = known[{key}]
        result = empty(shape)
        if call({addresses}, {given}, result) == 0:
            return result
    except objections:
        pass
    result = general({passed})
    remember({frames}, result)
    return result
"""


class Single(NamedTuple):
    """A verb of single states.

    arguments: that the entry takes, names of parameters or of things in `names`; shapes: of its results x0,
    x1, ...; load: of the entry; answer: an expression of these; also: a further condition; names: that the
    expressions use beside.
    """

    arguments: tuple[str, ...]
    shapes: tuple[tuple[int, ...] | int, ...]
    load: Load
    answer: str = "x0"
    also: str = ""
    names: tuple[tuple[str, Any], ...] = ()


class OfFrames(NamedTuple):
    """A verb of single states and of frames.

    arguments: that the entry takes, after `addresses` addresses; frames: the parameter that names them, of
    which there may be several; find: of names of frames and the result, the entry, its addresses, and who
    keeps them; None where that is not remembered. most: how many choices of frames are remembered.
    """

    arguments: tuple[str, ...]
    frames: str
    find: Callable[[Any, np.ndarray], tuple[Way, tuple[int, ...], Any] | None]
    most: int
    addresses: int = 1
    several: bool = False


def single_way(verb: str, general: Way, single: Single) -> Way:
    """The verb that asks an entry first, and else its general way."""
    shapes = {f"shape{i}": shape for i, shape in enumerate(single.shapes)}
    names = dict(single.names) | shapes | {"call": None, "address": 0, "general": general, "empty": _empty}

    def load() -> None:
        call, names["address"] = single.load()
        names["call"] = objecting(call, 1, len(single.arguments))

    names |= {"load": load, "objections": _OBJECTIONS}
    code = _code(
        verb,
        _parameters(general),
        single.arguments,
        len(shapes),
        single.answer,
        single.also,
        "none" in names,
    )
    exec(code, names)
    way: Way = names[verb]
    return way


def single_of_frames(verb: str, general: Way, single: OfFrames) -> Way:
    """The verb that asks for frames that it knows by an entry, and else its general way."""
    known: dict[Any, tuple[Any, ...]] = {}

    def remember(frames: Any, result: np.ndarray) -> None:
        if len(known) < single.most and (found := single.find(frames, result)) is not None:
            call, addresses, keeps = found
            call = objecting(call, len(addresses), len(single.arguments))
            known[_key(frames)] = call, *addresses, result.shape, keeps

    names: dict[str, Any] = {"known": known, "remember": remember, "general": general, "empty": _empty}
    names["objections"] = (*_OBJECTIONS, KeyError)
    exec(_code_of_frames(verb, _parameters(general), *single[:2], *single[4:]), names)
    way: Way = names[verb]
    return way


def objecting(call: Any, first: int, count: int) -> Any:
    """An entry that objects to arguments first to first + count - 1 unless they are vectors and numbers, as
    compiled ones do; an interpreted one takes anything."""
    if not is_interpreted():
        return call

    def checked(*arguments: Any) -> Any:
        if all(map(_is_single, arguments[first : first + count])):
            return call(*arguments)
        raise TypeError("an entry takes single states")

    return checked


def _is_single(x: Any) -> bool:
    if type(x) is np.ndarray:
        return x.ndim == 1 and x.dtype == np.float64 and bool(x.flags.carray)
    return isinstance(x, float)


def _key(frames: Any) -> Any:
    return tuple(frames) if type(frames) is list else frames


def _parameters(general: Way) -> tuple[inspect.Parameter, ...]:
    """Those of the general way, without types; of a method they are looked up once for all robots."""
    if inspect.ismethod(general):
        return _parameters_of(general.__func__)[1:]
    return _parameters_of.__wrapped__(general)


@cache
def _parameters_of(function: Way) -> tuple[inspect.Parameter, ...]:
    found = inspect.signature(function).parameters.values()
    return tuple(p.replace(annotation=inspect.Parameter.empty) for p in found)


@cache
def _code(
    verb: str,
    parameters: tuple[inspect.Parameter, ...],
    arguments: tuple[str, ...],
    results: int,
    answer: str,
    also: str,
    optional: bool,
) -> CodeType:
    """The text of a verb with these parameters, compiled."""
    named = {p.name: p for p in parameters}
    taken = [
        f"none if {x} is None else {x}" if optional and x in named and named[x].default is None else x
        for x in arguments
    ]
    return _filled(
        _TEXT,
        verb,
        parameters,
        arguments,
        new="; ".join(f"x{i} = empty(shape{i})" for i in range(results)),
        given=", ".join(taken),
        results=", ".join(f"x{i}" for i in range(results)),
        also=also,
        answer=answer,
        again=", ".join(x for x in arguments if x in named),
    )


@cache
def _code_of_frames(
    verb: str,
    parameters: tuple[inspect.Parameter, ...],
    arguments: tuple[str, ...],
    frames: str,
    addresses: int,
    several: bool,
) -> CodeType:
    return _filled(
        _TEXT_OF_FRAMES,
        verb,
        parameters,
        (*arguments, frames),
        key=f"{frames} if type({frames}) is not list else tuple({frames})" if several else frames,
        addresses=", ".join(f"address{i}" for i in range(addresses)),
        given=", ".join(arguments),
        frames=frames,
    )


def _filled(
    text: str,
    verb: str,
    parameters: tuple[inspect.Parameter, ...],
    arguments: tuple[str, ...],
    **parts: str,
) -> CodeType:
    others = [p for p in parameters if p.name not in arguments and p.default is not p.empty]
    filled = text.format(
        verb=verb,
        declared=str(inspect.Signature(parameters))[1:-1],
        plain=" and ".join(_is_left_out(p) for p in others) or "True",
        passed=", ".join(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters),
        **parts,
    )
    return compile(filled, f"<single states of {verb}>", "exec")


def _is_left_out(p: inspect.Parameter) -> str:
    """Whether a parameter has its default."""
    if p.default is None:
        return f"{p.name} is None"
    return f"{p.name} == {p.default!r}" if p.default else f"not {p.name}"
