"""Entries as functions of Python without Numba's dispatcher, which takes a third of a microsecond.

Such a function is what CPython calls a built-in: a method definition (METH_FASTCALL) whose C function gets
the arguments as an array of objects. One C function serves all entries: it looks at each argument, puts
numbers, addresses and lengths into a block of memory, and calls the entry with that. What it reads of
arguments is laid down in the C interfaces of CPython (PyObject, PyFloatObject) and NumPy (PyArrayObject).
Where objects of this interpreter look otherwise, and without a global lock, there are no such functions.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import sigutils
from numba.extending import lower_builtin, type_callable

from .callbacks import Callback, callback, caller
from .compiler import Entry, inlined, kernel
from .memory import ints_at
from .windows import array_at

__all__ = ["DirectEntry", "direct_entry", "is_direct"]

#: words of the memory of an entry: its address, how many arguments it takes, the kind of each, and the block
_ENTRY, _COUNT, _KINDS, _BLOCK, _WORDS = 0, 1, 2, 16, 64
#: arguments that an entry takes at most
_MOST = 8
#: kinds of arguments: numbers, then arrays of float64 by their dimensions, and one of integers
_INTEGER, _NUMBER, _ROW, _MATRIX, _TABLE, _INTEGERS = range(6)
#: words of the block that an argument of each kind takes: a number, or an address and the lengths
_SIZES = (1, 1, 2, 3, 4, 2)
#: what the C function is told of this process
_API = 11
(
    _OF_INT, _OF_FLOAT, _OF_SCALAR, _OF_ARRAY, _FLOATS, _INTS, _AS_LONG, _FROM_LONG, _FAILED, _RAISE, _ERROR,
) = range(_API)  # fmt: skip
#: places in an object: type; in a float: value; in an array: data, dimensions, lengths, dtype, flags
_TYPE, _VALUE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS, _OBJECT = 1, 2, 2, 3, 4, 7, 8, 9
#: C order, aligned, writeable
_ORDINARY = 0x1 | 0x100 | 0x400
#: place in a dtype of the word that holds its order of bytes and its number, and these two in it; another
#: object than NumPy's own is the dtype of arrays that were pickled
_ABOUT, _ORDER_AND_NUMBER = 3, -0x100000000 | 0xFF0000
_METH_FASTCALL = 0x80


def _kind(kind: types.Type) -> int | None:
    if isinstance(kind, types.Array) and kind.layout == "C" and kind.mutable:
        if kind.dtype == types.float64 and 1 <= kind.ndim <= 3:
            return _ROW + kind.ndim - 1
        return _INTEGERS if kind.dtype == types.int64 and kind.ndim == 1 else None
    return {types.int64: _INTEGER, types.float64: _NUMBER}.get(kind)


def _kinds(signature: str) -> tuple[int, ...] | None:
    """Kinds of the arguments; None where they or the result are others than those above."""
    arguments, result = sigutils.normalize_signature(signature)
    kinds = tuple(_kind(argument) for argument in arguments)
    fits = result == types.int64 and None not in kinds and 1 <= len(kinds) <= _MOST
    return kinds if fits and 1 + sum(_SIZES[k] for k in kinds) <= _WORDS - _BLOCK else None  # type: ignore


@cache
def is_direct(signature: str) -> bool:
    """Whether there can be a direct entry of that signature in this interpreter."""
    return _kinds(signature) is not None and _is_known()


@cache
def _is_known() -> bool:
    """Whether objects look in this interpreter as their C interfaces say."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    array, numbers = np.arange(6.0).reshape(2, 3), (2.5, np.float64(-1.5))
    words = (ctypes.c_int64 * _OBJECT).from_address(id(array))
    lengths = (ctypes.c_int64 * 2).from_address(words[_SHAPE])
    kinds = [np.dtype(kind) for kind in ("<f8", ">f8", "<i8", "<i4", "<f4")]
    about = [(ctypes.c_int64 * (1 + _ABOUT)).from_address(id(kind))[_ABOUT] for kind in kinds]
    return (
        words[_TYPE] == id(np.ndarray)
        and words[_DATA] == array.ctypes.data
        and (words[_NDIM] & 0xFFFFFFFF, *lengths) == (2, 2, 3)
        and words[_DTYPE] == id(np.dtype(np.float64))
        and words[_FLAGS] & _ORDINARY == _ORDINARY
        and [word & _ORDER_AND_NUMBER for word in about] == [_about(kind) for kind in kinds]
        and all(ctypes.c_int64.from_address(id(x) + 8 * _TYPE).value == id(type(x)) for x in numbers)
        and all(ctypes.c_double.from_address(id(x) + 8 * _VALUE).value == x for x in numbers)
    )


