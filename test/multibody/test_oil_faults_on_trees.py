"""Faults of oil while a robot moves: pumps that stop, hoses that burst, stops at full speed."""

from __future__ import annotations

import numpy as np
import pytest
from oil_robots import HANGING, PUMPED, SMOOTH, hanging

import flexdyn_ros
from flexdyn_ros.errors import FlexdynError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.simulation import FusedHydraulics, Stepper


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_a_pump_that_stops_lets_the_load_stand(method):
    robot = flexdyn_ros.load(hanging(in_cylinder=SMOOTH, in_supply=PUMPED))
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
    stepper = Stepper(flexdyn_ros.load(hanging(in_supply=PUMPED)))
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
    robot = flexdyn_ros.load(hanging(in_cylinder=SMOOTH))
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
    robot = flexdyn_ros.load(hanging(in_cylinder=SMOOTH))
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
