"""The shipped experiments against closed forms, and against runs that are made otherwise."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.studies.experiments import registry
from flexdyn_ros.studies.experiments.registry import SHIPPED, arguments_of, function_of, results_of, units_of

START, END = [-0.6, 1.0, -0.4, 0.3, 0.0], [-0.5, 0.9, -0.4, 0.3, 0.0]
ORBIT = {"gravity": [0.0, 0.0, 0.0]}


def experiment(name, robot, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = function_of(name)(robot, **arguments)
    # a study may ask for what it says that it gives, and for nothing else
    numbers = {
        key for key, x in found.items() if isinstance(x, int | float | np.generic) and not isinstance(x, str)
    }
    assert numbers == set(results_of(function_of(name)))
    # so that a study by their texts is refused before it runs, too
    assert not any(isinstance(x, str) or x is None for x in found.values())
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_experiments_say_what_they_do_and_their_units(name):
    function = function_of(name)
    assert "Results:" in function.__doc__
    named, anything = arguments_of(function)
    assert named
    assert not anything
    assert units_of(function)
    for word in named:
        assert word in function.__doc__ or word in ("frame", "pose"), word


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: registry.experiment(["tip"]), r"names of results are texts, not \['tip'\]"),
        (
            lambda: registry.experiment(("tip", "y"), tip="m"),
            r"names of results are texts, not \('tip', 'y'\)",
        ),
        (lambda: registry.experiment("tip", 3), "names of results are texts, not 3"),
        (lambda: registry.experiment("tip", ""), "names of results are texts, not ''"),
        (lambda: registry.experiment("tip", tip=3), "the unit of 'tip' is a text, not 3"),
        (
            lambda: registry.experiment(experiment),
            r"write @experiment\(\), with parentheses, above experiment",
        ),
    ],
)
def test_what_an_experiment_says_of_its_results_is_texts(wrong, words):
    with pytest.raises(TypeError, match=words):
        wrong()


def test_a_wrong_declaration_is_told_as_the_module_is_imported(tmp_path):
    lines = ("from flexdyn_ros.studies import experiment", "@experiment", "def reach(robot): ...")
    (tmp_path / "forgotten_parentheses.py").write_text("\n".join(lines))
    with pytest.raises(DescriptionError, match=r"cannot be imported: TypeError: write @experiment\(\)"):
        function_of("forgotten_parentheses:reach", str(tmp_path))


def test_a_held_beam_sags_as_a_cantilever_does():
    text = (
        '<robot name="beam"><link name="base"/><link name="boom"/><link name="tip"/>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1e6" velocity="1"/></joint>'
        '<joint name="t" type="fixed"><parent link="boom"/><child link="tip"/><origin xyz="2 0 0"/></joint>'
        "<flexdyn><gravity>0 0 0</gravity></flexdyn>"
        '<flexdyn reference="boom"><beam mass_per_length="3" EIy="4e4" EIz="4e4"/>'
        '<modes bending_z="2" basis="hermite"/></flexdyn></robot>'
    )
    robot = flexdyn_ros.load(text)
    found = experiment("static", robot, force=[0.0, 0.0, -100.0])
    # F l^3 / 3 EI; cubic shapes hold it exactly but for the shortening of the bent beam, some (sag / l)^2
    assert found["sag"] == pytest.approx(100.0 * 8.0 / (3.0 * 4e4), rel=1e-4)
    assert found["largest_effort"] == pytest.approx(200.0, rel=1e-4)
    assert found["largest_moment"] == pytest.approx(found["largest_effort"], rel=1e-9)
    assert found["stable"]
    # cubic shapes: 3.533 against 3.516 of the exact beam (Blevins 1979)
    assert found["first_frequency"] == pytest.approx(
        3.533 / (2 * np.pi) * np.sqrt(4e4 / (3 * 2**4)), rel=1e-3
    )


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "soft_arm_3", "two_link"])
def test_the_largest_moment_at_rest_is_that_of_equilibrium_or_of_the_shapes(name):
    robot = flexdyn_ros.load(name)
    found, still = experiment("static", robot), np.zeros(robot.nv)
    rest = robot.static_equilibrium(hold="joints")
    links = robot.deflections(rest.q)
    if name == "canadarm2":
        links = {link: each for link, each in robot.loads(rest.q, still, still).items() if link in links}
    expected = max((np.linalg.norm(each.moment, axis=-1).max() for each in links.values()), default=0.0)
    assert found["largest_moment"] == pytest.approx(expected, rel=1e-12)


def test_modes_of_a_pendulum_and_a_fall_keep_their_closed_forms():
    text = (
        '<robot name="p"><link name="base"/><link name="bob"><inertial>'
        '<origin xyz="0 0 -0.5"/><mass value="2"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="bob"/>'
        '<axis xyz="0 1 0"/></joint></robot>'
    )
    robot = flexdyn_ros.load(text)
    found = experiment("modes", robot)
    assert found["first_frequency"] == pytest.approx(np.sqrt(9.80665 / 0.5) / (2 * np.pi), rel=1e-9)
    fall = experiment("free_fall", robot.with_payload("bob", 1e-9), pose={"j": np.pi / 2}, duration=0.3)
    assert fall["balance_error"] < 1e-6
    assert fall["trajectory"].t[-1] == pytest.approx(0.3)
    with pytest.raises(UnknownNameError, match="pose"):
        experiment("modes", robot, pose={"k": 1.0})


def test_fixed_steps_of_a_slew_end_where_the_default_run_does():
    robot = flexdyn_ros.load("canadarm2", options=ORBIT).with_payload("tool0", 300.0)
    arguments = {"start": START, "end": END, "duration": 0.2, "settle": 0.1}
    quick, default = (experiment("slew", robot, **arguments, dt=dt) for dt in (1e-3, None))
    tips = [np.array([found[f"tip_{x}"] for x in "xyz"]) for found in (quick, default)]
    assert np.linalg.norm(tips[0] - tips[1]) < 5e-3
    for name in ("residual_swing", "largest_swing", "largest_effort"):
        assert quick[name] == pytest.approx(default[name], rel=0.02)


def test_a_shaper_takes_the_swing_out_of_a_slew():
    robot = flexdyn_ros.load("flexible_two_link")
    arguments = {
        "start": [0.0, 0.0],
        "end": [0.5, 0.3],
        "duration": 0.9,
        "settle": 0.5,
        "frequency": 2.0,
        "modes": 2,
    }
    plain, shaped = (experiment("slew", robot, **arguments, shaper=s) for s in ("none", "zv"))
    assert shaped["residual_swing"] < 0.5 * plain["residual_swing"]
    assert plain["first_frequency"] == shaped["first_frequency"] > 0.5
    with pytest.raises(UnknownNameError, match="did you mean zv"):
        experiment("slew", robot, **arguments, shaper="zz")
    with pytest.raises(ValueError, match="the shaper takes"):
        experiment("slew", robot, **(arguments | {"duration": 0.05}), shaper="zvd")


def test_a_drive_by_fixed_steps_is_the_default_run_and_worse_roads_push_more():
    robot = flexdyn_ros.load("mobile_arm")
    arguments = {"distance": 0.06, "pose": [0.5, -0.3]}
    quick, default = (experiment("drive_over_road", robot, **arguments, dt=dt) for dt in (1e-3, None))
    for name in ("smallest_wheel_force", "tip_error"):
        assert quick[name] == pytest.approx(default[name], rel=2e-3)
    assert 0.0 < quick["share_of_weight"] < 1.0
    assert quick["air_time"] == 0.0
    road = {"kind": "iso8608", **dict.fromkeys(("amplitude", "offset", "wavelength", "phase"))}
    rough = [
        experiment("drive_over_road", flexdyn_ros.load("mobile_arm", options={
            "road": {**road, "class": c}, "drive.speed": 5.0}), distance=2.0, pose=[1.2, -0.8])
        for c in "BE"
    ]  # fmt: skip
    assert rough[1]["share_of_weight"] < rough[0]["share_of_weight"]
    # a straight line carries no wave: eight times the amplitude shakes the tip some eight times as much
    assert rough[1]["tip_acceleration"] > 4.0 * rough[0]["tip_acceleration"]
    with pytest.raises(UnsupportedError, match="no wheels"):
        experiment("drive_over_road", flexdyn_ros.load("two_link"))


def test_a_lift_uses_up_its_margins_with_reach_and_payload():
    flat = {
        "road": {"kind": "flat", **dict.fromkeys(("amplitude", "offset", "wavelength", "phase", "start"))}
    }
    robot = flexdyn_ros.load("mobile_arm", options=flat)
    arguments = {
        "frame": "link_2/tip",
        "height": 0.9,
        "pose": [1.3, -1.0],
        "torque_limits": {"shoulder": 50.0},
    }
    near, heavy, far = (
        experiment("lift", robot, reach=reach, payload=payload, **arguments)
        for reach, payload in ((0.6, 1.0), (0.6, 3.0), (1.2, 3.0))
    )
    for name in ("wheel_margin", "torque_margin", "strain_margin", "margin"):
        assert near[name] > heavy[name] > far[name]
    same = experiment("lift", robot.with_payload("link_2/tip", 3.0), reach=0.6, **arguments)
    assert same == heavy
    assert heavy["torque_margin"] < 1.0 - 3.0 * 9.8 * 0.1 / 50.0
    with pytest.raises(StateError, match="does not get to a reach of 3 m"):
        experiment("lift", robot, reach=3.0, **arguments)


def test_the_ratio_of_least_error_is_near_the_published_one():
    robot = flexdyn_ros.load("soft_arm")
    found = experiment("lumped_against_exact", robot, states=4000)
    assert found["best_ratio"] == pytest.approx(0.5655, abs=2e-3)
    ratios = [found["best_ratio"] + d for d in (-0.01, 0.0, 0.01)]
    errors = [
        experiment("lumped_against_exact", robot, energy_ratio=ratio, states=4000)["error"]
        for ratio in ratios
    ]
    assert errors[1] == min(errors)
    bent = experiment("lumped_against_exact", robot, bending=1.5)
    assert bent["best_ratio"] > found["best_ratio"]
    # (r / xi - 1)^2 and r / xi - 1 have means of A / xi^2 - 2 B / xi + 1 and B / xi - 1; A / B is the best xi
    means = []
    for ratio in (0.4, 0.56, 1.0):
        other = experiment("lumped_against_exact", robot, energy_ratio=ratio, bending=1.5)
        first = ratio * (other["bias"] + 1.0)
        second = other["best_ratio"] * first
        assert other["error"] ** 2 == pytest.approx(second / ratio**2 - 2.0 * first / ratio + 1.0)
        means.append((first, second))
    np.testing.assert_allclose(means, means[:1] * 3, rtol=1e-12)
    # as many states as are asked for, and others from another seed
    drawn = [{}, {"states": 499}, {"seed": 1}, {"seed": 2}, {"seed": 1}]
    errors = [experiment("lumped_against_exact", robot, bending=1.5, **more)["error"] for more in drawn]
    assert len(set(errors)) == 4
    assert errors[2] == errors[4]
    with pytest.raises(UnsupportedError, match="one soft section"):
        experiment("lumped_against_exact", flexdyn_ros.load("soft_arm_3"))


def test_a_workspace_shrinks_with_every_bound():
    robot = flexdyn_ros.load("stewart_1t")
    whole = experiment("workspace", robot, samples=512)
    again = experiment("workspace", robot, samples=512)
    assert whole == again
    for bound in ({"tilt": 0.2}, {"force_limit": 3300.0}, {"singular_margin": 0.95}):
        less = experiment("workspace", robot, samples=512, **bound)
        assert 0.0 < less["volume"] < whole["volume"], bound
    assert (
        experiment("workspace", robot.with_payload("platform", 500.0), samples=512)["largest_force"]
        > whole["largest_force"]
    )
    assert whole["volume"] == pytest.approx(whole["share_of_box"] * 0.8 * 0.8 * 0.4)
    with pytest.raises(UnsupportedError, match="no platform"):
        experiment("workspace", flexdyn_ros.load("two_link"))


def test_a_tilted_workspace_is_tilted_about_six_axes_all_around():
    """A box of no size: home itself, level and tilted by SciPy, under a load that stands aside."""
    robot = flexdyn_ros.load("stewart_1t").with_payload("platform", 400.0, (0.3, 0.55, 0.2))
    home, tilt = robot.neutral(), 0.25
    axes = [(np.cos(np.pi * k / 3), np.sin(np.pi * k / 3), 0.0) for k in range(6)]
    turns = [Rotation.from_rotvec(np.multiply(tilt, axis)) for axis in axes]
    q = np.array([home, *(np.concatenate((home[:3], turn.as_quat())) for turn in turns)])
    force = np.abs(robot.inverse_dynamics(q, np.zeros(6), np.zeros(6))).max(axis=1)
    least = robot.workspace_margins(q).singular_values[:, -1]
    arguments = {"extent": (0.0, 0.0, 0.0), "samples": 2}
    level = experiment("workspace", robot, **arguments)
    assert (level["largest_force"], level["smallest_margin"]) == pytest.approx((force[0], least[0]))
    # the worst of them is none of the first three
    assert force.argmax() > 3
    tilted = experiment("workspace", robot, tilt=tilt, force_limit=1e9, singular_margin=0.0, **arguments)
    assert tilted["share_of_box"] == 1.0
    assert (tilted["largest_force"], tilted["smallest_margin"]) == pytest.approx((force.max(), least.min()))
    between = 0.5 * np.sum(np.sort(force)[-2:])
    lost = experiment("workspace", robot, tilt=tilt, force_limit=between, singular_margin=0.0, **arguments)
    assert (lost["lost_by_force"], lost["share_of_box"]) == (1.0, 0.0)


def test_angles_of_joints_and_legs_that_touch_take_from_a_workspace():
    text = flexdyn_ros.load("stewart_electric").description.text
    free = text.replace('ball_limit="0.7" diameter="0.045"', 'ball_limit="0.9" diameter="0.001"')
    arguments = {"extent": (0.2, 0.2, 0.1), "samples": 256}
    whole = experiment("workspace", flexdyn_ros.load(free), **arguments)
    assert (whole["lost_by_angle"], whole["lost_by_singularity"]) == (0.0, 0.0)
    assert whole["volume"] > 0.0

    def less(old, new):
        assert old in free
        found = experiment("workspace", flexdyn_ros.load(free.replace(old, new)), **arguments)
        for name in ("stroke", "force", "singularity"):
            assert found[f"lost_by_{name}"] == whole[f"lost_by_{name}"]
        return found

    for old, new in (
        ('ball_limit="0.9"', 'ball_limit="0.2"'),
        ('lower="-1.2" upper="1.2"', 'lower="-0.45" upper="0.45"'),
    ):
        found = less(old, new)
        assert 0.0 < found["lost_by_angle"] < 1.0
        assert 0.0 < found["volume"] < whole["volume"]
    # neighbours are closest where they are joined, everywhere
    found = less('diameter="0.001"', 'diameter="0.06"')
    assert (found["lost_by_angle"], found["volume"]) == (1.0, 0.0)


@pytest.mark.parametrize(("reach", "payload"), [(5.5, 800.0), (6.5, 1500.0)])
def test_a_lift_on_oil_tells_the_pressure_that_virtual_work_gives(reach, payload):
    robot = flexdyn_ros.load("boom")
    arguments = {
        "frame": "load_point", "height": 2.0, "joints": ["lift", "fold"],
        "pose": {"lift": 0.6, "fold": -1.0, "tilt": 0.3}, "pressure_limit": 2e7, "sag_limit": 0.015,
    }  # fmt: skip
    found = experiment("lift_with_oil", robot, reach=reach, payload=payload, **arguments)
    # each cylinder spans one joint: its force is the slope of the energy of gravity over its length
    loaded, q, joints = robot.with_payload("load_point", payload), robot.neutral(), ("lift", "fold", "tilt")
    from flexdyn_ros.studies.experiments.reach import _pose_at

    at = [robot.q_names.index(name) for name in joints]
    q[at] = 0.6, -1.0, 0.3
    q = _pose_at(robot, "load_point", reach, 2.0, q, ["lift", "fold"])
    q = loaded.static_equilibrium(q, hold=robot.hydraulics.names).q
    still, pressures = np.zeros(robot.nv), []
    for k, (bore, rod) in enumerate([(0.1, 0.063), (0.125, 0.08), (0.05, 0.028)]):
        ends = []
        for sign in (1.0, -1.0):
            x = q.copy()
            x[at[k]] += sign * 1e-5
            ends.append((loaded.energy(x, still).gravity, loaded.cylinder_states(x, still).length[k]))
        force = (ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1])
        area, ring = 0.25 * np.pi * bore**2, 0.25 * np.pi * (bore**2 - rod**2)
        loads = force + (area - ring) * 101325.0
        pressures.append(max((loads + ring * 3e5) / area, (area * 3e5 - loads) / ring))
    expected = max(pressures)
    assert found["pressure"] == pytest.approx(expected, rel=1e-6)
    assert found["pressure_margin"] == pytest.approx(1.0 - expected / 2e7, rel=1e-5)
    assert found["sag_margin"] == pytest.approx(1.0 - found["sag"] / 0.015)
    assert found["margin"] == min(found["pressure_margin"], found["sag_margin"])
    with pytest.raises(UnsupportedError, match="no cylinders on oil"):
        experiment("lift_with_oil", flexdyn_ros.load("two_link"), reach=0.5)


def test_a_lift_on_oil_sags_as_its_least_energy_says():
    robot = flexdyn_ros.load("boom")
    arguments = {
        "frame": "load_point", "reach": 5.5, "height": 2.0, "joints": ["lift", "fold"],
        "pose": {"lift": 0.6, "fold": -1.0, "tilt": 0.3},
    }  # fmt: skip
    assert experiment("lift_with_oil", robot, payload=0.0, **arguments)["sag"] == 0.0
    found = experiment("lift_with_oil", robot, payload=700.0, **arguments)
    from flexdyn_ros.studies.experiments.reach import _pose_at

    q = robot.neutral()
    at = [robot.q_names.index(name) for name in ("lift", "fold", "tilt")]
    q[at] = 0.6, -1.0, 0.3
    q = _pose_at(robot, "load_point", 5.5, 2.0, q, ["lift", "fold"])

    def least_energy(payload):
        loaded = robot.with_payload("load_point", payload)
        rest = loaded.static_equilibrium(q, hold=robot.hydraulics.names)
        energy = loaded.energy(rest.q, np.zeros(robot.nv))
        return energy.gravity + energy.elastic

    # at rest the energy is least: its slope over the payload is g times the height of the frame
    step, E = 20.0, least_energy
    before = (4.0 * E(step) - 3.0 * E(0.0) - E(2.0 * step)) / (2.0 * step)
    after = (E(700.0 + step) - E(700.0 - step)) / (2.0 * step)
    assert found["sag"] > 1e-3
    assert found["sag"] == pytest.approx((before - after) / np.linalg.norm(robot.gravity), rel=1e-4)
