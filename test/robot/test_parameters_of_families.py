"""Parameters of platforms, soft arms and arms on wheels: efforts are linear in them, and a robot with other
values is that of a description with those."""

import pickle
import re
import warnings
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from mobile_arms import chain
from platforms import random_platform

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SingularityError, StateError, UnknownNameError
from flexdyn_ros.numerics.algebra.placement import RigidInertia

INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
PLATFORMS = ["stewart_1t", "random platform"]
SOFT = ["soft_arm", "soft_arm_3", "soft_arm lumped", "soft_arm_3 modal", "soft_arm uneven"]
WHEELED = ["mobile_arm", "mobile_arm articulated", "mobile_arm_spatial", "cart", "cart articulated"]
ROBOTS = [*PLATFORMS, *SOFT, *WHEELED]
#: a link that moves, its <inertial>: mass, centre of mass, inertia about it
LINKS = {"stewart_1t": "leg_2_rod", "soft_arm_3": "plate_2",
         "mobile_arm": "base_link", "mobile_arm_spatial": "turret"}  # fmt: skip
#: options by the second word of a robot
OPTIONS = {
    "lumped": {"formulation.mass_model": "lumped"},
    "modal": {"formulation.kinematics": "modal", "formulation.order": 3},
    "articulated": {"formulation.method": "articulated"},
}
OTHER = (7.0, (0.02, -0.01, 0.05), (0.3, 0.01, -0.02, 0.25, 0.03, 0.2))
#: numbers are affine to rounding: share of the largest effort that may be left
ROUNDING = 1e-12
#: speed of what is prescribed, of mobile_arm [m/s]
DRIVEN = 0.3


@cache
def loaded(name):
    if name == "random platform":
        return flexdyn_ros.load(random_platform(3)[0])
    name, _, how = name.partition(" ")
    if how == "uneven":
        text = flexdyn_ros.load(name).description.text
        values = 'stiffness="1500 1700 1900" damping="10 15 10" bending_stiffness="0.4"'
        return flexdyn_ros.load(text.replace("<section ", f"<section {values} "))
    return flexdyn_ros.load(cart() if name == "cart" else name, options=OPTIONS.get(how))


def cart(road='<road kind="flat"/>', **tyre):
    """Two links on a cart whose wheels have tyres."""
    text = chain(tyres=True, road=road)
    for part, value in tyre.items():
        text = re.sub(rf'(<tyre [^>]*{part}=)"[^"]*"', rf'\1"{value!r}"', text)
    return text


def states(robot, count, seed=1):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    return q, *rng.standard_normal((2, count, robot.nv))


def values_of(robot):
    return {p.name: p.value for p in robot.parameters}


def others(robot, seed=2):
    """Other values of all parameters."""
    rng = np.random.default_rng(seed)
    return {p.name: float(p.value * rng.uniform(0.5, 2.0) + rng.uniform(0.0, 0.01)) for p in robot.parameters}


def close(found, expected, bound=ROUNDING):
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


def with_inertial(text, link, mass, com, inertia):
    """A description whose link has this <inertial>."""
    root = ElementTree.fromstring(text)
    element = next(x for x in root.iter("link") if x.get("name") == link)
    for old in element.findall("inertial"):
        element.remove(old)
    inertial = ElementTree.SubElement(element, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=" ".join(map(repr, com)))
    ElementTree.SubElement(inertial, "mass", value=repr(mass))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ElementTree.SubElement(inertial, "inertia", dict(zip(names, map(repr, inertia), strict=True)))
    return ElementTree.tostring(root, encoding="unicode")


def ten_numbers(link, mass, com, inertia):
    numbers = RigidInertia.of(mass, com, inertia).flat().tolist()
    return dict(zip((f"{link}/{name}" for name in INERTIAL), numbers, strict=True))


# runs are too short for the check of their energy
@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the energy of", FlexdynWarning)
        yield


