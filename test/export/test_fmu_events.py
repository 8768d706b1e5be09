"""Model exchange stops at events: stops of soft sections, wheels that lift, edges of a road."""

import numpy as np
import pytest
from exported import COMPILERS, fmu_name

import flexdyn_ros
from flexdyn_ros import export

fmpy = pytest.importorskip("fmpy")

from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no C compiler"),
    pytest.mark.usefixtures("quick_compiler"),
]

CART = """<robot name="cart"><link name="cart"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<flexdyn><gravity>0 0 -9.8</gravity><base type="planar"/><wheel name="w" link="cart" xyz="0 0 0">
<suspension stiffness="1000" damping="50" free_length="0.3"/></wheel>
{road}<drive type="speed" speed="{speed}"/><formulation method="{method}"/></flexdyn></robot>"""
FLAT = '<road kind="flat" contact="unilateral"/>'
BUMP = '<road kind="bump" start="0.3" height="0.05" length="0.4" contact="unilateral"/>'


def jumping(method):
    """A cart that is thrown up and lands."""
    robot = flexdyn_ros.load(CART.format(road=FLAT, speed=0, method=method))
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[1], v[1] = 0.5, 1.0
    return robot, q, v, 0.8


def bumping(method):
    """A cart that rolls over a bump, which throws it off."""
    robot = flexdyn_ros.load(CART.format(road=BUMP, speed=3, method=method))
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[1], v[0] = 0.3 - 20.0 * 9.8 / 1000.0, 3.0
    return robot, q, v, 0.6


def soft():
    """A soft arm whose actuators run into their stops."""
    stops = 'preset="bai2022" limit_stiffness="85000" limit_damping="50"/>'
    text = flexdyn_ros.load("soft_arm_3").description.text.replace('preset="bai2022"/>', stops)
    robot = flexdyn_ros.load(text)
    upper = np.array([c.upper for c in robot.coordinates])
    return robot, 0.9 * upper * np.tile([1.0, 0.2, 0.5], 3), 0.5 * np.tile([1.0, 0.0, 0.2], 3), 0.03


CASES = {
    "jump": lambda: jumping("floating_frame"),
    "jump, articulated": lambda: jumping("articulated"),
    "bump": lambda: bumping("floating_frame"),
    "stops": soft,
}


@pytest.mark.parametrize(("case", "fmi"), [*((case, "3.0") for case in CASES), ("jump", "2.0")])
def test_cvode_stops_where_the_equations_switch(case, fmi, tmp_path):
    robot, q0, v0, seconds = CASES[case]()
    path = export.fmu(robot, tmp_path / "cart.fmu", fmi=fmi, kind="model-exchange", q0=q0, v0=v0)
    assert validate_fmu(str(path)) == []
    assert fmpy.read_model_description(str(path)).numberOfEventIndicators > 0
    names = [fmu_name("q", name) for name in robot.q_names]

    def run(record_events):
        return fmpy.simulate_fmu(
            str(path), fmi_type="ModelExchange", stop_time=seconds, output_interval=seconds / 20,
            output=names, relative_tolerance=1e-9, record_events=record_events,
        )  # fmt: skip

    found = run(False)
    assert len(run(True)) > len(found)
    expected = flexdyn_ros.simulate(robot, seconds, q0, v0, rtol=1e-10, sample=seconds / 20)
    q = np.array([[row[name] for name in names] for row in found])
    assert np.abs(q - expected.q).max() <= 1e-5 * np.ptp(expected.q, axis=0).max()


def test_an_event_is_where_the_wheel_lifts(tmp_path):
    robot, q0, v0, _ = jumping("floating_frame")
    path = export.fmu(robot, tmp_path / "cart.fmu", q0=q0, v0=v0)
    found = fmpy.simulate_fmu(
        str(path), fmi_type="ModelExchange", stop_time=0.8, output_interval=1e-2, relative_tolerance=1e-9,
        output=["event[1]"],
    )  # fmt: skip
    times = sorted(t for t in found["time"] if abs(t / 1e-2 - round(t / 1e-2)) > 1e-6)
    run = flexdyn_ros.simulate(robot, 0.8, q0, v0, rtol=1e-10)
    assert times[0] == pytest.approx(run.events[0].time, abs=1e-6)


@pytest.mark.parametrize("name", ["two_link", "canadarm2", "soft_arm_3", "mobile_arm", "stewart_1t"])
def test_series_and_pivots_are_no_events(name):
    """Comparisons that only choose how a function is computed stop nobody."""
    from flexdyn_ros.export.tracing.equations import Equations, event_indicators

    robot = flexdyn_ros.load(name)
    assert event_indicators(Equations(robot)).results == []


def test_names_and_terminals_are_structured(tmp_path):
    import zipfile

    from lxml import etree

    robot = flexdyn_ros.load("flexible_two_link")
    path = export.fmu(robot, tmp_path / "arm.fmu", parameters=["*/mass"])
    names = {x.name for x in fmpy.read_model_description(str(path)).modelVariables}
    assert {"q.link_1.bending_y[1]", "der(v.shoulder)", "link_1.mass", "tool0.R[1,1]"} <= names
    with zipfile.ZipFile(path) as archive:
        text = archive.read("terminalsAndIcons/terminalsAndIcons.xml")
        assert b'variableNamingConvention="structured"' in archive.read("modelDescription.xml")
    schema = fmpy.__path__[0] + "/schema/fmi3/fmi3TerminalsAndIcons.xsd"
    tree = etree.fromstring(text)
    etree.XMLSchema(etree.parse(schema)).assertValid(tree)
    members = {
        terminal.get("name"): {x.get("memberName"): x.get("variableName") for x in terminal}
        for terminal in tree.iter("Terminal")
    }
    expected = {"effort": "shoulder", "position": "q.shoulder", "velocity": "v.shoulder"}
    assert members["shoulder"] == expected
    assert {x for terminal in members.values() for x in terminal.values()} <= names
