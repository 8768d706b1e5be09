"""`fit_output`: stiffness, damping, masses and gains come back from what a robot did."""

import warnings

import numpy as np
import pytest
from flexible_robots import cantilever
from identification.motions import measured

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, ModalTable, fit_output, predicted_outputs
from flexdyn_ros.identification.output.adjustable import Adjustable
from flexdyn_ros.identification.output.channels import Sensor, channels_of
from flexdyn_ros.identification.output.experiments import inputs_of
from flexdyn_ros.simulation import Stepper

pytest.importorskip("pandas")

STEP = 1e-3
TRUE = {"links.link_1.beam.EIz": 31.0, "links.link_2.beam.EIz": 2.1, "links.link_2.damping.ratio": 0.015}
FEW = {f"links.{link}.modes.{field}": n for link in ("link_1", "link_2")
       for field, n in (("bending_y", 1), ("torsion", 0))}  # fmt: skip
NAMES = ("link_1/EIz", "link_2/EIz", "link_2/damping_ratio", "elbow/damping")


def effort(t, q, v):
    """Of shoulder and elbow: sines that shake the links."""
    return {
        "shoulder": 0.6 * np.sin(6.9 * t) + 0.4 * np.sin(20.7 * t + 1.0),
        "elbow": 0.15 * np.sin(10.7 * t) + 0.1 * np.cos(37.7 * t),
    }


def record(robot, duration, *, noise=0.0, seed=0, columns=(), name="run"):
    """What sensors see of a simulation: joints, efforts and further columns, with noise on what is seen."""
    run = simulate(robot, duration, dt=STEP, control=effort)
    seen = {"shoulder": run["shoulder"], "elbow": run["elbow"]}
    tip = run.frames("tool0")[:, :3, 3]
    bent = run.deflections([0.1])
    more = {
        "tool0.x": tip[:, 0], "tool0.y": tip[:, 1],
        "link_1@0.1.curvature_z": bent["link_1"].curvature[:, 0, 2],
        "link_2@0.1.curvature_z": bent["link_2"].curvature[:, 0, 2],
    }  # fmt: skip
    seen |= {key: more[key] for key in columns}
    rng = np.random.default_rng(seed)
    seen = {key: x + noise * np.ptp(x) * rng.standard_normal(x.size) for key, x in seen.items()}
    efforts = {f"{key}.effort": run[key, "effort"] for key in ("shoulder", "elbow")}
    return Measurement.of(run.t, {**seen, **efforts}, name=name, held=run.held)


