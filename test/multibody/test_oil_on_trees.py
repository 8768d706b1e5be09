"""Oil in cylinders between frames of a tree: what is refused, states, commands, runs, modes."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from oil_robots import FLUID, HANGING, hanging

import flexdyn_ros
from flexdyn_ros.errors import (
    DescriptionError,
    DimensionError,
    FlexdynError,
    FlexdynWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.families.trees.elements.checks import feed_of_overrun
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.simulation import FusedHydraulics, Stepper, ValveOpenings

#: O2 of the worked numbers: pressures in equilibrium with 300 kg, where the rod side has 20 bar
START = {"lift/pressure_bore": 2514584.472, "lift/pressure_rod": 20e5}
PUMP = '<pump type="{}" displacement="1.2e-5" speed="157" {}/>'


COUNTERBALANCE = '<counterbalance port="bore" cracking_pressure="{}" pilot_ratio="{}" conductance="{}"/>'
CONSTANT, FIXED, SENSING = "constant_pressure", "fixed_displacement", "load_sensing"
LINE = 'line_volume="1e-3"'
SENSES = LINE + ' margin="2e6" maximum_pressure="2e7"'
STOP = '<end_stop stiffness="1e8" damping="1"/>'
HOSE = '<hose port="bore" volume="1e-4"/>'

WRONG = [
    (
        hanging(in_cylinder=COUNTERBALANCE.format(0, 4, 1e-7)),
        "counterbalance",
        "cracking_pressure",
        "'0'",
        "> 0 Pa",
    ),
    (
        hanging(in_cylinder=COUNTERBALANCE.format(9e6, -1, 1e-7)),
        "counterbalance",
        "pilot_ratio",
        "'-1'",
        ">= 0",
    ),
    (hanging(in_cylinder=COUNTERBALANCE.format(9e6, 1, 0)), "counterbalance", "conductance", "'0'", "> 0"),
    (
        hanging(in_cylinder=2 * COUNTERBALANCE.format(9e6, 4, 1e-7)),
        *("counterbalance", "'bore'", "twice", "once"),
    ),
    (
        hanging(in_cylinder=COUNTERBALANCE.format(9e6, 4, 1e-7).replace('"bore"', '"tank"')),
        *("counterbalance", "port", "'tank'", "bore, rod"),
    ),
    (hanging(in_cylinder=2 * HOSE), "hose", "'bore'", "twice", "once"),
    (hanging(in_cylinder=HOSE.replace("1e-4", "-1e-4")), "hose", "volume", "'-1e-4'", "> 0 m3"),
    (hanging(valve='time_constant="0.01" compensation="0"'), "valve", "compensation", "'0'", "> 0 Pa"),
    (hanging(in_cylinder=FLUID), "hydraulics/fluid", "unknown element <fluid>"),
    (hanging(in_supply=PUMP.format(CONSTANT, "")), "pump", "line_volume", "missing"),
    (
        hanging(in_supply=PUMP.format("piston", LINE)),
        "pump",
        "type",
        "'piston'",
        f"{CONSTANT}, {FIXED}, {SENSING}",
    ),
    (
        hanging(in_supply=PUMP.format(CONSTANT, LINE).replace("1.2e-5", "0")),
        *("pump", "displacement", "'0'", "> 0 m3/rad"),
    ),
    (
        hanging(in_supply=PUMP.format(CONSTANT, LINE).replace("157", "-1")),
        "pump",
        "speed",
        "'-1'",
        "> 0 rad/s",
    ),
    (
        hanging(in_supply=PUMP.format(CONSTANT, LINE.replace("1e-3", "0"))),
        *("pump", "line_volume", "'0'", "> 0 m3"),
    ),
    (
        hanging(in_supply=PUMP.format(CONSTANT, LINE) + '<accumulator volume="0" precharge="9e6"/>'),
        *("accumulator", "volume", "'0'", "> 0 m3"),
    ),
    (hanging(in_supply=PUMP.format(FIXED, LINE)), "supply[oil]", "pressure", "160e5", "relief_pressure"),
    (
        hanging(in_supply=PUMP.format(SENSING, LINE + ' margin="2e6"'), supply=""),
        *("pump", "maximum_pressure", "missing", "load_sensing"),
    ),
    (hanging(in_supply=PUMP.format(SENSING, LINE), supply=""), "pump", "margin", "missing"),
    (hanging(in_supply=PUMP.format(SENSING, SENSES)), "supply[oil]", "pressure", "160e5", "maximum_pressure"),
    (hanging(in_supply=PUMP.format(FIXED, LINE), supply=""), "supply[oil]", "relief_pressure", FIXED),
    (
        hanging(in_supply=PUMP.format(SENSING, SENSES), supply='relief_pressure="1e6"'),
        *("supply[oil]", "relief_pressure", "1e6", "2e+06"),
    ),
    (hanging(in_supply=2 * PUMP.format(CONSTANT, LINE)), "pump", "twice"),
    (hanging(in_supply='<accumulator volume="1e-3" precharge="9e6"/>'), "supply[oil]", "pump"),
    (hanging(supply=""), "supply[oil]", "'pressure'", "missing"),
    (hanging(supply='pressure="2e5"'), "supply[oil]", "tank_pressure", "3e5", "below 200000 Pa"),
    (
        HANGING.replace('supply="oil"', 'supply="oi"'),
        *("cylinder 'lift'", "supply", "'oi'", "did you mean 'oil'"),
    ),
    (HANGING.replace("oil", "lift"), "cylinder 'lift'", "name", "a name of its own"),
    (HANGING.replace(STOP, ""), "cylinder[lift]", "<end_stop> is missing"),
    (
        HANGING.replace("</hydraulics>", f"</hydraulics>{STOP}"),
        *("cylinder[lift]", "<end_stop> in <hydraulics> and in <cylinder>", "one of them"),
    ),
    (
        HANGING.replace("</hydraulics>", '</hydraulics><force maximum="1"/>'),
        *("cylinder[lift]", "<force> and <hydraulics>", "one of them"),
    ),
]


@pytest.mark.parametrize(("text", "words"), [(text, words) for text, *words in WRONG])
def test_what_oil_refuses_is_told_by_file_element_value_and_expectation(text, words, tmp_path):
    file = tmp_path / "wrong.urdf"
    file.write_text(text)
    with pytest.raises(DescriptionError) as told:
        flexdyn_ros.load(file)
    for word in ("wrong.urdf:", *words):
        assert word in str(told.value)


def test_a_supply_that_nobody_uses_is_a_warning():
    text = hanging(in_robot=f'<supply name="idle" pressure="1e7" tank_pressure="1e5">{FLUID}</supply>')
    robot = flexdyn_ros.load(text)
    assert "no cylinder uses supply 'idle'" in robot.warnings


def test_states_have_names_units_and_rest_values():
    robot = flexdyn_ros.load(HANGING)
    assert [state.name for state in robot.element_states] == [
        "lift/pressure_bore",
        "lift/pressure_rod",
        "lift/spool",
    ]
    q = robot.neutral()
    bore, rod, spool = robot.rest_states(q)
    area = 0.25 * np.pi * 0.05**2
    ring = area - 0.25 * np.pi * 0.036**2
    # the pressures hold the load, and their mean is half way between supply and tank
    np.testing.assert_allclose(area * bore - ring * rod - (area - ring) * 101325, 300 * 9.81, rtol=1e-12)
    np.testing.assert_allclose(bore + rod, 163e5)
    assert spool == 0.0
    second = flexdyn_ros.load(hanging(valve='natural_frequency_hz="50" damping_ratio="0.8" slew_rate="20"'))
    assert [s.name.partition("/")[2] for s in second.element_states] == [
        "pressure_bore", "pressure_rod", "spool", "spool_rate", "slewed_command",
    ]  # fmt: skip
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.rest_states(q), robot.rest_states(q))


_PENDULUM = """<link name="rod"><inertial><origin xyz="0.8 0 0"/><mass value="40"/>
<inertia ixx="1" iyy="3" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pin" type="revolute"><parent link="load"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="0" velocity="9"/></joint>"""


