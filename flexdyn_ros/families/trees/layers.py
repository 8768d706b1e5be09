"""Layers around the functions of a tree, as wheels and elements are: what they say, and the header that they
share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.flexible.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER, work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.results import Contacts, Loads

#: words of a header, those of all layers among them
_MOST_WORDS = 69


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


class Layer:
    """What stands around the functions of a tree, and wraps the table of what is within.

    A robot's layers are made one after the other, each around those before. A layer says what it adds to the
    verbs, and its compiled functions call those of the table within by the word INNER of its header.
    """

    #: names of what robots have of the layer
    offers: tuple[str, ...] = ()
    #: `Robot.kind` of robots with the layer; that of what is within if empty
    kind = ""
    #: the kernels want work memory that begins at zero
    begins_at_zero = False
    #: the wrenches in joints are not known by the motion of the tree alone
    hides_reactions = False
    #: links on which the layer pushes in ways that `loads` cannot tell
    pushed_links: tuple[str, ...] = ()
    #: what is driven beside the coordinates
    driven: tuple[Coordinate, ...] = ()
    #: points that touch the ground
    contacts: Contacts | None = None
    #: `project` moves states
    is_constraint = False

    # ---- before the tree is there ----

    @staticmethod
    def sections(description: RobotDescription) -> tuple[str, ...]:
        """Stations LINK@s that must be frames."""
        return ()

    @staticmethod
    def driven_ends(description: RobotDescription, tree: RigidTree) -> list[tuple[int, int]]:
        """Nodes at both ends of what drives the joints between them."""
        return []

    @staticmethod
    def changed_tree(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
        """The tree with other values of the layer's parameters."""
        return tree

    # ---- around a tree ----

    def __init__(self, functions: Any) -> None:
        """functions: `TreeFunctions`, which lie above; the layer puts its own table in place of theirs."""
        self.functions = functions

    @property
    def mass(self) -> float:
        """Beside that of links [kg]."""
        return 0.0

    @property
    def has_inertia(self) -> bool:
        """Whether the mass matrix is not that of the tree."""
        return False

    @property
    def by_mass_matrix(self) -> bool:
        """Whether forward dynamics goes through the mass matrix."""
        return self.has_inertia

    def parameters(self, tree: RigidTree) -> tuple[Parameter, ...]:
        """Those of the layer, around this tree."""
        return ()

    def motion(self, within: Motion) -> Motion:
        """Fixed steps, from those of what is within."""
        return within

    def driven_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., k) of what is driven."""
        return q[..., :0], v[..., :0]

    def singles(self) -> Mapping[str, Callable[[], tuple[Callable[..., int], int]]]:
        """See `FamilyFunctions.singles`."""
        return {}

    def add_springs(self, q: np.ndarray, K: np.ndarray, D: np.ndarray) -> None:
        """Add to K and D (n, nv, nv) of `modes` at rows of q what is a spring to small motions alone."""

    def refuse(self, verb: str) -> None:
        """UnsupportedError if there is no such verb with this layer."""

    def refuse_at(self, q: np.ndarray) -> None:
        """DescriptionError if the layer cannot be as it is at the neutral pose (nq,)."""

    def project(
        self, q: np.ndarray, v: np.ndarray, held: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `FamilyFunctions.project`."""
        return q, v

    def at_home(self, q: np.ndarray) -> np.ndarray:
        """q (nq,) with what stands on other links of the tree at home there."""
        return q

    def random(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,), from one that the tree may have."""
        return q

    def check_start(self, q: np.ndarray) -> str:
        """See `FamilyFunctions.check_start`."""
        return ""

    def efforts_for(self, *state: Any) -> np.ndarray | None:
        """See `FamilyFunctions.efforts_for`; None: as those of the robot."""
        return None

    def closed(self, q: np.ndarray, held: Sequence[str] = ()) -> np.ndarray:
        """See `FamilyFunctions.closed`."""
        return q

    def inverse_inertia(self, q: np.ndarray) -> np.ndarray | None:
        """See `FamilyFunctions.inverse_inertia`; None: as that of the robot."""
        return None

    def motions(self, q: np.ndarray) -> np.ndarray | None:
        """See `FamilyFunctions.motions`; None: as those of the robot."""
        return None

    def takes_given(self, given: np.ndarray) -> bool:
        """Whether the compiled functions take accelerations that are given, marked in (nv,)."""
        return True

    def add_momenta(self, rows: Rows, found: np.ndarray) -> None:
        """Add what is not the tree's to rows of momenta (count, 10) at rows of q and v."""

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads] | None:
        """Loads in links; None: as those of what is within."""
        return None

    def remarks(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> list[str]:
        """Doubts about a run with these poses (n, nq), velocities (n, nv) and times (n,), a sentence each."""
        return []