def agree(found, expected):
    """Dynamics, energies, momenta and runs of two robots."""
    q, v, a = states(found, 3, seed=5)
    for verb, arguments in {"inverse_dynamics": (q, v, a), "mass_matrix": (q,), "bias_forces": (q, v),
                            "momentum": (q, v), "center_of_mass": (q,)}.items():  # fmt: skip
        close(getattr(found, verb)(*arguments), getattr(expected, verb)(*arguments))
    for one, other in zip(found.energy(q, v), expected.energy(q, v), strict=True):
        assert np.abs(one - other).max() <= ROUNDING * max(np.abs(other).max(), 1e-9)
    given = expected.functions.prescribed
    tau = np.where(given[: expected.nu], 0.0, expected.inverse_dynamics(q, v, 0.1 * a))
    close(found.forward_dynamics(q, v, tau), expected.forward_dynamics(q, v, tau), 1e-10)
    start = q[0], np.where(given, DRIVEN, 0.01 * v[0])
    runs = [flexdyn_ros.simulate(r, 2e-3, *start, control=tau[0], dt=1e-4)
            for r in (found, expected)]  # fmt: skip
    close(runs[0].q, runs[1].q, 1e-10)
    assert found.mass == pytest.approx(expected.mass, rel=1e-14)


@pytest.mark.parametrize("name", ROBOTS)
def test_efforts_are_linear_in_the_parameters(name):
    robot = loaded(name)
    frame = robot.coordinates[0].body
    for one in (robot, robot.with_payload(frame, 3.0, (0.1, 0.0, 0.2), np.diag([0.1, 0.2, 0.2]))):
        q, v, a = states(one, 4)
        Y, tau0 = one.regressor(q, v, a)
        assert Y.shape == (4, one.nu, len(one.parameters))
        close(Y @ list(values_of(one).values()) + tau0, one.inverse_dynamics(q, v, a))
        new = others(one)
        close(Y @ list(new.values()) + tau0, one.with_parameters(new).inverse_dynamics(q, v, a))


@pytest.mark.parametrize("name", ROBOTS)
def test_batches_and_single_states_have_the_same_regressor(name):
    robot = loaded(name)
    q, v, a = states(robot, 4)
    Y, tau0 = robot.regressor(q.reshape(2, 2, -1), v.reshape(2, 2, -1), a[0])
    assert Y.shape == (2, 2, robot.nu, len(robot.parameters))
    alone = robot.regressor(q[3], v[3], a[0])
    assert alone.Y.shape == Y.shape[2:]
    assert np.abs(alone.Y - Y[1, 1]).max() <= ROUNDING * np.abs(alone.Y).max()
    assert np.abs(alone.tau0 - tau0[1, 1]).max() <= ROUNDING * max(np.abs(alone.tau0).max(), 1e-9)
    none = robot.regressor(q[:0], v[:0], a[:0])
    assert none.Y.shape == (0, *alone.Y.shape)


@pytest.mark.parametrize("name", ROBOTS)
def test_values_that_are_put_back_give_the_robot_back(name):
    robot = loaded(name)
    frame = robot.coordinates[0].body
    laden = robot.with_payload(frame, 3.0, (0.1, 0.0, 0.2))
    state = states(robot, 3)
    tau = laden.inverse_dynamics(*state)
    close(laden.with_parameters({}).inverse_dynamics(*state), tau, 1e-14)
    changed = laden.with_parameters(others(laden))
    assert np.abs(changed.inverse_dynamics(*state) - tau).max() > 1e-3 * np.abs(tau).max()
    close(changed.with_parameters(values_of(laden)).inverse_dynamics(*state), tau)
    close(pickle.loads(pickle.dumps(changed)).inverse_dynamics(*state), changed.inverse_dynamics(*state))
    # the payload can be taken off, and what was changed stays
    bare, mass = changed.with_payload(frame, 0.0), f"{frame}/mass"
    if mass in values_of(bare):
        assert values_of(bare)[mass] == pytest.approx(values_of(changed)[mass] - 3.0)
    assert changed.mass == pytest.approx(bare.mass + 3.0)