@pytest.mark.parametrize("options", [{}, {"dt": 1e-4}], ids=["controlled", "fixed"])
def test_a_pendulum_that_nothing_holds_swings_on_a_cylinder_that_stands(options):
    # let go at rest 0.8 m beside its pin, it turns by 0.8 m g/(I + 0.64 m) and hangs on the pin with the rest
    robot = flexdyn_ros.load(HANGING.replace("<flexdyn ", f"{_PENDULUM}<flexdyn ", 1))
    q = robot.neutral()
    left = 40.0 * 9.81 * (1.0 - 40.0 * 0.64 / (3.0 + 40.0 * 0.64))
    bore, rod, _ = robot.rest_states(q)
    area, ring = 0.25 * np.pi * 0.05**2, 0.25 * np.pi * (0.05**2 - 0.036**2)
    np.testing.assert_allclose(
        area * bore - ring * rod - (area - ring) * 101325, 300 * 9.81 + left, rtol=1e-12
    )
    np.testing.assert_array_equal(robot.rest_states(np.array([q, q]))[1], robot.rest_states(q))
    assert robot.modes(q).frequency.max() > 30.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = flexdyn_ros.simulate(robot, 0.01, **options)
    np.testing.assert_allclose(run.v[-1, 1], 0.01 * 40.0 * 0.8 * 9.81 / (3.0 + 40.0 * 0.64), rtol=1e-2)
    assert abs(run.v[-1, 0]) < 1e-3


