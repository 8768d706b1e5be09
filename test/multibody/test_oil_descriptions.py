"""Oil in cylinders between frames of a tree: what is refused, and what `check` says."""

from __future__ import annotations

import numpy as np
import pytest
from oil_robots import (
    CONSTANT,
    COUNTERBALANCE,
    FIXED,
    FLUID,
    HANGING,
    HOLDING,
    HOSE,
    LINE,
    LOWERED,
    PUMP,
    SENSES,
    SENSING,
    SENSING_PUMP,
    STOP,
    K,
    hanging,
)

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.elements.checks import feed_of_overrun

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
