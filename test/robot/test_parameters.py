"""Parameters of trees: tau is linear in them, and a robot with other values is another robot."""

import pickle
import warnings

import numpy as np
import pytest
from flexible_robots import bent_state, cantilever
from models import elastic
from random_robots import random_robot

import flexdyn_ros
from flexdyn_ros import Robot
from flexdyn_ros.errors import FlexdynWarning, SingularityError, StateError, UnknownNameError

TREES = ["seven_joint_arm", "flexible_two_link", "canadarm2"]
ELASTIC = ["elastic seven_joint_arm", "elastic flexible_two_link"]


def loaded(name):
    return elastic(name.split()[1]) if " " in name else flexdyn_ros.load(name)


def motion(robot, seed, shape=()):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, robot.nq)
    return q, *rng.standard_normal((2, *shape, robot.nv))


def values_of(robot):
    return np.array([p.value for p in robot.parameters])


def random_trees():
    return [
        flexdyn_ros.load(random_robot(family, seed)) for family in ("rigid", "flexible") for seed in range(3)
    ]


def close(found, expected, bound=1e-12):
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


@pytest.mark.parametrize(
    "robot", [*map(loaded, [*TREES, *ELASTIC]), *random_trees()], ids=lambda r: f"{r.name} {r.nv}"
)
def test_efforts_are_linear_in_the_parameters(robot):
    q, v, a = motion(robot, 1, (4,))
    Y, tau0 = robot.regressor(q, v, a)
    assert Y.shape == (4, robot.nu, len(robot.parameters))
    close(Y @ values_of(robot) + tau0, robot.inverse_dynamics(q, v, a))
    if not robot.functions.bends:
        assert not tau0.any()


def test_the_regressor_is_that_of_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="the test oracle Pinocchio (package pin) is not installed")
    from pinocchio_oracle import model_of

    robot = flexdyn_ros.load("seven_joint_arm")
    model = model_of(robot.description)
    q, v, a = motion(robot, 2)
    theirs = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)
    names = ("mass", "mx", "my", "mz", "ixx", "ixy", "iyy", "ixz", "iyz", "izz")
    order = {p.name: i for i, p in enumerate(robot.parameters)}
    links = {c.name: c.body for c in robot.coordinates}
    columns = [order[f"{links[name]}/{number}"] for name in model.names[1:] for number in names]
    close(robot.regressor(q, v, a).Y[:, columns], theirs, 1e-10)


@pytest.mark.parametrize("name", [*TREES, *ELASTIC])
def test_a_robot_with_other_values_moves_by_them(name):
    robot = loaded(name)
    laden = robot.with_payload(robot.frame_names[-1], 3.0, (0.1, 0.0, 0.2), np.diag([0.1, 0.2, 0.2]))
    rng = np.random.default_rng(3)
    for one in (robot, laden):
        chosen = [p for p in one.parameters if p.value > 0.0]
        new = {p.name: p.value * float(rng.uniform(0.5, 2.0)) for p in chosen}
        other = one.with_parameters(new)
        q, v, a = motion(one, 4)
        Y, tau0 = one.regressor(q, v, a)
        p = [new.get(parameter.name, parameter.value) for parameter in one.parameters]
        close(other.inverse_dynamics(q, v, a), Y @ p + tau0)
        close(values_of(other), np.array(p))
        close(pickle.loads(pickle.dumps(other)).mass_matrix(q), other.mass_matrix(q), 1e-15)
        back = other.with_parameters({parameter.name: parameter.value for parameter in one.parameters})
        close(back.mass_matrix(q), one.mass_matrix(q))


def test_a_payload_stays_when_parameters_change_and_can_be_taken_off():
    robot = flexdyn_ros.load("seven_joint_arm")
    frame = robot.frame_names[-1]
    link = robot.coordinates[-1].body
    loaded = robot.with_payload(frame, 3.0).with_parameters({f"{link}/mass": 5.0})
    assert {p.name: p.value for p in loaded.parameters}[f"{link}/mass"] == pytest.approx(5.0)
    bare = {p.name: p.value for p in loaded.with_payload(frame, 0.0).parameters}
    assert bare[f"{link}/mass"] == pytest.approx(2.0)