def test_a_load_on_shut_valves_swings_as_the_worked_number_says():
    robot = flexdyn_ros.load(HANGING)
    run = flexdyn_ros.simulate(robot, 0.1, v0=[0.3], states0=START, rtol=1e-9)
    np.testing.assert_allclose(0.17 + run.q[-1, 0], 0.168577431219, atol=1e-9)
    np.testing.assert_allclose(run.v[-1, 0], -0.010900602, atol=1e-6)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_load_on_shut_valves_does_not_sink(dt):
    # after a motion, a minute on shut valves without leakage: mean length of the last second less the first
    robot = flexdyn_ros.load(hanging(in_cylinder=_STRIBECK))
    stepper = Stepper(robot, dt, "staggered")
    oil = FusedHydraulics(stepper, "valve")
    for opening, seconds in ((0.3, 0.5), (-0.2, 0.5), (0.0, 1.0)):
        oil.command([opening])
        assert stepper.advance(round(seconds / dt)) == 0
    second, lengths = round(1.0 / dt), []
    for _ in range(60):
        mean = 0.0
        for _ in range(second):
            stepper.advance()
            mean += stepper.q[0] / second
        lengths.append(mean)
    assert abs(lengths[-1] - lengths[0]) < 1e-6


_STRIBECK = (
    '<friction model="stribeck" coulomb="50" static="60" stribeck_velocity="0.01" smoothing_velocity="0.005" '
    'viscous="600"/>'
)


def test_leakage_lets_it_sink_at_the_rate_of_the_closed_form():
    # the load's weight stays on the piston: A1 p1' = A2 p2'. With p1' = beta1/V1 (-q - A1 v), p2' = beta2/V2
    # (q + A2 v) and the leak q = C (p1 - p2) between both shut chambers that gives v
    C = 2e-12
    robot = flexdyn_ros.load(hanging(in_cylinder=f'<leakage internal="{C}"/>{_STRIBECK}'))
    run = flexdyn_ros.simulate(
        robot, 4.0, dt=1e-3, states0=START | {"lift/pressure_bore": 1e7, "lift/pressure_rod": 1.6e7}
    )
    late = slice(2000, None)
    y, (bore, rod, _) = 0.17 + run.q[late, 0].mean(), run.states[late].mean(axis=0)
    area = 0.25 * np.pi * 0.05**2
    ring = area - 0.25 * np.pi * 0.036**2
    beta1, beta2 = (robot.hydraulics.bulk_modulus(p)[0] for p in (bore, rod))
    c1, c2 = beta1 * area / (1e-4 + area * y), beta2 * ring / (1e-4 + ring * (0.4 - y))
    v = -C * (bore - rod) * (c1 + c2) / (c1 * area + c2 * ring)
    moved = (run.q[-1, 0] - run.q[2000, 0]) / (run.t[-1] - run.t[2000])
    np.testing.assert_allclose(moved, v, rtol=0.02)


def test_modes_stand_on_the_springs_of_shut_valves():
    robot = flexdyn_ros.load(HANGING)
    q = robot.neutral()
    bore, rod, _ = robot.rest_states(q)
    h, area = robot.hydraulics, 0.25 * np.pi * 0.05**2
    ring = area - 0.25 * np.pi * 0.036**2
    K = h.bulk_modulus(bore)[0] * area**2 / (1e-4 + area * 0.17)
    K += h.bulk_modulus(rod)[0] * ring**2 / (1e-4 + ring * 0.23)
    np.testing.assert_allclose(robot.modes(q).frequency, [np.sqrt(K / 300.0) / (2.0 * np.pi)], rtol=1e-12)
    # and swings at it
    run = flexdyn_ros.simulate(robot, 0.2, v0=[1e-3], sample=1e-4)
    crossings = np.flatnonzero(np.diff(np.sign(run.v[:, 0])))
    period = 2.0 * np.diff(run.t[crossings]).mean()
    np.testing.assert_allclose(1.0 / period, robot.modes(q).frequency[0], rtol=5e-3)


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["controlled", "fixed"])
def test_valves_are_opened_by_name_in_order_or_by_a_law(options):
    robot = flexdyn_ros.load(HANGING)
    controls = (
        {"lift/valve": 0.3},
        ValveOpenings(np.array([0.3])),
        ValveOpenings(lambda t, q, v: [0.3]),
        lambda t, q, v: {"lift/valve": 0.3},
    )
    runs = [flexdyn_ros.simulate(robot, 0.05, control=control, **options) for control in controls]
    assert runs[0].v[-1, 0] > 0.1
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-7)
        np.testing.assert_allclose(run.states, runs[0].states, rtol=1e-4, atol=2e3)
    # what is recorded is the force on the rod, which moves the load
    run = runs[0]
    np.testing.assert_allclose(run.tau[-1, 1], 300.0 * (9.81 + np.gradient(run.v[:, 0], run.t)[-1]), rtol=0.1)


