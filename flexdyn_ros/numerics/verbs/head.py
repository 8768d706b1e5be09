"""What the entries that are compiled once for all families find at one robot: HEAD words behind an address.

One of them is the address of the robot's table of functions (table.py). Arrays cross as addresses
(numerics/compiling/memory.py).
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.verbs.table import table_at

#: words: address of the robot, its sizes, number of efforts that the balance takes; work memory of calls that
#: keep the GIL, how much of it functions take, and on tangents, numbers that such calls write to; how many
#: numbers a result has; of frames how many, bodies (k,), rows of numbers (k, width); marks (nv,) of
#: coordinates whose acceleration is given; where the turns of free bodies begin in v, and how many; the table
#: of functions, and the address of the one that this head is for, which looks at states or goes on lanes
HEAD_WORDS = 18
(
    ROBOT, NQ, NV, EFFORTS, WORK, SIZE, TANGENTS, SPARE, RESULTS, COUNT, BODIES, POINTS, WIDTH, GIVEN,
    TWISTS, TURNS, TABLE, CHOSEN,
) = range(HEAD_WORDS)  # fmt: skip


@kernel(forceinline=True)
def robot_of(head):
    """Address of the robot of a head."""
    return ints_at(head, HEAD_WORDS)[ROBOT]


@kernel(forceinline=True)
def function_of(words, place):
    """Address of a function of the robot of a head, by its word in the table."""
    return table_at(words[TABLE])[place]