@pytest.mark.parametrize("name", [*TREES, *ELASTIC])
def test_derivatives_of_accelerations_by_parameters(name):
    """Against central differences of robots with other values."""
    robot = loaded(name)
    q, v, _ = motion(robot, 7)
    q, v, tau = 0.1 * q, 0.1 * v, np.ones(robot.nu)
    slopes = robot.forward_dynamics_parameter_derivatives(q, v, tau)
    assert slopes.shape == (robot.nv, len(robot.parameters))

    def difference(parameter, step):
        ends = [
            Robot(robot.functions.with_parameters({parameter.name: parameter.value + s * step}))
            .forward_dynamics(q, v, tau)
            for s in (-1.0, 1.0)
        ]  # fmt: skip
        return (ends[1] - ends[0]) / (2.0 * step)

    noise = 1e-11 * np.abs(robot.forward_dynamics(q, v, tau)).max()
    for i in np.random.default_rng(7).permutation(len(robot.parameters))[:30]:
        parameter = robot.parameters[i]
        step = 1e-5 * max(abs(parameter.value), 0.1)
        found = (4.0 * difference(parameter, step) - difference(parameter, 2.0 * step)) / 3.0
        bound = 2e-5 * np.abs(found).max() + noise / step
        assert np.abs(slopes[:, i] - found).max() <= bound, parameter


def test_derivative_by_parameters_of_batches_and_by_name():
    robot = flexdyn_ros.load("canadarm2")
    rng = np.random.default_rng(8)
    q, v, tau = (0.01 * rng.standard_normal((3, n)) for n in (robot.nq, robot.nv, robot.nu))
    frame = robot.frame_names[-1]
    chosen = {"parameters": ["boom_1/EI*", "*/rotor"], "wrenches": {frame: rng.standard_normal(6)}}
    names = [p.name for p in robot.parameters]
    columns = [i for i, n in enumerate(names) if n.startswith("boom_1/EI") or n.endswith("/rotor")]
    many = robot.forward_dynamics_parameter_derivatives(q, v, tau, **chosen)
    assert many.shape == (3, robot.nv, len(columns))
    for i in range(3):
        every = robot.forward_dynamics_parameter_derivatives(q[i], v[i], tau[i], chosen["wrenches"])
        close(many[i], every[:, columns], 1e-9)
    with pytest.raises(UnknownNameError, match="parameter 'wheel/mass'"):
        robot.forward_dynamics_parameter_derivatives(q[0], v[0], parameters="wheel/mass")


def test_wrong_parameters_are_refused_by_name():
    robot = flexdyn_ros.load("seven_joint_arm")
    first = robot.parameters[0].name
    with pytest.raises(UnknownNameError, match="parameter 'nothing'"):
        robot.with_parameters({"nothing": 1.0})
    with pytest.raises(StateError, match=f"{first}.*nan"):
        robot.with_parameters({first: float("nan")})
    with pytest.raises(StateError, match=r"-1\.0, expected at least 0"):
        robot.with_parameters({first: -1.0})


def test_fixed_steps_know_changed_damping_friction_and_springs():
    robot = flexdyn_ros.load("seven_joint_arm")
    i = robot.index("wrist_roll")
    changes = {"wrist_roll/damping": 0.7, "wrist_roll/friction": 0.2, "wrist_roll/stiffness": 3.0}
    before, changed = robot.motion, robot.with_parameters(changes).motion
    assert changed.stiffness[i] == before.stiffness[i] + 3.0 - values_by_name(robot)["wrist_roll/stiffness"]
    smoothing = robot.description.joint("wrist_roll").dry_friction.smoothing_velocity
    assert changed.damping[i] == pytest.approx(0.7 + 0.2 / smoothing)  # friction is steep around rest
    others = np.arange(robot.nv) != i
    assert (changed.damping[others] == before.damping[others]).all()


