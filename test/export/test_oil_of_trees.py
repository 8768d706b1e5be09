"""Cylinders with oil of trees in C, CasADi and FMUs: implicit steps of `Stepper`, and the motion itself."""

import ctypes

import numpy as np
import pytest
from exported import COMPILERS, compiled, fmu_name, run_example
from oil_robots import HANGING, hanging, stewart_on
from sampled import few

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.simulation import FusedHydraulics, Stepper

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no C compiler"),
    pytest.mark.usefixtures("quick_compiler"),
]

_PUMP = '<pump type="constant_pressure" displacement="1.2e-5" speed="157" line_volume="2e-3" {}/>'
_LUGRE = (
    '<friction model="lugre" coulomb="50" static="80" stribeck_velocity="0.01" viscous="600" '
    'bristle_stiffness="1e6" bristle_damping="1e3"/>'
)
_HELD = '<counterbalance port="bore" cracking_pressure="90e5" pilot_ratio="4" conductance="1.8e-7"/>'
#: each changes what the equations look at
VARIANTS = {
    "one cylinder": HANGING,
    # whose steps are halved where it meets the stop
    "into its stop": HANGING,
    "a pump with a lag": hanging(
        in_supply=_PUMP.format('leakage="1e-12" time_constant="0.05"'), second_mass=100.0
    ),
    "bristles, load-holding, a slow valve": hanging(
        in_cylinder=_LUGRE + _HELD, in_supply=_PUMP.format(""),
        valve='natural_frequency_hz="60" damping_ratio="1.3" slew_rate="20" compensation="15e5"',
    ),
    "an accumulator": hanging(
        in_supply=_PUMP.format("") + '<accumulator volume="1e-3" precharge="9e6"/>', second_mass=100.0
    ),
    # the line falls below the precharge while a pump that is too small feeds both valves
    "an accumulator that empties": hanging(
        in_supply=_PUMP.format("").replace("157", "20") + '<accumulator volume="2e-5" precharge="14e6"/>',
        second_mass=100.0,
    ),
    "a platform on a pump": stewart_on(
        "", _PUMP.replace("constant_pressure", "load_sensing").format('margin="2e6" maximum_pressure="25e6"')
    ),
    "boom": "boom",
    "excavator": "excavator",
}  # fmt: skip


def openings(k, n):
    """Openings that move all cylinders."""
    return 0.4 * np.sin(2.0 * np.pi * 1.3e-3 * k + np.arange(n))


@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_in_c_are_those_of_a_stepper(variant, tmp_path):
    robot = flexdyn_ros.load(VARIANTS[variant])
    export.c(robot, tmp_path, ["hydraulic_step"])
    arm, own = compiled(tmp_path, robot.name), Oil(robot)
    function = getattr(arm.library, f"{robot.name}_hydraulic_step")
    stepper = Stepper(robot, 1e-3)
    cylinders = FusedHydraulics(stepper, "valve")
    assert stepper.method == "rosenbrock"
    q, v = stepper.q.copy(), stepper.v.copy()
    oil = own.start(q)
    np.testing.assert_allclose(oil, own.of_state(cylinders.state(), cylinders.lines), rtol=1e-12)
    tau = np.zeros(robot.nu)
    # joints that are driven beside the cylinders; what stands at the cylinders is not read
    tau[: robot.nv] = [10.0 * (name in robot.actuators) for name in robot.effort_names[: robot.nv]]
    stepper.tau[:] = tau
    tau[own.places] = np.nan
    for k in range(500):
        valves = np.ones(1) if variant == "into its stop" else openings(k, len(own.legs))
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, oil, tau, valves)]
        work = arm.work.ctypes.data_as(ctypes.c_void_p)
        assert function(*pointers, None, ctypes.c_double(1e-3), work) == 0
        cylinders.command(valves)
        assert stepper.advance(1) == 0
        if k in (0, 9, 99, 499):
            np.testing.assert_allclose(q, stepper.q, atol=1e-12)
            np.testing.assert_allclose(v, stepper.v, atol=1e-11)
            expected = own.of_state(cylinders.state(), cylinders.lines)
            np.testing.assert_allclose(oil, expected, rtol=1e-11, atol=1e-12)
    assert np.abs(stepper.q - robot.neutral()).max() > 1e-3


