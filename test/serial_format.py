"""Reader of `serial-model/1`: serial and tree arms with flexible links as a plain dictionary (JSON, YAML).

The format is the exchange format of the tests of the Lagrangian path; keys as in docs/theory/lagrange.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.flexible.beams import modal_integrals, mode_shapes
from flexdyn_ros.families.trees.flexible.beams.modes import Beam, Mode, section_fields
from flexdyn_ros.families.trees.lagrange.kernels.views import FIXED, PRISMATIC, REVOLUTE
from flexdyn_ros.families.trees.lagrange.model import (
    Body,
    FlexibleLink,
    LagrangeModel,
    assemble,
    resistance,
    transform,
)

__all__ = ["SerialModel", "read_serial"]

_KINDS = {"revolute": REVOLUTE, "prismatic": PRISMATIC, "fixed": FIXED}
_FIELDS = {"y": "bending_y", "z": "bending_z", "twist": "torsion", "x": "axial"}
_GRAVITY = (0.0, 0.0, -9.81)


class SerialModel(NamedTuple):
    """A model and what its rows mean: joint_v[i], mode_v[i] are the rows of v of link i (-1, () if it has
    none).

    frames[i] = (body, station) of the distal frame d_i, as `lagrange_frame` wants it, tip[i] its offset (4,
    4).
    """

    model: LagrangeModel
    joint_v: tuple[int, ...]
    mode_v: tuple[tuple[int, ...], ...]
    frames: tuple[tuple[int, int], ...]
    tip: tuple[np.ndarray, ...]


def read_serial(data: Mapping[str, Any], **options: Any) -> SerialModel:
    """Read a `serial-model/1` dictionary; `options` override its own (rotary, frame, foreshortening).

    Coordinates: link by link, the joint and then its modes. Tip bodies become bodies fixed to the distal
    frame.
    """
    chosen = {
        "rotary": "consistent",
        "frame": "so3",
        "foreshortening": False,
        **data.get("options", {}),
        **options,
    }
    bodies: list[Body] = []
    body_of: list[int] = []  # body of each link
    joint_v: list[int] = []
    mode_v: list[tuple[int, ...]] = []
    armature: list[float] = []
    tips: list[np.ndarray] = []
    frames: list[tuple[int, int]] = []
    nv = station_count = 0
    for index, link in enumerate(data["links"]):
        joint = link.get("joint", {})
        kind = _KINDS[joint.get("type", "revolute")]
        parent = link.get("parent", index - 1)
        length = float(link.get("length", 0.0))
        q_joint = nv if kind != FIXED else -1
        nv += kind != FIXED
        joint_v.append(q_joint)
        armature += [joint.get("rotor_inertia", 0.0)] * (kind != FIXED)
        flexible = _flexible_link(link, length, chosen["rotary"], nv, index) if link.get("modes") else None
        count = flexible.modes if flexible else 0
        mode_v.append(tuple(range(nv, nv + count)))
        armature += [0.0] * count
        nv += count
        bodies.append(
            Body(
                parent=body_of[parent] if parent >= 0 else -1,
                kind=kind,
                pre=(tips[parent] if parent >= 0 else np.eye(4)) @ _placement(joint.get("pre")),
                post=_placement(joint.get("post")),
                axis=joint.get("axis", (0.0, 0.0, 1.0)),
                second_moments=0.5 * _pseudo_inertia(link.get("rigid_bodies", ()))
                + _rigid_beam(link, length, chosen),
                q_index=q_joint,
                v_index=q_joint,
                station=0 if parent >= 0 and mode_v[parent] else None,
                link=flexible,
            )
        )
        body_of.append(len(bodies) - 1)
        tips.append(np.eye(4) if flexible else transform(np.eye(3), (length, 0.0, 0.0)))
        frames.append((body_of[-1], station_count if flexible else -1))
        station_count += flexible is not None
        if link.get("tip_bodies"):
            P = _pseudo_inertia(link["tip_bodies"])
            tip_station = 0 if flexible else None
            bodies.append(Body(parent=body_of[-1], pre=tips[-1], second_moments=0.5 * P, station=tip_station))
    model = assemble(
        bodies,
        nv,
        nv,
        gravity=data.get("gravity", _GRAVITY),
        dof=resistance(nv, armature=armature),
        affine=chosen["frame"] == "affine",
        foreshortened=chosen["foreshortening"],
    )
    return SerialModel(model, tuple(joint_v), tuple(mode_v), tuple(frames), tuple(tips))


def _placement(pose: Mapping[str, Any] | None) -> np.ndarray:
    """Unit-first transform of {"p": ..., "rpy": ...}, R = Rz Ry Rx as in URDF."""
    pose = pose or {}
    r, p, y = pose.get("rpy", (0.0, 0.0, 0.0))
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(x), np.sin(x)) for x in (r, p, y))
    R = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1.0]])
    R = (
        R
        @ np.array([[cp, 0, sp], [0, 1.0, 0], [-sp, 0, cp]])
        @ np.array([[1.0, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    return transform(R, pose.get("p", (0.0, 0.0, 0.0)))


def _pseudo_inertia(bodies: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Sum of the pseudo-inertias (4, 4) of rigid bodies."""
    P = np.zeros((4, 4))
    for b in bodies:
        P += modal_integrals.pseudo_inertia(b["mass"], b.get("com", (0, 0, 0)), b.get("inertia", (0,) * 6))
    return P