def fitted(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_output(*arguments, **options)


@pytest.fixture(scope="module")
def start():
    return load("flexible_two_link", options=FEW)


@pytest.fixture(scope="module")
def truth():
    return load("flexible_two_link", options={**FEW, **TRUE}).with_parameters({"elbow/damping": 0.013})


def expected(name):
    return {
        "link_1/EIz": 31.0, "link_2/EIz": 2.1, "link_2/damping_ratio": 0.015, "elbow/damping": 0.013,
    }[name]  # fmt: skip


def test_without_noise_stiffness_and_damping_come_back(start, truth):
    found = fitted(start, record(truth, 0.2), NAMES)
    for name in NAMES:
        assert found.values[name] == pytest.approx(expected(name), rel=1e-8)
    assert found.is_white
    state = (np.full(truth.nv, 0.01),) * 3
    assert found.robot.inverse_dynamics(*state) == pytest.approx(truth.inverse_dynamics(*state), rel=1e-8)


def test_a_trajectory_is_data_with_its_modal_coordinates(start, truth):
    run = simulate(truth, 0.1, dt=STEP, control=effort)
    found = fitted(
        start, run, ["link_2/EIz"], start={"link_2/EIz": 3.0}, outputs=["elbow", "link_2/bending_y/1"]
    )
    assert found.values["link_2/EIz"] != pytest.approx(2.1, rel=1e-3)  # link_1 is another too
    both = fitted(start, run, NAMES, outputs=["elbow", "link_2/bending_y/1"])
    assert both.values["link_2/EIz"] == pytest.approx(2.1, rel=1e-8)


def test_tips_and_curvatures_tell_it_too_and_sensors_may_have_gains(start, truth):
    data = record(truth, 0.2, columns=("tool0.x", "link_1@0.1.curvature_z"))
    strain = {"link_1@0.1.curvature_z": 0.0015 * data["link_1@0.1.curvature_z"] + 2e-6}
    weak = {"elbow.effort": data["elbow.effort"] / 0.7}
    data = Measurement.of(data.t, {**data.columns, **strain, **weak}, held=data.held)
    gains = ("link_1@0.1.curvature_z.factor", "link_1@0.1.curvature_z.offset", "elbow.effort.factor")
    found = fitted(start, data, (*NAMES, *gains), start={gains[0]: 1e-3, gains[2]: 1.0})
    assert found.values["link_1/EIz"] == pytest.approx(31.0, rel=1e-8)
    assert [found.values[name] for name in gains] == pytest.approx([0.0015, 2e-6, 0.7], rel=1e-7)


def test_a_payload_and_parameters_of_the_robot_come_back_from_two_files():
    start = load("two_link")
    truth = start.with_payload("tip", 0.7).with_parameters({"shoulder/damping": 0.4, "elbow/stiffness": 3.0})
    data = []
    for seed in (0, 1):
        run = simulate(
            truth, 0.5, np.array([0.3, 0.2 + seed]), dt=2e-3,
            control=lambda t, q, v, k=seed: np.array([3.0 * np.sin(9.0 * t + k), np.cos(11.0 * t)]),
        )  # fmt: skip
        data.append(Measurement.of_trajectory(run, name=f"run {seed}"))
    names = ["payload.tip.mass", "shoulder/damping", "elbow/stiffness"]
    found = fitted(start, data, names, start={"payload.tip.mass": 0.2})
    assert [found.values[name] for name in names] == pytest.approx([0.7, 0.4, 3.0], rel=1e-8)
    assert found.samples.names == ("run 0", "run 1")


def test_intervals_hold_what_is_true_and_residuals_are_white(start, truth):
    found = fitted(start, record(truth, 0.6, noise=0.005, seed=4), NAMES)
    assert found.is_white
    for name in NAMES:
        assert abs(found.values[name] - expected(name)) < 4.0 * found.deviations[name]
        assert 0.0 < found.deviations[name] < 0.1 * expected(name)


def test_an_unmodelled_joint_spring_fails_the_whiteness_test(start, truth):
    sprung = truth.with_parameters({"elbow/stiffness": 0.5})
    data = record(sprung, 0.2, noise=0.005)
    with pytest.warns(errors.FlexdynWarning, match="residuals are not white"):
        found = fit_output(start, data, NAMES)
    assert not found.is_white
    known = fitted(start, data, (*NAMES, "elbow/stiffness"), start={"elbow/stiffness": 0.2})
    assert known.is_white
    assert known.values["elbow/stiffness"] == pytest.approx(
        0.5, abs=4.0 * known.deviations["elbow/stiffness"]
    )


def test_positions_of_joints_are_inputs_where_efforts_are_not_known(start, truth):
    """Data from joints that move as prescribed, with error control; the fit follows them by a servo."""

    def shoulder(t):
        w = 9.0
        return 0.1 * (1.0 - np.cos(w * t)), 0.1 * w * np.sin(w * t), 0.1 * w**2 * np.cos(w * t)

    run = simulate(
        truth, 0.4, sample=STEP, prescribed={"shoulder": shoulder, "elbow": lambda t: (0.0, 0.0, 0.0)}
    )
    bent = run.deflections([0.1])
    seen = {f"{link}@0.1.curvature_z": bent[link].curvature[:, 0, 2] for link in ("link_1", "link_2")}
    data = Measurement.of(run.t, {"shoulder": run["shoulder"], **seen})
    found = fitted(start, data, ["link_1/EIz", "link_2/EIz"], inputs="positions", dt=0.5 * STEP)
    # the servo and the fixed steps follow the motion within some 1e-3
    assert found.values["link_1/EIz"] == pytest.approx(31.0, rel=5e-3)
    assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=5e-3)
    assert set(found.samples.channels) == set(seen)


