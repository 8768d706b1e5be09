"""Mass matrix of planar floating frames by composite inertias, in the chain or tree of chain.py.

Featherstone 2008, section 6.2; what a section carries adds to the modes of its beam, as in forward.py.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import tail

from . import views as at
from .chain import SECTION, move_planar, weigh_all
from .forward import hand_down, hang, times_body
from .views import PRISMATIC, REVOLUTE, dof_of, header_at, node_of, node_row, nodes_of, vectors_of


@kernel
def composite_bodies(address, w, q, M):
    """Write the mass matrix M (nv, nv)."""
    head = header_at(address)
    still, dof = vectors_of(head, w)[1], dof_of(head)
    M[:] = 0.0
    for i in range(head[views.NV]):
        still[i] = 0.0
        M[i, i] = dof[views.DOF_NUMBERS * i + views.ARMATURE]
    move_planar(address, w, q, still)
    weigh_all(address, w, q, still, 0.0)
    collect_inward(address, w)
    w = borrowed(w)
    table, _ = nodes_of(head)
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        if row[at.KIND] == SECTION:
            continue
        own, m, first = node_of(w, k), row[at.MODES], row[at.MODE_V]
        if row[at.KIND] == REVOLUTE or row[at.KIND] == PRISMATIC:
            sx, sy, st = own[at.AXIS], own[at.AXIS + 1], own[at.AXIS + 2]
            fx, fy, n = times_body(own, sx, sy, st)
            M[row[at.V], row[at.V]] += sx * fx + sy * fy + st * n
            project_up(address, w, k, False, row[at.V], fx, fy, n, M)
        modal = tail(w, row[at.MODAL_AT])
        for i in range(m):
            coupling, block = tail(modal, 3 * i), tail(modal, 3 * m + m * i)
            for j in range(i):
                M[first + i, first + j] = M[first + j, first + i] = block[j]
            M[first + i, first + i] += block[i]
            project_up(address, w, k, True, first + i, coupling[0], coupling[1], coupling[2], M)


@kernel(forceinline=True)
def collect_inward(address, w):
    """Inertias of the nodes with all that hangs on them."""
    w = borrowed(w)
    head = header_at(address)
    table, f = nodes_of(head)
    for k in range(head[at.NODES] - 1, 0, -1):
        row = node_row(table, k)
        up, own = node_of(w, row[at.PARENT]), node_of(w, k)
        if row[at.KIND] == SECTION:
            hang(row, tail(f, row[at.AT]), up, own, tail(w, row[at.MODAL_AT]))
        hand_down(up, own)


@kernel
def project_up(address, w, k, on_joint, column, fx, fy, n, M):
    """Carry a force and moment at node k to the world and write what they do on all that is passed.

    on_joint: on the node's own joint too.
    """
    w = borrowed(w)
    table, f = nodes_of(header_at(address))
    j = k
    while j > 0:
        row = node_row(table, j)
        up, own = node_of(w, row[at.PARENT]), node_of(w, j)
        if row[at.KIND] == SECTION:
            m, first = row[at.MODES], row[at.MODE_V]
            x = tail(f, row[at.AT] + at.NODE_HEAD + 2)
            lx, ly = up[at.COS] * fx + up[at.SIN] * fy, up[at.COS] * fy - up[at.SIN] * fx
            for i in range(m):
                value = x[i] * lx + x[m + i] * ly + x[2 * m + i] * n
                M[first + i, column] = M[column, first + i] = value
        elif (row[at.KIND] == REVOLUTE or row[at.KIND] == PRISMATIC) and (on_joint or j != k):
            value = own[at.AXIS] * fx + own[at.AXIS + 1] * fy + own[at.AXIS + 2] * n
            M[row[at.V], column] = M[column, row[at.V]] = value
        n = n + own[at.RX] * fy - own[at.RY] * fx
        j = row[at.PARENT]