def test_forces_that_are_asked_for_are_controlled():
    robot = flexdyn_ros.load(hanging(valve='time_constant="0.002"'))
    for control in ({"lift": 3200.0}, lambda t, q, v: {"lift": 3200.0}, np.array([0.0, 3200.0])):
        run = flexdyn_ros.simulate(robot, 0.3, control=control, dt=1e-3)
        assert run.method == "rosenbrock"
        np.testing.assert_allclose(run.tau[-50:, 1].mean(), 3200.0, rtol=0.01)


_TWO = hanging(valve='time_constant="0.002"', second_mass=100.0)
_EACH = {"lift": 3200.0, "second_lift/valve": 0.2}


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["controlled", "fixed"])
@pytest.mark.parametrize("control", [_EACH, lambda t, q, v: _EACH], ids=["constant", "law"])
def test_one_cylinder_controls_a_force_while_another_opens_its_valve(options, control):
    robot = flexdyn_ros.load(_TWO)
    run = flexdyn_ros.simulate(robot, 0.3, control=control, **options)
    # as each does alone: the supply of constant pressure does not couple them
    alone = flexdyn_ros.simulate(robot, 0.3, control={"second_lift/valve": 0.2}, **options)
    np.testing.assert_allclose(run.tau[-50:, 2].mean(), 3200.0, rtol=0.01)
    np.testing.assert_allclose(run.q[-1, 1], alone.q[-1, 1], rtol=1e-3)
    assert alone.q[-1, 1] > 0.01
    forces = flexdyn_ros.simulate(robot, 0.3, control={"lift": 3200.0}, **options)
    np.testing.assert_allclose(run.q[-1, 0], forces.q[-1, 0], rtol=1e-2)


def test_cylinders_that_a_mixed_control_does_not_name_are_shut():
    robot = flexdyn_ros.load(_TWO)
    stepper = Stepper(robot, 1e-3)
    oil = FusedHydraulics(stepper, ("force", "valve"))
    assert oil.mode == ("force", "valve")
    oil.command([3200.0, 0.0])
    assert stepper.advance(200) == 0
    assert abs(stepper.q[1]) < 1e-6
    assert stepper.q[0] > 1e-3
    oil.mode = "valve"
    assert oil.mode == "valve"
    with pytest.raises(StateError, match="one for each of 2"):
        oil.mode = ("force",)
    with pytest.raises(UnknownNameError, match="mode of a cylinder"):
        oil.mode = ("force", "direct")
    legs = FusedHydraulics(Stepper(flexdyn_ros.load("stewart_1t")))
    legs.mode = ("force", "valve") * 3
    assert legs.mode == ("force", "valve") * 3


def test_what_a_control_cannot_say_is_told():
    robot = flexdyn_ros.load(HANGING)
    for control, error, word in (
        ({"lift/valve": 0.3, "lift": 3.0}, UnsupportedError, "lift"),
        ({"lif/valve": 0.3}, UnknownNameError, "did you mean lift/valve"),
        (ValveOpenings(np.ones(2)), DimensionError, "expected (1,)"),
    ):
        with pytest.raises(error, match=word.replace("(", r"\(").replace(")", r"\)")):
            flexdyn_ros.simulate(robot, 0.1, control=control)


def test_runs_go_on_from_the_states_of_another():
    robot = flexdyn_ros.load(HANGING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = flexdyn_ros.simulate(robot, 0.06, control={"lift/valve": 0.2}, dt=1e-3)
        first = flexdyn_ros.simulate(robot, 0.03, control={"lift/valve": 0.2}, dt=1e-3)
        rest = flexdyn_ros.simulate(
            robot,
            0.03,
            first.q[-1],
            first.v[-1],
            states0=first.states[-1],
            control={"lift/valve": 0.2},
            dt=1e-3,
        )
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-9)
    np.testing.assert_allclose(rest.states[-1], whole.states[-1], rtol=1e-5)


#: friction without a jump, so that runs have an order
_SMOOTH = (
    '<friction model="stribeck" coulomb="0" static="0" stribeck_velocity="0.01" smoothing_velocity="0.005" '
    'viscous="600"/>'
)
_PUMPED = PUMP.format("constant_pressure", 'line_volume="2e-3" leakage="1e-12" band="10e5"')


