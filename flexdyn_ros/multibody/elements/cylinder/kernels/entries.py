"""Entries of cylinders on supplies from Python, and where they start."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import memory as at
from . import supplies as of
from .cylinder import volumes
from .forces import rest_cylinder, rod_force
from .oil import energies, fluid_of, volume_and_stiffness
from .pumps import demanded, line_energy, line_oil, resting_pressure
from .ticks import tick_supplies

_A = "float64[::1]"


@kernel
def rest_supply(S, Y):
    """Write to Y a supply whose valves are all shut."""
    for k in range(of.SUPPLY_STATE_COUNT):
        Y[k] = 0.0
    p = resting_pressure(S)
    Y[of.PRESSURE] = p
    if S[of.PUMP] != of.IDEAL:
        Y[of.OIL_LINE], Y[of.SWIVEL] = line_oil(S, p), demanded(S, p, S[of.TANK])[0]


@kernel
def oil_energy(P, X):
    """Elastic energy of the oil in both chambers [J], of a state whose pressures belong to its stroke; oil
    that is not known yet is that of the pressures."""
    V1, V2, _ = volumes(P, X[at.OIL_STROKE])
    fluid = fluid_of(P)
    p1, p2 = X[at.PRESSURE_1], X[at.PRESSURE_2]
    w1, w2 = volume_and_stiffness(fluid, p1)[0], volume_and_stiffness(fluid, p2)[0]
    s1 = X[at.OIL_1] if X[at.OIL_1] > 0.0 else V1 / w1
    s2 = X[at.OIL_2] if X[at.OIL_2] > 0.0 else V2 / w2
    return s1 * energies(fluid, p1, w1)[0] + s2 * energies(fluid, p2, w2)[0]


@entry(f"int64({_A}, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, float64, float64)", nogil=True)
def tick(
    parameters, pumps, states, supply_states, work, lengths, rates, accelerations, commands, modes, dt, follow
):
    """`tick_supplies` of cylinders with these lengths, rates and accelerations (n,) at its beginning."""
    motion = (lengths, rates, accelerations)
    return tick_supplies(parameters, pumps, states, supply_states, work, motion, commands, modes, dt, follow)


@entry(f"void({_A}, {_A}, {_A}, {_A}, {_A}, {_A})")
def rest(parameters, pumps, states, supply_states, forces, lengths):
    """Write states of cylinders at rest that exert forces (n,) [N] at lengths (n,) [m], and of their
    supplies; FORCE_UNREACHABLE where a cylinder cannot."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        X = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        rest_cylinder(P, X, P[at.SUPPLY], forces[i], lengths[i] - P[at.SHORTEST])
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S = window(pumps, k * of.SUPPLY_PARAMETER_COUNT, of.SUPPLY_PARAMETER_COUNT)
        rest_supply(S, window(supply_states, k * of.SUPPLY_STATE_COUNT, of.SUPPLY_STATE_COUNT))


@entry(f"void({_A}, {_A}, {_A}, {_A})")
def exert(parameters, states, lengths, rates):
    """Write the forces of cylinders with these lengths and rates (n,) [m, m/s] to their states [N]."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        X = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        X[at.FORCE] = rod_force(P, X, lengths[i] - P[at.SHORTEST], rates[i])


@entry(f"void({_A}, {_A}, {_A}, {_A}, {_A}, {_A})")
def stored(parameters, pumps, states, supply_states, of_cylinders, of_lines):
    """Write the elastic energies of the oil in cylinders (n,), and of that in lines with their accumulators
    (m,) [J]."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        of_cylinders[i] = oil_energy(P, window(states, i * at.STATE_COUNT, at.STATE_COUNT))
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S = window(pumps, k * of.SUPPLY_PARAMETER_COUNT, of.SUPPLY_PARAMETER_COUNT)
        Y = window(supply_states, k * of.SUPPLY_STATE_COUNT, of.SUPPLY_STATE_COUNT)
        p = Y[of.PRESSURE]
        oil = Y[of.OIL_LINE] if Y[of.OIL_LINE] > 0.0 or S[of.PUMP] == of.IDEAL else line_oil(S, p)
        of_lines[k] = 0.0 if S[of.PUMP] == of.IDEAL else line_energy(S, oil, p)
