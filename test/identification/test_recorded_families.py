"""Recordings of the node `simulator` and `flexdyn identify`: each family's numbers are those of the arrays in
memory, and those of the robot that moved. The node is stepped in this process."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")
pytest.importorskip("pandas")

from identification.cylinders import CYLINDERS, commanded, openings, soft_arm  # noqa: E402
from machines import four_bar_urdf  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from flexdyn_interfaces.msg import HydraulicCommand  # noqa: E402
from flexdyn_interfaces.srv import Step  # noqa: E402
from flexdyn_ros import Trajectory, errors, load  # noqa: E402
from flexdyn_ros.cli import app  # noqa: E402
from flexdyn_ros.identification import Measurement, fit_linear, fit_output  # noqa: E402
from flexdyn_ros.nodes import Simulator, seconds_of  # noqa: E402


class Stepped:
    """A simulator that publishes at every step, without an executor.

    Attributes
    ----------
    t, q, v, tau : lists of the states so far
    cylinders : dict of lists, where oil drives the robot
    """

    def __init__(self, node, step):
        self.node, self.step = node, step
        self.t, self.q, self.v, self.tau = [], [], [], []
        self.cylinders = {part: [] for part in ("pressure_bore", "pressure_rod", "stroke")}
        self.openings = []
        self._keep(node._telemetry.state())

    def advance(self, law, seconds):
        for _ in range(round(seconds / self.step)):
            asked = law(self.t[-1], self.q[-1], self.v[-1])
            oil = self._oil
            if oil is not None:
                self.openings.append(asked)
                command = HydraulicCommand(mode=HydraulicCommand.VALVE, values=list(asked))
                inputs = {
                    topic: take for e in self.node._telemetry.extras for topic, take in e.inputs.items()
                }
                inputs["~/hydraulic_command"](command, self.node._simulation)
            request = Step.Request(steps=1, efforts=[] if oil is not None else list(asked))
            with pytest.raises(StopIteration) as done:
                self.node._on_step(request, Step.Response()).send(None)
            assert done.value.value.success, done.value.value.message
            self._keep(done.value.value.state)

    @property
    def _oil(self):
        drive = self.node._simulation.drive
        return None if drive is None else drive.fused

    def _keep(self, state):
        self.t.append(seconds_of(state.header.stamp))
        self.q.append(np.array(state.positions))
        self.v.append(np.array(state.velocities))
        self.tau.append(np.array(state.efforts))
        if self._oil is not None:
            for part, rows in self.cylinders.items():
                rows.append(self._oil.cylinders[part].copy())

    def measurement(self, robot):
        """Of the arrays; efforts are means over the step before them."""
        t, tau = np.array(self.t), np.array(self.tau)
        moved = np.column_stack([np.interp(t + 0.5 * self.step, t, row) for row in tau.T])
        found = Measurement.of_motion(robot, t, np.array(self.q), np.array(self.v), tau=moved, held=False)
        columns = dict(found.columns)
        if self.openings:
            parts = self.cylinders | {"valve_command": [*self.openings, self.openings[-1]]}
            columns |= {
                f"{name}.{part}": np.array(rows)[:, i]
                for part, rows in parts.items()
                for i, name in enumerate(robot.hydraulics.names)
            }
        return Measurement.of(t, columns, held=False)


def recorded(description, path, law, seconds, step, options=None):
    """A run whose recording is at `path`; `law` gives the efforts, or openings of valves, of each step."""
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": str(description), "start_paused": True, "use_clock": True, "step": step}
    given |= {"record_file": str(path), "publish_rate_hz": 1.0 / step, "command_timeout": 0.0}
    if options:
        given["options"] = [f"{name}={value!r}" for name, value in options.items()]
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = Simulator(context=context, autostart=False, parameter_overrides=overrides)
    try:
        assert node.trigger_configure().name == "SUCCESS"
        assert node.trigger_activate().name == "SUCCESS"
        run = Stepped(node, step)
        run.advance(law, seconds)
        return run
    finally:
        node.trigger_deactivate()
        node.trigger_cleanup()
        node.destroy_node()
        context.try_shutdown()


def identified(robot, path, *words):
    """Parameters of `flexdyn identify` by name."""
    answer = CliRunner().invoke(app, ["identify", str(robot), str(path), *words, "--json"])
    assert answer.exit_code == 0, answer.output
    return {row["parameter"]: row["value"] for row in json.loads(answer.stdout)["table"]}


def refused(robot, path, *words):
    """What `flexdyn identify` says."""
    answer = CliRunner().invoke(app, ["identify", str(robot), str(path), *words])
    assert isinstance(answer.exception, errors.FlexdynError)
    return str(answer.exception)


# ---- motions that excite each family ----


def follow(robot, size, stiffness, damping):
    """Actuators that follow sums of sines, softly, about where they begin, their weight carried."""
    actuated = {c.name for c in robot.coordinates if c.actuated} or set(robot.effort_names)
    places = [i for i, name in enumerate(robot.effort_names) if name in actuated]
    phase, rates = np.random.default_rng(0).uniform(0.0, 6.0, (robot.nu, 3)), np.array([3.0, 7.0, 11.0])
    first = {}

    def law(t, q, v):
        position, velocity = robot.functions.effort_motion(q, v)
        if not first:
            first["position"] = position.copy()
            first["weight"] = robot.inverse_dynamics(q, 0.0 * v, 0.0 * v)
        reference = first["position"] + size * (np.sin(rates * t + phase) - np.sin(phase)).sum(axis=-1)
        tau = np.zeros(robot.nu)
        tau[places] = (first["weight"] + stiffness * (reference - position) - damping * velocity)[places]
        return tau.tolist()

    return law


def crank(robot):
    phase = np.random.default_rng(0).uniform(0.0, 6.0, 5)

    def law(t, q, v):
        reference = -1.0 + 0.5 * np.sin(np.arange(1, 6) * 1.7 * t + phase).sum()
        return [30.0 * (reference - q[0]) - 3.0 * v[0], 0.0, 0.0]

    return law


def pressed(robot):
    rates = np.array([9.0, 13.0, 17.0])
    return lambda t, q, v: (8.0 + 6.0 * np.sin(rates * t)).tolist()


def levers(robot):
    rates = 2.0 * np.pi * np.array([1.0, 1.5, 2.0])
    return lambda t, q, v: (0.2 * np.sin(rates * t + np.arange(3))).tolist()


@dataclass(frozen=True)
class Case:
    """A robot that moves, its options; how it is moved, for how long, in which steps [s]; what is fitted by
    which method; changes of its text that a fit begins with; which numbers the motion tells how well
    (share of the number)."""

    text: str
    law: Callable[..., object]
    seconds: float
    step: float
    tells: tuple[str, ...]
    within: float
    parameters: tuple[str, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    options: dict[str, float] = field(default_factory=dict)
    method: str = "linear"

    def write(self, folder):
        """Files of the robot, and of the one that the fit begins with."""
        truth, guess = folder / "truth.urdf", folder / "guess.urdf"
        text = self.text
        for old, new in self.changes:
            assert old in text
            text = text.replace(old, new)
        truth.write_text(self.text)
        guess.write_text(text)
        return truth, guess

    def true_values(self, robot, fit):
        """By name, those of base parameters too."""
        known = {p.name: p.value for p in robot.parameters} | self.options
        if fit.base is not None:
            known |= zip(fit.table["parameter"], fit.base.of(robot), strict=False)
        return {name: known[name] for name in self.tells}


def text_of(name):
    return load(name).description.text


SUSPENSIONS = tuple(
    f"{wheel}/suspension_{part}" for wheel in ("rear", "front") for part in ("stiffness", "damping")
)
OF_PLATFORM = {name: CYLINDERS[name] for name in list(CYLINDERS)[1:3]}
OF_EXCAVATOR = {
    "cylinder.boom_cylinder.hydraulics.valve.rated_flow": 5e-3,
    "cylinder.arm_cylinder.hydraulics.friction.viscous": 26000.0,
}
CASES = {
    "rigid tree": Case(
        text_of("two_link"), lambda r: follow(r, 0.3, 40.0, 8.0), 2.0, 2e-3,
        ("upper/mx + lower/mass", "lower/mx", "lower/izz"), 5e-3,
        changes=(('<mass value="1"', '<mass value="1.3"'),),
    ),
    "flexible arm": Case(
        text_of("flexible_two_link"), lambda r: follow(r, 0.05, 5.0, 1.0), 0.5, 1e-3,
        ("link_2/EIz", "elbow/damping"), 5e-3, ("link_2/EIz", "elbow/damping"),
        (('damping="0.01"', 'damping="0.013"'),),
    ),
    "platform": Case(
        text_of("stewart_electric"), lambda r: follow(r, 0.008, 2e4, 1e3), 0.6, 2e-3,
        ("platform/mass", "platform/mz"), 5e-3, ("platform/*",), (('<mass value="20"', '<mass value="26"'),),
    ),
    "arm on wheels": Case(
        text_of("mobile_arm"), lambda r: follow(r, 0.02, 2.0, 0.5), 0.7, 1e-3,
        ("base_link/mass", *SUSPENSIONS), 1e-2, ("base_link/mass", *SUSPENSIONS),
        (('<mass value="20"', '<mass value="26"'), ('stiffness="952"', 'stiffness="1200"')),
    ),
    "soft arm": Case(
        text_of("soft_arm"), pressed, 0.5, 1e-3, ("section_1/stiffness", "section_1/damping"), 1e-2,
        ("section_1/stiffness", "section_1/damping"),
        (('preset="bai2022"', 'preset="bai2022" stiffness="1400" damping="12"'),),
    ),
    "closed loop": Case(
        four_bar_urdf(), crank, 2.0, 2e-3, ("crank/iyy + 3 more", "rocker/mx + 0.75 coupler/mx"), 2e-2,
        changes=(('<mass value="1.5"', '<mass value="2.0"'),),
    ),
    "cylinders of a platform": Case(
        text_of("stewart_1t"), lambda r: lambda t, q, v: openings(t, q, v).tolist(), 0.1, 1e-3,
        tuple(OF_PLATFORM), 1e-6, tuple(OF_PLATFORM), options=OF_PLATFORM, method="output",
    ),
    "cylinders of a tree": Case(
        text_of("excavator"), levers, 0.04, 1e-3, tuple(OF_EXCAVATOR), 1e-6, tuple(OF_EXCAVATOR),
        options=OF_EXCAVATOR, method="output",
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", CASES)
def test_numbers_of_a_recording_are_those_of_the_arrays(family, tmp_path):
    case = CASES[family]
    (truth, guess), path = case.write(tmp_path), tmp_path / "run.mcap"
    robot = load(truth, options=case.options)
    run = recorded(truth, path, case.law(robot), case.seconds, case.step, case.options)
    words = ["--method", case.method]
    if case.parameters:
        words += ["--parameters", ",".join(case.parameters)]
    found = identified(guess, path, *words)
    data, told = run.measurement(robot), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        if case.method == "output":
            own = fit_output(load(guess), data, case.parameters, progress=told.append)
        else:
            own = fit_linear(load(guess), data, parameters=case.parameters or None)
    # without noise residuals are rounding, whose deviations do not settle: the numbers do
    assert not [text for text in told if "round 6" in text]
    expected = dict(zip(own.table["parameter"], own.table["value"], strict=True))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    before = dict(zip(own.table["parameter"], own.table["start"], strict=True))
    for name, value in case.true_values(robot, own).items():
        assert found[name] == pytest.approx(value, rel=case.within)
    assert any(abs(before[name] / found[name] - 1.0) > 0.1 for name in case.tells)


# ---- what a recording does not carry ----


@pytest.fixture(scope="module")
def soft(tmp_path_factory):
    """Description and recording of a soft section whose pressures lag, and what moved it."""
    folder = tmp_path_factory.mktemp("soft")
    text = soft_arm(stiffness=1850.0, damping=18.0).description.text
    (folder / "arm.urdf").write_text(text)
    path = folder / "run.mcap"
    return (
        folder / "arm.urdf",
        path,
        recorded(folder / "arm.urdf", path, lambda t, q, v: commanded(t), 0.15, 1e-3),
    )


def test_efforts_behind_a_lag_act_at_once(soft, tmp_path):
    """A recording has what the supplies made of their commands, and the pressures."""
    description, path, run = soft
    robot, again = load(description), tmp_path / "again.mcap"
    names = ["section_1/stiffness", "section_1/damping"]
    words = ["--parameters", ",".join(names), "--start", f"{names[0]}=1700", "--start", f"{names[1]}=15"]
    found = identified(description, path, "--method", "output", *words)
    assert found == pytest.approx(dict(zip(names, (1850.0, 18.0), strict=True)), rel=1e-2)
    data = Measurement.read(path)
    lag = np.array(run.tau)[20:, 0] - commanded(np.array(run.t))[19:-1, 0]
    assert np.abs(lag).max() > 1.0
    assert {f"section_1/pressure_{k}" for k in (1, 2, 3)} <= set(data.columns)
    # written anew from what was read, it says the same
    Trajectory.load(path, robot).to_bag(again)
    assert np.array_equal(Measurement.read(again)["section_1/pressure_1"], data["section_1/pressure_1"])


@pytest.mark.parametrize("part", ["time_constant", "area"])
def test_a_lag_that_no_command_tells_is_refused_by_name(soft, part):
    description, path, _ = soft
    name = f"joints.section_1.section.pressure.{part}"
    assert f"the data tell nothing of {name}" in refused(
        description, path, "--rows", "0:25", "--parameters", name
    )


def test_joint_states_of_a_flexible_arm_lack_its_modes_by_name(tmp_path):
    path, robot = tmp_path / "run.mcap", load("flexible_two_link")
    recorded("flexible_two_link", path, follow(robot, 0.05, 5.0, 1.0), 0.05, 1e-3)
    said = refused("flexible_two_link", path, "--method", "linear", "--topic", "/joint_states")
    assert "link_1/bending_y/1" in said


def test_cylinders_without_the_topic_of_their_valves_are_refused_by_name(tmp_path):
    path, name = tmp_path / "run.mcap", next(iter(OF_PLATFORM))
    recorded("stewart_1t", path, lambda t, q, v: openings(t, q, v), 0.05, 1e-3)
    words = ["--method", "output", "--parameters", name]
    said = refused("stewart_1t", path, *words, "--topic", "/simulator/state")
    assert f"the data tell nothing of {name}" in said
    for n in range(1, 7):
        words += ["--column", f"leg_{n}.valve_command="]
    said = refused("stewart_1t", path, *words)
    assert (
        "leg_1.pressure_bore is not predicted from efforts alone, expected columns as leg_1.valve_command"
        in said
    )


def test_states_that_are_published_twice_are_one_sample(tmp_path):
    """As at the end of each request for steps."""
    path = tmp_path / "run.mcap"
    run = recorded("two_link", path, lambda t, q, v: (1.0, 0.5), 0.1, 2e-3)
    assert len(Trajectory.load(path)) > len(run.t)
    found = Measurement.read(path)
    np.testing.assert_allclose(found.t, run.t, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(found["elbow"], np.array(run.q)[:, 1])
