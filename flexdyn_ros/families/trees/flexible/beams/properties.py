"""From what a description says of a flexible link to its beam: geometry, stiffness, mass, and the mass rule.

Beam frame: origin at the root of the centre line, x along it. Pseudo-inertias are unit-first, int h h^T dm
(4, 4) of h = [1, x, y, z], about the beam's root in beam axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi, tanh
from typing import Any, NamedTuple, NoReturn

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.links import Beam as BeamElement
from flexdyn_ros.description.elements.links import FlexibleLink, ISection, Rectangle, Rod, Tube
from flexdyn_ros.families.trees.flexible.beams.link_mass import MassBalance, StationBody, settle_mass
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import ModalIntegrals, modal_integrals
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import Profile, constant
from flexdyn_ros.families.trees.flexible.beams.modes import (
    Beam,
    Mode,
    SectionFields,
    fields_along,
    section_fields,
)
from flexdyn_ros.numerics.algebra.placement import Placement, cross

#: a child joint this close to the tip, as a fraction of the length, hangs on the tip
AT_TIP = 1e-6


@dataclass(frozen=True)
class BeamLink:
    """A flexible link, its geometry and mass settled.

    frame : beam frame in the link frame. line : the part of the beam that grows with its mass per length, as
    a beam without stiffness. breaks : stations between which section properties are smooth. balance : its
    masses. attach : station of each child joint, by its name. section : None where the size of the section is
    unknown.
    """

    element: FlexibleLink
    frame: Placement
    beam: Beam
    line: Beam
    breaks: tuple[float, ...]
    balance: MassBalance
    attach: Mapping[str, float]
    section: CrossSection | None

    @property
    def bodies(self) -> tuple[StationBody, ...]:
        """All rigid bodies on its sections, the remainder of `<inertial>` included."""
        return self.balance.bodies

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the model checks."""
        return self.balance.warnings

    def centre(self, station: Any) -> np.ndarray:
        """Centre of an undeformed section (3,), beam axes [m]."""
        return np.array([station * self.beam.length, 0.0, 0.0])

    def fields(self, modes: Sequence[Mode], station: Any) -> SectionFields:
        """Shapes of all modes at a station."""
        return section_fields(self.beam.length, modes, station)

    def fields_along(self, modes: Sequence[Mode], stations: np.ndarray) -> tuple[np.ndarray, ...]:
        """Shapes at k stations: u, th (m, k, 3), strain (m, k, 4), S (k, m, m)."""
        return fields_along(self.beam.length, modes, stations)

    def integrals(self, modes: Sequence[Mode], rotary: str) -> ModalIntegrals:
        """Modal integrals of the link without the bodies it carries."""
        return modal_integrals(self.beam, modes, rotary=rotary, breaks=self.breaks)

    def stiffness(self, s: np.ndarray) -> np.ndarray:
        """GJ, EIy, EIz, EA (k, 4) at stations."""
        beam = self.beam
        return np.stack([beam.GJ(s), beam.EIy(s), beam.EIz(s), beam.EA(s)], axis=-1)

    def tip_inertia(self) -> np.ndarray:
        """Pseudo-inertia (4, 4) of the bodies on the tip about the undeformed tip's centre."""
        return sum((b.P for b in self.bodies if b.station == 1.0), np.zeros((4, 4)))


def beam_link(description: RobotDescription, link: FlexibleLink) -> BeamLink:
    """Settle geometry, stiffness and mass of a flexible link (not for imported modes).

    Raises
    ------
    DescriptionError
        Naming link and element: children beside the beam, polar inertia that does not fit, masses that do
        not add up.
    """
    return _Draft(description, link).finish()