@pytest.mark.parametrize("in_supply", ["", _PUMPED], ids=["ideal", "pump"])
@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_fixed_steps_with_oil_are_of_order_two(method, in_supply):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH, in_supply=in_supply))

    def law(t, q, v):
        return {"lift/valve": 0.4 * np.sin(4.0 * np.pi * t)}

    options = {"control": law, "sample": 1e-3}
    pressures = [i for i, state in enumerate(robot.element_states) if state.unit == "Pa"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = flexdyn_ros.simulate(robot, 0.2, rtol=1e-9, **options)
        errors = []
        for dt in (1e-3, 5e-4, 2.5e-4):
            run = flexdyn_ros.simulate(robot, 0.2, dt=dt, method=method, **options)
            off = np.abs(run.states - exact.states)[:, pressures].max(), np.abs(run.q - exact.q).max()
            errors.append(off)
    np.testing.assert_array_less(errors[0], (0.15e5, 1e-5))
    for coarse, fine in pairwise(errors):
        assert np.all(np.divide(coarse, fine) > 3.0)


def test_an_implicit_step_bears_oil_that_is_stiff_against_what_it_moves():
    # 0.5 kg on its oil springs: 900 Hz, which steps of 5 ms do not resolve; staggered steps diverge
    robot = flexdyn_ros.load(hanging(mass=0.5, in_cylinder=_SMOOTH))
    assert robot.modes(robot.neutral()).frequency[0] > 800.0
    stepper = Stepper(robot, 5e-3)
    oil = FusedHydraulics(stepper, "valve")
    assert stepper.method == "rosenbrock"
    oil.command([0.3])
    assert stepper.advance(40) == 0
    flow = 0.3 * 6.666666666666667e-4 * np.sqrt((160e5 - stepper.states[0]) / 35e5)
    np.testing.assert_allclose(stepper.v[0], flow / (0.25 * np.pi * 0.05**2), rtol=0.02)
    # and holds again where the valve shuts
    oil.command([0.0])
    stepper.advance(40)
    before = stepper.q[0]
    assert stepper.advance(400) == 0
    assert abs(stepper.q[0] - before) < 1e-7


# ---- worked numbers of steady motions, docs/theory/hydraulics.md ----

#: flow constant of an edge of the valve
K = 6.666666666666667e-4 / np.sqrt(35e5)
HOLDING = (
    f'<counterbalance port="bore" cracking_pressure="90e5" pilot_ratio="4" conductance="{0.5 * K}" '
    'opening_range="20e5"/>'
)
#: 1,200 kg lowered by a valve whose rod edges are narrow
LOWERED = {"mass": 1200.0, "valve": 'time_constant="1e-4" flow_ratio="0.15"'}
SENSING_PUMP = (
    '<pump type="load_sensing" displacement="1.2e-5" speed="157" band="10e5" line_volume="2e-3" '
    'margin="20e5" maximum_pressure="250e5"/>'
)
SHARED = {
    "mass": 20e3 / 9.81, "second_mass": 5e3 / 9.81, "supply": "", "in_supply": SENSING_PUMP,
    "valve": 'time_constant="1e-3" compensation="15e5"',
}  # fmt: skip
STEADY = [
    (
        LOWERED | {"in_cylinder": HOLDING},
        {"lift/valve": -0.3},
        [-0.0653717518976],
        [65.96649972e5, 11.39312134e5, -0.3],
    ),
    (
        SHARED,
        {"lift/valve": 0.4, "second_lift/valve": 0.2},
        [0.0889060159944, 0.0444530079972],
        [105.5073651e5, 6.48449476e5, 0.4, 29.11299237e5, 6.48449476e5, 0.2, 124.1220221e5],
    ),
]


@pytest.mark.parametrize(("given", "control", "v", "states"), STEADY, ids=["O3", "O4"])
def test_steady_motions_are_those_of_the_worked_numbers(given, control, v, states):
    robot = flexdyn_ros.load(hanging(**given))
    run = flexdyn_ros.simulate(robot, 0.5, v0=v, states0=states, control=control, rtol=1e-8)
    np.testing.assert_allclose(run.v, np.broadcast_to(v, run.v.shape), rtol=1e-6)
    np.testing.assert_allclose(run.states, np.broadcast_to(states, run.states.shape), rtol=1e-6)
    # and what starts at rest comes there, swinging on its oil
    run = flexdyn_ros.simulate(robot, 2.0, control=control, rtol=1e-6)
    late = slice(1200, None)
    np.testing.assert_allclose(run.v[late].mean(axis=0), v, rtol=0.02)
    np.testing.assert_allclose(run.states[late].mean(axis=0), states, rtol=0.02)


def test_without_a_counterbalance_valve_the_rod_side_cavitates():
    robot = flexdyn_ros.load(hanging(**LOWERED))
    with pytest.warns(FlexdynWarning, match="oil cavitates on the rod side of 'lift', first at t = "):
        run = flexdyn_ros.simulate(
            robot, 0.3, control={"lift/valve": -0.3}, record=("energy", "hydraulics"), rtol=1e-6
        )
    assert run["lift/pressure_rod"].min() < 0.3e5
    # bit 8: CAVITATION of flexdyn_interfaces/msg/HydraulicState, to the end
    assert (run.hydraulics.flags[100:, 0].astype(int) & 8).all()
    assert run["lift.pressure_rod"] == pytest.approx(run["lift/pressure_rod"], rel=1e-9)


# ---- what `check` says ----


def test_a_cylinder_without_a_load_is_not_overrun():
    column = {
        "bore_area": 2e-3, "rod_area": 1e-3, "valve_bore": 1e-7, "valve_rod": 1e-8, "compensation": 1e2,
        "supply": 160e5, "tank": 3e5, "atmosphere": 101325.0, "coulomb": 0.0, "counterbalance_bore": 0.0,
        "counterbalance_rod": 0.0,
    }  # fmt: skip
    assert feed_of_overrun(column, -1e-6) < column["tank"]
    assert feed_of_overrun(column, 0.0) is None
    assert feed_of_overrun(column | {"counterbalance_rod": 1e-7}, -1e-6) is None


def test_check_asks_for_a_counterbalance_valve_where_gravity_overruns_the_oil():
    (doubt,) = flexdyn_ros.check(hanging(**LOWERED)).warnings
    assert "lift: gravity overruns it at zero" in doubt
    assert "<counterbalance port='bore'>" in doubt
    # flows of both edges and forces: A1 (p_t + (A1 s/K)^2) - A2 (p_s - (A2 s/.15 K)^2) = L gives the speed s
    area, ring = 0.25 * np.pi * 0.05**2, 0.25 * np.pi * (0.05**2 - 0.036**2)
    load = 1200 * 9.81 + (area - ring) * 101325.0
    wide, narrow = (area / K) ** 2, (ring / (0.15 * K)) ** 2
    square = (load - area * 3e5 + ring * 160e5) / (area * wide + ring * narrow)
    assert f"would have {(160e5 - narrow * square) / 1e5:.3g} bar" in doubt
    for other in (HANGING, hanging(**LOWERED, in_cylinder=HOLDING), hanging(mass=1200.0)):
        assert flexdyn_ros.check(other).warnings == ()
    # a compensator feeds less than the load displaces
    (doubt,) = flexdyn_ros.check(
        hanging(mass=1200.0, valve='time_constant="1e-3" compensation="5e5"')
    ).warnings
    assert "rod side" in doubt
    # as the pump does that senses the load, by its margin: whichever is less
    for margin, own in (("5e5", ""), ("5e5", ' compensation="20e5"'), ("20e5", ' compensation="5e5"')):
        senses = SENSING_PUMP.replace('margin="20e5"', f'margin="{margin}"')
        valve = 'time_constant="1e-3"' + own
        other = hanging(mass=1200.0, valve=valve, supply="", in_supply=senses)
        assert flexdyn_ros.check(other).warnings == (doubt,)


def test_check_tells_forces_that_the_supply_does_not_give():
    (doubt,) = flexdyn_ros.check(hanging(mass=4000.0)).warnings
    assert "are the most that its supply gives" in doubt
    assert "3.924e+04 N hold the robot" in doubt


def test_check_compares_the_pump_with_its_valves():
    def told(pump: str) -> list[str]:
        report = flexdyn_ros.check(hanging(in_supply=pump, second_mass=10.0))
        assert report.warnings == ()
        return [note for note in report.notes if "l/min" in note]

    # 1.2e-5 * 157 m3/s, 113 l/min, for two valves of 40 l/min; then half of it
    pump = PUMP.format("constant_pressure", 'line_volume="1e-3"')
    assert told(pump) == []
    (note,) = told(pump.replace("1.2e-5", "6e-6"))
    assert note.startswith("oil: the pump gives 56.5 l/min, 0.71 of the 80 l/min")


# ---- faults while a robot moves ----


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_a_pump_that_stops_lets_the_load_stand(method):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH, in_supply=_PUMPED))
    stepper = Stepper(robot, 1e-3, method)
    oil = FusedHydraulics(stepper, "valve")
    oil.command([0.3])
    assert stepper.advance(300) == 0
    assert stepper.v[0] > 0.05
    stepper.set_supply("oil", speed=0.0)
    assert stepper.advance(2000) == 0
    # the line has run empty through the open valve until its pressure carries the load no further
    assert abs(stepper.v[0]) < 0.01
    assert np.isfinite(stepper.states).all()
    assert stepper.states[-1] < 60e5
    stepper.set_supply("oil", speed=157.0)
    stepper.advance(500)
    assert stepper.v[0] > 0.05
    assert oil.faults == 0


