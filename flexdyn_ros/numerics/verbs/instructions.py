"""Tapes, which numerics/tracing/tape.py writes, and what follows them for a block of samples at a time.

A tape is a row of uint16 words. A product has PRODUCT, its slot and those of its factors; a sum of products
DOT, its slot, how many there are, and pairs of factors. A sum has SUM, its slot, four counts and then slots:
pairs of factors of products to add, of those to subtract, numbers to add and to subtract. Other instructions
have five words: operation, slot, and those of three arguments, 0 where there are less.

A slot holds one number of each sample of a block, in GROUPS lanes side by side: long enough that reading an
instruction takes little beside following it, short enough that slots stay in the cache.
"""

from __future__ import annotations

import math

import numpy as np

from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.vectors import LANES

__all__ = ["BLOCK", "DOT", "FIRST", "GROUPS", "OPERATIONS", "PRODUCT", "SUM", "follow"]

#: lanes of a slot; kernels name each of them
GROUPS = 4
#: samples of a block
BLOCK = GROUPS * LANES

#: instructions: those of sums, and by their place from FIRST on the other operations
PRODUCT, DOT, SUM, FIRST = range(4)
OPERATIONS = (
    "div", "sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "floor", "ceil", "fabs", "not", "atan2",
    "copysign", "pow", "lt", "le", "eq", "and", "or", "select",
)  # fmt: skip
_CODES = {name: FIRST + i for i, name in enumerate(OPERATIONS)}
(
    _DIV, _SQRT, _SIN, _COS, _TAN, _EXP, _LOG, _TANH, _FLOOR, _CEIL, _FABS, _NOT, _ATAN2,
    _COPYSIGN, _POW, _LT, _LE, _EQ, _AND, _OR, _SELECT,
) = (_CODES[name] for name in OPERATIONS)  # fmt: skip


@kernel
def follow(code, first, last, floats, X):
    """Follow the instructions from one word to another."""
    t = first
    while t < last:
        operation = code[t]
        if operation == PRODUCT:
            t = multiply(code, t, X)
        elif operation == DOT:
            t = add_products(code, t, X)
        elif operation == SUM:
            t = add_up(code, t, X)
        else:
            if _SIN <= operation <= _TAN:
                call_circular(code, t, X)
            else:
                a, b, c = code[t + 2] * BLOCK, code[t + 3] * BLOCK, code[t + 4] * BLOCK
                operate(operation, floats, code[t + 1] * BLOCK, a, b, c)
            t += 5


@kernel(forceinline=True)
def multiply(code, t, X):
    """Follow a product; the place of the next instruction."""
    slot, a, b = code[t + 1] * GROUPS, code[t + 2] * GROUPS, code[t + 3] * GROUPS
    X[slot], X[slot + 1] = X[a] * X[b], X[a + 1] * X[b + 1]
    X[slot + 2], X[slot + 3] = X[a + 2] * X[b + 2], X[a + 3] * X[b + 3]
    return t + 4


@kernel(forceinline=True)
def add_products(code, t, X):
    """Follow a sum of products; the place of the next instruction."""
    slot, count = code[t + 1] * GROUPS, code[t + 2]
    t += 3
    x = y = z = w = 0.0
    for _ in range(count):
        a, b = code[t] * GROUPS, code[t + 1] * GROUPS
        x, y = x + X[a] * X[b], y + X[a + 1] * X[b + 1]
        z, w = z + X[a + 2] * X[b + 2], w + X[a + 3] * X[b + 3]
        t += 2
    X[slot], X[slot + 1], X[slot + 2], X[slot + 3] = x, y, z, w
    return t


