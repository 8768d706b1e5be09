"""FMUs of all families: valid, and the motion of `simulate`; by fmpy."""

import re
import zipfile
from collections import Counter
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from exported import COMPILERS, at_random, fmu_motion
from models import two_link_arm

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import (
    DimensionError,
    ExportError,
    FlexdynWarning,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.export.fmi.description import UNITS, Variable, model_description

fmpy = pytest.importorskip("fmpy")

from fmpy.validation import validate_fmu  # noqa: E402

FAMILIES = ("two_link", "flexible_two_link", "mobile_arm", "soft_arm", "stewart_1t")
#: every family, and both versions with the simplest robot and with the one that has states of its own: what
#: depends on the version is not made for a family
VERSIONS = (
    ("two_link", "2.0"), ("two_link", "3.0"), ("flexible_two_link", "3.0"), ("mobile_arm", "2.0"),
    ("soft_arm", "3.0"), ("stewart_1t", "2.0"), ("stewart_1t", "3.0"),
)  # fmt: skip
#: compiled with optimization; steps of the other families are optimized in test_c_code.py and test_native.py
OPTIMIZED = (("two_link", "2.0"), ("soft_arm", "3.0"))
EXCHANGED = (("two_link", "2.0"), ("two_link", "3.0"), ("flexible_two_link", "2.0"), ("soft_arm", "2.0"),
             ("stewart_1t", "2.0"), ("stewart_1t", "3.0"))  # fmt: skip

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")


def start(robot):
    """A start in the midst of motion, and constant efforts that keep it near."""
    q, v, a, _ = at_random(robot)
    if any(c.prescribed for c in robot.coordinates):
        return None, None, np.zeros(robot.nu)
    efforts = robot.inverse_dynamics(q, 0.0 * v, 0.0 * a) if robot.kind == "platform" else np.zeros(robot.nu)
    return q, 0.1 * v, efforts


@pytest.mark.parametrize(("name", "fmi"), VERSIONS)
def test_co_simulation_is_the_fixed_step_of_simulate(name, fmi, request, tmp_path):
    if (name, fmi) not in OPTIMIZED:
        request.getfixturevalue("quick_compiler_here")
    else:
        request.getfixturevalue("own_compiler")
    robot = flexdyn_ros.load(name)
    q0, v0, tau = start(robot)
    path = export.fmu(robot, tmp_path / f"{name}.fmu", fmi=fmi, q0=q0, v0=v0)
    assert validate_fmu(str(path)) == []
    method = {"stewart_1t": "rk4"}.get(name)
    options = {} if method is None else {"method": method}
    expected = flexdyn_ros.simulate(robot, 0.5, q0, v0, control=tau, dt=1e-3, record_every=10, **options)
    found = fmu_motion(path, robot, tau, "CoSimulation", 1e-2, 0.5, step_size=1e-2)
    excursion = np.ptp(expected.q, axis=0).max()
    assert excursion > 0.0
    assert np.abs(found - expected.q).max() <= 1e-9 * excursion


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_two_seconds_of_co_simulation(name, tmp_path):
    robot = flexdyn_ros.load(name)
    q0, v0, tau = start(robot)
    path = export.fmu(robot, tmp_path / f"{name}.fmu", q0=q0, v0=v0)
    options = {"method": "rk4"} if name == "stewart_1t" else {}
    expected = flexdyn_ros.simulate(robot, 2.0, q0, v0, control=tau, dt=1e-3, record_every=10, **options)
    found = fmu_motion(path, robot, tau, "CoSimulation", 1e-2, 2.0, step_size=1e-2)
    assert np.abs(found - expected.q).max() <= 1e-9 * np.ptp(expected.q, axis=0).max()


@pytest.mark.usefixtures("quick_compiler_here")
@pytest.mark.parametrize(("name", "fmi"), EXCHANGED)
def test_model_exchange_is_the_motion(name, fmi, tmp_path):
    robot = flexdyn_ros.load(name)
    q0, v0, tau = start(robot)
    path = export.fmu(robot, tmp_path / f"{name}.fmu", fmi=fmi, kind="model-exchange", q0=q0, v0=v0)
    assert validate_fmu(str(path)) == []
    expected = flexdyn_ros.simulate(
        robot, 0.2, q0, v0, control=flexdyn_ros.continuous(lambda t, q, v: tau), rtol=1e-10, sample=1e-2,
        method="dop853",
    )  # fmt: skip
    found = fmu_motion(path, robot, tau, "ModelExchange", 1e-3, 0.2, relative_tolerance=1e-9)[::10]
    assert np.abs(found - expected.q).max() <= 1e-5 * np.ptp(expected.q, axis=0).max()


@pytest.mark.usefixtures("own_compiler")
def test_communication_steps_may_vary_and_states_be_set_back(tmp_path):
    robot = flexdyn_ros.load("two_link")
    path = export.fmu(robot, tmp_path / "arm.fmu", q0=np.array([0.3, -0.2]))
    description = fmpy.read_model_description(str(path))
    references = {x.name: x.valueReference for x in description.modelVariables}
    folder = fmpy.extract(str(path))
    arm = fmpy.instantiate_fmu(folder, description, "CoSimulation")
    arm.enterInitializationMode()
    arm.exitInitializationMode()
    names = [references["q.shoulder"], references["energy.kinetic"]]
    t = 0.0
    for step in (0.01, 0.003, 0.02):
        arm.doStep(t, step)
        t += step
    state, there = arm.getFMUState(), arm.getFloat64(names)
    arm.doStep(t, 0.1)
    assert arm.getFloat64(names) != there
    arm.setFMUState(state)
    assert arm.getFloat64(names) == there
    saved = arm.serializeFMUState(state)
    arm.reset()
    arm.setFMUState(arm.deserializeFMUState(saved))
    assert arm.getFloat64(names) == there
    expected = flexdyn_ros.simulate(robot, t, np.array([0.3, -0.2]), dt=1e-3)
    assert there[0] == pytest.approx(expected.q[-1, 0], abs=1e-12)
    arm.terminate()
    arm.freeInstance()


DERIVED = {
    "N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2}, "Pa": {"kg": 1, "m": -1, "s": -2},
    "1": {},
}  # fmt: skip


def exponents(unit):
    """Of kg, m, s, rad, by what a unit is called: N m, rad/s2."""
    found = Counter()
    for i, part in enumerate(unit.split("/")):
        for symbol, power in re.findall(r"([A-Za-z]+|^1)(\d?)", part):
            for base, many in DERIVED.get(symbol, {symbol: 1}).items():
                found[base] += (-1) ** i * int(power or 1) * many
    return {base: many for base, many in found.items() if many}


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_units_are_those_of_their_names(fmi):
    assert exponents("N m") == {"kg": 1, "m": 2, "s": -2}
    assert exponents("Pa/s") == {"kg": 1, "m": -1, "s": -3}
    assert exponents("1/s2") == {"s": -2}
    told = [Variable(f"x{i}", "y", unit, "a number") for i, unit in enumerate(UNITS)]
    text = model_description("arm", "arm", "{0}", fmi, ["co-simulation"], told, 1e-3)
    units = {unit.get("name"): unit for unit in ElementTree.fromstring(text.encode()).iter("Unit")}
    assert {"rad", "m", "s", "rad/s", "m/s", "rad/s2", "m/s2", "N", "N m", "J", "Pa", "Pa/s"} <= set(units)
    for name, unit in units.items():
        (base,) = unit
        assert {key: int(power) for key, power in base.attrib.items()} == exponents(name), name


@pytest.mark.usefixtures("quick_compiler_here")
def test_parameters_and_outputs(tmp_path):
    robot = flexdyn_ros.load("flexible_two_link")
    path = export.fmu(robot, tmp_path / "arm.fmu", parameters=["*/mass"])
    description = fmpy.read_model_description(str(path))
    names = {x.name: x for x in description.modelVariables}
    assert [x.name for x in description.modelVariables if x.causality == "input"] == list(robot.actuators)
    masses = [p.name for p in robot.parameters if p.name.endswith("/mass")]
    dotted = [name.replace("/", ".") for name in masses]
    assert [x.name for x in description.modelVariables if x.causality == "parameter"] == dotted
    assert names["q.joint_1" if "q.joint_1" in names else f"q.{robot.q_names[0]}"].unit == "rad"
    tips = [name for name in names if ".deflection." in name]
    assert tips
    # twice the mass, half the acceleration
    first, effort = masses[-1], robot.actuators[0]
    outputs = [f"v.{robot.v_names[0]}"]
    given = robot.parameters[[p.name for p in robot.parameters].index(first)].value
    speeds = []
    for mass in (given, 50.0):
        start_values = {first.replace("/", "."): mass, effort: 1.0}
        found = fmpy.simulate_fmu(str(path), stop_time=0.1, start_values=start_values, output=outputs)
        speeds.append(found[-1][1])
    assert abs(speeds[0]) > 1.5 * abs(speeds[1])


@pytest.mark.usefixtures("own_compiler")
def test_a_controller_moves_the_arm_through_its_fmu(tmp_path):
    """Positions and efforts are exchanged every millisecond, as `simulate` does with a law in Python."""
    robot = flexdyn_ros.load("two_link")
    path = export.fmu(robot, tmp_path / "arm.fmu")
    description = fmpy.read_model_description(str(path))
    references = {x.name: x.valueReference for x in description.modelVariables}
    arm = fmpy.instantiate_fmu(fmpy.extract(str(path)), description, "CoSimulation")
    arm.enterInitializationMode()
    arm.exitInitializationMode()
    at_q = [references[f"q.{name}"] for name in robot.q_names]
    at_v = [references[f"v.{name}"] for name in robot.v_names]
    at_u = [references[name] for name in robot.actuators]

    def law(t, q, v):
        return 20.0 * (np.array([0.5, -0.5]) - q) - 5.0 * v

    for k in range(500):
        arm.setFloat64(at_u, list(law(0.0, np.array(arm.getFloat64(at_q)), np.array(arm.getFloat64(at_v)))))
        arm.doStep(1e-3 * k, 1e-3)
    expected = flexdyn_ros.simulate(robot, 0.5, control=law, dt=1e-3)
    assert np.abs(np.array(arm.getFloat64(at_q)) - expected.q[-1]).max() <= 1e-10
    arm.terminate()
    arm.freeInstance()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_picture_shows_the_robot(name):
    from matplotlib import rc_context
    from matplotlib.image import imread

    from flexdyn_ros.export.fmi.robot import icon_of

    robot = flexdyn_ros.load(name)
    # whatever style is in use
    with rc_context({"savefig.dpi": 150}):
        picture = imread(BytesIO(icon_of(robot, robot.neutral())))
    assert picture.shape[:2] == (256, 256)
    drawn = (picture[..., :3] < 0.99).any(axis=2)
    assert 0.01 < drawn.mean() < 0.9
    # across most of the picture, as far from its left and lower as from its right and upper edge
    ends = [np.flatnonzero(drawn.any(axis=k))[[0, -1]] for k in (0, 1)]
    assert max(last - first for first, last in ends) > 150
    np.testing.assert_allclose(np.sum(ends, axis=1), 255.5, atol=1.0)


def test_equal_robots_give_equal_archives(tmp_path):
    for k in range(2):
        export.fmu(flexdyn_ros.load("two_link"), tmp_path / f"{k}.fmu")
    assert (tmp_path / "0.fmu").read_bytes() == (tmp_path / "1.fmu").read_bytes()
    with zipfile.ZipFile(tmp_path / "0.fmu") as archive:
        for name in archive.namelist():
            assert str(tmp_path).encode() not in archive.read(name), name


@pytest.mark.slow
def test_windows_by_the_compiler_of_zig(tmp_path):
    pytest.importorskip("ziglang")
    path = export.fmu(
        flexdyn_ros.load("two_link"), tmp_path / "arm.fmu", fmi="2.0", platforms=["host", "win64"]
    )
    with zipfile.ZipFile(path) as archive:
        library = archive.read("binaries/win64/two_link.dll")
    assert library[:2] == b"MZ"
    assert b"fmi2DoStep" in library


def test_a_platform_says_that_its_cylinders_are_not_part_of_it(tmp_path):
    with pytest.warns(FlexdynWarning, match="cylinders"):
        export.c(flexdyn_ros.load("stewart_1t"), tmp_path, ["step"])


def test_refusals(tmp_path, monkeypatch):
    robot = flexdyn_ros.load("two_link")
    with pytest.raises(UnknownNameError, match="version"):
        export.fmu(robot, tmp_path / "arm.fmu", fmi="1.0")
    with pytest.raises(UnknownNameError, match="kind"):
        export.fmu(robot, tmp_path / "arm.fmu", kind="scheduled-execution")
    with pytest.raises(UnknownNameError, match="platform"):
        export.fmu(robot, tmp_path / "arm.fmu", platforms=["amiga"])
    with pytest.raises(StateError):
        export.fmu(robot, tmp_path / "arm.fmu", q0=np.array([np.nan, 0.0]))
    for step in (0.0, -1e-3, np.nan, np.inf):
        with pytest.raises(StateError, match="dt"):
            export.fmu(robot, tmp_path / "arm.fmu", step=step)
    with pytest.raises(DimensionError, match="q0"):
        export.fmu(robot, tmp_path / "arm.fmu", q0=np.zeros((2, 2)))
    twin = flexdyn_ros.load(two_link_arm().replace('"shoulder"', '"time"'))
    with pytest.raises(UnsupportedError, match="'time'"):
        export.fmu(twin, tmp_path / "arm.fmu")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ExportError, match="cannot be written"):
        export.fmu(robot, tmp_path / "file" / "arm.fmu")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
