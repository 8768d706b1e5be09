"""Compiled functions of different content have different names.

Numba tells functions of one name apart by a count of the process that compiles them: two that were kept by
two processes may have the same symbol in a third, which then runs one in place of the other.
"""

from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.compiling.compiler import Entry
from flexdyn_ros.numerics.compiling.warmup_names import entries


def content(function, seen=()):
    """What a function computes: its code, and that of the functions that it closes over."""
    if function in seen:
        return ()
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    inner = tuple(content(x, (*seen, function)) if hasattr(x, "__code__") else repr(x) for x in cells)
    return function.__code__.co_code, function.__code__.co_consts, function.__code__.co_names, inner


def behind(function, found):
    """The functions that a function closes over, and so on."""
    for cell in function.__closure__ or ():
        inner = cell.cell_contents
        if hasattr(inner, "__code__") and id(inner) not in found:
            found[id(inner)] = inner
            behind(inner, found)


def test_functions_that_differ_have_names_that_differ():
    found: dict[int, object] = {}
    for _, entry in entries():
        if isinstance(entry, Entry | Callback):
            found[id(entry.function)] = entry.function
            behind(entry.function, found)
    made = [function for function in found.values() if function.__closure__]
    assert len(made) > 50
    contents: dict[tuple[str, str], set] = {}
    for function in made:
        name = function.__module__, function.__qualname__
        contents.setdefault(name, set()).add(repr(content(function)))
    assert {name for name, different in contents.items() if len(different) > 1} == set()
