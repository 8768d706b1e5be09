"""What a run with oil says of the pressures in its cylinders."""

import numpy as np
import pytest
from oil_robots import hanging

import flexdyn_ros
from flexdyn_ros.simulation.verdict import verdict

N = 6


@pytest.fixture(scope="module")
def held():
    """A load that is held by its oil, and another beside it."""
    return flexdyn_ros.simulate(flexdyn_ros.load(hanging(second_mass=150.0)), 0.01 * (N - 1), sample=0.01)


@pytest.fixture
def run(held):
    """The same, with states that may be written over."""
    before = held.states.copy()
    yield held
    held.states[:] = before


def told(run):
    return [text for text in verdict(run) if "cavitates" in text]


@pytest.mark.parametrize("name", ["lift", "second_lift"])
@pytest.mark.parametrize("side", ["bore", "rod"])
def test_oil_cavitates_on_the_side_and_at_the_time_where_it_is_below_its_pressure(run, name, side):
    """30 kPa by default: oil that has just that pressure does not cavitate."""
    assert told(run) == []
    pressure = run.states[:, run.state_names.index(f"{name}/pressure_{side}")]
    pressure[:] = [5e5, 4e5, 30e3, 2e5, 30e3, 5e5]
    assert told(run) == []
    pressure[[3, 4, 5]] = np.nextafter(30e3, 0.0), 12e3, 18e3
    (text,) = told(run)
    assert (
        f"oil cavitates on the {side} side of '{name}', first at t = 0.03 s, with 0.12 bar at least" in text
    )
    run.states[2, run.state_names.index(f"lift/pressure_{side}")] = 1e3
    assert len(told(run)) == (1 if name == "lift" else 2)
    assert any(f"the {side} side of 'lift', first at t = 0.02 s, with 0.01 bar" in text for text in told(run))
