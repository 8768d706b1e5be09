"""The functions of a table, made from a family's kernels (numerics/verbs/table.py says what they do)."""

from __future__ import annotations

from collections.abc import Callable

from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.compiling.compiler import apart, inlined
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS, tangents_of
from flexdyn_ros.numerics.numbers.vectors import DIRECTIONS
from flexdyn_ros.numerics.verbs.table import LANES_SIGNATURE, ROWS

from .head import BODIES, COUNT, EFFORTS, HEAD_WORDS, NQ, NV, POINTS, RESULTS, ROBOT, SIZE, TANGENTS, WIDTH
from .samples import FAST, open_lanes, wrenches_on_lanes

_Functions = list[Callable]
_WIDTH = PER_TANGENTS


def work_numbers(numbers: int, nq: int, nv: int, per_number: int) -> int:
    """float64 numbers of the work memory of an entry: the kernels' `numbers`, one sample and a mark, of a
    number type with so many float64 each."""
    return per_number * (numbers + 2 * nq + 7 * nv + 1)


def functions_of(
    module: str,
    *,
    prepare: Callable,
    inverse: Callable,
    forward: Callable,
    mass: Callable,
    load: Callable,
    displace: Callable,
    point: int = 3,
    **looks: Callable | None,
) -> dict[str, Callback]:
    """All functions of the verbs by the names of their rows (table.py), as if `module` had defined them, made
    from a family's kernels for one sample.

    `address` is that of the family's model, `work` its work memory in the number type of the other arrays
    (numerics/numbers); q (nq,), v, a, tau (nv,). Rows of kernels that are left out are not made.

    Parameters
    ----------
    sizes : (address) -> (nq, nv)
    prepare : (address, work)
        Make fresh work memory ready for the others.
    status_of_q : (address, q) -> int
        OK, NOT_FINITE or BAD_QUATERNION (numerics/compiling/status.py).
    inverse : (address, work, q, v, a, tau)
        tau = M a + h.
    forward : (address, work, q, v, tau, a) -> int
        a = M^-1 (tau - h), tau kept; OK or a status of the family.
    mass : (address, work, q, M)
    terms : (address, work, q, v, terms)
        Parts (5, nv) of h: velocity, gravity, elastic, damping, external.
    energies : (address, work, q, v, out)
        Kinetic, gravity and elastic energy (3,).
    load : (address, work, q, bodies, points, wrenches, force)
        force += sum J^T w of wrenches (k, 6), world axes, at points (k, point).
    displace : (address, q, r, out)
        out = q (+) r.
    momenta : (address, work, q, v, out)
        Angular and linear momentum, first moment of mass, mass (10,).
    frames : (address, work, q, bodies, placements, poses)
        Poses (k, 4, 4) of frames given by body (k,) and placement in it (k, 13): rotation, origin, station.
    jacobian : (address, work, q, body, point, J)
        J (6, nv), world axes, of a point of a body: place and station.
    rate : (address, work, q, v, body, point, out)
        dJ/dt v (6,) of the point of `jacobian`; left out, that is found by `jacobian` on tangents.
    point : int
        Numbers of the place of a point in its body, as `load` and `jacobian` take it.
    """
    made = observers(module, prepare=prepare, mass=mass, displace=displace, **looks)  # type: ignore[arg-type]
    made |= dynamics(module, prepare, displace, balance_of(module, inverse, load))
    rows = [_ready(prepare), _inverse(inverse), _inertia(mass), _forward(prepare, forward, load)]
    made |= _named(module, [*rows, _load(load, point)])
    lanes = [_inverse_on_lanes(prepare, inverse, load), _forward_on_lanes(prepare, forward, load)]
    return made | _named(module, lanes, LANES_SIGNATURE, fastmath=FAST)


def forwards_of(
    module: str, prepare: Callable, load: Callable, forward: Callable, on_lanes: Callable
) -> dict[str, Callback]:
    """`forward` and `forward_on_lanes` of kernels that differ by number type; see `functions_of`."""
    made = _named(module, [_forward(prepare, forward, load)])
    lanes = [_forward_on_lanes(prepare, on_lanes, load)]
    return made | _named(module, lanes, LANES_SIGNATURE, fastmath=FAST)


