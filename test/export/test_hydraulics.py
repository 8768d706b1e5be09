"""Cylinders of a platform in C, CasADi and FMUs: the steps of `simulate`, and the motion itself."""

import ctypes
import re

import numpy as np
import pytest
from exported import COMPILERS, compiled, fmu_name, run_example

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation import FusedHydraulics, Stepper, ValveOpenings

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no C compiler"),
    pytest.mark.usefixtures("quick_compiler"),
]

#: each changes what the equations look at
VARIANTS = {
    "shipped": {},
    "slow valves": {
        "valve": 'time_constant="0.01" overlap="0.03" slew_rate="20" null_opening="0.01"',
        "cushion": '<cushion length="0.25" minimum="0.1"/>',
    },
    "stiff spools": {"valve": 'natural_frequency_hz="60" damping_ratio="1.3"'},
    "critical spools": {"valve": 'natural_frequency_hz="60" damping_ratio="1.0"'},
    "bristles": {
        "friction": '<friction model="lugre" coulomb="250" static="400" stribeck_velocity="0.02" '
        'viscous="600" bristle_stiffness="1e7" bristle_damping="3e3"/>',
        "supply": 'relief_pressure="100e5" relief_conductance="1e-10" makeup_conductance="1e-8"',
    },
    "plain oil": {"fluid": '<fluid bulk_modulus="1.4e9" model="constant"/>', "friction": ""},
}


def replaced(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def platform(variant="shipped"):
    """The shipped platform with parts of its hydraulics replaced."""
    changes = VARIANTS[variant]
    text = flexdyn_ros.load("stewart_1t").description.text
    if "valve" in changes:
        text = replaced(text, 'damping_ratio="0.8" natural_frequency_hz="80"', changes["valve"])
    if "supply" in changes:
        text = replaced(text, 'pressure="160e5"', f'pressure="160e5" {changes["supply"]}')
    for tag in ("friction", "fluid"):
        if tag in changes:
            start = text.index(f"<{tag} ")
            text = text[:start] + changes[tag] + text[text.index("/>", start) + 2 :]
    text = replaced(text, "</hydraulics>", changes.get("cushion", "") + "</hydraulics>")
    return flexdyn_ros.load(text)


def law(t, q, v):
    """Openings that move all legs."""
    return 0.6 * np.sin(2.0 * np.pi * 1.3 * t + np.arange(6))


def started(robot):
    """A stepper with cylinders by valves, and the oil that exported steps begin with."""
    from flexdyn_ros.export.tracing.hydraulics import Oil

    stepper = Stepper(robot, 1e-3)
    return stepper, FusedHydraulics(stepper, "valve"), Oil(robot)


def taking(arm, name):
    """A step of a C library on arrays that it overwrites."""
    function = getattr(arm.library, f"{name}_hydraulic_step")

    def step(q, v, oil, valves):
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, oil, valves)]
        assert function(*pointers, None, ctypes.c_double(1e-3), arm.work.ctypes.data_as(ctypes.c_void_p)) == 0

    return step