def test_speeds_of_pumps_that_make_no_sense_are_refused():
    stepper = Stepper(flexdyn_ros.load(hanging(in_supply=_PUMPED)))
    with pytest.raises(UnknownNameError, match="did you mean oil"):
        stepper.set_supply("ol", speed=1.0)
    for speed in (np.nan, np.inf, -1.0):
        with pytest.raises(StateError, match="expected a finite number"):
            stepper.set_supply("oil", speed=speed)
    with pytest.raises(FlexdynError, match="speed of supply 'oil'"):
        stepper.set_supply("oil", speed="fast")
    with pytest.raises(UnsupportedError, match="no pump"):
        Stepper(flexdyn_ros.load(HANGING)).set_supply("oil", speed=1.0)
    with pytest.raises(UnsupportedError, match="no <supply>"):
        Stepper(flexdyn_ros.load("two_link")).set_supply("oil", speed=1.0)


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_a_hose_that_bursts_lets_the_load_sink_onto_its_stop(method):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH))
    stepper = Stepper(robot, 1e-3, method)
    oil = FusedHydraulics(stepper, "valve")
    parameters = stepper._motion.memory.parameters(stepper.actuators)
    parameters[:, at.LEAK_1] = 1e-8
    assert stepper.advance(4000) == 0
    # it stands on the stop, which gives way by what it carries
    assert -0.172 < stepper.q[0] < -0.169
    assert np.isfinite(stepper.states).all()
    assert oil.faults == 0
    assert int(oil.state().flags[0]) & 2


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_a_cylinder_is_driven_into_its_stop_at_full_speed(method):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH))
    stepper = Stepper(robot, 1e-3, method)
    oil = FusedHydraulics(stepper, "valve")
    oil.command([1.0])
    assert stepper.advance(3000) == 0
    # at the end of its stroke, pressed against the stop by the supply
    assert 0.229 < stepper.q[0] < 0.232
    assert np.isfinite(stepper.states).all()
    assert oil.faults == 0
    with pytest.raises(StateError, match="finite"):
        oil.command([np.nan])
    assert stepper.advance(10) == 0


