"""A tree with flexible links as kernels see it: named views of one packed float array, and of work arrays.

The tree of rigid/kernels/views.py is kept, its bodies become nodes: besides joints there are FIXED nodes and
SECTION nodes. A SECTION node is a cross section of the flexible link that its parent node carries; children
of the link and bodies on its tip hang on it, so that every recursion over joints serves them unchanged.
Fields and integrals of a flexible link are in the axes and about the origin of its node.

Modes k, l; pairs p = (k, l), k <= l, are those whose foreshortening S_kl is not zero (none of a link that is
not stiffened); slope modes are the contiguous range that contains all of these. Of matrices that are mostly
zeros the other numbers are listed, with a list of their places.
"""

from __future__ import annotations

from typing import NamedTuple

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.multibody.links.kernels.answers import forces_size
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window

SECTION, FIXED = 4, 5
#: kind of a link: a beam, whose functions are compiled into the recursions
BEAM = 0

#: int64 words of the header of a flexible tree: those of the rigid one, then these
FLEXIBLE_HEADER = at.HEADER + 4
N_LINKS, LINK_INTS, LINK_FLOATS, WORK_SIZE = range(at.HEADER, FLEXIBLE_HEADER)

# columns of a node in the table of nodes: its flexible link (-1: none); for SECTION nodes that of its parent,
# where the numbers of the section are and where its columns are kept
NODE_INTS = 3
NODE_LINK, NODE_FLOATS, NODE_WORK = range(NODE_INTS)

# columns of a flexible link in the table of links
LINK_NUMBERS = 15
(
    NODE,
    MODES,
    Q_FIRST,
    V_FIRST,
    PLACES_AT,
    PAIRS,
    C_COUNT,
    X_COUNT,
    U_COUNT,
    SLOPE_FIRST,
    SLOPES,
    FLOATS_AT,
    WORK_AT,
    KIND,
    COUNT,
) = range(LINK_NUMBERS)


class FlexibleModel(NamedTuple):
    """A tree with flexible links; constant, shared by threads.

    tree : TreeModel over the nodes
    nodes : (NODE_INTS nb,) int, table of the nodes
    links : (LINK_NUMBERS nl,) int, table of the links
    places : int, pairs and places of the links (`open_link`)
    numbers : float64, blocks of the links (`open_link`) and of the sections (`open_section`)
    """

    tree: at.TreeModel
    nl: int
    nodes: object
    links: object
    places: object
    numbers: object


class FlexibleData(NamedTuple):
    """Work arrays: those of the tree, and the blocks of links (`open_state`) and sections, flat."""

    tree: at.TreeData
    blocks: object


class Link(NamedTuple):
    """Constants of a flexible link of m modes, P pairs, n slope modes; node axes, about the node's origin.

    kind : 0 of a beam, else the address of the functions of its kind (multibody/links/kernels/answers.py)
    pairs (2 P,) : modes of the pairs
    rigid (10,) : undeformed mass, first moment, second moments int h h^T dm as xx xy xz yy yz zz
    s (3 m,) : int u_k dm
    N (9 m,) : int h0 u_k^T dm, row by row, mode after mode
    C listed : int u_l u_k^T dm; places: in N of k, and l
    X listed : int u_l x u_k dm; places: 3 k + axis, and l
    M, K, D (m, m), flat : modal mass, stiffness, damping
    e (3,) : direction of the centre line
    mass (P,), H (3 P,) : int S_p dm, int h0 S_p dm
    U listed : int u_k S_p dm; places: k, 3 k + axis, p, 3 p + axis
    Q (P, P), flat : int S_p S_q dm
    own : numbers of a link of another kind than a beam, which has no others
    """

    kind: int
    m: int
    P: int
    n: int
    first_slope: int
    q: int
    v: int
    pairs: object
    C_places: object
    X_places: object
    U_places: object
    rigid: object
    s: object
    N: object
    C: object
    X: object
    M: object
    K: object
    D: object
    e: object
    mass: object
    H: object
    U: object
    Q: object
    own: object


class State(NamedTuple):
    """A deformed flexible link; node axes.

    rigid (10,) : mass, first moment, inertia xx xy xz yy yz zz about the node's origin
    wrench (6,), h (m,) : moment, force and modal forces of the velocities
    s (3 m,), a (3 m,), N (9 m,), M (m, m) : int u_k, int h x u_k, int h u_k^T, int u_k . u_l with the
    deformed
        h and the tangent fields u_k; in memory, those without N are one `Inertia`
    before (3 m,), after (3 m,) : vectors per mode, for a while
    half (P,), H (3 P,), V (n, P) : what sigma is of each S_p, int h S_p (h without foreshortening), int S_p
    sigma_k
    rate (P,), turn (P,), push (P,), swing (3 P,) : motion of the pairs (`rate_pairs`)
    F (6 m,) : coupling of modes with the node's (angular; linear) acceleration, mode after mode
    L (m, m), t (m,) : modal inertia with all that hangs on the link, then its Cholesky factor; modal forces
    own (forces_size(m),) : `Forces` of a link of another kind than a beam
    """

    rigid: object
    wrench: object
    s: object
    a: object
    M: object
    h: object
    N: object
    before: object
    after: object
    half: object
    H: object
    V: object
    rate: object
    turn: object
    push: object
    swing: object
    F: object
    L: object
    t: object
    own: object


class Section(NamedTuple):
    """A section: x (3,) its undeformed place; u, th (3 m,) displacement, rotation per mode; S (m, m); node
    axes."""

    x: object
    u: object
    th: object
    S: object


def link_floats(m: int, P: int, listed: int) -> int:
    """Numbers of a link in FlexibleModel.numbers, so many of them listed."""
    return 13 + 12 * m + 3 * m * m + 4 * P + P * P + listed


