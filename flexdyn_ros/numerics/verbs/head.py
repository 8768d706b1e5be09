"""What the entries that are compiled once for all families find at one robot: HEAD words behind an address.

Among them are addresses of the family's C functions (functions_of.py); those of a head that does without a
function are 0. Arrays cross as addresses (numerics/compiling/memory.py).
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.callbacks import caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import ints_at

#: words: address of the robot, its sizes, number of efforts that the balance takes; work memory of calls that
#: keep the GIL, how much of it functions take, and on tangents, numbers that such calls write to; how many
#: numbers a result has; of frames how many, bodies (k,), rows of numbers (k, width); marks (nv,) of
#: coordinates whose acceleration is given; where the turns of free bodies begin in v, and how many; functions
HEAD_WORDS = 25
(
    ROBOT, NQ, NV, EFFORTS, WORK, SIZE, TANGENTS, SPARE, RESULTS, COUNT, BODIES, POINTS, WIDTH, GIVEN,
    TWISTS, TURNS, STATUS, OBSERVE, MASS, BALANCE, SLOPES, INVERSE, FORWARD, ON_LANES,
    READY,
) = range(HEAD_WORDS)  # fmt: skip

#: (head, work): make the work memory ready; 0
READY_SIGNATURE = "int64(int64, int64)"
#: (robot, q): OK, NOT_FINITE or BAD_QUATERNION
STATUS_SIGNATURE = "int64(int64, int64)"
#: (head, work, q, v, out): write the result of one state; frames and M do without v
OBSERVE_SIGNATURE = "int64(int64, int64, int64, int64, int64)"
#: (head, work, q, v, a, tau, wrenches, out): M a + h - B tau - sum J^T w (nv,), tau (EFFORTS,) and wrenches
#: (COUNT, 6); or its derivatives (nv, 2 nv) by q, in its tangent space, and by v
BALANCE_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64, int64)"

#: (head, work, q, v, a, tau): M a + h (nv,), in work memory that is ready
INVERSE_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64)"
#: (head, work, q, v, tau, wrenches, a): accelerations (nv,) under efforts (nv,) and wrenches (COUNT, 6); OK,
#: or a status of the family
FORWARD_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64)"
#: (head, work, q, k, bodies, points, wrenches, force): force (nv,) += sum J^T w of k wrenches (moment; force)
#: in world axes; bodies (k,) and points, rows, are what the family answered for the frames
LOAD_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64, int64)"
#: (head, work, numbers, is_first): inverse or forward dynamics of a block of lanes at the beginning of work
#: memory of so many float64 numbers: q, v, accelerations or efforts, and the result; a status as above
LANES_SIGNATURE = "int64(int64, int64, int64, int64)"

call_status = caller(STATUS_SIGNATURE)
call_observe = caller(OBSERVE_SIGNATURE)
call_balance = caller(BALANCE_SIGNATURE)
call_forward = caller(FORWARD_SIGNATURE)
call_inverse = caller(INVERSE_SIGNATURE)
call_ready = caller(READY_SIGNATURE)
call_on_lanes = caller(LANES_SIGNATURE)


@kernel(forceinline=True)
def robot_of(head):
    """Address of the robot of a head."""
    return ints_at(head, HEAD_WORDS)[ROBOT]
