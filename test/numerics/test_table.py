"""The table of a robot's functions: what its rows say, and what wraps what."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.numerics.compiling.memory import real_ints_at
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.table import ROWS, TABLE_WORDS, Table

ROBOTS = (
    "two_link", "flexible_two_link", "mobile_arm", "mobile_arm_spatial", "soft_arm", "stewart_1t",
    "boom_on_cylinder",
)  # fmt: skip
#: functions that heads look at beside the rows
LOOKED_AT = {"bias", "actuation", "elements"}


def words_of(one: Table) -> np.ndarray:
    return real_ints_at(one.address, TABLE_WORDS)


def test_each_row_says_what_it_writes_and_has_a_constant_and_columns_of_its_own():
    for name, row in ROWS.items():
        assert row.__doc__
        assert len(row.__doc__) > 30, name
        assert getattr(table, name.upper()) == row.word
    assert sorted(row.word for row in ROWS.values()) == [*range(0, TABLE_WORDS, table.COLUMNS)]


@pytest.mark.parametrize("name", ROBOTS)
def test_functions_of_robots_are_rows_and_are_provided_on_demand(name):
    robot = flexdyn_ros.load(name)
    own = robot.functions.table
    known = {*ROWS, "slopes", "inverse_on_lanes", "forward_on_lanes"}
    assert {*own} <= known | LOOKED_AT
    for needed in ("status", "balance", "mass", "frames", "accelerate"):
        assert needed in own
    fresh = own.with_rows({})
    assert not words_of(fresh).any()
    fresh.provide("energy")
    assert words_of(fresh)[table.ENERGY] == own["energy"].address
    assert np.count_nonzero(words_of(fresh)) == 1


def test_a_layer_provides_what_it_wraps_and_calls_it():
    inner = flexdyn_ros.load("boom_on_cylinder").functions
    alone, around = inner.layers[-1].inner.table, inner.table
    around.provide("energy")
    assert around["energy"] is not alone["energy"]
    # frames are no business of cylinders
    assert around["frames"] is alone["frames"]
    assert words_of(around)[table.ENERGY] == around["energy"].address


def test_other_rows_leave_the_table_that_they_come_from_as_it_was():
    robot = flexdyn_ros.load("two_link")
    own = robot.functions.table
    changed = own.with_rows({"mass": own["inertia"]})
    assert changed["mass"] is own["inertia"]
    assert own["mass"] is not own["inertia"]
    assert "mass" not in own.without("mass")
