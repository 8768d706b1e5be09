"""What a platform's description may not say, and what its strokes and joint angles do in a simulation."""

import re

import numpy as np
import pytest
from platforms import random_platform

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.families.platform.model import beyond_limits, near_limits

STILL = np.zeros(6)


@pytest.fixture(scope="module")
def electric():
    return flexdyn_ros.load("stewart_electric")


def test_limits_of_a_platform_are_its_strokes(electric):
    up = 1.15 * electric.inverse_dynamics(electric.neutral(), STILL, STILL)
    strokes = np.array([leg.stroke for leg in electric.legs])
    report = flexdyn_ros.simulate(electric, 1.0, dt=1e-3, control=up)
    assert report.status == 0
    sliders = {f"limit/{leg.joints[2]}/upper" for leg in electric.legs}
    first = next(event for event in report.events if event.name in sliders)
    i = [f"limit/{leg.joints[2]}/upper" for leg in electric.legs].index(first.name)
    assert electric.inverse_kinematics(first.q).stroke[i] == pytest.approx(strokes[i], abs=1e-6)
    stop = flexdyn_ros.simulate(electric, 1.0, dt=1e-3, control=up, limits="stop")
    assert stop.status == 1
    assert stop.events[-1].name == first.name
    assert stop.t[-1] == pytest.approx(first.time, abs=1e-6)
    assert (electric.inverse_kinematics(stop.q[-1]).stroke <= strokes + 1e-9).all()
    spring = flexdyn_ros.simulate(electric, 1.0, dt=1e-3, control=up, limits="spring")
    # the legs come to rest in the stops, whose stiffness bears what the forces exceed the weight by
    assert (electric.inverse_kinematics(spring.q[-1]).stroke < strokes + 0.02).all()
    assert first.name in {event.name for event in spring.events}


def test_limits_of_a_platform_are_angles_of_universal_and_spherical_joints_too():
    text, _ = random_platform(3)
    narrow = text.replace("<leg ", '<leg ball_limit="0.05" ')
    robot = flexdyn_ros.load(narrow)
    names, lower, upper = robot.leg_limits
    assert len(names) == lower.size == upper.size == 24
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.neutral(), rng.uniform(-0.1, 0.1, 6), 1.0)
    v, h = rng.uniform(-1, 1, 6), 1e-6
    there, rate = robot.limited_motion(q, v)
    ahead, behind = (robot.limited_motion(robot.integrate(q, v, s * h), v)[0] for s in (1, -1))
    assert rate == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-7)
    rows = robot.limited_motion(np.tile(q, (2, 1)), v)[0]
    assert rows == pytest.approx(np.tile(there, (2, 1)), abs=1e-14)
    spinning = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    force = robot.inverse_dynamics(robot.neutral(), STILL, STILL)
    run = flexdyn_ros.simulate(robot, 0.3, None, spinning, dt=1e-3, control=force, limits="stop")
    assert run.status == 1
    name = run.events[-1].name
    assert re.fullmatch(r"limit/leg_\d/ball/upper", name)
    margin = robot.workspace_margins(run.q[-1])
    assert abs(margin.ball) < 1e-9


def test_a_start_outside_the_strokes_is_told_and_one_far_outside_refused(electric):
    home, stroke = electric.neutral(), electric.legs[0].stroke
    force = electric.inverse_dynamics(home, STILL, STILL)

    def raised(height):
        q = home.copy()
        q[2] += height
        return q

    used = electric.inverse_kinematics(raised(0.6 * stroke)).stroke
    assert stroke < used.max() < 1.1 * stroke
    with pytest.warns(FlexdynWarning, match="starts outside its strokes: leg 'leg_1' uses"):
        flexdyn_ros.simulate(electric, 0.0, raised(0.6 * stroke), control=force)
    with pytest.raises(StateError, match=r"starts outside its strokes.*expected 0 to"):
        flexdyn_ros.simulate(electric, 0.01, raised(1.0), control=force)