def _about(dtype: np.dtype) -> int:
    """Order of bytes and number of a dtype, as in the word _ABOUT."""
    return dtype.num << 32 | ord(dtype.byteorder) << 16


# ---- the entry, called with a block ----


@cache
def _taking(signature: str) -> Callable:
    """What makes the tuple of the arguments of a signature from the words of a block at an address."""
    arguments, _ = sigutils.normalize_signature(signature)

    def take(address, of=signature):
        raise NotImplementedError("only kernels that are compiled know blocks")

    @type_callable(take)
    def typed(context):
        return lambda address: types.Tuple(arguments)

    @lower_builtin(take, types.Integer)
    def lower(context, builder, signature, values):
        words, taken = builder.inttoptr(values[0], ir.IntType(64).as_pointer()), []
        for wanted in arguments:
            kind = _kind(wanted)
            taken.append(_argument(context, builder, words, kind, wanted))
            words = builder.gep(words, [ir.IntType(32)(_SIZES[kind])])
        return context.make_tuple(builder, signature.return_type, taken)

    return take


def _argument(context, builder, words, kind, wanted):
    """Code of one argument of a type `wanted` from the words at a pointer."""
    first = builder.load(words)
    if kind == _INTEGER:
        return first
    pointer = ir.DoubleType() if kind == _NUMBER else context.get_data_type(wanted.dtype)
    data = builder.inttoptr(first, pointer.as_pointer())
    if kind == _NUMBER:
        return builder.load(data)
    places = (builder.gep(words, [ir.IntType(32)(1 + i)]) for i in range(wanted.ndim))
    return array_at(context, builder, wanted, data, *(builder.load(place) for place in places))


def _over_block(function: Callable, signature: str, kinds: tuple[int, ...]) -> Callable:
    """The function as one of the address of a block."""
    direct: Callable = _unpacking(inlined(function), _taking(signature))[len(kinds) - 1]
    direct.__module__, direct.__name__ = function.__module__, function.__name__
    direct.__qualname__ = f"{function.__qualname__} of a block"
    return direct


def _unpacking(called: Callable, take: Callable) -> tuple[Callable, ...]:
    """Functions of a block that call `called` with what they take from it, by how much that is.

    Numba writes no function into its caller that is called with *t.
    """

    def one(block):
        (a,) = take(block)
        return called(a)

    def two(block):
        a, b = take(block)
        return called(a, b)

    def three(block):
        a, b, c = take(block)
        return called(a, b, c)

    def four(block):
        a, b, c, d = take(block)
        return called(a, b, c, d)

    def five(block):
        a, b, c, d, e = take(block)
        return called(a, b, c, d, e)

    def six(block):
        a, b, c, d, e, f = take(block)
        return called(a, b, c, d, e, f)

    def seven(block):
        a, b, c, d, e, f, g = take(block)
        return called(a, b, c, d, e, f, g)

    def eight(block):
        a, b, c, d, e, f, g, h = take(block)
        return called(a, b, c, d, e, f, g, h)

    return one, two, three, four, five, six, seven, eight


# ---- the C function behind all of them ----

_call_none = caller("int64()")
_call_one = caller("int64(int64)")
_call_two = caller("int64(int64, int64)")


@kernel
def put_number(api, kind, given, place, own):
    """Put a number into the block; whether it is one of that kind."""
    kind_of = ints_at(given, _OBJECT)[_TYPE]
    if kind == _NUMBER:
        own[place] = given + 8 * _VALUE
        return kind_of == api[_OF_FLOAT] or kind_of == api[_OF_SCALAR]
    if kind_of != api[_OF_INT]:
        return False
    own[place] = _call_one(api[_AS_LONG], (given,))
    return own[place] != -1 or _call_none(api[_FAILED], ()) == 0


