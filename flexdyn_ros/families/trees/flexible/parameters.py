"""Parameters of beams: LINK/EIy, LINK/EIz, LINK/GJ (at the root, where they vary along the beam) and the
damping of each mode, COORDINATE/damping.

tau is linear in them while shapes and masses are held: a modal stiffness matrix is the sum of what each
rigidity gives, a damping ratio is converted to coefficients first, and those between two modes stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.flexible.beams.mode_shapes import constant
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.parameters import Parameter

#: places in FlexibleLinkModel.rigidity
_RIGIDITIES = {"EIy": 1, "EIz": 2, "GJ": 0}


class _Term(NamedTuple):
    """A parameter, by how much K and D (m, m) change for each unit of it, and what `rigidity` of the link is
    multiplied with for each unit: its place, and one by the rigidity of the description."""

    parameter: Parameter
    K: np.ndarray
    D: np.ndarray
    rigidity: tuple[int, float] = (0, 0.0)


def beam_parameters(tree: RigidTree) -> tuple[Parameter, ...]:
    """The parameters, link by link."""
    links = () if tree.flexible is None else tree.flexible.links
    return tuple(term.parameter for link in links for term in _terms(tree, link))


def with_beams(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree with other values of these parameters."""
    if tree.flexible is None:
        return tree
    tables = tree.flexible
    numbers, links = tables.numbers.copy(), []
    for link in tables.links:
        K, D, rigidity = link.stiffness.copy(), link.damping.copy(), list(link.rigidity)
        for term in _terms(tree, link):
            if term.parameter.name in values:
                change = values[term.parameter.name] - term.parameter.value
                K += change * term.K
                D += change * term.D
                place, share = term.rigidity
                rigidity[place] += change * share
        _write(numbers, link.numbers_at, K, D)
        links.append(replace(link, stiffness=K, damping=D, rigidity=tuple(rigidity)))
    numbers.setflags(write=False)
    return replace(tree, flexible=replace(tables, numbers=numbers, links=tuple(links)))


def _terms(tree: RigidTree, link: FlexibleLinkModel) -> Iterator[_Term]:
    m, beam = len(link.modes), link.beam
    none = np.zeros((m, m))
    if isinstance(beam, BeamLink):
        rest = dict.fromkeys((*_RIGIDITIES, "EA"), constant(0.0))
        for name, place in _RIGIDITIES.items():
            profile = getattr(beam.beam, name)
            root = float(np.ravel(profile(np.zeros(1)))[0])
            alone = replace(beam, beam=replace(beam.beam, **{**rest, name: profile}))
            K = alone.integrals(link.modes, "none").K
            if root > 0.0 and K.any():
                parameter = Parameter(f"{link.name}/{name}", root * link.rigidity[place], "N m2", 0.0)
                yield _Term(parameter, K / root, none, (place, 1.0 / root))
    for i, v in enumerate(link.v):
        coordinate = tree.coordinates[v]
        unit = "N m s/rad" if coordinate.unit == "rad" else "N s/m"
        D = none.copy()
        D[i, i] = 1.0
        yield _Term(Parameter(f"{coordinate.name}/damping", float(link.damping[i, i]), unit, 0.0), none, D)


def _write(numbers: np.ndarray, at: int, K: np.ndarray, D: np.ndarray) -> None:
    """K and D of a link whose constants begin at `at`, where `LinkConstants.flat` puts them."""
    m = len(K)
    first = at + 10 + 12 * m + 13 * m * m
    numbers[first : first + m * m] = K.ravel()
    numbers[first + m * m : first + 2 * m * m] = D.ravel()