def _beam(link: Mapping[str, Any], length: float) -> Beam:
    """Beam of a link; Jx defaults to Jyy + Jzz."""
    given = {key: np.atleast_1d(np.asarray(value, dtype=float)) for key, value in link["beam"].items()}
    if "Jx" not in given:
        given["Jx"] = np.polynomial.polynomial.polyadd(given.get("Jyy", [0.0]), given.get("Jzz", [0.0]))
    return Beam(length, **{key: mode_shapes.polynomial(value) for key, value in given.items()})


def _rigid_beam(link: Mapping[str, Any], length: float, options: Mapping[str, Any]) -> np.ndarray | float:
    """Second moments (4, 4) of a beam without modes."""
    if "beam" not in link or link.get("modes"):
        return 0.0
    return modal_integrals.modal_integrals(_beam(link, length), (), rotary=options["rotary"]).C


def _flexible_link(
    link: Mapping[str, Any], length: float, rotary: str, first: int, index: int
) -> FlexibleLink:
    """Modes, integrals and damping of a link whose first modal coordinate is `first`."""
    name = str(link.get("name", index))
    modes = [Mode(_FIELDS[m["field"]], _shape(m["field"], m["shape"])) for m in link["modes"]]
    integrals = modal_integrals.modal_integrals(_beam(link, length), modes, rotary=rotary)
    tip = section_fields(length, modes)
    whole = modal_integrals.with_body(integrals, _pseudo_inertia(link.get("tip_bodies", ())), tip)
    modal_integrals.check_modal_mass(whole, modes, name)
    return FlexibleLink(integrals, _damping(link.get("damping"), whole, name), (tip,), first, first)


def _shape(field: str, shape: Mapping[str, Any]) -> mode_shapes.Shape:
    kind = shape["type"]
    if kind == "poly":
        return mode_shapes.polynomial_shape(shape["coef"], clamped="bending" if field in "yz" else field)
    ratios = {key: shape[key] for key in ("mass_ratio", "inertia_ratio") if key in shape}
    if kind == "bending":
        return mode_shapes.bending_shape(shape["n"], **ratios)
    if kind in ("torsion", "axial"):
        return mode_shapes.torsion_shape(
            shape["n"], ratios.get("inertia_ratio", ratios.get("mass_ratio", 0.0))
        )
    raise DescriptionError(
        "unknown shape", element="shape", attribute="type", value=kind, expected="poly, bending, torsion"
    )


def _damping(
    damping: Mapping[str, Any] | None, whole: modal_integrals.ModalIntegrals, name: str
) -> np.ndarray:
    if damping is None:
        return np.zeros_like(whole.K)
    if damping["type"] == "rayleigh":
        return modal_integrals.rayleigh_damping(whole, damping["alpha"], damping["beta"])
    if damping["type"] == "modal":
        return modal_integrals.modal_damping(whole, damping["zeta"])
    raise DescriptionError(
        "unknown damping", element=f"links[{name}].damping", value=damping["type"], expected="rayleigh, modal"
    )