def test_joints_follow_positions_with_critical_damping_at_a_quarter_of_the_rate_of_steps(start):
    """Each by itself: both roots of M_ii s2 + d s + k are at -2 pi / (4 dt)."""
    data = Measurement.of(STEP * np.arange(11), {"shoulder": np.linspace(0.0, 0.1, 11)})
    stepper = Stepper(start, dt=0.5 * STEP)
    inputs_of(start, data, "positions", 2).driver(stepper, {}, STEP)
    inertia = start.mass_matrix(stepper.q)
    for c in start.coordinates:
        gains = stepper.servo_damping[c.v_index], stepper.servo_stiffness[c.v_index]
        if c.kind == "joint":
            roots = np.roots([inertia[c.v_index, c.v_index], *gains])
            np.testing.assert_allclose(roots, -np.pi / STEP, rtol=1e-6)
        else:
            assert gains == (0.0, 0.0)


def test_runs_may_begin_while_links_swing():
    """One mode a link: with many, the first samples of a run hardly tell them apart."""
    start = load("flexible_two_link", options=FEW)
    truth = load("flexible_two_link", options={**FEW, "links.link_2.beam.EIz": 2.1})
    late = record(truth, 0.25).between(0.15, 0.25)
    found = fitted(start, late, ["link_2/EIz"], initial="free")
    assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=1e-6)


def test_a_prior_holds_what_the_data_hardly_tell(start, truth):
    data = record(truth, 0.1, noise=0.05)
    free = fitted(start, data, ["link_1/EIz"])
    held = fitted(start, data, ["link_1/EIz"], priors={"link_1/EIz": (31.0, 0.1)})
    assert free.deviations["link_1/EIz"] > 0.3
    assert held.deviations["link_1/EIz"] < 0.11
    assert held.values["link_1/EIz"] == pytest.approx(31.0, abs=0.3)


def test_more_starts_find_what_the_first_misses(start, truth):
    data = record(truth, 0.15)
    names = ["link_1/EIz", "link_2/EIz", "link_2/damping_ratio", "elbow/damping"]
    bounds = {"link_2/EIz": (0.5, 10.0), "link_1/EIz": (5.0, 100.0)}
    told = []
    found = fitted(
        start, data, names, start={"link_2/EIz": 2.4}, bounds=bounds, starts=2, progress=told.append
    )
    assert sum("iteration" not in text for text in told) == 2
    assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=1e-8)


def test_modal_tables_alone_tell_stiffness():
    start, truth = load("flexible_two_link"), load("flexible_two_link", options=TRUE)
    q = truth.neutral()
    modes = truth.modes(q, lock="joints")
    table = ModalTable.of({
        "mode": [1, 2, 3], "frequency": modes.frequency[:3], "damping_ratio": modes.damping_ratio[:3],
        "elbow": np.zeros(3),
    })  # fmt: skip
    found = fitted(start, [], ["link_1/EIz", "link_2/EIz", "link_2/damping_ratio"], modes=table)
    assert found.values["link_1/EIz"] == pytest.approx(31.0, rel=1e-6)
    assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=1e-6)
    assert found.deviations["link_1/EIz"] > 0.0
    assert not any("stopped" in text for text in found.warnings)


def ringing(frequencies, ratios, amplitudes, *, noise=0.0, seed=0):
    """A measurement in which vibrations die away, beside an offset."""
    t = np.arange(0.0, 3.0, 0.002)
    w = 2.0 * np.pi * np.array(frequencies)
    decay = np.exp(-np.outer(t, w * ratios)) * np.cos(np.outer(t, w * np.sqrt(1.0 - np.square(ratios))) + 0.3)
    values = 0.01 + decay @ np.array(amplitudes)
    values += noise * np.random.default_rng(seed).standard_normal(t.size)
    return Measurement.of(t, {"gauge": values}, name=f"run {seed}")


