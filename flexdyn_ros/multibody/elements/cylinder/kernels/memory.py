"""Numbers of a servo-hydraulic cylinder as kernels see them: one row of parameters and one of state each.

Symbols as in docs/theory/hydraulics.md. Pressures are absolute. The oil of a chamber is what is integrated;
its pressure follows from it and the stroke. Where a column of oil is 0 or less, the next tick computes the
oil from the pressure: so whoever writes a pressure writes 0 there. Rows of supplies are in supplies.py.
"""

from __future__ import annotations

#: columns of a row of parameters [SI]
PARAMETERS = (
    "bore_area",  # A1
    "rod_area",  # A2
    "dead_volume_bore",  # V01
    "dead_volume_rod",  # V02
    "shortest",  # length at stroke zero, ell_min
    "stroke",  # S
    "valve_bore",  # K1 [m3/(s sqrt Pa)]
    "valve_rod",  # K2
    "spool_frequency",  # omega_v [rad/s]; 0: first order
    "spool_damping",  # zeta_v
    "spool_time",  # T_v [s], first order; 0 with spool_frequency 0: the spool follows at once
    "overlap",
    "null_opening",
    "slew_rate",  # [1/s], infinite: none
    "transition",  # Delta0
    "bulk_modulus",  # beta_l
    "air",  # alpha0; 0: constant bulk modulus
    "polytropic",  # n
    "cavitation",  # p_cav
    "supply",  # p_s
    "tank",  # p_t
    "atmosphere",  # p_atm
    "relief_pressure",  # p_rv, infinite: none
    "relief",  # K_rv
    "makeup",  # K_ac
    "leak_internal",  # C_i
    "leak_bore",  # C_e1
    "leak_rod",  # C_e2
    "friction_law",
    "coulomb",  # F_C
    "static",  # F_S
    "stribeck",  # v_s
    "smoothing",  # v_0
    "viscous",  # b
    "bristle_stiffness",  # sigma0
    "bristle_damping",  # sigma1
    "stop_stiffness",  # k_e
    "stop_damping",  # d_e
    "cushion_length",  # 0: none
    "cushion_minimum",
    "control_law",
    "kp",
    "ki",
    "lead",  # 1: the lag of the valve is compensated
    "nominal_gain",  # G of the control law pi [N/s]
    "rtol",
    "atol",
    "supply_index",  # row of the supply that the cylinder hangs on; -1: an ideal one of its own
    "compensation",  # largest drop that the edges from the supply see [Pa]; infinite: no compensator
    "cracking_bore",  # counterbalance valve at the port of the bore side, p_crack [Pa]
    "pilot_bore",  # R
    "counterbalance_bore",  # K_cb [m3/(s sqrt Pa)]; 0: no valve
    "range_bore",  # pressure from closed to open [Pa]
    "cracking_rod",
    "pilot_rod",
    "counterbalance_rod",
    "range_rod",
)
(
    AREA_1,
    AREA_2,
    DEAD_1,
    DEAD_2,
    SHORTEST,
    LONGEST_STROKE,
    VALVE_1,
    VALVE_2,
    SPOOL_FREQUENCY,
    SPOOL_DAMPING,
    SPOOL_TIME,
    OVERLAP,
    NULL_OPENING,
    SLEW_RATE,
    TRANSITION,
    BULK_MODULUS,
    AIR,
    POLYTROPIC,
    CAVITATION_PRESSURE,
    SUPPLY,
    TANK,
    ATMOSPHERE,
    RELIEF_PRESSURE,
    RELIEF,
    MAKEUP,
    LEAK_INTERNAL,
    LEAK_1,
    LEAK_2,
    FRICTION_LAW,
    COULOMB,
    STATIC,
    STRIBECK,
    SMOOTHING,
    VISCOUS,
    BRISTLE_STIFFNESS,
    BRISTLE_DAMPING,
    STOP_STIFFNESS,
    STOP_DAMPING,
    CUSHION_LENGTH,
    CUSHION_MINIMUM,
    CONTROL_LAW,
    KP,
    KI,
    LEAD,
    NOMINAL_GAIN,
    RTOL,
    ATOL,
    SUPPLY_INDEX,
    COMPENSATION,
    CRACKING_1,
    PILOT_1,
    COUNTERBALANCE_1,
    RANGE_1,
    CRACKING_2,
    PILOT_2,
    COUNTERBALANCE_2,
    RANGE_2,
) = range(len(PARAMETERS))
PARAMETER_COUNT = len(PARAMETERS)

NO_FRICTION, STRIBECK_LAW, LUGRE_LAW = 0.0, 1.0, 2.0
FEEDBACK_LINEARIZATION, PI_LAW = 0.0, 1.0

#: columns of a row of state: what is reported, then what only the next tick needs
STATE = (
    "force",  # tau
    "force_hydraulic",  # F_hyd
    "force_friction",  # F_fric
    "force_stop",  # F_stop
    "pressure_bore",  # p1
    "pressure_rod",  # p2
    "flow_bore",  # Q1
    "flow_rod",  # Q2
    "spool",  # x
    "valve_command",  # u
    "stroke",  # y
    "flags",
    "spool_rate",  # x'
    "slewed_command",  # u behind the slew limit
    "bristle",  # z
    "integral",  # I [N/s]
    "last_rate",  # v one tick ago
    "rate_slope",  # filtered difference of v
    "attempts",  # sub-steps tried in the last tick
    "oil_bore",  # s1, volume of the oil at atmospheric pressure [m3]; <= 0: from the pressure
    "oil_rod",  # s2
    "oil_stroke",  # stroke at which this oil has these pressures
    "supply_work",  # enthalpy of the oil that came from the supply [J]
    "piston_work",  # of the pressures over that of the atmosphere, on the piston [J]
    "oil_loss",  # enthalpy lost at edges, valves and leaks; what reaches the tank is lost [J]
)
(
    FORCE,
    FORCE_HYDRAULIC,
    FORCE_FRICTION,
    FORCE_STOP,
    PRESSURE_1,
    PRESSURE_2,
    FLOW_1,
    FLOW_2,
    SPOOL,
    VALVE_COMMAND,
    STROKE,
    FLAGS,
    SPOOL_RATE,
    SLEWED_COMMAND,
    BRISTLE,
    INTEGRAL,
    LAST_RATE,
    RATE_SLOPE,
    ATTEMPTS,
    OIL_1,
    OIL_2,
    OIL_STROKE,
    SUPPLY_WORK,
    PISTON_WORK,
    OIL_LOSS,
) = range(len(STATE))
STATE_COUNT = len(STATE)

# bits of the flags (flexdyn_interfaces/msg/HydraulicState)
VALVE_SATURATED = 1
STROKE_LOW = 2
STROKE_HIGH = 4
CAVITATION = 8
OVER_PRESSURE = 16
STALE_COMMAND = 32
STALE_LEG_STATE = 64
INPUT_REJECTED = 128
FORCED_STEP = 256
FORCE_UNREACHABLE = 512
FAULT = 32768

#: how a command is meant
VALVE, FORCE_COMMAND = 0, 1

# ---- where the memory of cylinders begins (trees/elements/kernels/oil.py) ----

# how commands are meant; cylinders and supplies that kept their state because the new one was not finite; how
# they move in fixed steps; how rough the last was, of implicit steps
MODE, FAULTS, IS_STAGGERED, ROUGHNESS = range(4)
#: efforts are forces on the rods, as without cylinders; valve openings; forces that the cylinders control;
#: each as its row says
DIRECT, BY_VALVE, BY_FORCE, BY_EACH = 0.0, 1.0, 2.0, 3.0