@pytest.mark.parametrize("name", LINKS)
def test_a_changed_body_is_that_of_a_description_with_its_numbers(name):
    robot, link = loaded(name), LINKS[name]
    described = flexdyn_ros.load(with_inertial(robot.description.text, link, *OTHER))
    changed = robot.with_parameters(ten_numbers(link, *OTHER))
    assert abs(changed.mass - robot.mass) > 0.1
    agree(changed, described)
    assert values_of(changed) == pytest.approx(values_of(described), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", LINKS)
def test_wrong_names_and_values_are_refused(name):
    robot, link = loaded(name), LINKS[name]
    with pytest.raises(UnknownNameError, match="parameter 'nothing'"):
        robot.with_parameters({"nothing": 1.0})
    with pytest.raises(StateError, match=f"{link}/mx.*nan"):
        robot.with_parameters({f"{link}/mx": float("nan")})
    with pytest.raises(StateError, match=rf"{link}/mass' is -1\.0, expected at least 0"):
        robot.with_parameters({f"{link}/mass": -1.0})


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_of_accelerations_by_parameters(name):
    """Against central differences of robots with other values; accelerations are smooth in them."""
    robot = loaded(name)
    q, v, a = (x[0] for x in states(robot, 1))
    tau = robot.inverse_dynamics(q, v, a) if robot.kind == "platform" else 1.0 - robot.functions.prescribed
    slopes = robot.forward_dynamics_parameter_derivatives(q, v, tau)
    a = np.abs(robot.forward_dynamics(q, v, tau)).max()

    def difference(p, step):
        ends = [robot.functions.with_parameters({p.name: p.value + s * step}) for s in (-1.0, 1.0)]
        low, high = (flexdyn_ros.Robot(end).forward_dynamics(q, v, tau) for end in ends)
        return (high - low) / (2.0 * step)

    for i in np.random.default_rng(7).permutation(len(robot.parameters))[:12]:
        p, size = robot.parameters[i], np.abs(slopes[:, i]).max()
        # rounding of accelerations, 1e-11 of them, is then 1e-6 of the slope
        step = 1e-5 * a / size if size > 0.0 else 1.0
        found = (4.0 * difference(p, step) - difference(p, 2.0 * step)) / 3.0
        assert np.abs(slopes[:, i] - found).max() <= 2e-5 * size + 1e-11 * a / step, p


# ---- platforms ----


def test_crosses_and_joints_of_a_platform_have_no_parameters():
    names = {p.name.rpartition("/")[0] for p in loaded("stewart_1t").parameters}
    legs = {f"leg_{n}_{part}" for n in range(1, 7) for part in ("cylinder", "rod")}
    assert names == {"platform", *legs}


def test_reactions_in_the_joints_of_legs_know_changed_bodies():
    robot = loaded("stewart_1t")
    described = flexdyn_ros.load(with_inertial(robot.description.text, "leg_2_rod", *OTHER))
    changed = robot.with_parameters(ten_numbers("leg_2_rod", *OTHER))
    state = states(robot, 3)
    for found, expected in zip(
        changed.joint_reactions(*state), described.joint_reactions(*state), strict=True
    ):
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max() + 1e-9


def test_legs_that_are_no_longer_round_are_computed_so_and_refused_where_their_spin_is_neglected():
    name = "leg_1_rod/mx"
    robot = loaded("stewart_1t")
    assert robot.functions.tables.axisymmetric
    assert not robot.with_parameters({name: 1.0}).functions.tables.axisymmetric
    without_spin = flexdyn_ros.load("stewart_1t", options={"formulation.leg_spin": "none"})
    with pytest.raises(StateError, match="leg 'leg_1' is not axisymmetric"):
        without_spin.with_parameters({name: 1.0})
    both = {f"leg_1_rod/{axis}": 9.0 for axis in ("ixx", "iyy")}
    changed = without_spin.with_parameters({**both, "leg_1_rod/mass": 40.0})
    q, v, a = states(without_spin, 3)
    Y, tau0 = without_spin.regressor(q, v, a)
    p = list(values_of(changed).values())
    close(Y @ p + tau0, changed.inverse_dynamics(q, v, a))


def test_regressors_at_singular_poses_are_refused_or_nan():
    robot = loaded("stewart_1t")
    q, v, a = states(robot, 2)
    turn = 0.5 * np.pi  # about the vertical: all legs meet an axis
    q[1] = [0.0, 0.0, robot.neutral()[2], 0.0, 0.0, np.sin(turn / 2.0), np.cos(turn / 2.0)]
    with pytest.raises(SingularityError):
        robot.regressor(q[1], v[1], a[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Y, tau0 = robot.regressor(q, v, a)
    assert [w.category for w in caught] == [FlexdynWarning]
    assert np.isfinite(Y[0]).all()
    assert np.isnan(Y[1]).all()
    assert np.isnan(tau0[1]).all()


# ---- soft arms ----


def test_sections_have_parameters_by_their_names_and_actuators_that_differ_by_theirs():
    parameters = loaded("soft_arm").parameters
    names = [p.name for p in parameters]
    assert all(p.lower == 0.0 for p in parameters[10:])
    assert names[10:] == [
        f"section_1/{x}" for x in ("section_mass", "stiffness", "damping", "bending_stiffness")
    ]
    uneven = [p.name for p in loaded("soft_arm uneven").parameters]
    assert uneven[11:17] == [
        f"section_1/actuator_{k}/{x}" for x in ("stiffness", "damping") for k in (1, 2, 3)
    ]


@pytest.mark.parametrize("name", SOFT[:4])
def test_a_changed_section_is_that_of_a_description_with_its_numbers(name):
    path = "joints.section_1.section"
    numbers = {"mass": 0.17, "stiffness": 1850.0, "damping": 11.0, "bending_stiffness": 0.3}
    bare, _, how = name.partition(" ")
    options = {**OPTIONS.get(how, {}), **{f"{path}.{part}": value for part, value in numbers.items()}}
    described = flexdyn_ros.load(bare, options=options)
    values = {f"section_1/{'section_mass' if part == 'mass' else part}": x for part, x in numbers.items()}
    agree(loaded(name).with_parameters(values), described)


def test_a_changed_section_bends_and_vibrates_by_its_numbers():
    robot = loaded("soft_arm")
    changed = robot.with_parameters({"section_1/stiffness": 850.0})
    q = states(robot, 1)[0][0]
    close(changed.deflections(q)["section_1"].moment, 0.5 * robot.deflections(q)["section_1"].moment)
    described = flexdyn_ros.load("soft_arm", options={"joints.section_1.section.stiffness": 850.0})
    close(changed.modes(0.0 * q).frequency, described.modes(0.0 * q).frequency)
    assert changed.with_quadrature().parameters == changed.parameters


# ---- arms on wheels ----


def test_wheels_have_parameters_beside_those_of_their_tree():
    names = [p.name for p in loaded("cart").parameters]
    wheel = loaded("cart").wheel_names[0]
    of_wheel = ("suspension_stiffness", "suspension_damping", "tyre_stiffness", "tyre_damping", "tyre_mass")
    first = names.index(f"{wheel}/suspension_stiffness")
    assert names[first : first + 5] == [f"{wheel}/{part}" for part in of_wheel]
    assert {"link_1/EIy", "link_1/mass_per_length", "shoulder/damping", "base_link/iyy"} <= {
        p.name for p in loaded("mobile_arm").parameters
    }


@pytest.mark.parametrize("name", WHEELED[:3])
def test_changed_suspensions_and_joints_are_those_of_a_description(name):
    robot = loaded(name)
    wheel = robot.wheel_names[0]
    bare, _, how = name.partition(" ")
    options = {**OPTIONS.get(how, {}), f"wheel.{wheel}.suspension.stiffness": 1400.0,
               f"wheel.{wheel}.suspension.damping": 70.0, "joints.elbow.rotor.inertia": 0.02}  # fmt: skip
    values = {
        f"{wheel}/suspension_stiffness": 1400.0,
        f"{wheel}/suspension_damping": 70.0,
        "elbow/rotor": 0.02,
    }
    changed, described = robot.with_parameters(values), flexdyn_ros.load(bare, options=options)
    agree(changed, described)
    q, v, _ = states(robot, 3)
    close(changed.wheel_forces(q, v).suspension, described.wheel_forces(q, v).suspension)


@pytest.mark.parametrize("name", WHEELED[3:])
def test_changed_tyres_are_those_of_a_description(name):
    numbers = {"stiffness": 3.1e4, "damping": 44.0, "mass": 2.5}
    described = flexdyn_ros.load(cart(**numbers), options=OPTIONS.get(name.partition(" ")[2]))
    robot = loaded(name)
    wheels = robot.wheel_names
    values = {f"{wheel}/tyre_{part}": x for wheel in wheels for part, x in numbers.items()}
    changed = robot.with_parameters(values)
    agree(changed, described)
    assert changed.mass == pytest.approx(robot.mass + len(wheels), rel=1e-12)


@pytest.mark.parametrize("how", ["", "articulated"])
def test_changed_beams_on_wheels_are_those_of_a_description_with_their_rigidity(how):
    """The shapes of these beams are polynomials, which do not depend on their rigidity."""
    options = {**OPTIONS.get(how, {}), "links.link_1.modes.axial": 0}
    robot = flexdyn_ros.load("mobile_arm", options=options)
    described = flexdyn_ros.load("mobile_arm", options={**options, "links.link_1.beam.material.E": 147e9})
    rigidity = 0.7 * values_of(robot)["link_1/EIy"]
    agree(robot.with_parameters({"link_1/EIy": rigidity}), described)


@pytest.mark.parametrize("name", WHEELED[:2])
def test_damping_of_a_mode_on_wheels_acts_on_its_effort(name):
    robot, mode = loaded(name), "link_2/bending_z/1"
    q, v, a = states(robot, 1)
    more = robot.with_parameters({f"{mode}/damping": values_of(robot)[f"{mode}/damping"] + 0.3})
    difference = more.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
    expected = np.zeros_like(difference)
    expected[0, robot.index(mode)] = 0.3 * v[0, robot.index(mode)]
    assert np.abs(difference - expected).max() < 1e-9


@pytest.mark.parametrize("rotary", ["none", "consistent"])
def test_a_heavier_beam_on_wheels_is_that_of_a_description_with_its_mass(rotary):
    """The shapes of these beams are polynomials, which do not depend on their mass."""
    text = flexdyn_ros.load("mobile_arm").description.text
    options = {"formulation.rotary_inertia": rotary, "formulation.stiffening": "geometric"}

    def with_mass(mu):
        root = ElementTree.fromstring(text.replace('mass_per_length="1.25"', f'mass_per_length="{mu}"'))
        link = next(x for x in root.iter("link") if x.get("name") == "link_1")
        link.remove(link.find("inertial"))
        return flexdyn_ros.load(ElementTree.tostring(root, encoding="unicode"), options=options)

    light, heavy = with_mass(1.25), with_mass(2.5)
    agree(light.with_parameters({"link_1/mass_per_length": 2.5}), heavy)


def test_what_lifts_off_is_no_parameter():
    """Forces of unilateral contact are clipped where they would pull: efforts are not linear in them."""
    road = '<road kind="flat" contact="unilateral"/>'
    names = {p.name for p in flexdyn_ros.load(cart(road)).parameters}
    wheel = loaded("cart").wheel_names[0]
    assert {f"{wheel}/suspension_stiffness", f"{wheel}/tyre_mass"} <= names
    assert not {f"{wheel}/tyre_stiffness", f"{wheel}/tyre_damping"} & names
    robot = flexdyn_ros.load(cart(road))
    q, v, a = states(robot, 6)
    Y, tau0 = robot.regressor(q, v, a)
    assert not robot.wheel_forces(q, v).in_contact.all()
    close(Y @ list(values_of(robot).values()) + tau0, robot.inverse_dynamics(q, v, a))
    bare = flexdyn_ros.load("mobile_arm", options={"road.contact": "unilateral"})
    assert not any("suspension" in p.name for p in bare.parameters)