def test_numbers_of_an_elastic_joint_are_those_of_its_description():
    robot = elastic("seven_joint_arm")
    joint = robot.description.joint("shoulder_pitch")
    values = {"rotor": 0.4, "elasticity_stiffness": 700.0, "elasticity_damping": 4.0}
    known = values_by_name(robot)
    assert known["shoulder_pitch/rotor"] == pytest.approx(joint.rotor.gear_ratio**2 * joint.rotor.inertia)
    assert known["shoulder_pitch/elasticity_stiffness"] == joint.elasticity.stiffness
    changed = robot.with_parameters({f"shoulder_pitch/{name}": value for name, value in values.items()})
    options = {"rotor.inertia": 0.4 / joint.rotor.gear_ratio**2, "joint_elasticity.stiffness": 700.0,
               "joint_elasticity.damping": 4.0}  # fmt: skip
    described = flexdyn_ros.load(
        robot.description.text, options={f"joints.shoulder_pitch.{name}": x for name, x in options.items()}
    )
    q, v, a = motion(robot, 5, (3,))
    close(changed.inverse_dynamics(q, v, a), described.inverse_dynamics(q, v, a))
    close(changed.inverse_dynamics(q[0], v[0], a[0]), described.inverse_dynamics(q[0], v[0], a[0]))
    runs = [flexdyn_ros.simulate(one, 0.05, q[0], 0.1 * v[0]) for one in (robot, changed, described)]
    assert np.abs(runs[0].q - runs[2].q).max() > 1e-3
    close(runs[1].q, runs[2].q, 1e-8)


def test_a_motor_without_inertia_is_singular():
    robot = elastic("seven_joint_arm").with_parameters({"shoulder_pitch/rotor": 0.0})
    q, v, _ = motion(robot, 5)
    with pytest.raises(SingularityError):
        robot.forward_dynamics(q, v, np.ones(robot.nu))
    assert not np.isfinite(robot.forward_dynamics(q[None], v, np.ones(robot.nu))[0, -1])


def values_by_name(robot):
    return {p.name: p.value for p in robot.parameters}


# ---- beams ----


def test_rigidity_acts_on_efforts_and_bending_moments():
    robot = flexdyn_ros.load("canadarm2")
    values = {p.name: p.value for p in robot.parameters}
    assert {
        f"boom_1/{x}" for x in ("EIy", "EIz", "GJ", "mass_per_length", "bending_y/1/damping")
    } <= values.keys()
    changed = robot.with_parameters({"boom_2/EIz": 0.5 * values["boom_2/EIz"]})
    again = changed.with_parameters({"boom_2/EIz": values["boom_2/EIz"]})
    q, v, a = motion(robot, 3)
    tau = robot.inverse_dynamics(q, v, a)
    assert np.abs(changed.inverse_dynamics(q, v, a) - tau).max() > 1e-6 * np.abs(tau).max()
    close(again.inverse_dynamics(q, v, a), tau)
    # half the rigidity, half the moment of the same deflection
    moments = [r.deflections(q)["boom_2"].moment for r in (robot, changed)]
    close(moments[1][..., 2], 0.5 * moments[0][..., 2])
    close(moments[1][..., 1], moments[0][..., 1])


@pytest.mark.parametrize("rotary", ["consistent", "paper"])
def test_rigidity_is_no_inertia(rotary):
    robot = flexdyn_ros.load("canadarm2", options={"formulation.rotary_inertia": rotary})
    values = {p.name: 3.0 * p.value for p in robot.parameters if p.name.endswith(("/EIy", "/EIz", "/GJ"))}
    stiff, (q, _, _) = robot.with_parameters(values), motion(robot, 3)
    assert len(values) == 6
    close(stiff.mass_matrix(q), robot.mass_matrix(q), 1e-14)
    assert stiff.mass == pytest.approx(robot.mass, rel=1e-14)


def test_a_changed_beam_is_that_of_a_description_with_its_rigidity():
    """The shapes of a uniform cantilever do not depend on its rigidity."""
    modes = 'bending_y="2" bending_z="2" torsion="1"'
    soft, stiff = (flexdyn_ros.load(cantilever(modes, EI=EI)) for EI in (1.4e4, 2.1e4))
    changed = soft.with_parameters({"beam/EIy": 2.1e4, "beam/EIz": 2.1e4})
    q, v, a = bent_state(soft)
    close(changed.inverse_dynamics(q, v, a), stiff.inverse_dynamics(q, v, a))
    found, expected = (flexdyn_ros.simulate(r, 0.02, q, v, dt=1e-4) for r in (changed, stiff))
    close(found.q, expected.q, 1e-9)


