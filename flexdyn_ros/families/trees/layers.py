"""What layers around the functions of a tree have in common: a header behind that of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.flexible.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER, work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree

#: words of a header, those of all layers among them
_MOST_WORDS = 64


class LayerHeader(Header):
    """The header of a packed tree, with more words: the functions of tree and layer take its address.

    A rigid tree is given the words of a flexible one without flexible links. A layer around a layer shares
    its header, in which each has words of its own: see `layer_header`.
    """

    def __init__(self, base: Any, tree: RigidTree) -> None:
        super().__init__(*base.header.words, size=_MOST_WORDS)
        self._base = base
        m = tree.model
        if base.header.words.size == HEADER:
            # no flexible links: no numbers, and no node that carries one
            no_links = np.array([0, 0, *[-1] * (views.NODE_INTS * m.nb)], dtype=np.int64)
            links = {views.LINK_INTS: no_links, views.LINK_FLOATS: np.zeros(1)}
            self.put(links | {views.WORK_SIZE: work_size(m.nb, m.nq, m.nv)})


def layer_header(base: Any, tree: RigidTree) -> LayerHeader:
    """The header for one more layer around what is packed in `base`."""
    header = base.header
    return header if isinstance(header, LayerHeader) else LayerHeader(base, tree)
