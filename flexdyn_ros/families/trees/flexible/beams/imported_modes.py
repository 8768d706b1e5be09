"""Flexible links with imported modes: a reduction (Craig-Bampton or modal) of any finite-element model.

It comes as `.npz`.

Arrays of the file, SI units, link axes (k nodes, m modes):

    nodes (k, 3)              positions of the undeformed nodes [m]
    node_mass (k,)            masses of the nodes [kg]
    node_inertia (k, 3, 3)    optional: inertia tensors about the nodes [kg m2]
    displacement (m, k, 3)    displacement of each node per unit of each modal coordinate [m]
    rotation (m, k, 3)        rotation vector of each node per unit of each modal coordinate [rad]
    stiffness (m, m)          modal stiffness [N m]
    damping (m, m)            optional: modal damping, symmetric [N m s]; `<damping>` then is refused
    root_node                 index of the node at which the link is held: its shapes vanish
    interface_nodes (c,)      nodes that carry child joints
    interface_joints (c,)     names of these joints
    shortening (k, m, m)      optional: S_kl of each node [m per product of two coordinates]

`shortening` is what geometric stiffening takes (docs/theory/flexible_links.md): a node is moved back
along the axis by 1/2 delta^T S delta, to second order in the modal coordinates. For a slender link it is the
integral of y_k' y_l' + z_k' z_l' along the axis from the root to the node, y', z' the slopes of its fibres;
`shortening_of_slopes` makes it from the rotations of nodes in a row. Without the array nothing is stiffened,
and the robot says so in its warnings.

The mass of the link is that of its nodes, each a rigid body that moves with its node. A child joint's origin
may lie beside its node by no more than a thousandth of the link's size: a file in millimetres is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.families.trees.flexible.beams.link_mass import MassBalance, StationBody, settle_mass
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import ModalIntegrals, linear_fields
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import constant, polynomial_shape
from flexdyn_ros.families.trees.flexible.beams.modes import Beam, Mode, SectionFields
from flexdyn_ros.families.trees.flexible.beams.properties import beam_frame
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays

#: a child joint may be this far from its node, as a fraction of the link's size
BESIDE = 1e-3
#: arrays of a file of modes together; the largest, `shortening`, has nodes times modes squared numbers
MOST_BYTES = 1 << 29
#: greatest motion of the root node, as a fraction of the greatest of all nodes
ROOT_MOTION = 1e-9

_NEEDED = {
    "nodes": "k3",
    "node_mass": "k",
    "displacement": "mk3",
    "rotation": "mk3",
    "stiffness": "mm",
    "root_node": "",
    "interface_nodes": "c",
    "interface_joints": "c",
}
_NAMED = ("root_node", "interface_nodes", "interface_joints")
_OPTIONAL = {"node_inertia": "k33", "damping": "mm", "shortening": "kmm"}


class NodeStation(NamedTuple):
    """The node that carries a child joint, in place of a station."""

    node: int


@dataclass(frozen=True)
class ImportedLink:
    """A flexible link with imported modes, with the interface of a `BeamLink`.

    frame : axes of `<beam>` (link axes without one) at the root node. nodes (k, 3), displacement, rotation
    (m, k, 3): in these axes, nodes from the root. shortening (k, m, m): zero where the file has none. Between
    nodes, shapes are interpolated along the axis.
    """

    element: FlexibleLink
    frame: Placement
    beam: Beam
    balance: MassBalance
    attach: Mapping[str, NodeStation | float]
    nodes: np.ndarray
    node_P: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray
    modal_stiffness: np.ndarray
    damping: np.ndarray | None
    shortening: np.ndarray
    root: int
    unstiffened: tuple[str, ...] = ()
    section: None = None

    @property
    def bodies(self) -> tuple[StationBody, ...]:
        """All rigid bodies on its sections, the remainder of `<inertial>` included."""
        return self.balance.bodies

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the model checks."""
        return self.balance.warnings + self.unstiffened

    @property
    def modes(self) -> tuple[Mode, ...]:
        """One entry per imported mode; shapes are those of the nodes."""
        return tuple(Mode("mode", _NO_SHAPE) for _ in self.modal_stiffness)

    def centre(self, station: NodeStation | float) -> np.ndarray:
        """Undeformed position (3,) of a node or station, beam axes from the root [m]."""
        if isinstance(station, NodeStation):
            return self.nodes[station.node].copy()
        return self._interpolated(self.nodes[None], np.array([float(station)]))[0, 0]

    def station_of(self, at: NodeStation | float) -> float | None:
        """The station at which a node is alone: what lies there is the node. None if it is not."""
        if not isinstance(at, NodeStation):
            return float(at)
        along = self.nodes[:, 0] / self.beam.length
        station = float(along[at.node])
        alone = np.count_nonzero(np.abs(along - station) < 1e-8) == 1
        return round(station, 9) if alone and 1e-9 < station <= 1.0 + 1e-9 else None

    def fields(self, modes: Sequence[Mode], station: NodeStation | float) -> SectionFields:
        """Shapes of all modes at a node or station."""
        m = len(modes)
        if isinstance(station, NodeStation):
            u, th = self.displacement[:, station.node], self.rotation[:, station.node]
            S = self.shortening[station.node]
        else:
            s = np.array([float(station)])
            u, th = (self._interpolated(x, s)[:, 0] for x in (self.displacement, self.rotation))
            S = self._shortening_at(s)[0]
        x, y, z = self.centre(station).tolist()
        return SectionFields(x, u[:m], th[:m], np.zeros((m, 4)), S[:m, :m].copy(), (y, z))

    def _shortening_at(self, s: np.ndarray) -> np.ndarray:
        """S (n, m, m) at stations."""
        values = np.moveaxis(self.shortening, 0, -1)[..., None]
        return np.moveaxis(self._interpolated(values, s)[..., 0], -1, 0)

    def fields_along(self, modes: Sequence[Mode], stations: np.ndarray) -> tuple[np.ndarray, ...]:
        """Shapes at k stations: u, th (m, k, 3), strain (m, k, 4) by slopes of rotations, S (k, m, m)."""
        s = np.asarray(stations, dtype=float)
        m, L = len(self.modal_stiffness), self.beam.length
        u, th = self._interpolated(self.displacement, s), self._interpolated(self.rotation, s)
        strain = np.zeros((m, len(s), 4))
        step = 1e-6
        ahead, behind = np.minimum(s + step, 1.0), np.maximum(s - step, 0.0)
        width = L * (ahead - behind)[None, :, None]
        strain[:, :, :3] = (
            self._interpolated(self.rotation, ahead) - self._interpolated(self.rotation, behind)
        ) / width
        return u, th, strain, self._shortening_at(s)

    def integrals(self, modes: Sequence[Mode], rotary: str) -> ModalIntegrals:
        """Sums over the nodes, each a rigid body; exact whatever the option `rotary` says."""
        m = len(modes)
        turning = self.node_P.copy()
        turning[:, 0, 0] = 0.0
        C, C1, C2 = self._moments(self.node_P, m)
        C_turning, C1_turning, C2_turning = self._moments(turning, m)
        return ModalIntegrals(
            C=C,
            C1=C1,
            C2=C2,
            C_section=C_turning,
            C1_section=C1_turning,
            C2_section=C2_turning,
            T=np.zeros((m, m)),
            K=self.modal_stiffness[:m, :m],
            point_x=self.nodes,
            point_mass=self.node_P[:, 0, 0],
            point_u=np.swapaxes(self.displacement[:m], 0, 1).copy(),
            point_S=self.shortening[:, :m, :m],
        )

    def _moments(self, P: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """C, C1, C2 of bodies P (k, 4, 4) that move with the nodes in the first m modes."""
        H = np.tile(np.eye(4), (len(self.nodes), 1, 1))
        H[:, 1:, 0] = self.nodes
        M = linear_fields(self.displacement[:m], self.rotation[:m])
        PM = np.einsum("nab,lnjb->lnaj", P, M)
        return (
            0.5 * np.einsum("nia,nab,njb->ij", H, P, H),
            0.5 * np.einsum("nia,lnaj->lij", H, PM),
            0.5 * np.einsum("knia,lnaj->klij", M, PM, optimize=True),
        )

    def stiffness(self, s: np.ndarray) -> np.ndarray:
        """Zeros (k, 4): the stiffness of the section is not in the file."""
        return np.zeros((len(s), 4))

    def tip_inertia(self) -> np.ndarray:
        """Pseudo-inertia (4, 4) of the bodies on the tip about it."""
        return sum((b.P for b in self.bodies if b.station == 1.0), np.zeros((4, 4)))

    @cached_property
    def _groups(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """The stations (n,) of nodes along the axis, from that of the root, and the nodes of each."""
        along = self.nodes[:, 0] / self.beam.length
        inside = (along > 1e-9) & (along <= 1.0 + 1e-9)
        stations = np.unique(np.round(np.clip(along[inside], 0.0, 1.0), 9))
        groups = [np.flatnonzero(inside & (np.abs(along - x) < 1e-8)) for x in stations]
        return np.concatenate([[0.0], stations]), [np.array([self.root]), *groups]

    def _interpolated(self, values: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Values (..., k, 3) of the nodes at stations (n,): (..., n, 3), linear between nodes along the axis.

        Nodes of one station count as their mean; the root is station 0 and stays so.
        """
        grid, groups = self._groups
        if all(len(nodes) == 1 for nodes in groups):
            stack = values[..., np.concatenate(groups), :]
        else:
            stack = np.stack([values[..., nodes, :].mean(axis=-2) for nodes in groups], axis=-2)
        i = np.clip(np.searchsorted(grid, s, side="right") - 1, 0, len(grid) - 2)
        part = ((s - grid[i]) / (grid[i + 1] - grid[i]))[:, None]
        return stack[..., i, :] * (1.0 - part) + stack[..., i + 1, :] * part


def shortening_of_slopes(nodes: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The array `shortening` (k, m, m) of a slender link whose nodes lie along its axis, here x.

    nodes (k, 3): undeformed positions, root first, x rising. rotation (m, k, 3): rotation vectors of the
    nodes per unit of each coordinate; slopes are y' = rotation about z, z' = - rotation about y. Trapezoidal
    rule between the nodes: the error falls with the square of their distance.
    """
    width = np.diff(np.asarray(nodes, dtype=float)[:, 0])
    slopes = np.asarray(rotation, dtype=float)[:, :, 1:]
    products = np.einsum("kna,lna->nkl", slopes, slopes)
    parts = 0.5 * width[:, None, None] * (products[:-1] + products[1:])
    return np.concatenate([np.zeros_like(products[:1]), np.cumsum(parts, axis=0)])


_NO_SHAPE = polynomial_shape([0.0, 0.0])


def imported_link(description: RobotDescription, link: FlexibleLink) -> ImportedLink:
    """Read and check the modes of a link, and settle its mass.

    Raises
    ------
    DescriptionError
        Naming link, file and array: what is missing, unknown, of the wrong shape, not finite, not positive,
        or in other units than the description.
    """
    return _Import(description, link).finish()


class _Import:
    def __init__(self, description: RobotDescription, link: FlexibleLink) -> None:
        self.description, self.link = description, link
        assert link.modes.file is not None
        self.path = link.modes.file
        self.data = self._read()

    def refuse(self, message: str, key: str | None, value: object, expected: str) -> NoReturn:
        message = f"link '{self.link.link}': {message} ({self.path})"
        attribute = "file" if key is None else f"file: {key}"
        self.description.place(self.link, "modes").fail(message, attribute, value, expected)

    def _read(self) -> dict[str, np.ndarray]:
        try:
            data = read_arrays(self.path, most_bytes=MOST_BYTES)
        except (OSError, ArrayFileError) as error:
            self.refuse(f"imported modes cannot be read: {error}", None, self.path, "a .npz file of numpy")
        known = {**_NEEDED, **_OPTIONAL}
        for key in data:
            if key not in known:
                self.refuse(f"unknown array '{key}'", key, key, "one of " + ", ".join(known))
        for key in _NEEDED:
            if key not in data:
                self.refuse(f"the array '{key}' is missing", key, None, f"an array '{key}'")
        self._check_shapes(data)
        return {key: x if key in _NAMED else x.astype(np.float64) for key, x in data.items()}

    def _check_shapes(self, data: dict[str, np.ndarray]) -> None:
        sizes = {"3": 3}
        for key, letters in {**_NEEDED, **_OPTIONAL}.items():
            if key not in data:
                continue
            array = data[key]
            words = ", ".join(letters) or "a single number"
            message = f"'{key}' has shape {array.shape}"
            if array.ndim != len(letters):
                self.refuse(message, key, array.shape, f"shape ({words})")
            for letter, size in zip(letters, array.shape, strict=True):
                if sizes.setdefault(letter, size) != size:
                    expected = f"shape ({words}) with {letter} = {sizes[letter]}"
                    self.refuse(message, key, array.shape, expected)
            is_number = np.issubdtype(array.dtype, np.number)
            if key != "interface_joints" and not (is_number and np.all(np.isfinite(array))):
                self.refuse(f"'{key}' holds what is no finite number", key, None, "finite numbers")
        for key in ("root_node", "interface_nodes"):
            if not np.issubdtype(data[key].dtype, np.integer):
                self.refuse(f"'{key}' does not hold whole numbers", key, str(data[key].dtype), "integers")
            if np.any(data[key] < 0) or np.any(data[key] >= sizes["k"]):
                self.refuse(f"'{key}' is no node", key, data[key].tolist(), f"0 to {sizes['k'] - 1}")
        if sizes["m"] < 1:
            self.refuse("there are no modes", "displacement", 0, "at least one mode")

    # ---- physics ----

    def finish(self) -> ImportedLink:
        data, root = self.data, int(self.data["root_node"])
        frame = self._frame(root)
        nodes = (data["nodes"] - frame.p) @ frame.R
        u, th = (np.ascontiguousarray(data[key] @ frame.R) for key in ("displacement", "rotation"))
        for key, x in (("displacement", u), ("rotation", th)):
            self._check_root(key, np.moveaxis(x, 1, 0), root, "shapes of the link held at its root node")
        length = self._length(nodes)
        P = self._node_inertias(frame)
        K = self._stiffness()
        draft = ImportedLink(
            element=self.link,
            frame=frame,
            beam=Beam(length=length, mu=constant(float(P[:, 0, 0].sum()) / length)),
            balance=MassBalance(*(np.zeros((4, 4)),) * 4, bodies=(), outcome=""),
            attach={},
            nodes=nodes,
            node_P=P,
            displacement=u,
            rotation=th,
            modal_stiffness=K,
            damping=self._damping(),
            shortening=self._shortening(root, len(K), len(nodes)),
            root=root,
            unstiffened=self._unstiffened(),
        )
        B = 2.0 * draft.integrals((), "consistent").C
        balance = settle_mass(self.description, self.link, frame, length, draft.centre, B)
        return replace(draft, balance=balance, attach=self._attachments(root))

    def _frame(self, root: int) -> Placement:
        R = np.eye(3) if self.link.beam is None else beam_frame(self.link.beam).R
        return Placement(R, self.data["nodes"][root])

    def _check_root(self, key: str, x: np.ndarray, root: int, expected: str) -> None:
        """Refuse an array (k, ...) that does not vanish at the root node."""
        moved = float(np.abs(x[root]).max())
        if moved > ROOT_MOTION * np.abs(x).max():
            self.refuse(f"'{key}' does not vanish at the root node {root}", key, moved, expected)

    def _symmetric(self, key: str, matrices: np.ndarray, what: str, expected: str) -> np.ndarray:
        """Matrices (..., n, n), freed of what rounding makes of their symmetry."""
        turned = np.swapaxes(matrices, -1, -2)
        if np.abs(matrices - turned).max(initial=0.0) > 1e-9 * np.abs(matrices).max(initial=0.0):
            self.refuse(f"{what} not symmetric", key, None, expected)
        return 0.5 * (matrices + turned)

    def _length(self, nodes: np.ndarray) -> float:
        given = None if self.link.beam is None else self.link.beam.length
        length = float(nodes[:, 0].max()) if given is None else given
        if not length > 0.0:
            self.refuse(
                "no node lies along the axis", "nodes", length, "nodes beyond the root, or <beam axis>"
            )
        return length

    def _node_inertias(self, frame: Placement) -> np.ndarray:
        mass = self.data["node_mass"]
        if np.any(mass < 0.0) or not np.any(mass > 0.0):
            self.refuse("masses of nodes are not positive", "node_mass", float(mass.min()), "numbers >= 0")
        P = np.zeros((len(mass), 4, 4))
        P[:, 0, 0] = mass
        if "node_inertia" in self.data:
            tensors = frame.R.T @ self.data["node_inertia"] @ frame.R
            tensors = self._symmetric("node_inertia", tensors, "inertia tensors are", "symmetric tensors")
            P[:, 1:, 1:] = 0.5 * np.trace(tensors, axis1=1, axis2=2)[:, None, None] * np.eye(3) - tensors
            if np.linalg.eigvalsh(P[:, 1:, 1:]).min(initial=0.0) < -1e-6 * np.abs(tensors).max(initial=0.0):
                message = "an inertia tensor belongs to no body"
                self.refuse(message, "node_inertia", None, "the triangle inequality")
        return P

    def _stiffness(self) -> np.ndarray:
        K = self._symmetric("stiffness", self.data["stiffness"], "'stiffness' is", "a symmetric matrix")
        least = float(np.linalg.eigvalsh(K)[0])
        if not least > 0.0:
            self.refuse("'stiffness' is not positive", "stiffness", least, "a positive definite matrix")
        return K

    def _damping(self) -> np.ndarray | None:
        if "damping" not in self.data:
            return None
        if self.link.damping is not None:
            self.refuse("<damping> and the file's 'damping' exclude each other", "damping", None, "one")
        # implicit steps take one half of it for both
        D = self._symmetric("damping", self.data["damping"], "'damping' is", "a symmetric matrix")
        if np.linalg.eigvalsh(D)[0] < -1e-9 * np.abs(D).max():
            self.refuse("'damping' adds energy", "damping", None, "a positive semidefinite matrix")
        return D

    def _shortening(self, root: int, m: int, k: int) -> np.ndarray:
        if "shortening" not in self.data:
            return np.zeros((k, m, m))
        S = self._symmetric("shortening", self.data["shortening"], "matrices are", "symmetric matrices")
        self._check_root("shortening", S, root, "zeros there")
        return S

    def _unstiffened(self) -> tuple[str, ...]:
        stiffening = self.description.formulation.stiffening or "full"
        if stiffening == "none" or "shortening" in self.data:
            return ()
        return (
            f"link '{self.link.link}': imported modes without the array 'shortening' are not stiffened by "
            f"tension or rotation, although stiffening is '{stiffening}'",
        )

    def _attachments(self, root: int) -> dict[str, NodeStation | float]:
        names = [str(name) for name in self.data["interface_joints"]]
        nodes = self.data["nodes"]
        size = float(np.ptp(nodes, axis=0).max())
        found: dict[str, NodeStation | float] = {}
        children = {joint.name: joint for joint in self.description.children_of(self.link.link)}
        for name in names:
            if name not in children:
                expected = "one of " + ", ".join(children)
                self.refuse(f"'{name}' is no child joint", "interface_joints", name, expected)
        for name, joint in children.items():
            if name not in names:
                message = f"child joint '{name}' hangs on no node"
                self.refuse(message, "interface_joints", names, f"'{name}' and its node")
            node = int(self.data["interface_nodes"][names.index(name)])
            gap = float(np.linalg.norm(np.array(joint.xyz) - nodes[node]))
            if gap > BESIDE * size:
                message = f"node {node} of joint '{name}' lies {gap:.4g} m beside the joint's origin"
                expected = f"{tuple(joint.xyz)} in link axes and metres"
                self.refuse(message, "nodes", tuple(nodes[node].tolist()), expected)
            found[name] = 0.0 if node == root else NodeStation(node)
        return found