SECTION = '<tube outer_radius="0.2" wall="0.01"/>'


@pytest.mark.parametrize("section", ["", SECTION], ids=["stated", "section"])
@pytest.mark.parametrize("method", ["articulated", "lagrange"])
def test_a_heavier_beam_is_that_of_a_description_with_its_mass_per_length(section, method):
    """The shapes of a uniform cantilever do not depend on its mass; the rotary inertia of a section does."""

    def loaded(mu):
        text = cantilever('bending_y="2" bending_z="2" torsion="1"', mu=mu)
        if section:
            text = text.replace('polar_inertia="0.02"/>', f">{section}</beam>")
        return flexdyn_ros.load(text, options={"formulation.method": method})

    light, heavy = loaded(2.0), loaded(3.5)
    changed = light.with_parameters({"beam/mass_per_length": 3.5})
    q, v, a = bent_state(light)
    close(changed.inverse_dynamics(q, v, a), heavy.inverse_dynamics(q, v, a))
    close(changed.mass_matrix(q), heavy.mass_matrix(q))
    assert changed.mass == pytest.approx(heavy.mass, rel=1e-14)
    back = changed.with_parameters({"beam/mass_per_length": 2.0})
    close(back.mass_matrix(q), light.mass_matrix(q), 1e-14)


@pytest.mark.parametrize("name", TREES)
def test_both_methods_see_changed_parameters(name):
    robot, other = (
        flexdyn_ros.load(name, options={"formulation.method": method}) for method in (None, "lagrange")
    )
    rng = np.random.default_rng(6)
    chosen = [p for p in robot.parameters if p.value > 0.0]
    new = {p.name: p.value * float(rng.uniform(0.5, 2.0)) for p in chosen}
    changed, also = robot.with_parameters(new), other.with_parameters(new)
    q, v, a = bent_state(robot, size=0.1)
    close(also.inverse_dynamics(q, v, a), changed.inverse_dynamics(q, v, a), 1e-9)
    close(also.mass_matrix(q), changed.mass_matrix(q), 1e-9)


def test_damping_of_a_mode():
    robot = flexdyn_ros.load("flexible_two_link")
    name = "link_1/bending_y/1/damping"
    value = {p.name: p.value for p in robot.parameters}[name]
    q, v, a = motion(robot, 4)
    v[:] = 0.0
    v[robot.index("link_1/bending_y/1")] = 2.0
    more = robot.with_parameters({name: value + 0.5}).inverse_dynamics(q, v, a)
    difference = more - robot.inverse_dynamics(q, v, a)
    assert difference[robot.index("link_1/bending_y/1")] == pytest.approx(1.0, rel=1e-9)


def test_damping_of_a_mode_that_lets_a_link_gain_energy_is_told():
    """Entries between two modes stay: with a zero on the diagonal the damping matrix is indefinite."""
    robot = flexdyn_ros.load("flexible_two_link")
    name = "link_1/bending_y/1/damping"
    with pytest.warns(FlexdynWarning, match="link_1 gains energy in some motions of its modes"):
        less = robot.with_parameters({name: 0.0})
    own = [robot.index(c.name) for c in robot.coordinates if c.name.startswith("link_1/bending_y")]
    q, rest = robot.neutral(), np.zeros(robot.nv)

    def damping(of):
        step = 1e-3 * np.eye(robot.nv)[own]
        held = of.inverse_dynamics(q, rest, rest)
        return np.array([of.inverse_dynamics(q, v, rest) - held for v in step])[:, own] / 1e-3

    assert np.linalg.eigvalsh(damping(less))[0] < 0.0 < np.linalg.eigvalsh(damping(robot))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", FlexdynWarning)
        robot.with_parameters({name: 10.0})