#: what docs/limitations.md says of steps of 0.25, 1, 2, 5 ms that meet a stop: at most so far off [m, bar]
_AT_STOPS = {
    1.0: ((4e-6, 0.1), (1.5e-5, 1.4), (6e-5, 2.5), (2.4e-4, 8.3)),
    -1.0: ((4e-6, 0.3), (1e-5, 0.7), (4e-5, 1.4), (1.7e-4, 5.1)),
}


@pytest.mark.parametrize("opening", [1.0, -1.0], ids=["up", "down"])
def test_implicit_steps_into_a_stop_are_as_exact_as_the_page_says(opening):
    robot, control = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH)), {"lift/valve": opening}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        exact = flexdyn_ros.simulate(robot, 0.8, control=control, rtol=1e-8, sample=1e-3)
        for dt, (far, bar) in zip((2.5e-4, 1e-3, 2e-3, 5e-3), _AT_STOPS[opening], strict=True):
            each = max(1, round(dt / 1e-3))
            run = flexdyn_ros.simulate(robot, 0.8, control=control, dt=dt, sample=each * 1e-3)
            assert run.method == "rosenbrock"
            assert np.abs(run.q - exact.q[::each]).max() < far
            assert np.abs(run.states - exact.states[::each])[:, :2].max() < bar * 1e5
            # where it stands in the end
            assert abs(run.q[-1, 0] - exact.q[-1, 0]) < 2e-6


def test_energies_of_oil_are_closed_where_sub_steps_are_small():
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH, in_supply=_PUMPED))
    stepper = Stepper(robot, 1e-3, "staggered")
    oil = FusedHydraulics(stepper, "valve")
    oil.sharpen(1e-7)
    stepper.advance(1)
    before = oil.account()
    oil.command([0.3])
    assert stepper.advance(300) == 0
    stored, pump, piston, loss = np.subtract(oil.account(), before)
    assert abs(pump - piston - loss - stored) < 1e-7 * pump


@pytest.mark.parametrize("method", ["staggered", "rosenbrock"])
@pytest.mark.parametrize(
    ("pump", "supply"), [((CONSTANT, LINE), 'pressure="160e5"'), ((SENSING, SENSES), "")]
)
def test_a_few_steps_of_two_loads_on_one_pump_close_their_energies(pump, supply, method):
    robot = flexdyn_ros.load(hanging(in_supply=PUMP.format(*pump), supply=supply, second_mass=250.0))
    stepper = Stepper(robot, 1e-4, method)
    oil, weights = FusedHydraulics(stepper, "valve"), np.array([300.0, 250.0]) * 9.81
    oil.fill(weights)
    stepper.tau[oil.places] = weights
    oil.command(np.array([0.4, -0.2]))
    stored, energy = oil.account().stored, robot.energy(stepper.q, stepper.v).total
    assert stepper.advance(6) == oil.faults == 0
    after = oil.account()
    given = after.piston_work + after.loss + after.stored - stored
    assert after.pump_work == pytest.approx(given, abs=2e-3 * after.loss)
    raised = robot.energy(stepper.q, stepper.v).total - energy
    assert raised == pytest.approx(after.piston_work, rel=3e-3)