def hydraulic_text(*, without=(), **replaced):
    """stewart_1t as plain text, each leg with hydraulics of its own but some."""
    text = flexdyn_ros.load("stewart_1t").description.text
    block = re.search(r"<hydraulics>.*?</hydraulics>", text, re.DOTALL)
    assert block is not None
    for old, new in replaced.values():
        assert old in text
        text = text.replace(old, new)
    if not without:
        return text
    own = block.group()
    text = text.replace(own, "")
    legs = re.findall(r"<leg [^>]*/>", text)
    assert len(legs) == 6
    for i, leg in enumerate(legs):
        if i not in without:
            text = text.replace(leg, leg[:-2] + ">" + own + "</leg>")
    return text


def test_hydraulics_forgotten_at_one_leg_are_refused_at_load():
    with pytest.raises(DescriptionError, match=r"leg 'leg_4' has no hydraulics.*in every <leg>"):
        flexdyn_ros.load(hydraulic_text(without=(3,)))
    assert flexdyn_ros.load(hydraulic_text(without=range(6))).hydraulics is None


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.1"])
def test_an_air_fraction_that_the_air_model_cannot_take_is_refused(share):
    fraction = re.search(r'air_fraction="[^"]*"', hydraulic_text()).group()
    with pytest.raises(DescriptionError, match="air_fraction"):
        flexdyn_ros.load(hydraulic_text(a=(fraction, f'air_fraction="{share}"')))
    assert flexdyn_ros.load(hydraulic_text(a=(fraction, 'air_fraction="0.3"'))).hydraulics is not None


def test_a_polytropic_exponent_below_one_is_refused():
    exponent = re.search(r'polytropic_exponent="[^"]*"', hydraulic_text()).group()
    with pytest.raises(DescriptionError, match=r"polytropic_exponent is 0.9.*at least 1"):
        flexdyn_ros.load(hydraulic_text(a=(exponent, 'polytropic_exponent="0.9"')))


def universal_text(u1, u2):
    """stewart_1t with z of the first joints' frames downwards, as CAD exports have it, and other limits."""
    text = flexdyn_ros.load("stewart_1t").description.text
    for n in range(1, 7):
        joint = re.search(rf'<joint name="leg_{n}_u1".*?</joint>', text, re.DOTALL).group()
        turned = re.sub(r'rpy="\S+ \S+ ', 'rpy="3.141592653589793 0 ', joint)
        assert turned != joint
        turned = re.sub(r'lower="\S+" upper="\S+"', f'lower="{u1[0]}" upper="{u1[1]}"', turned)
        text = text.replace(joint, turned)
        joint = re.search(rf'<joint name="leg_{n}_u2".*?</joint>', text, re.DOTALL).group()
        text = text.replace(
            joint, re.sub(r'lower="\S+" upper="\S+"', f'lower="{u2[0]}" upper="{u2[1]}"', joint)
        )
    return text


def test_universal_joints_take_the_posture_that_their_limits_allow():
    straight = flexdyn_ros.load("stewart_1t")
    home = straight.neutral()
    usual = straight.inverse_kinematics(home).angles
    # half a turn of the first joint leaves the second near zero; the other posture turns the second over
    robot = flexdyn_ros.load(universal_text((-3.2, 3.2), (-1.2, 1.2)))
    angles = robot.inverse_kinematics(home).angles
    assert (np.abs(angles[:, 1]) <= 1.2).all()
    assert (np.abs(np.abs(angles[:, 0]) - np.pi) < 1.2).all()
    assert robot.workspace_margins(home).mask == 0
    assert np.sort(np.abs(angles[:, 1])) == pytest.approx(np.sort(np.abs(usual[:, 1])), abs=1e-9)
    assert robot.inverse_dynamics(home, STILL, STILL) == pytest.approx(
        straight.inverse_dynamics(home, STILL, STILL), rel=1e-12
    )


def test_limits_may_lie_beyond_half_a_turn():
    robot = flexdyn_ros.load(universal_text((2.2, 4.1), (-1.2, 1.2)))
    assert robot.workspace_margins(robot.neutral()).mask == 0


