"""Oil as others compute it: a test model of Exudyn (Gerstmayr 2023, `HydraulicActuatorSimple`) rebuilt."""

from __future__ import annotations

import numpy as np
import pytest
from sampled import few
from scipy.integrate import solve_ivp

import flexdyn_ros

#: what Exudyn 1.13.6 answers with its steps of 1 ms, and with 0.1 and 0.01 ms
FROZEN, FINER, FINEST = 7.130440021870293, 7.106493824843002, 7.104058938828727
#: length where the arm is level [m], mass [kg], damping [N s/m], orifice constant [m3/(s sqrt Pa)]
LEVEL, MASS, DAMPING, FLOW = np.sqrt(0.125), 120.0, 2e5, 2e-5
#: area of both sides [m2], volume of each chamber [m3], modulus [Pa], supply [Pa]
AREA, VOLUME, MODULUS, SUPPLY = 0.01, 1.0, 1e11, 200e5

#: pistons in it start 5 cm out: Exudyn's has no stop at the end where it starts. Rods are as thin as may be
TEXT = f"""<robot name="arm">
<link name="ground"/>
<link name="bar"><inertial><origin xyz="0.5 0 0"/><mass value="{MASS}"/>
<inertia ixx="1" iyy="{MASS / 12.0}" izz="{MASS / 12.0}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="ground"/><child link="bar"/><axis xyz="0 -1 0"/>
<limit lower="-1" upper="1" effort="0" velocity="9"/></joint>
<flexdyn version="1"><gravity>0 0 -9.81</gravity>
<supply name="pump" pressure="{SUPPLY}" tank_pressure="10">
<fluid bulk_modulus="{MODULUS}" model="constant" cavitation_pressure="1"/></supply>
<cylinder name="lift" base="ground" base_xyz="0 0 -0.25" end="bar" end_xyz="0.25 0 0"
 minimum_length="{LEVEL - 0.05}" stroke="{0.5 * LEVEL}">
<hydraulics supply="pump">
<chambers bore="{np.sqrt(4.0 * AREA / np.pi)}" rod_diameter="1e-6" dead_volume_bore="{VOLUME - 0.05 * AREA}"
 dead_volume_rod="{VOLUME - (0.5 * LEVEL - 0.05) * AREA}"/>
<valve rated_flow="{FLOW}" rated_pressure_drop="1" rating="edge" time_constant="1e-6"/>
<friction model="stribeck" coulomb="0" static="0" stribeck_velocity="1" smoothing_velocity="1"
 viscous="{DAMPING}"/>
<end_stop stiffness="1e8" damping="0"/></hydraulics></cylinder></flexdyn></robot>"""


def opening(t: float, length: float) -> float:
    """The valve law of that test."""
    return 2.0 * (0.1 * (np.clip(1.0 - np.cos(np.pi * t), 0.5, 1.5) - 0.5) + LEVEL - length)


def line(angle: float) -> tuple[float, float]:
    """Length of the cylinder, and its slope by the angle."""
    length = LEVEL * np.sqrt(1.0 + np.sin(angle))
    return length, 0.0625 * np.cos(angle) / length


def solution(angle: float, pressures: np.ndarray) -> float:
    """The number that the test freezes."""
    centre = 0.5 * np.array([np.cos(angle) - 1.0, np.sin(angle)])
    return float(np.linalg.norm([*centre, angle]) + 1e-6 * np.linalg.norm(pressures))


def rates(t: float, x: np.ndarray, late: float) -> list[float]:
    """Exudyn's equations, by its documentation; the law sees the length of `late` seconds ago."""
    angle, speed, p1, p2 = x
    length, slope = line(angle)
    rate = slope * speed
    u = opening(t, length - late * rate)
    into, out = FLOW * np.abs(u) * np.sqrt([[SUPPLY - p1, SUPPLY - p2], [p1, p2]])
    flows = (into[0], -out[1]) if u > 0.0 else (-out[0], into[1])
    force = AREA * (p1 - p2) - DAMPING * rate
    turn = (force * slope - 0.5 * MASS * 9.81 * np.cos(angle)) / (MASS / 3.0)
    stiffness = MODULUS / VOLUME
    return [speed, turn, stiffness * (flows[0] - AREA * rate), stiffness * (flows[1] + AREA * rate)]


@pytest.mark.parametrize("late", few([1e-3, 0.0], 1))
def test_an_arm_of_exudyn_ends_up_where_its_equations_put_it(late):
    robot = flexdyn_ros.load(TEXT)
    run = flexdyn_ros.simulate(
        robot, 0.4, dt=1e-5, states0={"lift/pressure_bore": 2e6, "lift/pressure_rod": 2e6},
        control=lambda t, q, v: {
            "lift/valve": opening(t, line(q[0])[0] - late * line(q[0])[1] * v[0])
        },
    )  # fmt: skip
    exact = solve_ivp(rates, (0.0, 0.4), [0.0, 0.0, 2e6, 2e6], "Radau", args=(late,), rtol=1e-10, atol=1e-9)
    ours = solution(run.q[-1, 0], run.states[-1, :2])
    theirs = solution(exact.y[0, -1], exact.y[2:, -1])
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)
    np.testing.assert_allclose(run.states[-1, :2], exact.y[2:, -1], rtol=2e-4)
    # Exudyn's law is called before each step, and its trapezoidal rule averages two of these openings: their
    # times lie about the middle of the step, their lengths one step earlier. The frozen number has this error
    # of first order in the step, and loses it with the step
    if late:
        np.testing.assert_allclose(theirs, FROZEN, rtol=2e-4)


def test_what_exudyn_answers_with_finer_steps_comes_to_ours():
    exact = solve_ivp(rates, (0.0, 0.4), [0.0, 0.0, 2e6, 2e6], "Radau", args=(0.0,), rtol=1e-10, atol=1e-9)
    limit = solution(exact.y[0, -1], exact.y[2:, -1])
    np.testing.assert_allclose((FROZEN - limit) / (FINER - limit), 10.0, rtol=0.02)
    np.testing.assert_allclose((FINER - limit) / (FINEST - limit), 10.0, rtol=0.06)
    np.testing.assert_allclose((10.0 * FINEST - FINER) / 9.0, limit, rtol=1e-5)