def test_modal_tables_are_found_in_what_rings():
    two = ([1.82, 5.6], [0.01, 0.03], [1.0, 0.05])
    table = ModalTable.of_ringing(ringing(*two), "gauge", after=0.5, highest=10.0, modes=2)
    # the ends of the low pass leave 1e-5
    assert table.frequency == pytest.approx([1.82, 5.6], rel=1e-4)
    assert table.damping_ratio == pytest.approx([0.01, 0.03], rel=1e-3)
    runs = [ringing(*two, noise=0.005, seed=seed) for seed in range(5)]
    noisy = ModalTable.of_ringing(runs, "gauge", after=0.5, highest=10.0, modes=2)
    assert noisy.mode.tolist() == [1, 2]
    assert np.abs(noisy.frequency - [1.82, 5.6]) == pytest.approx([0.0, 0.0], abs=0.05)
    assert np.all(np.abs(noisy.frequency - [1.82, 5.6]) < 5.0 * noisy.frequency_deviation)
    with pytest.raises(errors.StateError, match="no measurement shows 2 vibrations of gauge below 3 Hz"):
        ModalTable.of_ringing(runs, "gauge", after=0.5, highest=3.0, modes=2)
    with pytest.raises(errors.StateError, match="expected at least 32"):
        ModalTable.of_ringing(runs, "gauge", after=2.9, highest=10.0, modes=2)


def test_modal_tables_are_read_from_files(tmp_path):
    path = tmp_path / "modes.csv"
    path.write_text("mode,frequency,elbow\n1,3.5,0\n2,11.2,0\n")
    table = ModalTable.read(path)
    assert table.frequency.tolist() == [3.5, 11.2]
    assert table.frequency_deviation == pytest.approx([0.035, 0.112])
    path.write_text("mode,frequency\n1.5,3.5\n")
    with pytest.raises(errors.StateError, match="whole numbers"):
        ModalTable.read(path)


def test_soft_arms_give_their_stiffness_back():
    start = load("soft_arm")
    (name,) = {c.name.split("/")[0] for c in start.coordinates}
    path = f"joints.{name}.section.damping"
    truth = load("soft_arm", options={path: 60.0})
    run = simulate(truth, 0.2, dt=5e-4, control=lambda t, q, v: 20.0 * np.sin([9.0 * t, 7.0 * t, 5.0 * t]))
    found = fitted(start, run, [path], start={path: 45.0})
    assert found.values[path] == pytest.approx(60.0, rel=1e-8)


def test_what_cannot_be_fitted_is_told(start, truth):
    data = record(truth, 0.1)
    with pytest.raises(errors.StateError, match=r"links\.link_1\.beam\.EIx"):
        fit_output(start, data, ["links.link_1.beam.EIx"])
    with pytest.raises(errors.UnknownNameError, match="EIx"):
        fit_output(start, data, ["link_1/EIz"], bounds={"link_1/EIx": (0.0, 1.0)})
    for wrong in (np.nan, "three"):
        with pytest.raises(
            errors.StateError, match=rf"the start of link_1/EIz is '?{wrong}'?, expected a finite number"
        ):
            fit_output(start, data, ["link_1/EIz"], start={"link_1/EIz": wrong})
    with pytest.raises(errors.StateError, match="expected from 40 to 50"):
        fit_output(start, data, ["link_1/EIz"], bounds={"link_1/EIz": (40.0, 50.0)})
    with pytest.raises(errors.StateError, match="'tip' cannot be predicted"):
        fit_output(start, data, ["link_1/EIz"], outputs=["tip"])
    with pytest.raises(errors.StateError, match="no output depends on it"):
        fitted(start, data, ["link_1/EIz", "payload.base_link.mass"])
    with pytest.raises(errors.StateError, match=r"dt is 0\.0007 s"):
        fit_output(start, data, ["link_1/EIz"], dt=7e-4)


def test_positions_of_two_joints_that_are_swapped_are_named_before_the_fit():
    robot = load("two_link")
    log = measured(robot, duration=2.0).resampled(100.0)
    columns = {f"{name}.effort": log[f"{name}.effort"] for name in robot.effort_names}
    data = Measurement.of(log.t, columns | {"shoulder": log["elbow"], "elbow": log["shoulder"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.FlexdynWarning)
        with pytest.raises(errors.FlexdynWarning, match="of shoulder and elbow fit better exchanged"):
            fit_output(robot, data, ["elbow/damping"], progress=pytest.fail)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("link_2/mass_per_length", 1.2),
        ("link_1/bending_y/1/damping", 2.0),
        ("link_2/mass", 0.5),
    ],
)
def test_every_parameter_of_the_robot_can_be_fitted(start, name, share):
    """The mass per length stands beside an <inertial>, the damping of a mode nowhere in the file."""
    before = {p.name: p.value for p in start.parameters}[name]
    value = share * before if before else share
    truth = start.with_parameters({name: value})
    run = simulate(truth, 0.2, dt=4e-3, control=effort)
    found = fitted(start, Measurement.of_trajectory(run), name)
    assert found.values[name] == pytest.approx(value, rel=1e-6)
    assert {p.name: p.value for p in found.robot.parameters}[name] == pytest.approx(value, rel=1e-6)