class _Draft:
    def __init__(self, description: RobotDescription, link: FlexibleLink) -> None:
        assert link.beam is not None
        self.description, self.link, self.element = description, link, link.beam
        self.paper = description.formulation.rotary_inertia == "paper"
        self.frame = beam_frame(self.element)
        self.length = self.element.length or self._farthest_child()
        self.section = None if self.element.section is None else cross_section(self.element.section)
        self.attach = self._attachments()

    def refuse(
        self, message: str, element: str, attribute: str | None, value: object, expected: str
    ) -> NoReturn:
        message = f"link '{self.link.link}': {message}"
        self.description.place(self.link, element).fail(message, attribute, value, expected)

    # ---- geometry ----

    def _projections(self) -> dict[str, float]:
        """Distance along the axis of every child joint [m]."""
        x = self.frame.R[:, 0]
        return {
            j.name: float(x @ (np.array(j.xyz) - self.frame.p))
            for j in self.description.children_of(self.link.link)
        }

    def _farthest_child(self) -> float:
        farthest = max(self._projections().values(), default=0.0)
        if not farthest > 0.0:
            self.refuse(
                "no child joint lies along the beam's axis", "beam", "length", None, "length, or another axis"
            )
        return farthest

    def _attachments(self) -> dict[str, float]:
        stated = {each.joint: each.station for each in self.link.attach}
        stations = {}
        for name, along in self._projections().items():
            at_tip = abs(along - self.length) <= AT_TIP * self.length
            station = stated.get(name, 1.0 if at_tip else None)
            if station is None:
                self.refuse(
                    f"child joint '{name}' is {along:g} m along the beam, not at its tip",
                    "beam",
                    "length",
                    self.length,
                    self._remedy(name, along),
                )
            if station == "auto":
                station = 1.0 if at_tip else along / self.length
                if not 0.0 <= station <= 1.0:
                    self.refuse(
                        f"child joint '{name}' projects to {along:g} m, outside the beam",
                        "attach",
                        "station",
                        "auto",
                        "a station from 0 to 1",
                    )
            stations[name] = float(station)
        return stations

    def _remedy(self, joint: str, along: float) -> str:
        """What to change where a child joint is neither at the tip nor attached."""
        attach = f'<attach joint="{joint}" station="auto"/>'
        if along > AT_TIP * self.length:
            return f'length="{along:.9g}", or {attach}'
        tip = self.frame.p + self.length * self.frame.R[:, 0]
        xyz = " ".join(f"{x + 0.0:.9g}" for x in tip)
        return f"<origin xyz=\"{xyz}\"/> of joint '{joint}' for the tip, or {attach} where it is"

    # ---- properties along the beam ----

    def profile(self, name: str, default: float | None = None) -> Profile:
        """A property as a function of the station: number, column of the table, or the default."""
        table = self.element.table
        if table is not None and name in table.columns:
            stations = np.array([row[0] for row in table.rows])
            values = np.array([row[table.columns.index(name)] for row in table.rows])
            return lambda s: _piecewise(np.asarray(s, dtype=float), stations, values)
        value = getattr(self.element, name)
        return constant(value if value is not None else default or 0.0)

    def has(self, name: str) -> bool:
        table = self.element.table
        return getattr(self.element, name) is not None or (table is not None and name in table.columns)

    def finish(self) -> BeamLink:
        E, G = self._moduli()
        A = self.section
        mu = self._mass_per_length()
        Jyy, Jzz, Jx = self._rotary(mu)
        beam = Beam(
            length=self.length,
            mu=mu,
            EIy=self.profile("EIy", A and E * A.Iy),
            EIz=self.profile("EIz", A and E * A.Iz),
            GJ=self.profile("GJ", A and G * A.J),
            EA=self.profile("EA", A and E * A.area),
            Jx=Jx,
            Jyy=Jyy,
            Jzz=Jzz,
        )
        table = self.element.table
        breaks = (0.0, 1.0) if table is None else tuple(sorted({row[0] for row in table.rows}))
        balance = settle_mass(
            self.description,
            self.link,
            self.frame,
            self.length,
            lambda station: np.array([station * self.length, 0.0, 0.0]),
            2.0 * modal_integrals(beam, (), rotary="consistent", breaks=breaks).C,
        )
        line = self._line(mu)
        return BeamLink(self.link, self.frame, beam, line, breaks, balance, self.attach, self.section)

    def _moduli(self) -> tuple[float, float]:
        material = self.element.material
        if material is None or material.E is None:
            return 0.0, 0.0
        if material.G is not None:
            return material.E, material.G
        return material.E, 0.0 if material.poisson is None else material.E / (2.0 * (1.0 + material.poisson))

    def _mass_per_length(self) -> Profile:
        if self.has("mass_per_length"):
            return self.profile("mass_per_length")
        material = self.element.material
        if self.section is not None and material is not None and material.density is not None:
            return constant(material.density * self.section.area)
        inertial = self.description.link(self.link.link).inertial
        left = (inertial.mass if inertial else 0.0) - sum(b.mass for b in self.link.bodies)
        if not left > 0.0:
            self.refuse(
                f"<inertial> leaves {left:g} kg for the beam",
                "beam",
                "mass_per_length",
                None,
                "mass_per_length, or lighter <body> elements",
            )
        return constant(left / self.length)

    def _line(self, mu: Profile) -> Beam:
        """The line mass and the rotary inertia that follows from it."""
        whole, stated = self._rotary(mu), self._rotary(constant(0.0))
        Jyy, Jzz, Jx = (_difference(a, b) for a, b in zip(whole, stated, strict=True))
        return Beam(length=self.length, mu=mu, Jx=Jx, Jyy=Jyy, Jzz=Jzz)

    def _rotary(self, mu: Profile) -> tuple[Profile, Profile, Profile]:
        """Jyy (about y), Jzz (about z), Jx per length: stated, from the section, half of the polar, or
        zero."""
        A, polar = self.section, self.profile("polar_inertia")
        Jyy = self._of_section("rotary_inertia_y", None if A is None else A.Iy / A.area, mu, polar)
        Jzz = self._of_section("rotary_inertia_z", None if A is None else A.Iz / A.area, mu, polar)
        if not self.has("polar_inertia"):
            return Jyy, Jzz, lambda s: Jyy(s) + Jzz(s)
        s = np.linspace(0.0, 1.0, 101)
        if not self.paper and np.any(
            np.abs(polar(s) - Jyy(s) - Jzz(s)) > 1e-6 * (polar(s) + Jyy(s) + Jzz(s))
        ):
            self.refuse(
                "polar_inertia is not the sum of rotary_inertia_y and rotary_inertia_z",
                "beam",
                "polar_inertia",
                float(polar(s)[0]),
                f"{float((Jyy(s) + Jzz(s))[0]):.9g}, or nothing; another value only with "
                "rotary_inertia='paper'",
            )
        return Jyy, Jzz, polar

    def _of_section(self, name: str, ratio: float | None, mu: Profile, polar: Profile) -> Profile:
        """A rotary inertia: stated, mu x I/A of the section (`ratio`), or half of the polar inertia."""
        if self.has(name):
            return self.profile(name)
        if ratio is None:
            return lambda s: 0.5 * polar(s)
        return lambda s: ratio * mu(s)