@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_in_c_are_those_of_simulate(variant, tmp_path):
    robot = platform(variant)
    export.c(robot, tmp_path, ["hydraulic_step"])
    step = taking(compiled(tmp_path, robot.name), robot.name)
    stepper, cylinders, own = started(robot)
    q, v = stepper.q.copy(), stepper.v.copy()
    oil = own.start(q)
    for k in range(800):
        valves = law(1e-3 * k, q, v)
        step(q, v, oil, valves)
        cylinders.command(valves)
        assert stepper.advance(1) == 0
        if k % 100 == 99:
            assert np.abs(q - stepper.q).max() <= 1e-9
            expected = own.of_state(cylinders.state())
            assert np.abs(oil - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.ptp(stepper.q - robot.neutral()) > 1e-2


def test_the_example_prints_pythons_numbers(tmp_path):
    verbs = ["step", "hydraulic_step", "cylinder_forces", "oil_rates"]
    with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="hydraulic_step"):
        export.c(platform(), tmp_path, verbs)
    done = run_example(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hydraulic_step: oil1" in done.stdout
    assert "STEWART_1T_OIL 24" in (tmp_path / "stewart_1t.h").read_text()


def test_the_example_ends_one_step_of_simulate_after_its_begin(tmp_path):
    robot = platform()
    export.c(robot, tmp_path, ["hydraulic_step"])
    tables = dict(re.findall(r"double (\w+)\[\] = \{([^}]*)\}", (tmp_path / "main.c").read_text()))
    at = {name: np.array(numbers.split(","), dtype=float) for name, numbers in tables.items()}
    assert np.ptp(at["valves_0"]) > 0.5
    run = flexdyn_ros.simulate(
        robot, 1e-3, at["q_0"], at["v_0"], control=ValveOpenings(at["valves_0"]), dt=1e-3
    )
    for name, found in (("q", run.q), ("v", run.v)):
        expected = at[f"expected_hydraulic_step_{name}1"]
        np.testing.assert_allclose(expected, found[-1], rtol=0.0, atol=1e-12)
    _, _, own = started(robot)
    states = dict(zip([name.replace("/", ".") for name in run.state_names], run.states[-1], strict=True))
    expected = np.array([states[name] for name in own.names])
    np.testing.assert_allclose(at["expected_hydraulic_step_oil1"], expected, rtol=1e-7)


@pytest.mark.parametrize("variant", ["shipped", "stiff spools", "critical spools", "bristles", "plain oil"])
def test_the_rates_of_the_oil_are_those_of_short_steps(variant, tmp_path):
    robot = platform(variant)
    export.c(robot, tmp_path, ["oil_rates"])
    arm, (_, _, own) = compiled(tmp_path, robot.name), started(robot)
    rng = np.random.default_rng(1)
    q, v, valves = robot.neutral(), 0.05 * rng.standard_normal(6), rng.uniform(-1.0, 1.0, 6)
    oil = own.start(q)
    oil[["spool" in name for name in own.names]] += 0.2
    rates = arm.call("oil_rates", q, v, oil, valves, sizes=[oil.size])
    h, hydraulics = 1e-9, robot.hydraulics.with_tolerances(1e-12, 1e-6)
    legs = robot.inverse_kinematics(q)
    speeds = robot.actuation_matrix(q).T @ v
    state = hydraulics.initial(np.zeros(6), legs.length)
    fields = {field: oil[[name.endswith("." + field) for name in own.names]] for field in state._fields}
    state = state._replace(**{field: x for field, x in fields.items() if x.size})
    after = own.of_state(hydraulics.step(state, legs.length, speeds, valves, h))
    expected = (after - oil) / h
    scale = {field: np.abs(x).max() for field, x in fields.items() if x.size}
    for name, rate, found in zip(own.names, rates, expected, strict=True):
        # rounding of the state by h, and the next order of the step
        rounding = 1e-15 * scale[name.rpartition(".")[2]] / h
        assert abs(rate - found) <= 1e-4 * abs(rate) + 4.0 * rounding + 1e-3, name


def test_steps_of_casadi_are_those_of_simulate():
    pytest.importorskip("casadi")
    robot = platform()
    step = export.casadi(robot, "hydraulic_step")
    stepper, cylinders, own = started(robot)
    q, v = stepper.q.copy(), stepper.v.copy()
    oil = own.start(q)
    for k in range(100):
        valves = law(1e-3 * k, q, v)
        q, v, oil = step(q, v, oil, valves, 1e-3)
        cylinders.command(valves)
        stepper.advance(1)
    assert np.abs(q.full().ravel() - stepper.q).max() <= 1e-12
    assert np.abs(oil.full().ravel() - own.of_state(cylinders.state())).max() <= 1e-12 * 1e7


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_fmus_open_valves(fmi, tmp_path):
    fmpy = pytest.importorskip("fmpy")
    from fmpy.validation import validate_fmu

    robot = platform()
    path = export.fmu(robot, tmp_path / "platform.fmu", fmi=fmi, cylinders=True)
    assert validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    named = {x.name: x for x in description.modelVariables}
    assert [x for x in named if named[x].causality == "input"] == [f"leg_{i}.valve" for i in range(1, 7)]
    assert description.numberOfContinuousStates == 13 + 24
    assert named["leg_1.pressure_bore"].unit == "Pa"
    openings = 0.05 * np.array([1.0, -1.0, 1.0, -0.5, 0.2, 0.4])
    given = dict(zip([f"leg_{i}.valve" for i in range(1, 7)], openings, strict=True))
    names = [fmu_name("q", name) for name in robot.q_names]
    forces = [f"leg_{i}.force" for i in range(1, 7)]

    def run(kind, **options):
        found = fmpy.simulate_fmu(
            str(path), fmi_type=kind, output_interval=1e-2, start_values=given, output=[*names, *forces],
            record_events=False, **options,
        )  # fmt: skip
        return [np.array([[row[name] for name in some] for row in found]) for some in (names, forces)]

    control = ValveOpenings(openings)
    expected = flexdyn_ros.simulate(robot, 1.0, control=control, dt=1e-3, record_every=10)
    q, force = run("CoSimulation", stop_time=1.0, step_size=1e-2)
    excursion = np.ptp(expected.q, axis=0).max()
    assert excursion > 0.02
    assert np.abs(q - expected.q).max() <= 1e-9 * excursion
    # at rest the cylinders carry what the legs need
    hold = robot.inverse_dynamics(robot.neutral(), np.zeros(6), np.zeros(6))
    assert force[0] == pytest.approx(hold, rel=1e-9)
    if fmi == "2.0":
        return
    expected = flexdyn_ros.simulate(robot, 0.1, control=control, rtol=1e-9, sample=1e-2)
    q, _ = run("ModelExchange", stop_time=0.1, relative_tolerance=1e-9)
    assert np.abs(q - expected.q).max() <= 1e-5 * np.ptp(expected.q, axis=0).max()


def test_refusals(tmp_path):
    robot = platform()
    with pytest.raises(UnsupportedError, match="no cylinders"):
        export.fmu(flexdyn_ros.load("two_link"), tmp_path / "arm.fmu", cylinders=True)
    with pytest.raises(UnsupportedError, match="slew_rate"):
        export.c(platform("slow valves"), tmp_path, ["oil_rates"])
    with pytest.raises(UnknownNameError, match="method"):
        export.c(robot, tmp_path, ["hydraulic_step"], method="rk4")
    with pytest.raises(StateError, match="dt"):
        export.fmu(robot, tmp_path / "arm.fmu", cylinders=True, step=0.0)
    assert not list(tmp_path.iterdir())