@kernel
def put_array(api, kind, given, place, own):
    """Put address and lengths of an array into the block; whether it is one of that kind."""
    value = ints_at(given, _OBJECT)
    if value[_TYPE] != api[_OF_ARRAY] or value[_FLAGS] & _ORDINARY != _ORDINARY:
        return False
    ndim, dtype = kind - _ROW + 1, api[_FLOATS]
    if kind == _INTEGERS:
        ndim, dtype = 1, api[_INTS]
    about = ints_at(value[_DTYPE], 1 + _ABOUT)[_ABOUT] & _ORDER_AND_NUMBER
    if value[_NDIM] & 0xFFFFFFFF != ndim or about != dtype:
        return False
    lengths = ints_at(value[_SHAPE], ndim)
    own[place] = value[_DATA]
    for k in range(ndim):
        own[place + 1 + k] = lengths[k]
    return True


@kernel
def put_all(api, own, given):
    """Put all arguments into the block; whether they are what the entry takes."""
    if given.shape[0] != own[_COUNT]:
        return False
    place = _BLOCK
    for i in range(given.shape[0]):
        kind = own[_KINDS + i]
        if kind < _ROW:
            if not put_number(api, kind, given[i], place, own):
                return False
            place += 1
        else:
            if not put_array(api, kind, given[i], place, own):
                return False
            place += 2 if kind == _INTEGERS else 2 + kind - _ROW
    return True


@callback("int64(int64, int64, int64)")
def enter(memory, arguments, count):
    """Call the entry of `memory`, an array of int64: _API words, then those of the entry, then a message."""
    start = ints_at(memory, _OBJECT)[_DATA]
    api, own = ints_at(start, _API), ints_at(start + 8 * _API, _WORDS + 1)
    if not put_all(api, own, ints_at(arguments, count)):
        _call_two(api[_RAISE], (api[_ERROR], own[_WORDS]))
        return 0
    status = _call_one(own[_ENTRY], (start + 8 * (_API + _BLOCK),))
    return _call_one(api[_FROM_LONG], (status,))


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _interface() -> list[int]:
    """The words _API of this process."""
    api = ctypes.pythonapi
    functions = (api.PyLong_AsLongLong, api.PyLong_FromLongLong, api.PyErr_Occurred, api.PyErr_SetString)
    addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    dtypes = [_about(np.dtype(kind)) for kind in (np.float64, np.int64)]
    return [id(int), id(float), id(np.float64), id(np.ndarray), *dtypes, *addresses, id(TypeError)]


class _Memory(np.ndarray):
    """Words that a direct function keeps alive, and with them in `kept` all else that it needs: it lets go
    of them last."""

    kept: tuple[Any, ...]


class DirectEntry(Entry):
    """An entry that keeps the GIL: a direct function where there can be one, else as others."""

    def __init__(self, function: Callable, signature: str, *, module: str = "") -> None:
        super().__init__(function, signature, module=module)
        kinds = _kinds(signature)
        if kinds is not None:
            self._kinds = kinds
            self._over_block = Callback(_over_block(function, signature, kinds), "int64(int64)")
            # what keeps compiled code tells functions by where they are found, else by all they refer to
            function.__qualname__ = f"{function.__name__}.function"

    def _compiled(self) -> Callable[..., int]:
        return self._bound() if is_direct(self.signature) else super()._compiled()

    def _bound(self) -> Callable[..., int]:
        """The function of Python. It raises TypeError at arguments of other types, or other many."""
        name, count, own = self.function.__name__, len(self._kinds), [0] * _WORDS
        text = ctypes.create_string_buffer(f"{name} takes {count} arguments of its own types".encode())
        own[_ENTRY], own[_COUNT] = self._over_block.address, count
        own[_KINDS : _KINDS + count] = self._kinds
        words = [*_interface(), *own, ctypes.addressof(text)]
        memory = np.array(words, dtype=np.int64).view(_Memory)
        definition = _Definition(name.encode(), enter.address, _METH_FASTCALL, None)
        memory.kept = definition, text, self._over_block
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        made: Callable[..., int] = make(ctypes.addressof(definition), memory, None)
        return made


def direct_entry(signature: str) -> Callable[[Callable], DirectEntry]:
    """Decorate a kernel that Python enters with exactly the types of `signature`, for short calls."""
    return lambda function: DirectEntry(function, signature)
