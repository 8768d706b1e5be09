"""Numbers of a hydraulic supply as kernels see them: one row of parameters and one of state each.

Symbols as in docs/theory/hydraulics.md. Pressures are absolute. Cylinders name their supply by the index of
its row (column SUPPLY_INDEX of memory.py).
"""

from __future__ import annotations

#: columns of a row of parameters [SI]
SUPPLY_PARAMETERS = (
    "pump",  # kind, as below
    "supply_pressure",  # p_s of an ideal supply, setting of a pump of constant pressure
    "supply_tank",  # p_t
    "supply_atmosphere",  # p_atm
    "supply_bulk_modulus",  # beta_l
    "supply_air",  # alpha0
    "supply_polytropic",  # n
    "line_volume",  # V_l between pump and valves, > 0 with a pump
    "displacement",  # D [m3/rad]
    "speed",  # omega [rad/s]; can be changed while a robot moves
    "band",  # of the pump's compensator [Pa]
    "pump_leakage",  # C to tank [m3/(s Pa)]
    "swivel_time",  # lag of the swivel [s]; 0: none
    "margin",  # of load sensing [Pa]
    "maximum_pressure",  # of load sensing [Pa]
    "line_relief_pressure",  # infinite: none
    "line_relief",  # conductance of the relief valve [m3/(s Pa)]
    "accumulator_volume",  # 0: none
    "precharge",  # absolute [Pa]
    "accumulator_exponent",
    "supply_rtol",
    "supply_atol",
)
(
    PUMP,
    SET_PRESSURE,
    TANK,
    ATMOSPHERE,
    BULK_MODULUS,
    AIR,
    POLYTROPIC,
    LINE_VOLUME,
    DISPLACEMENT,
    SPEED,
    BAND,
    PUMP_LEAKAGE,
    SWIVEL_TIME,
    MARGIN,
    MAXIMUM_PRESSURE,
    RELIEF_PRESSURE,
    RELIEF,
    ACCUMULATOR_VOLUME,
    PRECHARGE,
    ACCUMULATOR_EXPONENT,
    RTOL,
    ATOL,
) = range(len(SUPPLY_PARAMETERS))
SUPPLY_PARAMETER_COUNT = len(SUPPLY_PARAMETERS)

#: kinds of pumps; IDEAL: constant pressure whatever flows
IDEAL, CONSTANT_PRESSURE, FIXED_DISPLACEMENT, LOAD_SENSING = 0.0, 1.0, 2.0, 3.0

#: columns of a row of state
SUPPLY_STATE = (
    "pressure",  # p_s
    "swivel",  # share of the displacement that the pump works with, 0..1
    "oil_line",  # s_l, volume of the oil at atmospheric pressure [m3]; <= 0: from the pressure
    "pump_flow",  # Q_p at the pressure of the line [m3/s]; of an ideal supply all that the cylinders take
    "pump_work",  # enthalpy of the oil that the pump gave, less its own leakage [J]
    "line_loss",  # enthalpy of the oil that the relief valve of the line let go [J]
    "supply_attempts",  # sub-steps tried in the last tick
    "supply_flags",  # FORCED_STEP, FAULT of memory.py
)
(
    PRESSURE,
    SWIVEL,
    OIL_LINE,
    PUMP_FLOW,
    PUMP_WORK,
    LINE_LOSS,
    SUPPLY_ATTEMPTS,
    SUPPLY_FLAGS,
) = range(len(SUPPLY_STATE))
SUPPLY_STATE_COUNT = len(SUPPLY_STATE)