def state_floats(m: int, P: int, n: int) -> int:
    """Numbers of a link in FlexibleData.blocks."""
    return 17 + 30 * m + 4 * m * m + 10 * P + P * n


def section_floats(m: int) -> int:
    """Numbers of a section in FlexibleModel.numbers; its columns take 6 m + 6 of FlexibleData.blocks."""
    return 3 + 6 * m + m * m


@kernel(forceinline=True)
def columns_floats(m):
    """Numbers of a section in FlexibleData.blocks: 6 per mode (`place_section`), then its rates (6), and, of
    another kind of link than a beam, the velocity part of its acceleration (6)."""
    return 6 * m + 12


@kernel(forceinline=True)
def open_flexible(address):
    """FlexibleModel seen through the header at `address`."""
    head = ints_at(address, FLEXIBLE_HEADER)
    nb, nl = head[at.NB], head[N_LINKS]
    sizes = ints_at(head[LINK_INTS], 2)
    t = ints_at(head[LINK_INTS], 2 + NODE_INTS * nb + LINK_NUMBERS * nl + sizes[0])
    a = 2 + NODE_INTS * nb
    nodes, links = window(t, 2, NODE_INTS * nb), window(t, a, LINK_NUMBERS * nl)
    places = window(t, a + LINK_NUMBERS * nl, sizes[0])
    numbers = floats_at(head[LINK_FLOATS], sizes[1])
    return FlexibleModel(at.open_tree(address), nl, nodes, links, places, numbers)


@kernel(forceinline=True)
def carve_flexible(work, nb, nq, nv):
    """FlexibleData whose arrays are consecutive pieces of `work`."""
    return FlexibleData(at.carve_data(work, nb, nq, nv), tail(work, at.work_size(nb, nq, nv)))


def flexible_work_size(nb: int, nq: int, nv: int, blocks: int) -> int:
    """Numbers that `carve_flexible` carves its arrays from."""
    return at.work_size(nb, nq, nv) + blocks


@kernel(forceinline=True)
def open_link(model, link):
    """Constants of a flexible link."""
    row = window(model.links, LINK_NUMBERS * link, LINK_NUMBERS)
    m, P, c, x, u = row[MODES], row[PAIRS], row[C_COUNT], row[X_COUNT], row[U_COUNT]
    i, f, a = model.places, model.numbers, row[PLACES_AT]
    b = row[FLOATS_AT] + 10 + 12 * m
    d = b + c + x
    e = d + 3 * m * m + 3
    return Link(
        row[KIND],
        m,
        P,
        row[SLOPES],
        row[SLOPE_FIRST],
        row[Q_FIRST],
        row[V_FIRST],
        window(i, a, 2 * P),
        window(i, a + 2 * P, 2 * c),
        window(i, a + 2 * P + 2 * c, 2 * x),
        window(i, a + 2 * P + 2 * c + 2 * x, 4 * u),
        window(f, row[FLOATS_AT], 10),
        window(f, row[FLOATS_AT] + 10, 3 * m),
        window(f, row[FLOATS_AT] + 10 + 3 * m, 9 * m),
        window(f, b, c),
        window(f, b + c, x),
        window(f, d, m * m),
        window(f, d + m * m, m * m),
        window(f, d + 2 * m * m, m * m),
        window(f, d + 3 * m * m, 3),
        window(f, e, P),
        window(f, e + P, 3 * P),
        window(f, e + 4 * P, u),
        window(f, e + 4 * P + u, P * P),
        window(f, row[FLOATS_AT], row[COUNT]),
    )


@kernel(forceinline=True)
def open_state(model, data, link):
    """Work arrays of a flexible link."""
    row = window(model.links, LINK_NUMBERS * link, LINK_NUMBERS)
    m, P, n, w, a = row[MODES], row[PAIRS], row[SLOPES], data.blocks, row[WORK_AT]
    b = a + 16 + 6 * m
    c = b + m * m + m
    d = c + 15 * m
    e = d + 4 * P + n * P
    f = e + 6 * P
    g = f + 7 * m + m * m
    return State(
        window(w, a, 10),
        window(w, a + 10, 6),
        window(w, a + 16, 3 * m),
        window(w, a + 16 + 3 * m, 3 * m),
        window(w, b, m * m),
        window(w, b + m * m, m),
        window(w, c, 9 * m),
        window(w, c + 9 * m, 3 * m),
        window(w, c + 12 * m, 3 * m),
        window(w, d, P),
        window(w, d + P, 3 * P),
        window(w, d + 4 * P, n * P),
        window(w, e, P),
        window(w, e + P, P),
        window(w, e + 2 * P, P),
        window(w, e + 3 * P, 3 * P),
        window(w, f, 6 * m),
        window(w, f + 6 * m, m * m),
        window(w, f + 6 * m + m * m, m),
        window(w, g, forces_size(m)),
    )


@kernel(forceinline=True)
def open_section(model, node, m):
    """Constants of the section of a SECTION node."""
    a = model.nodes[NODE_INTS * node + NODE_FLOATS]
    f = model.numbers
    return Section(
        window(f, a, 3),
        window(f, a + 3, 3 * m),
        window(f, a + 3 + 3 * m, 3 * m),
        window(f, a + 3 + 6 * m, m * m),
    )


@kernel(forceinline=True)
def open_columns(model, data, node, m):
    """Twist of the section per modal rate (6 m) = (angular; linear), mode after mode, then the rest of
    `columns_floats`."""
    a = model.nodes[NODE_INTS * node + NODE_WORK]
    return window(data.blocks, a, columns_floats(m))