def observers(
    module: str,
    *,
    sizes: Callable,
    prepare: Callable,
    status_of_q: Callable,
    mass: Callable,
    terms: Callable,
    energies: Callable,
    displace: Callable,
    momenta: Callable | None = None,
    frames: Callable | None = None,
    jacobian: Callable | None = None,
    rate: Callable | None = None,
) -> dict[str, Callback]:
    """Those that look at a state; see `functions_of`."""
    found = [_status(sizes, status_of_q), _mass(prepare, mass), _moved(displace)]
    looks = {"bias_terms": terms, "energy": energies, "momenta": momenta}
    found += [_of_state(prepare, name, write) for name, write in looks.items() if write is not None]
    if frames is not None:
        found.append(_frames(frames))
    if jacobian is not None:
        found += [_jacobian(jacobian), _rate(rate) if rate else _rate_on_tangents(displace, jacobian)]
    return _named(module, found)


def dynamics(module: str, prepare: Callable, displace: Callable, balance: Callable) -> dict[str, Callback]:
    """`balance`, a kernel of (address, work, q, v, a, tau, bodies, points, wrenches, out) in any number type,
    and its derivatives `slopes`."""
    slopes = [_slopes(prepare, displace, balance)]
    made = _named(module, [_balance(prepare, balance)])
    return made | _named(module, slopes, ROWS["balance"].signature, fastmath={"contract"})


def balance_of(module: str, inverse: Callable, load: Callable) -> Callable:
    """M a + h - tau - sum J^T w as a kernel, tau (0,) where there is none; efforts behind those of the
    velocities drive what is around a family."""

    def balance(address, work, q, v, a, tau, bodies, points, wrenches, out):
        inverse(address, work, q, v, a, out)
        for i in range(min(tau.shape[0], out.shape[0])):
            out[i] -= tau[i]
        if bodies.shape[0] > 0:
            for i in range(out.shape[0]):
                out[i] = -out[i]
            load(address, work, q, bodies, points, wrenches, out)
            for i in range(out.shape[0]):
                out[i] = -out[i]

    return inlined(apart(balance, module))


def _named(
    module: str, made: _Functions, signature: str | None = None, **options: set[str]
) -> dict[str, Callback]:
    """By their names; with the signature of their row unless another one is given."""
    named = {}
    for function in made:
        name = function.__name__
        function.__module__, function.__qualname__ = module, name
        named[name] = Callback(function, signature or ROWS[name].signature, **options)
    return named


# ---- functions that look at a state ----


def _status(sizes: Callable, status_of_q: Callable) -> Callable:
    def status(robot, q):
        return status_of_q(robot, floats_at(q, sizes(robot)[0]))

    return status