#: an arm whose last link bends, and carries an adapter with a payload and a frame that has no mass
TOOLED = """<robot name="tooled"><link name="world"/>
<link name="upper"><inertial><origin xyz="0.2 0 0.01"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
<link name="fore"/>
<link name="adapter"><inertial><origin xyz="0 0.01 0"/><mass value="0.2"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<link name="payload"><inertial><origin xyz="{x} 0 0.03" rpy="0.3 0 0"/><mass value="{m}"/>
<inertia ixx="2e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="2e-3"/></inertial></link><link name="tcp"/>
<link name="box"><inertial><mass value="0.5"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link>
<joint name="one" type="continuous"><parent link="world"/><child link="upper"/><axis xyz="0 1 0"/></joint>
<joint name="two" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/>
<axis xyz="0 1 0"/></joint>
<joint name="bolts" type="fixed"><parent link="upper"/><child link="box"/><origin xyz="0.1 0 0.05"/></joint>
<joint name="flange" type="fixed"><parent link="fore"/><child link="adapter"/><origin xyz="0.5 0 0"/></joint>
<joint name="grip" type="fixed"><parent link="adapter"/><child link="payload"/>
<origin xyz="0.02 0 0.01" rpy="0 0.4 0.2"/></joint>
<joint name="tip" type="fixed"><parent link="payload"/><child link="tcp"/><origin xyz="0.1 0 0"/></joint>
<flexdyn reference="fore"><beam><tube outer_radius="0.01" wall="0.001"/><material name="aluminium"/></beam>
<modes bending_z="2" torsion="1"/><damping ratio="0.01"/></flexdyn></robot>"""
BENDS = {
    "bends": None,
    "rigid": {"formulation.flexible": False},
    "lagrange": {"formulation.method": "lagrange"},
}


@pytest.mark.parametrize("options", BENDS.values(), ids=BENDS)
def test_payloads_on_fixed_links_are_parameters(options):
    robot = flexdyn_ros.load(TOOLED.format(x=0.04, m=0.8), options=options)
    known = {p.name: p.value for p in robot.parameters}
    own = {"upper": 2.0, "adapter": 0.2, "payload": 0.8, "box": 0.5}
    assert {link: known[f"{link}/mass"] for link in own} == pytest.approx(own, rel=1e-14)
    # with the others as they are: first moments and inertia in link axes, about the link's origin
    assert known["payload/mx"] == pytest.approx(0.8 * 0.04)
    assert known["upper/iyy"] == pytest.approx(0.03 + 2.0 * (0.2**2 + 0.01**2))
    q, v, a = motion(robot, 3, (4,))
    q *= 0.1
    Y, tau0 = robot.regressor(q, v, a)
    expected = robot.inverse_dynamics(q, v, a)
    close(Y @ values_of(robot) + tau0, expected)
    # another payload is what a description with that one gives
    heavy = flexdyn_ros.load(TOOLED.format(x=-0.02, m=1.7), options=options)
    wanted = {p.name: p.value for p in heavy.parameters if p.name.startswith("payload/")}
    changed = robot.with_parameters(wanted)
    if options is not None and "formulation.flexible" in options:
        close(changed.inverse_dynamics(q, v, a), heavy.inverse_dynamics(q, v, a), 1e-13)
    # mode shapes are those of the description that was loaded: it is the same to the mass that they move
    assert changed.mass == pytest.approx(heavy.mass)
    assert {p.name: p.value for p in changed.parameters if p.name in wanted} == pytest.approx(wanted)
    close(
        changed.inverse_dynamics(q, v, a) - expected,
        np.einsum("nij,j->ni", Y, values_of(changed) - values_of(robot)),
        1e-11,
    )
    assert changed.with_parameters(known).mass == pytest.approx(robot.mass)


def test_payloads_after_loading_count_with_the_body_that_carries_them():
    robot = flexdyn_ros.load(TOOLED.format(x=0.04, m=0.8), options=BENDS["rigid"])
    loaded = robot.with_payload("tcp", 0.3)
    before, after = ({p.name: p.value for p in r.parameters} for r in (robot, loaded))
    assert after["payload/mass"] == before["payload/mass"]
    assert after["fore/mass"] == pytest.approx(before["fore/mass"] + 0.3)
    assert loaded.with_parameters({"payload/mass": 1.0}).mass == pytest.approx(robot.mass + 0.5)
