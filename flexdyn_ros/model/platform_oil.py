"""Stiffness of the oil columns in the legs of a platform whose valves are closed.

Parallel specification, section 8: K = beta (A1^2/V1 + A2^2/V2). A leg at rest whose internal leakage the
valve makes up for has p1 + p2 = supply + tank; the force it carries tells p1 and p2 apart.
"""

from __future__ import annotations

from math import exp, pi

from flexdyn_ros.description.platform_elements import Fluid, Hydraulics

__all__ = ["bulk_modulus", "oil_stiffness", "resting_pressures"]


def resting_pressures(hydraulics: Hydraulics, force: float) -> tuple[float, float]:
    """Absolute pressures [Pa] of bore and rod side at rest under a force [N] on the rod; at least that of
    the cavitation guard."""
    bore, rod = areas(hydraulics)
    supply = hydraulics.supply
    total = supply.pressure + supply.tank_pressure
    load = force + (bore - rod) * supply.atmospheric_pressure
    first = (load + rod * total) / (bore + rod)
    least = hydraulics.fluid.cavitation_pressure
    return max(first, least), max(total - first, least)


def areas(hydraulics: Hydraulics) -> tuple[float, float]:
    """Areas of the piston on the bore and the rod side [m2]."""
    D, d = hydraulics.cylinder.bore, hydraulics.cylinder.rod_diameter
    return 0.25 * pi * D * D, 0.25 * pi * (D * D - d * d)


def bulk_modulus(fluid: Fluid, pressure: float, atmospheric: float) -> float:
    """Bulk modulus [Pa] of oil with entrained air at an absolute pressure [Pa]."""
    if fluid.model == "constant":
        return fluid.bulk_modulus
    assert fluid.air_fraction is not None
    n, a = fluid.polytropic_exponent, fluid.air_fraction
    air = a * (atmospheric / pressure) ** (1.0 / n)
    oil = (1.0 - a) * exp(-(pressure - atmospheric) / fluid.bulk_modulus)
    return (oil + air) / (oil / fluid.bulk_modulus + air / (n * pressure))


def oil_stiffness(hydraulics: Hydraulics, travel: float, stroke: float, force: float) -> float:
    """Stiffness [N/m] of a leg at piston position `travel` of `stroke` [m] that carries `force` [N]."""
    bore, rod = areas(hydraulics)
    cylinder, supply = hydraulics.cylinder, hydraulics.supply
    travel = min(max(travel, 0.0), stroke)
    V1 = cylinder.dead_volume_bore + bore * travel
    V2 = cylinder.dead_volume_rod + rod * (stroke - travel)
    p1, p2 = resting_pressures(hydraulics, force)
    b1, b2 = (bulk_modulus(hydraulics.fluid, p, supply.atmospheric_pressure) for p in (p1, p2))
    return b1 * bore**2 / V1 + b2 * rod**2 / V2