def _mass(prepare: Callable, write: Callable) -> Callable:
    def mass(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        robot, nv, memory = words[ROBOT], words[NV], floats_at(work, words[SIZE])
        prepare(robot, memory)
        write(robot, memory, floats_at(q, words[NQ]), shaped(floats_at(out, nv * nv), (nv, nv)))
        return 0

    return mass


def _of_state(prepare: Callable, name: str, write: Callable) -> Callable:
    """bias_terms (5, nv), energy (3,) or momenta (10,)."""
    parts = name == "bias_terms"

    def observe(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        robot, nq, nv, memory = words[ROBOT], words[NQ], words[NV], floats_at(work, words[SIZE])
        prepare(robot, memory)
        result = floats_at(out, words[RESULTS])
        write(robot, memory, floats_at(q, nq), floats_at(v, nv), shaped(result, (5, nv)) if parts else result)
        return 0

    observe.__name__ = name
    return observe


def _frames(write: Callable) -> Callable:
    def frames(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        k, width = words[COUNT], words[WIDTH]
        write(
            words[ROBOT],
            floats_at(work, words[SIZE]),
            floats_at(q, words[NQ]),
            ints_at(words[BODIES], k),
            shaped(floats_at(words[POINTS], k * width), (k, width)),
            shaped(floats_at(out, 16 * k), (k, 4, 4)),
        )
        return 0

    return frames


def _jacobian(write: Callable) -> Callable:
    def jacobian(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        k, width, nv = words[COUNT], words[WIDTH], words[NV]
        bodies, points = ints_at(words[BODIES], k), floats_at(words[POINTS], k * width)
        result = floats_at(out, 6 * nv * k)
        memory, place = floats_at(work, words[SIZE]), floats_at(q, words[NQ])
        for f in range(k):
            point, J = window(points, width * f, width), result[6 * nv * f : 6 * nv * (f + 1)]
            write(words[ROBOT], memory, place, bodies[f], point, shaped(J, (6, nv)))
        return 0

    return jacobian


def _rate(write: Callable) -> Callable:
    """dJ/dt v (k, 6) of points of frames."""

    def jacobian_rate(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        k, width = words[COUNT], words[WIDTH]
        bodies, points = ints_at(words[BODIES], k), floats_at(words[POINTS], k * width)
        memory, place, speed = floats_at(work, words[SIZE]), floats_at(q, words[NQ]), floats_at(v, words[NV])
        result = floats_at(out, 6 * k)
        for f in range(k):
            point, found = window(points, width * f, width), window(result, 6 * f, 6)
            write(words[ROBOT], memory, place, speed, bodies[f], point, found)
        return 0

    return jacobian_rate


def _rate_on_tangents(displace: Callable, write: Callable) -> Callable:
    """dJ/dt v (k, 6) of points of frames: their Jacobians on tangents, q moved along v."""

    def jacobian_rate(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        robot, nq, nv, k, width = words[ROBOT], words[NQ], words[NV], words[COUNT], words[WIDTH]
        bodies, points = ints_at(words[BODIES], k), floats_at(words[POINTS], k * width)
        place, speed, result = floats_at(q, nq), floats_at(v, nv), floats_at(out, 6 * k)
        n, numbers = 2 * nq + 7 * nv, floats_at(work, words[TANGENTS])
        floats = window(numbers, 0, _WIDTH * n)
        block, memory = tangents_of(floats), tangents_of(tail(numbers, _WIDTH * n))
        first = n - 6 * nv
        still, turn = window(block, 0, nq), window(block, nq, nv)
        x, J = window(block, nq + nv, nq), window(block, first, 6 * nv)
        for i in range(nq):
            still[i] = place[i]
        for i in range(nv):
            turn[i] = 0.0
            floats[_WIDTH * (nq + i) + 1] = speed[i]
        displace(robot, still, turn, x)
        for f in range(k):
            write(robot, memory, x, bodies[f], window(points, width * f, width), shaped(J, (6, nv)))
            for i in range(6):
                s = 0.0
                for j in range(nv):
                    s += floats[_WIDTH * (first + nv * i + j) + 1] * speed[j]
                result[6 * f + i] = s
        return 0

    return jacobian_rate


def _moved(displace: Callable) -> Callable:
    def moved(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        displace(words[ROBOT], floats_at(q, words[NQ]), floats_at(v, words[NV]), floats_at(out, words[NQ]))
        return 0

    return moved


# ---- balance of forces ----


def _balance(prepare: Callable, write: Callable) -> Callable:
    def balance(head, work, q, v, a, tau, wrenches, out):
        words = ints_at(head, HEAD_WORDS)
        robot, nv, k, width = words[ROBOT], words[NV], words[COUNT], words[WIDTH]
        memory = floats_at(work, words[SIZE])
        prepare(robot, memory)
        write(
            robot,
            memory,
            floats_at(q, words[NQ]),
            floats_at(v, nv),
            floats_at(a, nv),
            floats_at(tau, words[EFFORTS]),
            ints_at(words[BODIES], k),
            shaped(floats_at(words[POINTS], k * width), (k, width)),
            shaped(floats_at(wrenches, 6 * k), (k, 6)),
            floats_at(out, nv),
        )
        return 0

    return balance


def _ready(prepare: Callable) -> Callable:
    def ready(head, work):
        words = ints_at(head, HEAD_WORDS)
        prepare(words[ROBOT], floats_at(work, words[SIZE]))
        return 0

    return ready


def _load(write: Callable, width: int) -> Callable:
    def load(head, work, q, k, bodies, points, wrenches, force):
        words = ints_at(head, HEAD_WORDS)
        write(
            words[ROBOT],
            floats_at(work, words[SIZE]),
            floats_at(q, words[NQ]),
            ints_at(bodies, k),
            shaped(floats_at(points, k * width), (k, width)),
            shaped(floats_at(wrenches, 6 * k), (k, 6)),
            floats_at(force, words[NV]),
        )
        return 0

    return load


def _inverse(run: Callable) -> Callable:
    def inverse(head, work, q, v, a, tau):
        words = ints_at(head, HEAD_WORDS)
        nv, memory = words[NV], floats_at(work, words[SIZE])
        state = floats_at(q, words[NQ]), floats_at(v, nv), floats_at(a, nv)
        run(words[ROBOT], memory, state[0], state[1], state[2], floats_at(tau, nv))
        return 0

    return inverse


def _inertia(write: Callable) -> Callable:
    """M, in work memory that is ready."""

    def inertia(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        nv, memory = words[NV], floats_at(work, words[SIZE])
        write(words[ROBOT], memory, floats_at(q, words[NQ]), shaped(floats_at(out, nv * nv), (nv, nv)))
        return 0

    return inertia


def _forward(prepare: Callable, run: Callable, load: Callable) -> Callable:
    def forward(head, work, q, v, tau, wrenches, a):
        words = ints_at(head, HEAD_WORDS)
        robot, nv, k, width = words[ROBOT], words[NV], words[COUNT], words[WIDTH]
        memory, place = floats_at(work, words[SIZE]), floats_at(q, words[NQ])
        prepare(robot, memory)
        force = floats_at(tau, nv)
        if k > 0:
            # behind what the kernels take
            loaded = tail(memory, words[SIZE] - nv)
            for i in range(nv):
                loaded[i] = force[i]
            points, loads = floats_at(words[POINTS], k * width), floats_at(wrenches, 6 * k)
            bodies, points = ints_at(words[BODIES], k), shaped(points, (k, width))
            load(robot, memory, place, bodies, points, shaped(loads, (k, 6)), loaded)
            force = loaded
        return run(robot, memory, place, floats_at(v, nv), force, floats_at(a, nv))

    return forward


def _inverse_on_lanes(prepare: Callable, run: Callable, load: Callable) -> Callable:
    def inverse_on_lanes(head, work, numbers, is_first):
        words = ints_at(head, HEAD_WORDS)
        robot, nv, k, width = words[ROBOT], words[NV], words[COUNT], words[WIDTH]
        q, v, a, found, memory = open_lanes(words, work, numbers)
        tau = window(found, 0, nv)
        if is_first != 0:
            prepare(robot, memory)
        run(robot, memory, q, v, a, tau)
        if k > 0:
            bodies, points = (
                ints_at(words[BODIES], k),
                shaped(floats_at(words[POINTS], k * width), (k, width)),
            )
            for i in range(nv):
                tau[i] = -tau[i]
            load(robot, memory, q, bodies, points, wrenches_on_lanes(words, work), tau)
            for i in range(nv):
                tau[i] = -tau[i]
        return 0

    return inverse_on_lanes


def _forward_on_lanes(prepare: Callable, run: Callable, load: Callable) -> Callable:
    def forward_on_lanes(head, work, numbers, is_first):
        words = ints_at(head, HEAD_WORDS)
        robot, nv, k, width = words[ROBOT], words[NV], words[COUNT], words[WIDTH]
        q, v, given, found, memory = open_lanes(words, work, numbers)
        tau = window(given, 0, nv)
        if is_first != 0:
            prepare(robot, memory)
        if k > 0:
            # efforts are gathered anew for each block
            bodies, points = (
                ints_at(words[BODIES], k),
                shaped(floats_at(words[POINTS], k * width), (k, width)),
            )
            load(robot, memory, q, bodies, points, wrenches_on_lanes(words, work), tau)
        return run(robot, memory, q, v, tau, window(found, 0, nv))

    return forward_on_lanes


def _slopes(prepare: Callable, displace: Callable, balance: Callable) -> Callable:
    """The balance on tangents, DIRECTIONS of them a pass (Griewank & Walther 2008, section 3.1)."""

    def slopes(head, work, q, v, a, tau, wrenches, out):
        words = ints_at(head, HEAD_WORDS)
        address, nq, nv, k, width = words[ROBOT], words[NQ], words[NV], words[COUNT], words[WIDTH]
        place, speed, rate = floats_at(q, nq), floats_at(v, nv), floats_at(a, nv)
        efforts, loads = floats_at(tau, words[EFFORTS]), shaped(floats_at(wrenches, 6 * k), (k, 6))
        bodies, points = ints_at(words[BODIES], k), shaped(floats_at(words[POINTS], k * width), (k, width))
        table = shaped(floats_at(out, 2 * nv * nv), (nv, 2 * nv))
        n, numbers = 2 * nq + 3 * nv, floats_at(work, words[TANGENTS])
        floats = window(numbers, 0, _WIDTH * n)
        block, memory = tangents_of(floats), tangents_of(tail(numbers, _WIDTH * n))
        prepare(address, memory)
        still, turn = window(block, 0, nq), window(block, nq, nv)
        x, xd, result = window(block, nq + nv, nq), window(block, n - 2 * nv, nv), window(block, n - nv, nv)
        for i in range(nq):
            still[i] = place[i]
        for first in range(0, 2 * nv, DIRECTIONS):
            count = min(DIRECTIONS, 2 * nv - first)
            for i in range(nv):
                turn[i] = 0.0
                xd[i] = speed[i]
            for d in range(count):
                i = first + d
                row = nq + i if i < nv else n - 3 * nv + i
                floats[_WIDTH * row + 1 + d] = 1.0
            displace(address, still, turn, x)
            balance(address, memory, x, xd, rate, efforts, bodies, points, loads, result)
            for j in range(nv):
                found = tail(floats, _WIDTH * (n - nv + j) + 1)
                for d in range(count):
                    table[j, first + d] = found[d]
        return 0

    return slopes
