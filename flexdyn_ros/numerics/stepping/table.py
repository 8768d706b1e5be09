"""What the fixed steps ask of a robot's family: a table of addresses of C functions.

The stepping kernels (numerics/stepping/fixed.py) are compiled once. Whatever knows the family - its equations
of motion, its own resistance, its energies, its wrenches, its actuators - is a function of the family with a
signature named here, compiled by `callback`; a table of their addresses travels in the header of the steps.
Arrays cross as addresses (numerics/compiling/memory.py), and nothing crosses that could raise: a function
says by NaN in its results that it has none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, sigutils
from numba.core.ccallback import CFunc
from numba.extending import intrinsic, overload

from flexdyn_ros.numerics.compiling.cache import EntryCache, compiling
from flexdyn_ros.numerics.compiling.compiler import _one_at_a_time, kernel
from flexdyn_ros.numerics.compiling.memory import ints_at, memory_seen

#: places in the table; 0 stands for a function that the family does without
MOTION_TABLE = 9
PREPARE, ACCELERATE, LOSSES, ENERGIES, LOAD, OBSERVE, EXERT, ACTUATE, SUPPLY = range(MOTION_TABLE)

_I, _F = "int64", "float64"

#: (robot, work): make the work memory ready; 0
PREPARE_SIGNATURE = f"{_I}({_I}, {_I})"
#: (robot, work, t, q, v, force, extra, h, a): write a (nv,) of
#: [M + B diag(extra) B' + h D + h^2 K] a = force - bias(q, v, t) - h K v, with the family's own stiffness K
#: and damping D (their constants, or secants at the state; h = 0 is forward dynamics).
#: force (nv,) may be overwritten; extra is (nu,). Prescribed coordinates bring their acceleration in a, and
#: find the force that it takes in force.
ACCELERATE_SIGNATURE = f"{_I}({_I}, {_I}, {_F}, {_I}, {_I}, {_I}, {_I}, {_F}, {_I})"
#: (robot, work, t, q, v0, speed, mean): power speed' D mean that the family's own resistance takes, with D as
#: it is at v0 [W]
LOSSES_SIGNATURE = f"{_F}({_I}, {_I}, {_F}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work, t, q, v, out): kinetic, gravity, elastic energy [J]
ENERGIES_SIGNATURE = f"{_I}({_I}, {_I}, {_F}, {_I}, {_I}, {_I})"
#: (robot, work, q, k, bodies, points, wrenches, force): force (nv,) += sum J' w of k wrenches (moment; force)
#: in world axes; bodies (k,) int64 and points (k, 3) are what the family answered for the frames
LOAD_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_I}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work, q, v, position, speed): what the actuators measure, (nu,) each: lengths and B' v of legs.
#: Left out where B is the identity
OBSERVE_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work, q, effort, force): force (nv,) += B effort (nu,). Left out where B is the identity
EXERT_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_I}, {_I})"
#: (actuator, robot, work, t, h, q, v, effort, a): once before each step of h, with the memory of the
#: actuators: effort (nu,) holds the command and gets what the actuators exert during the step; q, v and a of
#: prescribed coordinates may be set, a being their acceleration during the step. Optional
ACTUATE_SIGNATURE = f"{_I}({_I}, {_I}, {_I}, {_F}, {_F}, {_I}, {_I}, {_I}, {_I})"
#: (robot, work): power that the surroundings give (a road that moves under wheels), for the arguments that
#: LOSSES was called with last [W]. Optional
SUPPLY_SIGNATURE = f"{_F}({_I}, {_I})"


#: (t, q, v): before each evaluation of a run with error control, what follows time and state without breaks:
#: efforts, wrenches, accelerations of prescribed coordinates are written into the memory of the steps. Not 0
#: ends the run. No function of the family: its address travels in the header of the steps. Optional
PROVIDE_SIGNATURE = f"{_I}({_F}, {_I}, {_I})"


#: the Python functions behind addresses of callbacks
_by_address: dict[int, Callable] = {}


class Callback:
    """A kernel with a C address, compiled (or read from the cache) when the address is first asked for."""

    def __init__(self, function: Callable, signature: str) -> None:
        self.function, self.signature = function, signature
        self._address = 0

    @property
    def address(self) -> int:
        """Address of the C function."""
        if not self._address:
            with _one_at_a_time:
                self._compiled = self._compile()
            self._address = self._compiled[0]
            _by_address[self._address] = self.function
        return self._address

    def load(self) -> int:
        """The address; for whoever warms kernels up."""
        return self.address

    def _compile(self) -> tuple[int, object]:
        if numba.config.DISABLE_JIT:
            function = _c_type(self.signature)(self.function)
            return ctypes.cast(function, ctypes.c_void_p).value or 0, function
        compiled = CFunc(
            self.function,
            sigutils.normalize_signature(self.signature),
            locals={},
            options={"error_model": "numpy"},
        )
        with compiling(self.function):
            compiled._cache = EntryCache(self.function)
            compiled.compile()
        return compiled.address, compiled


def callback(signature: str) -> Callable[[Callable], Callback]:
    """Decorate a function that the fixed steps call through its address."""
    return lambda function: Callback(function, signature)


def motion_table(functions: dict[int, Callback]) -> np.ndarray:
    """Addresses (MOTION_TABLE,) of a family's functions, by their places; compiles what is not in the
    cache."""
    table = np.zeros(MOTION_TABLE, dtype=np.int64)
    for place, function in functions.items():
        table[place] = function.address
    return table


# ---- the address of an array, and the call of an address, inside kernels ----


def address_of(array):
    """Address of the first number of a contiguous array."""
    return array.ctypes.data


@intrinsic
def _address_of(typing_context, array):
    def codegen(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, context.get_value_type(types.int64))

    return types.int64(array), codegen


@overload(address_of, jit_options={"forceinline": True})
def _overload_address_of(array):
    return lambda array: _address_of(array)


_C_TYPES = {types.int32: ctypes.c_int32, types.int64: ctypes.c_int64, types.float64: ctypes.c_double}


def _c_type(signature: str):
    arguments, result = sigutils.normalize_signature(signature)
    return ctypes.CFUNCTYPE(_C_TYPES[result], *(_C_TYPES[x] for x in arguments))


def caller(signature: str):
    """A function call(address, arguments) of kernels: calls the C function of that signature.

    Interpreted, it does the same through ctypes; where kernels see other memory than that at addresses, it
    calls the Python function behind the address.
    """
    expected, result = sigutils.normalize_signature(signature)
    c_type = _c_type(signature)
    plain = [float if kind is types.float64 else int for kind in expected]

    def call(address, arguments):
        seen = memory_seen()
        if seen is not None:
            return (seen.function(int(address)) or _by_address[int(address)])(*arguments)
        return c_type(int(address))(*(kind(x) for kind, x in zip(plain, arguments, strict=True)))

    @intrinsic
    def through(typing_context, address, arguments):
        if not isinstance(arguments, types.BaseTuple) or len(arguments) != len(expected):
            return None

        def codegen(context, builder, types_, values):
            given = cgutils.unpack_tuple(builder, values[1])
            given = [
                context.cast(builder, value, have, want)
                for value, have, want in zip(given, types_.args[1], expected, strict=True)
            ]
            function = ir.FunctionType(
                context.get_value_type(result), [context.get_value_type(x) for x in expected]
            )
            return builder.call(builder.inttoptr(values[0], function.as_pointer()), given)

        return result(types.int64, arguments), codegen

    @overload(call, jit_options={"forceinline": True})
    def _overload_call(address, arguments):
        return lambda address, arguments: through(address, arguments)

    return call


call_prepare = caller(PREPARE_SIGNATURE)
call_accelerate = caller(ACCELERATE_SIGNATURE)
call_losses = caller(LOSSES_SIGNATURE)
call_energies = caller(ENERGIES_SIGNATURE)
call_load = caller(LOAD_SIGNATURE)
call_observe = caller(OBSERVE_SIGNATURE)
call_exert = caller(EXERT_SIGNATURE)
call_actuate = caller(ACTUATE_SIGNATURE)
call_supply = caller(SUPPLY_SIGNATURE)
call_provide = caller(PROVIDE_SIGNATURE)


@kernel(forceinline=True)
def table_at(address):
    """The table (MOTION_TABLE,) at an address."""
    return ints_at(address, MOTION_TABLE)