def test_angles_are_counted_by_the_turn_that_is_nearest_to_the_middle_of_their_limits():
    limits = np.array(
        [[[2.2, 4.1], [-7.5, -5.0]], [[-np.inf, 1.0], [1.1, 1.3]], [[-1.2, np.inf], [3.0, 3.0]]]
    )
    # where a limit is missing, angles are counted from zero
    middle = np.array([[3.15, -6.25], [0.0, 1.2], [0.0, 3.0]])
    angles = np.random.default_rng(4).uniform(-12.0, 12.0, (400, 3, 2))
    turned = angles[..., None] + 2.0 * np.pi * np.arange(-4.0, 5.0)
    away = turned - middle[..., None]
    chosen = np.abs(away).argmin(axis=-1)[..., None]
    expected = np.take_along_axis(turned, chosen, axis=-1)[..., 0]
    assert near_limits(angles, limits) == pytest.approx(expected, abs=1e-12)
    beyond = beyond_limits(angles, limits)
    # outside by what leads to the nearer end of the limits, however many turns that takes
    widths = np.ptp(limits, axis=-1)
    shortest = np.abs(away).min(axis=-1) - 0.5 * widths
    both = np.isfinite(widths)
    assert both.sum() == 4
    assert beyond[:, both] == pytest.approx(shortest[:, both], abs=1e-12)
    assert beyond[:, 1, 0] == pytest.approx(expected[:, 1, 0] - 1.0, abs=1e-12)
    assert beyond[:, 2, 0] == pytest.approx(-1.2 - expected[:, 2, 0], abs=1e-12)


def test_a_home_pose_that_violates_both_postures_is_refused():
    with pytest.raises(DescriptionError, match=r"leg 'leg_1' .*both postures.*leg_1_u1 within -1\.2"):
        flexdyn_ros.load(universal_text((-1.2, 1.2), (-1.2, 1.2)))


def test_a_payload_on_a_massless_cross_is_refused(electric):
    parent = {joint.name: joint.child for joint in electric.description.joints}
    cross, cylinder = (parent[name] for name in electric.legs[0].joints[:2])
    with pytest.raises(UnsupportedError, match=f"'{cross}' .*massless.*cylinder"):
        electric.with_payload(cross, 2.0)
    heavier = electric.with_payload(cylinder, 2.0, (0.1, 0.0, 0.2))
    assert heavier.mass == pytest.approx(electric.mass + 2.0)
    q = electric.neutral()
    assert np.abs(heavier.mass_matrix(q) - electric.mass_matrix(q)).max() > 1e-3


def test_the_pose_of_a_platform_is_driven_by_legs_not_by_itself(electric):
    assert not any(c.actuated for c in electric.coordinates)
    assert electric.actuators == tuple(leg.name for leg in electric.legs)
    # legs drive all of it: nothing is left free
    q, a = electric.neutral(), np.arange(6.0)
    tau = electric.inverse_dynamics(q, STILL, a)
    assert electric.inverse_dynamics(q, STILL, a, unactuated="free") == pytest.approx(tau)


@pytest.mark.parametrize("hold", ["joints", (), "platform/vz"])
def test_rest_of_a_platform_that_nothing_carries_is_refused_with_the_remedy(electric, hold):
    with pytest.raises(StateError, match=r"platform/wx.* nothing carries them.*hold=robot\.v_names"):
        electric.static_equilibrium(hold=hold)
    found = electric.static_equilibrium(hold=electric.v_names)
    assert found.tau == pytest.approx(electric.inverse_dynamics(electric.neutral(), STILL, STILL))


@pytest.mark.parametrize(("share", "flagged"), [(1.3, True), (0.8, False), (-0.8, False), (-1.3, True)])
@pytest.mark.parametrize("rate", [-1e-3, 0.0, 1e-3])
def test_forces_beyond_reach_are_flagged_on_both_sides(share, flagged, rate):
    cylinders = flexdyn_ros.load("stewart_1t").hydraulics
    column = cylinders.model.column
    high = column("bore_area") * (column("supply") - column("atmosphere"))
    high -= column("rod_area") * (column("tank") - column("atmosphere"))
    low = column("bore_area") * (column("tank") - column("atmosphere"))
    low -= column("rod_area") * (column("supply") - column("atmosphere"))
    force = share * (high if share > 0 else -low)
    home = cylinders.model.home
    state = cylinders.initial(np.zeros(6), home)
    after = cylinders.step(state, home, np.full(6, rate), force, 1e-3, mode="force")
    assert ((after.flags & 512) != 0).tolist() == [flagged] * 6
    assert ((cylinders.initial(force, home).flags & 512) != 0).tolist() == [flagged] * 6