def test_numbers_that_were_changed_before_are_where_the_fit_starts(start):
    other = start.with_parameters({"link_1/EIz": 30.0})
    adjustable = Adjustable.of(other, ["link_1/EI?"], (), None, None)
    assert adjustable.names == ("link_1/EIz",)
    assert adjustable.start == pytest.approx([30.0])
    made = adjustable.robot_with(np.array([33.0]))
    assert {p.name: p.value for p in made.parameters}["link_1/EIz"] == pytest.approx(33.0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("elbow/dampin", "did you mean elbow/damping"),
        ("link_3/EIz", "unknown parameter of flexible_two_link 'link_3/EIz'; did you mean link_2/EIz"),
        ("nothing/*", "nothing/\\*"),
        ("shoulder.effort.factor", "unknown column of shoulder.effort.factor 'shoulder.effort'"),
        ("tool0.x.factor", "unknown column of tool0.x.factor 'tool0.x'; known names: elbow, elbow.effort$"),
        ("elbo.offset", "unknown column of elbo.offset 'elbo'; did you mean elbow"),
        ("tool0.x.cutoff", "unknown column of tool0.x.cutoff 'tool0.x'"),
    ],
)
def test_unknown_parameters_are_refused_with_what_there_is(start, name, said):
    with pytest.raises(errors.UnknownNameError, match=said):
        Adjustable.of(start, [name], ("elbow", "elbow.effort"), None, None)


def test_gains_of_unknown_columns_are_refused_with_a_start_too(start):
    name = "tool0.y.offset"
    with pytest.raises(errors.UnknownNameError, match=r"unknown column of tool0\.y\.offset 'tool0\.y'"):
        Adjustable.of(start, [name], ("elbow", "tool0.x"), {name: 0.1}, None)


def test_numbers_of_the_description_that_end_like_gains_are_paths(start):
    found = Adjustable.of(start, ["links.link_2.damping.ratio"], ("elbow",), None, None)
    assert found.gains == frozenset()
    road = "road.offset"
    with pytest.raises(errors.StateError, match=r"road\.offset is neither a parameter"):
        Adjustable.of(start, [road], ("elbow",), None, None)


def test_a_value_that_no_robot_can_have_is_refused_before_the_fit(start):
    with pytest.raises(errors.StateError, match=r"no robot has links\.link_1\.beam\.EIq = 2: "):
        Adjustable.of(start, ["links.link_1.beam.EIq"], (), {"links.link_1.beam.EIq": 2.0}, None)


def test_runs_that_were_not_fitted_are_predicted_from_their_starts(start, truth):
    found = fitted(start, record(truth, 0.15, noise=1e-4), list(NAMES))
    other = record(truth, 0.15, noise=1e-4, seed=8, name="other").between(0.03, 0.15)
    held = predicted_outputs(found, other, outputs=["shoulder", "elbow"], initial="free")
    assert held.names == ("other",)
    assert max(held.left_over.values()) < 1e-3
    before = predicted_outputs(start, other, outputs=["shoulder", "elbow"], initial="free")
    assert max(before.left_over.values()) > 5.0 * max(held.left_over.values())


def test_a_link_without_a_joint_hangs_still_at_the_start():
    """One channel is zero all the time."""
    hand = (
        '<link name="hand"><inertial><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="wrist" type="continuous"><parent link="beam"/><child link="hand"/>'
        '<origin xyz="10 0 0"/><axis xyz="1 0 0"/></joint></robot>'
    )
    text = cantilever('bending_z="1"', joint="fixed").replace("</robot>", hand)
    robot = load(text.replace("<gravity>0 0 0", "<gravity>0 0 -1"))
    place = robot.frames(robot.static_equilibrium().q, "hand")[:3, 3]
    assert (place[1], place[2]) == (0.0, pytest.approx(-0.155, abs=1e-3))
    t, noise = 0.01 * np.arange(20), 1e-4 * np.random.default_rng(2).normal(size=20)
    seen = {f"hand.{axis}": np.full(20, x) for axis, x in zip("xyz", place, strict=True)}
    data = Measurement.of(t, {"wrist": noise, "wrist.effort": np.zeros(20), **seen})
    found = predicted_outputs(robot, data, outputs=["wrist", *seen])
    np.testing.assert_allclose(found.predicted[:, 1:], found.measured[:, 1:], atol=1e-9)
    assert abs(found.predicted[0, 0] - noise.mean()) < 1e-4


