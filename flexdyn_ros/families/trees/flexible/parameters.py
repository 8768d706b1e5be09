"""Parameters of beams: LINK/EIy, LINK/EIz, LINK/GJ, LINK/mass_per_length (at the root, where they vary along
the beam) and the damping of each mode, COORDINATE/damping.

tau is linear in them while shapes and the bodies on the beam are held: modal masses and stiffnesses are sums
of what each gives, a damping ratio is converted to coefficients first, and those between two modes stay. The
rotary inertia of a section grows with the mass per length, one that the description states stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynWarning
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import (
    ModalIntegrals,
    modal_integrals,
    modal_mass,
)
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import Profile, constant
from flexdyn_ros.families.trees.flexible.beams.modes import Beam
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.constants import link_constants
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.parameters import Parameter

#: eigenvalues of damping matrices are known to this share
ROUNDING = 1e-12
#: places in FlexibleLinkModel.rigidity
_RIGIDITIES = {"EIy": 1, "EIz": 2, "GJ": 0}


class _Share(NamedTuple):
    """A parameter, its value in the description, and the integrals that a beam has by it alone."""

    parameter: Parameter
    root: float
    part: ModalIntegrals


def beam_parameters(tree: RigidTree) -> tuple[Parameter, ...]:
    """The parameters, link by link, those of links that are no beams last."""
    links, others = ((), ()) if tree.flexible is None else (tree.flexible.links, tree.flexible.others)
    beams = tuple(
        parameter
        for link in links
        for parameter in (*(share.parameter for share in _shares(link)), *_damping(tree, link))
    )
    return beams + tuple(parameter for link in others for parameter in link.parameters())


def with_beams(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of these parameters."""
    if tree.flexible is None or not values:
        return tree
    tables = tree.flexible
    numbers, links = tables.numbers.copy(), []
    for old in tables.links:
        link = _changed(tree, old, values)
        constants = link_constants(link.integrals, link.beam_in_node, link.damping, link.foreshortened)
        flat = constants.flat(link.listed)
        numbers[link.numbers_at : link.numbers_at + len(flat)] = flat
        links.append(link)
    others = tuple(link.with_parameters(values) for link in tables.others)
    for other in others:
        numbers[other.numbers_at : other.numbers_at + len(other.numbers)] = other.numbers
    numbers.setflags(write=False)
    mass = sum(2.0 * float(link.integrals.C[0, 0]) for link in links) + sum(x.mass for x in others)
    return replace(
        tree, flexible=replace(tables, numbers=numbers, links=tuple(links), mass=mass, others=others)
    )


def warn_of_gain(before: RigidTree, after: RigidTree) -> None:
    """Warn of links whose damping matrix D (m, m) is no longer positive semi-definite, because its diagonal
    was made small while the entries between two modes stayed: v' D v < 0 for some rates v. The warning is
    that of the caller of `Robot.with_parameters`."""
    tables = before.flexible, after.flexible
    for old, new in zip(*(() if x is None else x.links for x in tables), strict=True):
        if np.array_equal(old.damping, new.damping) or not new.damping.size:
            continue
        if np.linalg.eigvalsh(new.damping)[0] < -ROUNDING * np.abs(old.damping).max():
            warnings.warn(
                f"{new.name} gains energy in some motions of its modes: damping between two modes stays as "
                f"the description has it; set links.{new.name}.damping.ratio to change all of it",
                FlexdynWarning,
                5,
            )


def _changed(tree: RigidTree, link: FlexibleLinkModel, values: Mapping[str, float]) -> FlexibleLinkModel:
    integrals, mass, rigidity, density = link.integrals, link.modal_mass, list(link.rigidity), link.density
    for (name, value, *_), root, part in _shares(link):
        if name in values:
            share = (values[name] - value) / root
            integrals = integrals.plus(part, share)
            mass = mass + share * modal_mass(part)
            place = _RIGIDITIES.get(name.rpartition("/")[2])
            if place is None:
                density += share
            else:
                rigidity[place] += share
    D = link.damping.copy()
    for i, (name, value, *_) in enumerate(_damping(tree, link)):
        D[i, i] = values.get(name, value)
    return replace(
        link,
        integrals=integrals,
        modal_mass=mass,
        stiffness=integrals.K,
        damping=D,
        rigidity=tuple(rigidity),
        density=density,
    )


def _shares(link: FlexibleLinkModel) -> Iterator[_Share]:
    if not isinstance(link.beam, BeamLink):
        return
    beam, line, breaks = link.beam.beam, link.beam.line, link.beam.breaks

    def alone(name: str, part: Beam) -> ModalIntegrals:
        if name not in link.parts:
            link.parts[name] = modal_integrals(part, link.modes, rotary=link.rotary, breaks=breaks)
        return link.parts[name]

    for name, place in _RIGIDITIES.items():
        profile = getattr(beam, name)
        part = alone(name, Beam(beam.length, constant(0.0), **{name: profile}))
        root = _at_root(profile)
        if root > 0.0 and part.K.any():
            value = root * link.rigidity[place]
            yield _Share(Parameter(f"{link.name}/{name}", value, "N m2", 0.0), root, part)
    root = _at_root(line.mu)
    parameter = Parameter(f"{link.name}/mass_per_length", root * link.density, "kg/m", 0.0)
    yield _Share(parameter, root, alone("mass_per_length", line))


def _at_root(profile: Profile) -> float:
    return float(np.ravel(profile(np.zeros(1)))[0])


def _damping(tree: RigidTree, link: FlexibleLinkModel) -> Iterator[Parameter]:
    for i, v in enumerate(link.v):
        coordinate = tree.coordinates[v]
        unit = "N m s/rad" if coordinate.unit == "rad" else "N s/m"
        yield Parameter(f"{coordinate.name}/damping", float(link.damping[i, i]), unit, 0.0)