@pytest.mark.parametrize("name", ["cylinder", "platform"])
def test_energies_of_ideal_supplies(name):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH) if name == "cylinder" else "stewart_1t")
    stepper = Stepper(robot, 1e-3)
    oil = FusedHydraulics(stepper, "valve")
    stepper.advance(1)
    before = oil.account()
    oil.command(np.full(oil.places.size, 0.3))
    assert stepper.advance(300) == 0
    stored, pump, piston, loss = np.subtract(oil.account(), before)
    assert pump > 100.0
    assert abs(pump - piston - loss - stored) < 2e-3 * pump


def test_legs_of_platforms_have_states_by_name():
    robot = flexdyn_ros.load("stewart_1t")
    names = [state.name for state in robot.element_states]
    assert {f"leg_{i}/{what}" for i in range(1, 7) for what in ("pressure_bore", "spool")} <= set(names)
    q = robot.neutral()
    start = robot.rest_states(q)
    start[names.index("leg_1/pressure_bore")] += 2e5
    run = flexdyn_ros.simulate(robot, 0.02, q, dt=1e-3, states0=start)
    assert run["leg_1/pressure_bore"][0] == start[names.index("leg_1/pressure_bore")]
    # the leg pushes harder than the weight asks for
    assert run.tau[0, 0] > robot.inverse_dynamics(q, np.zeros(6), np.zeros(6))[0] + 100.0
    again = flexdyn_ros.simulate(robot, 0.01, run.q[10], run.v[10], dt=1e-3, states0=run.states[10], t0=0.01)
    np.testing.assert_allclose(again.q[-1], run.q[-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["controlled", "fixed"])
def test_the_first_sample_holds_the_load(options):
    robot = flexdyn_ros.load(hanging(in_cylinder=_SMOOTH))
    run = flexdyn_ros.simulate(robot, 0.01, **options)
    np.testing.assert_allclose(run.tau[:, 1], 300.0 * 9.81, rtol=1e-6)


#: as stiff as seals are: 0.5 kg on these bristles alone would swing at 2.2 kHz
_LUGRE = (
    '<friction model="lugre" coulomb="50" static="80" stribeck_velocity="0.01" viscous="600" '
    'bristle_stiffness="1e8" bristle_damping="1e3"/>'
)


def test_stiff_bristles_are_borne_by_implicit_steps():
    robot = flexdyn_ros.load(hanging(mass=0.5, in_cylinder=_LUGRE))
    assert [state.name for state in robot.element_states][-1] == "lift/bristle"
    stepper = Stepper(robot, 1e-3)
    oil = FusedHydraulics(stepper, "valve")
    oil.command([0.2])
    assert stepper.advance(200) == 0
    speed = stepper.v[0]
    assert speed > 0.05
    # sliding: friction is Coulomb's and viscous
    state = oil.state()
    np.testing.assert_allclose(state.force_friction, 50.0 + 600.0 * speed, rtol=0.02)
    oil.command([0.0])
    assert stepper.advance(500) == 0
    assert abs(stepper.v[0]) < 1e-6


def test_bristles_end_up_where_small_steps_put_them():
    robot = flexdyn_ros.load(hanging(in_cylinder=_LUGRE.replace("1e8", "1e6")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = flexdyn_ros.simulate(robot, 0.1, control={"lift/valve": 0.2}, rtol=1e-9)
        errors = [
            np.abs(flexdyn_ros.simulate(robot, 0.1, control={"lift/valve": 0.2}, dt=dt).q[-1] - exact.q[-1])[
                0
            ]
            for dt in (1e-3, 5e-4)
        ]
    assert errors[0] < 2e-5
    assert errors[1] < 0.6 * errors[0]


def test_a_method_that_leaves_out_the_oil_says_so():
    robot = flexdyn_ros.load(HANGING)
    with pytest.warns(FlexdynWarning, match="has no part in a run by method dop853"):
        run = flexdyn_ros.simulate(robot, 0.05, method="dop853")
    # nothing holds the load, and the states stay
    np.testing.assert_allclose(run.q[-1], -0.5 * 9.81 * 0.05**2, rtol=1e-6)
    np.testing.assert_array_equal(run.states[-1], run.states[0])


def test_chambers_beyond_all_size_are_told_where_their_spring_is_asked_for():
    robot = flexdyn_ros.load(HANGING.replace('bore="0.05"', 'bore="1e150"'))
    with pytest.raises(StateError, match="the oil spring of 'lift' is no finite number"):
        robot.modes(robot.neutral())