@kernel(forceinline=True)
def add_up(code, t, X):
    """Follow a sum; the place of the next instruction."""
    slot, add, subtract = code[t + 1] * GROUPS, code[t + 2], code[t + 3]
    plus, minus = code[t + 4], code[t + 5]
    t += 6
    x = y = z = w = 0.0
    for _ in range(add):
        a, b = code[t] * GROUPS, code[t + 1] * GROUPS
        x, y = x + X[a] * X[b], y + X[a + 1] * X[b + 1]
        z, w = z + X[a + 2] * X[b + 2], w + X[a + 3] * X[b + 3]
        t += 2
    for _ in range(subtract):
        a, b = code[t] * GROUPS, code[t + 1] * GROUPS
        x, y = x - X[a] * X[b], y - X[a + 1] * X[b + 1]
        z, w = z - X[a + 2] * X[b + 2], w - X[a + 3] * X[b + 3]
        t += 2
    for _ in range(plus):
        a = code[t] * GROUPS
        x, y, z, w = x + X[a], y + X[a + 1], z + X[a + 2], w + X[a + 3]
        t += 1
    for _ in range(minus):
        a = code[t] * GROUPS
        x, y, z, w = x - X[a], y - X[a + 1], z - X[a + 2], w - X[a + 3]
        t += 1
    X[slot], X[slot + 1], X[slot + 2], X[slot + 3] = x, y, z, w
    return t


@kernel
def operate(operation, x, slot, a, b, c):
    """Follow an instruction that is no sum."""
    if operation == _SELECT:
        for k in range(BLOCK):
            x[slot + k] = x[b + k] if x[a + k] != 0.0 else x[c + k]
    elif operation == _DIV:
        for k in range(BLOCK):
            x[slot + k] = x[a + k] / x[b + k]
    elif operation < _NOT:
        call_function(operation, x, slot, a)
    elif operation >= _LT:
        compare(operation, x, slot, a, b)
    elif operation == _ATAN2:
        for k in range(BLOCK):
            x[slot + k] = math.atan2(x[a + k], x[b + k])
    elif operation == _COPYSIGN:
        for k in range(BLOCK):
            x[slot + k] = math.copysign(x[a + k], x[b + k])
    elif operation == _POW:
        for k in range(BLOCK):
            x[slot + k] = x[a + k] ** x[b + k]
    else:
        for k in range(BLOCK):
            x[slot + k] = 0.0 if x[a + k] != 0.0 else 1.0


@kernel
def call_circular(code, t, X):
    """Follow a sine, cosine or tangent."""
    operation, slot, a = code[t], code[t + 1] * GROUPS, code[t + 2] * GROUPS
    for g in range(GROUPS):
        sine, cosine = sincos(X[a + g])
        if operation == _SIN:
            X[slot + g] = sine
        elif operation == _COS:
            X[slot + g] = cosine
        else:
            X[slot + g] = sine / cosine


@kernel
def call_function(operation, x, slot, a):
    """A function of one number."""
    if operation == _SQRT:
        for k in range(BLOCK):
            x[slot + k] = np.sqrt(x[a + k])
    elif operation == _EXP:
        for k in range(BLOCK):
            x[slot + k] = math.exp(x[a + k])
    elif operation == _LOG:
        for k in range(BLOCK):
            x[slot + k] = np.log(x[a + k])
    elif operation == _TANH:
        for k in range(BLOCK):
            x[slot + k] = math.tanh(x[a + k])
    elif operation == _FABS:
        for k in range(BLOCK):
            x[slot + k] = abs(x[a + k])
    elif operation == _FLOOR:
        for k in range(BLOCK):
            x[slot + k] = np.floor(x[a + k])
    else:
        for k in range(BLOCK):
            x[slot + k] = np.ceil(x[a + k])


@kernel
def compare(operation, x, slot, a, b):
    """A truth value, 1 or 0, of two numbers."""
    if operation == _LT:
        for k in range(BLOCK):
            x[slot + k] = 1.0 if x[a + k] < x[b + k] else 0.0
    elif operation == _LE:
        for k in range(BLOCK):
            x[slot + k] = 1.0 if x[a + k] <= x[b + k] else 0.0
    elif operation == _EQ:
        for k in range(BLOCK):
            x[slot + k] = 1.0 if x[a + k] == x[b + k] else 0.0
    elif operation == _AND:
        for k in range(BLOCK):
            x[slot + k] = 1.0 if x[a + k] != 0.0 and x[b + k] != 0.0 else 0.0
    else:
        for k in range(BLOCK):
            x[slot + k] = 1.0 if x[a + k] != 0.0 or x[b + k] != 0.0 else 0.0
