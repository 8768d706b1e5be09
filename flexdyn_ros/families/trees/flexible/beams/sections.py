"""Cross sections of beams: area, second moments, torsion constant, largest distances from the centre."""

from __future__ import annotations

from math import pi, tanh
from typing import NamedTuple

from flexdyn_ros.description.elements.links import ISection, Rectangle, Rod, Tube


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
