"""Entries: kernels that Python calls, without Numba's dispatcher, which takes a third of a microsecond.

Such a function is what CPython calls a built-in: a method definition (METH_FASTCALL) whose C function gets
the arguments as an array of objects. One C function serves all entries: it looks at each argument, puts
numbers, addresses and lengths into a block of memory, and calls the entry with that. What it reads of
arguments is laid down in the C interfaces of CPython (PyObject, PyFloatObject) and NumPy (PyArrayObject).
Where objects of this interpreter look otherwise, and without a global lock, and for arguments of other kinds,
Numba's dispatcher is called.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .callbacks import Callback, address_of, callback, caller, parts_of
from .memory import ints_at
from .teaching import inlined, kernel, when_compiling

#: words of the memory of an entry: its address, how many arguments it takes, what its result is, whether
#: other threads may run meanwhile, and the kind of each argument
_ENTRY, _COUNT, _RESULT, _APART, _KINDS, _WORDS = 0, 1, 2, 3, 4, 20
#: arguments that an entry takes at most
_MOST = _WORDS - _KINDS
#: kinds of arguments: numbers, then arrays in C order by the type of their numbers and their dimensions
_INTEGER, _NUMBER, _ARRAYS, _DEEPEST = 0, 1, 2, 4
_DTYPES = ("float64", "int64", "boolean", "float32", "uint8", "uint16")
#: words of the block that a call is made with: a number, or an address and the lengths, for each argument
_BLOCK = _MOST * (1 + _DEEPEST)
#: what the C function is told of this process
(
    _OF_INT, _OF_FLOAT, _OF_SCALAR, _OF_ARRAY, _AS_LONG, _FROM_LONG, _FROM_FLOAT, _FAILED, _RAISE, _ERROR,
    _SAVE, _RESTORE, _OF_DTYPES,
) = range(13)  # fmt: skip
_API = _OF_DTYPES + len(_DTYPES)
#: places in an object: type; in a float: value; in an array: data, dimensions, lengths, dtype, flags
_TYPE, _VALUE, _DATA, _NDIM, _SHAPE, _DTYPE, _FLAGS, _OBJECT = 1, 2, 2, 3, 4, 7, 8, 9
#: C order, aligned, writeable
_ORDINARY = 0x1 | 0x100 | 0x400
#: place in a dtype of the word that holds its order of bytes and its number, and these two in it; another
#: object than NumPy's own is the dtype of arrays that were pickled
_ABOUT, _ORDER_AND_NUMBER = 3, -0x100000000 | 0xFF0000
#: the number alone, and the order "<"
_NUMBER_ALONE, _LITTLE = -0x100000000, ord("<") << 16
_METH_FASTCALL = 0x80


def _kind(argument: str) -> int | None:
    """Kind of an argument by its type as it is written; None if there is no way for it."""
    array = re.fullmatch(r"(\w+)\[((?:\s*:\s*,)*)\s*::1\s*\]", argument)
    if array is None:
        return {"int64": _INTEGER, "float64": _NUMBER}.get(argument)
    ndim = 1 + array[2].count(",")
    if array[1] not in _DTYPES or ndim > _DEEPEST:
        return None
    return _ARRAYS + _DEEPEST * _DTYPES.index(array[1]) + ndim - 1


def _size(kind: int) -> int:
    """Words of the block that an argument takes."""
    return 1 if kind < _ARRAYS else 2 + (kind - _ARRAYS) % _DEEPEST


def _kinds(signature: str) -> tuple[int, ...] | None:
    """Kinds of the result and of the arguments; None where one of them has no way. What returns nothing
    returns 0."""
    result, arguments = parts_of(signature)
    kinds = tuple(map(_kind, ("int64" if result == "void" else result, *arguments)))
    fits = None not in kinds and kinds[0] in (_INTEGER, _NUMBER) and 1 <= len(arguments) <= _MOST
    return kinds if fits else None  # type: ignore[return-value]


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
    kinds = [np.dtype(kind) for kind in ("<f8", ">f8", "<i8", "<i4", "<f4", "?")]
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


def _taking(signature: str) -> Callable:
    """What makes the tuple of the arguments of a signature from the words of a block at an address."""

    def take(address, of=signature):
        raise NotImplementedError("only kernels that are compiled know blocks")

    @when_compiling
    def teach() -> None:
        from llvmlite import ir
        from numba import types
        from numba.core import sigutils
        from numba.extending import lower_builtin, type_callable

        from .windows import array_at

        arguments, _ = sigutils.normalize_signature(signature)
        kinds = [_kind(argument) for argument in parts_of(signature)[1]]

        @type_callable(take)
        def typed(context):
            return lambda address: types.Tuple(arguments)

        def argument(context, builder, words, kind, wanted):
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

        @lower_builtin(take, types.Integer)
        def lower(context, builder, given, values):
            words, taken = builder.inttoptr(values[0], ir.IntType(64).as_pointer()), []
            for kind, wanted in zip(kinds, arguments, strict=True):
                taken.append(argument(context, builder, words, kind, wanted))
                words = builder.gep(words, [ir.IntType(32)(_size(kind))])
            return context.make_tuple(builder, given.return_type, taken)

    return take


def _over_block(function: Callable, signature: str) -> Callable:
    """The function as one of the address of a block.

    Numba writes no function into its caller that is called with *t, so that the text of this one is made for
    the arguments.
    """
    result, arguments = parts_of(signature)
    names = ", ".join(f"a{i}" for i in range(len(arguments)))
    called = f"called({names})\n  return 0" if result == "void" else f"return called({names})"
    text = (
        f"def make(called, take):\n def direct(block):\n  {names}, = take(block)\n  {called}\n return direct"
    )
    made: dict[str, Any] = {}
    exec(compile(text, function.__code__.co_filename, "exec"), made)
    direct: Callable = made["make"](inlined(function), _taking(signature))
    direct.__module__, direct.__name__ = function.__module__, function.__name__
    direct.__qualname__ = f"{function.__qualname__} of a block"
    return direct


# ---- the C function behind all of them ----

_call_none = caller("int64()")
_call_one = caller("int64(int64)")
_call_two = caller("int64(int64, int64)")
_call_for_number = caller("float64(int64)")
_call_with_number = caller("int64(float64)")


def block_of_words():
    """Fresh int64 memory of a call, (_BLOCK,), that ends with it."""
    return np.empty(_BLOCK, dtype=np.int64)


@when_compiling
def _teach() -> None:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    from .windows import array_at

    @type_callable(block_of_words)
    def typed(context):
        return lambda: types.Array(types.int64, 1, "C")

    @lower_builtin(block_of_words)
    def lower(context, builder, signature, values):
        words = cgutils.alloca_once(builder, ir.IntType(64), size=_BLOCK)
        length = context.get_constant(types.intp, _BLOCK)
        return array_at(context, builder, signature.return_type, words, length)


@kernel
def put_number(api, kind, given, place, block):
    """Put a number into the block; whether it is one of that kind."""
    kind_of = ints_at(given, _OBJECT)[_TYPE]
    if kind == _NUMBER:
        block[place] = given + 8 * _VALUE
        return kind_of == api[_OF_FLOAT] or kind_of == api[_OF_SCALAR]
    if kind_of != api[_OF_INT]:
        return False
    block[place] = _call_one(api[_AS_LONG], (given,))
    return block[place] != -1 or _call_none(api[_FAILED], ()) == 0


@kernel
def put_array(api, kind, given, place, block):
    """Put address and lengths of an array into the block; whether it is one of that kind."""
    value = ints_at(given, _OBJECT)
    if value[_TYPE] != api[_OF_ARRAY] or value[_FLAGS] & _ORDINARY != _ORDINARY:
        return False
    ndim, dtype = (kind - _ARRAYS) % _DEEPEST + 1, api[_OF_DTYPES + (kind - _ARRAYS) // _DEEPEST]
    about = ints_at(value[_DTYPE], 1 + _ABOUT)[_ABOUT] & _ORDER_AND_NUMBER
    # the order of this machine has a sign of its own, and one by its name
    if value[_NDIM] & 0xFFFFFFFF != ndim or (about != dtype and about != dtype & _NUMBER_ALONE | _LITTLE):
        return False
    lengths = ints_at(value[_SHAPE], ndim)
    block[place] = value[_DATA]
    for k in range(ndim):
        block[place + 1 + k] = lengths[k]
    return True


@kernel
def put_all(api, own, given, block):
    """Put all arguments into the block; whether they are what the entry takes."""
    if given.shape[0] != own[_COUNT]:
        return False
    place = 0
    for i in range(given.shape[0]):
        kind = own[_KINDS + i]
        if kind < _ARRAYS:
            if not put_number(api, kind, given[i], place, block):
                return False
            place += 1
        else:
            if not put_array(api, kind, given[i], place, block):
                return False
            place += 2 + (kind - _ARRAYS) % _DEEPEST
    return True


@callback("int64(int64, int64, int64)")
def enter(memory, arguments, count):
    """Call the entry of `memory`, an array of int64: _API words, then those of the entry, then a message."""
    start = ints_at(memory, _OBJECT)[_DATA]
    api, own, block = ints_at(start, _API), ints_at(start + 8 * _API, _WORDS + 1), block_of_words()
    if not put_all(api, own, ints_at(arguments, count), block):
        _call_two(api[_RAISE], (api[_ERROR], own[_WORDS]))
        return 0
    thread = _call_none(api[_SAVE], ()) if own[_APART] else 0
    status, number = 0, 0.0
    if own[_RESULT] == _NUMBER:
        number = _call_for_number(own[_ENTRY], (address_of(block),))
    else:
        status = _call_one(own[_ENTRY], (address_of(block),))
    if own[_APART]:
        _call_one(api[_RESTORE], (thread,))
    if own[_RESULT] == _NUMBER:
        return _call_with_number(api[_FROM_FLOAT], (number,))
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
    functions = (
        api.PyLong_AsLongLong, api.PyLong_FromLongLong, api.PyFloat_FromDouble, api.PyErr_Occurred,
        api.PyErr_SetString,
    )  # fmt: skip
    locks = (api.PyEval_SaveThread, api.PyEval_RestoreThread)
    addresses, threads = (
        [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in each]
        for each in (functions, locks)
    )
    dtypes = [_about(np.dtype("bool" if kind == "boolean" else kind)) for kind in _DTYPES]
    types = [id(int), id(float), id(np.float64), id(np.ndarray)]
    return [*types, *addresses, id(TypeError), *threads, *dtypes]


class _Memory(np.ndarray):
    """Words that a direct function keeps alive, and with them in `kept` all else that it needs: it lets go
    of them last."""

    kept: tuple[Any, ...]


class Bound:
    """A kernel as a function of Python, over one of the address of a block."""

    def __init__(self, function: Callable, signature: str, is_apart: bool, options: dict) -> None:
        kinds = _kinds(signature)
        if kinds is None:
            raise ValueError(f"signature {signature!r}, expected numbers and arrays that there is a way for")
        self._kinds, self._is_apart, self._name = kinds, is_apart, function.__name__
        result = "float64" if kinds[0] == _NUMBER else "int64"
        self.over_block = Callback(_over_block(function, signature), f"{result}(int64)", **options)

    def load(self) -> Callable[..., Any]:
        """The function of Python. It raises TypeError at arguments of other types, or other many."""
        (result, *kinds), own = self._kinds, [0] * _WORDS
        name, count = self._name, len(kinds)
        text = ctypes.create_string_buffer(f"{name} takes {count} arguments of its own types".encode())
        own[_ENTRY], own[_COUNT], own[_RESULT] = self.over_block.address, count, result
        own[_APART], own[_KINDS : _KINDS + count] = int(self._is_apart), kinds
        words = [*_interface(), *own, ctypes.addressof(text)]
        memory = np.array(words, dtype=np.int64).view(_Memory)
        definition = _Definition(name.encode(), enter.address, _METH_FASTCALL, None)
        memory.kept = definition, text, self.over_block
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        made: Callable[..., Any] = make(ctypes.addressof(definition), memory, None)
        return made
