"""The model of the recursive Lagrangian path for a tree with flexible links: a second formulation of the
same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels import views as layout
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.families.trees.lagrange.kernels import views as lagrange_views
from flexdyn_ros.families.trees.lagrange.model import (
    Body,
    FlexibleLink,
    LagrangeModel,
    assemble,
    bodies_of,
    dof_of,
    transform,
)
from flexdyn_ros.families.trees.rigid.model import RigidTree


def build_flexible_lagrange(
    built: RigidTree, *, affine: bool = False, foreshortened: bool = True
) -> LagrangeModel:
    """The Lagrangian model with the nodes, coordinates and resistances of the articulated one.

    The body frame of a flexible link is its beam frame. Options as in the description's `<formulation>`.
    """
    model, flexible = built.model, built.flexible
    assert flexible is not None
    sections_of = [
        [n for n, (i, _) in flexible.sections.items() if i == number] for number in range(len(flexible.links))
    ]
    carried = {link.node: number for number, link in enumerate(flexible.links)}
    back: dict[int, np.ndarray] = {}  # a node's frame in the body frame of the Lagrangian path
    bodies: list[Body] = []
    rows = {0: -1}
    for b in range(1, model.nb):
        parent = int(model.parent[b])
        first, *more = bodies_of(model, b, rows[parent], len(bodies))
        kind = lagrange_views.FIXED if first.kind in (layout.FIXED, layout.SECTION) else first.kind
        body = replace(first, pre=back.get(parent, np.eye(4)) @ first.pre, kind=kind)
        if more:
            bodies.append(body)
            body = more[0]
        if b in flexible.sections:
            number, _ = flexible.sections[b]
            turned = transform(flexible.links[number].beam_in_node.R.T, (0.0, 0.0, 0.0))
            body = replace(body, pre=turned, station=sections_of[number].index(b))
        elif b in carried:
            number = carried[b]
            link = flexible.links[number]
            R, p = link.beam_in_node
            back[b] = transform(R.T, -R.T @ p)
            stations = tuple(flexible.sections[n][1] for n in sections_of[number])
            body = replace(
                body,
                post=transform(R, p),
                second_moments=back[b] @ body.second_moments @ back[b].T,
                link=_link(link, stations, foreshortened),
            )
        bodies.append(body)
        rows[b] = len(bodies) - 1
    return assemble(
        bodies,
        model.nq,
        model.nv,
        gravity=model.gravity,
        dof=dof_of(model),
        affine=affine,
        foreshortened=foreshortened,
    )


def _link(link: FlexibleLinkModel, stations: tuple[Any, ...], foreshortened: bool) -> FlexibleLink:
    beam = link.beam
    integrals = link.integrals
    if foreshortened and not np.any(integrals.point_S):
        # nothing shortens: the constants hold all of it
        integrals = integrals._replace(
            C_section=integrals.C,
            C1_section=integrals.C1,
            C2_section=integrals.C2,
            point_x=integrals.point_x[:0],
            point_mass=integrals.point_mass[:0],
            point_u=integrals.point_u[:0],
            point_S=integrals.point_S[:0],
        )
    at = tuple(beam.fields(link.modes, s) for s in stations)
    return FlexibleLink(integrals, link.damping, at, int(link.q[0]), int(link.v[0]))