@pytest.mark.parametrize("variant", few(["a pump with a lag", "boom", "excavator"], 2))
def test_the_example_prints_pythons_numbers(variant, tmp_path):
    with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="forces of its cylinders"):
        export.c(
            flexdyn_ros.load(VARIANTS[variant]), tmp_path,
            ["step", "hydraulic_step", "cylinder_forces", "oil_rates"],
        )  # fmt: skip
    done = run_example(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hydraulic_step: oil1" in done.stdout
    assert "`rosenbrock`" in (tmp_path / "README.md").read_text()


def test_the_rates_of_the_oil_are_those_of_a_run_with_controlled_error(tmp_path):
    robot = flexdyn_ros.load(VARIANTS["a pump with a lag"])
    export.c(robot, tmp_path, ["oil_rates"])
    arm, own = compiled(tmp_path, robot.name), Oil(robot)
    control = {"lift/valve": 0.3, "second_lift/valve": -0.2}
    run = flexdyn_ros.simulate(robot, 0.02, control=control, rtol=1e-10, sample=1e-4)
    names = [state.name.replace("/", ".") for state in robot.element_states]
    places = [names.index(name) for name in own.names]
    for k in (50, 100, 150):
        states = run.states[k - 2 : k + 3, places]
        rates = arm.call(
            "oil_rates", run.q[k], run.v[k], states[2], np.array([0.3, -0.2]), sizes=[states.shape[1]]
        )
        # central differences of fourth order
        expected = (states[0] - 8.0 * states[1] + 8.0 * states[3] - states[4]) / 12e-4
        np.testing.assert_allclose(rates, expected, rtol=1e-3, atol=1e-3)


def test_steps_of_casadi_are_those_of_a_stepper():
    pytest.importorskip("casadi")
    robot = flexdyn_ros.load(VARIANTS["a pump with a lag"])
    step, own = export.casadi(robot, "hydraulic_step"), Oil(robot)
    stepper = Stepper(robot, 1e-3)
    cylinders = FusedHydraulics(stepper, "valve")
    q, v = stepper.q.copy(), stepper.v.copy()
    oil = own.start(q)
    for k in range(100):
        valves = openings(k, 2)
        q, v, oil = step(q, v, oil, np.zeros(robot.nu), valves, 1e-3)
        cylinders.command(valves)
        assert stepper.advance(1) == 0
    np.testing.assert_allclose(q.full().ravel(), stepper.q, atol=1e-12)
    expected = own.of_state(cylinders.state(), cylinders.lines)
    np.testing.assert_allclose(oil.full().ravel(), expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["a pump with a lag", "an accumulator", "boom"])
def test_fmus_open_valves(name, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot = flexdyn_ros.load(VARIANTS[name])
    path = export.fmu(robot, tmp_path / "robot.fmu", cylinders=True)
    assert validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    named = {x.name: x for x in description.modelVariables}
    cylinders = robot.hydraulics.names
    assert {f"{x}.valve" for x in cylinders} <= {x for x in named if named[x].causality == "input"}
    assert named["oil.pressure"].unit == "Pa"
    values = dict(zip(cylinders, (0.3, -0.2, 0.1), strict=False))
    given = {f"{x}.valve": value for x, value in values.items()}
    names = [fmu_name("q", x) for x in robot.q_names]
    forces = [f"{x}.force" for x in cylinders]

    def run(kind, **options):
        found = fmpy.simulate_fmu(
            str(path), fmi_type=kind, output_interval=1e-2, start_values=given, output=[*names, *forces],
            record_events=False, **options,
        )  # fmt: skip
        return [np.array([[row[name] for name in some] for row in found]) for some in (names, forces)]

    control = {f"{x}/valve": value for x, value in values.items()}
    expected = flexdyn_ros.simulate(robot, 0.5, control=control, dt=1e-3, record_every=10)
    q, force = run("CoSimulation", stop_time=0.5, step_size=1e-2)
    excursion = np.ptp(expected.q, axis=0).max()
    assert excursion > 5e-3
    assert np.abs(q - expected.q).max() <= 1e-9 * excursion
    at = [robot.effort_names.index(x) for x in cylinders]
    still = np.zeros(robot.nv)
    hold = robot.inverse_dynamics(robot.neutral(), still, still, actuators="all")[at]
    np.testing.assert_allclose(force[0], hold, rtol=1e-9)
    expected = flexdyn_ros.simulate(robot, 0.2, control=control, rtol=1e-8, sample=1e-2)
    q, _ = run("ModelExchange", stop_time=0.2, relative_tolerance=1e-8)
    assert np.abs(q - expected.q).max() <= 1e-4 * np.ptp(expected.q, axis=0).max()


def test_what_is_not_exported_is_told_by_name(tmp_path):
    with pytest.raises(UnknownNameError, match="rosenbrock"):
        export.c(flexdyn_ros.load(HANGING), tmp_path, ["hydraulic_step"], method="staggered")
    assert not list(tmp_path.iterdir())