def test_predictions_count_the_gains_of_motors():
    robot = load("two_link")
    run = record(load("flexible_two_link"), 0.1)
    moved = simulate(robot, 0.2, dt=STEP, control=effort)
    columns = {"shoulder": moved["shoulder"], "elbow": moved["elbow"]}
    columns |= {f"{n}.effort": 0.5 * moved[n, "effort"] for n in ("shoulder", "elbow")}
    data = Measurement.of(moved.t, columns, held=run.held)
    found = fitted(robot, data, ["shoulder.effort.factor", "elbow.effort.factor"])
    assert found.values["elbow.effort.factor"] == pytest.approx(2.0, rel=1e-6)
    assert max(predicted_outputs(found, data).left_over.values()) < 1e-6
    assert max(predicted_outputs(robot, data).left_over.values()) > 1e-2


def test_progress_is_told_and_stopping_loses_nothing(start, truth):
    """Ctrl-C at an iteration: the numbers are the best until then, no worse than those at the start."""
    data, told = record(truth, 0.2, noise=1e-4), []

    def stopping(text):
        told.append(text)
        if "iteration 4" in text:
            raise KeyboardInterrupt

    with pytest.warns(errors.FlexdynWarning, match="the fit was stopped"):
        found = fit_output(start, data, list(NAMES), starts=3, progress=stopping)
    assert any("the fit was stopped" in text for text in found.warnings)
    assert told[0].startswith("start 1 of 3, round 1, iteration 1: weighted residual")
    assert any("s each" in text for text in told)
    assert len(told) < 6
    before = predicted_outputs(start, data)
    assert max(found.left_over.values()) < 0.5 * max(before.left_over.values())


def test_a_free_motion_without_efforts_is_fitted_without_numerical_warnings():
    arm = load("two_link")
    run = simulate(arm.with_parameters({"elbow/damping": 0.4}), 1.0, q0=[0.8, 0.3], sample=0.01)
    columns = {"shoulder": run.q[:, 0], "elbow": run.q[:, 1]}
    columns |= {"shoulder.effort": run.tau[:, 0], "elbow.effort": run.tau[:, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = fit_output(arm, Measurement("run", run.t, columns), "elbow/damping")
    assert found.values["elbow/damping"] == pytest.approx(0.4, abs=1e-3)


def test_strains_without_a_section_are_no_measurement():
    robot = load("canadarm2")
    columns = ["boom_1@0.1.strain", "boom_1@0.1.curvature_z"]
    assert [channel.name for channel in channels_of(robot, columns, None)] == columns[1:]
    with pytest.raises(errors.StateError, match=r"'boom_1@0.1.strain' cannot be predicted.*with a section"):
        channels_of(robot, columns, columns)


@pytest.mark.parametrize("frequency", [2.0, 8.0, 40.0])
def test_a_sensor_that_lags_has_the_response_of_its_two_poles(frequency):
    step, natural, ratio = 1e-3, 8.0, 0.3
    t = step * np.arange(4000)
    seen = Sensor(2.0, 0.5, natural, ratio).seen(3.0 + np.sin(2.0 * np.pi * frequency * t), step)
    # the trapezoidal rule takes a frequency for 2/h tan(w h/2)
    s, w = 2j / step * np.tan(np.pi * frequency * step), 2.0 * np.pi * natural
    H = w**2 / (s**2 + 2.0 * ratio * w * s + w**2)
    steady = 2.0 * (3.0 + np.imag(H * np.exp(2j * np.pi * frequency * t))) + 0.5
    np.testing.assert_allclose(seen[-1500:], steady[-1500:], rtol=0.0, atol=1e-9)
    # at rest before
    np.testing.assert_allclose(Sensor(cutoff=natural).seen(np.full(9, 3.0), step), 3.0, rtol=1e-12)