def beam_frame(element: BeamElement) -> Placement:
    """Beam frame in the link frame: x = axis, z = link z made perpendicular (link z along the axis: y =
    link y)."""
    x = np.asarray(element.axis, dtype=float)
    if element.y_axis is not None:
        y = np.asarray(element.y_axis, dtype=float)
        y = y - (x @ y) * x
    else:
        z = np.array([0.0, 0.0, 1.0])
        y = cross(z, x)
        if np.sqrt(y @ y) < 1e-9:
            y = np.array([0.0, 1.0, 0.0])
    y = y / np.sqrt(y @ y)
    return Placement(np.column_stack([x, y, cross(x, y)]), np.asarray(element.origin, dtype=float))


def _difference(a: Profile, b: Profile) -> Profile:
    return lambda s: a(s) - b(s)


def _piecewise(s: np.ndarray, stations: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Piecewise linear; at a repeated station the value after the step."""
    i = np.clip(np.searchsorted(stations, s, side="right") - 1, 0, len(stations) - 2)
    width = stations[i + 1] - stations[i]
    part = np.where(width > 0.0, (s - stations[i]) / np.where(width > 0.0, width, 1.0), 1.0)
    return values[i] + part * (values[i + 1] - values[i])


# Cross sections of beams: area, second moments, torsion constant, largest distances from the centre.


class CrossSection(NamedTuple):
    """area [m2]; Iy = int z^2 dA, Iz = int y^2 dA [m4]; J St-Venant's torsion constant [m4].

    reach_y, reach_z: largest |y|, |z| [m]; is_round: fibres lie on a circle of that radius.
    """

    area: float
    Iy: float
    Iz: float
    J: float
    reach_y: float
    reach_z: float
    is_round: bool


def cross_section(section: Tube | Rod | Rectangle | ISection) -> CrossSection:
    """Numbers of a section of the description; width along beam y, height along beam z."""
    if isinstance(section, Tube):
        return _ring(section.outer_radius, section.outer_radius - section.wall)
    if isinstance(section, Rod):
        return _ring(section.radius, 0.0)
    if isinstance(section, Rectangle):
        return _rectangle(section.width, section.height)
    return _i_section(section.width, section.height, section.web, section.flange)


def _ring(outer: float, inner: float) -> CrossSection:
    I = pi / 4.0 * (outer**4 - inner**4)
    return CrossSection(pi * (outer**2 - inner**2), I, I, 2.0 * I, outer, outer, True)


def _rectangle(width: float, height: float) -> CrossSection:
    """J = a b^3 (1/3 - 64/pi^5 b/a sum tanh(n pi a/2b)/n^5), n odd, a >= b (Timoshenko & Goodier 1970, art.
    109)."""
    a, b = max(width, height), min(width, height)
    series = sum(tanh(n * pi * a / (2.0 * b)) / n**5 for n in range(1, 400, 2))
    J = a * b**3 * (1.0 / 3.0 - 64.0 / pi**5 * b / a * series)
    return CrossSection(
        width * height,
        width * height**3 / 12.0,
        height * width**3 / 12.0,
        J,
        width / 2.0,
        height / 2.0,
        False,
    )


def _i_section(width: float, height: float, web: float, flange: float) -> CrossSection:
    """Two flanges across z = +-height/2 and a web along z; J = sum b t^3 / 3 (thin walls)."""
    clear = height - 2.0 * flange
    return CrossSection(
        area=2.0 * width * flange + clear * web,
        Iy=(width * height**3 - (width - web) * clear**3) / 12.0,
        Iz=(2.0 * flange * width**3 + clear * web**3) / 12.0,
        J=(2.0 * width * flange**3 + clear * web**3) / 3.0,
        reach_y=width / 2.0,
        reach_z=height / 2.0,
        is_round=False,
    )
