"""URDF < <flexdyn file> < YAML < options: later wins attribute by attribute, and every override is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError

HERE = Path(__file__).parent
URDF = HERE.parents[1] / "urdf"
PENDULUM = (HERE / "pendulum.urdf").read_text()
ARM = URDF / "canadarm2.urdf"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def told(robot) -> dict:
    return {override.path: (override.old, override.new) for override in robot.overrides}


def test_options_nested_and_dotted_say_the_same() -> None:
    nested = read(
        PENDULUM, options={"links": {"boom": {"modes": {"bending_z": 2}}}, "formulation": {"flexible": False}}
    )
    dotted = read(PENDULUM, options={"links.boom.modes.bending_z": 2, "formulation.flexible": False})
    listed = read(PENDULUM, options=["links.boom.modes.bending_z=2", "formulation.flexible=false"])
    assert nested == dotted == listed
    assert nested.flexible_links["boom"].modes.bending_z == 2
    assert nested.formulation.flexible is False
    assert told(nested)["links.boom.modes.bending_z"] == (3, 2)


def test_yaml_mirror_of_the_contract(tmp_path: Path) -> None:
    config = write(
        tmp_path,
        "c.yaml",
        """flexdyn:
  version: 1
  gravity: [0.0, 0.0, -9.80665]
  formulation: {stiffening: none}
  links:  {boom_1: {modes: {bending_y: 2}, body: {elbow_housing: {station: tip, mass: {value: 50}}}}}
  joints: {elbow_pitch: {rotor: {inertia: 1e-4, gear_ratio: 100}}}
""",
    )
    robot = read(ARM, config=config)
    boom = robot.flexible_links["boom_1"]
    assert robot.gravity == (0.0, 0.0, -9.80665)
    assert robot.formulation.stiffening == "none"
    assert (boom.modes.bending_y, boom.modes.bending_z) == (2, 3)
    assert {body.name: body.mass for body in boom.bodies} == {"shoulder_housing": 46.1, "elbow_housing": 50.0}
    assert boom.bodies[1].xyz == (0.0, -0.30, 0.0)
    assert robot.joint("elbow_pitch").rotor.inertia == 1e-4
    assert told(robot)["links.boom_1.body.elbow_housing.mass.value"] == (46.1, 50.0)
    assert told(robot)["gravity"] == ((0, 0, -9.81), (0, 0, -9.80665))


def test_order_of_the_four_sources(tmp_path: Path) -> None:
    write(
        tmp_path,
        "flex.xml",
        "<robot><flexdyn><gravity>0 0 -2</gravity></flexdyn>"
        '<flexdyn reference="boom"><modes bending_z="4" bending_y="4"/></flexdyn></robot>',
    )
    text = PENDULUM.replace(
        "</robot>", '<flexdyn file="flex.xml"/><flexdyn><gravity>0 0 -1</gravity></flexdyn></robot>'
    )
    file = write(tmp_path, "robot.urdf", text)
    first = write(
        tmp_path, "a.yaml", "flexdyn: {gravity: [0, 0, -3], links: {boom: {modes: {bending_z: 5}}}}"
    )
    second = write(tmp_path, "b.yaml", "flexdyn: {gravity: '0 0 -4'}")
    assert read(file).gravity == (0, 0, -2)
    robot = read(file, config=[first, second], options={"gravity": (0, 0, -5)})
    assert robot.gravity == (0, 0, -5)
    modes = robot.flexible_links["boom"].modes
    assert (modes.bending_z, modes.bending_y) == (5, 4)
    sources = [override.source for override in robot.overrides if override.path == "gravity"]
    assert sources == ["<flexdyn file>", "a.yaml", "b.yaml", "options"]


@pytest.mark.parametrize("path", ["links.boom", "links.boom.beam"])
def test_null_deletes(path: str) -> None:
    options = {path: None} if path == "links.boom" else {path: None, "links.boom.modes": None}
    robot = read(PENDULUM, options=options)
    assert not robot.flexible_links
    assert told(robot)[path] == ("present", None)


def test_null_deletes_one_named_element(tmp_path: Path) -> None:
    config = write(
        tmp_path, "c.yaml", "flexdyn:\n  links:\n    boom_1:\n      body:\n        elbow_housing: null\n"
    )
    bodies = read(ARM, config=config).flexible_links["boom_1"].bodies
    assert [body.name for body in bodies] == ["shoulder_housing"]


def test_alternative_replaces_what_an_earlier_source_said() -> None:
    text = PENDULUM.replace("<modes", '<damping ratio="0.1"/><modes')
    damping = read(text, options={"links.boom.damping.rayleigh_mass": 0.5}).flexible_links["boom"].damping
    assert (damping.ratio, damping.rayleigh_mass) == (None, 0.5)
    road = read(URDF / "mobile_arm.urdf", options={"road.kind": "flat"}).road
    assert (road.kind, road.amplitude) == ("flat", None)


def test_road_of_a_python_function() -> None:
    def hill(x: float) -> tuple[float, float]:
        return 0.1 * x, 0.1

    road = read(URDF / "mobile_arm.urdf", options={"road": hill}).road
    assert (road.kind, road.function) == ("callable", hill)


def test_names_with_dots_are_found() -> None:
    text = PENDULUM.replace('"boom"', '"arm.boom"')
    robot = read(text, options={"links.arm.boom.modes.bending_z": 1})
    assert robot.flexible_links["arm.boom"].modes.bending_z == 1


def test_numpy_values_are_taken() -> None:
    numpy = pytest.importorskip("numpy")
    options = {
        "gravity": numpy.array([0.0, 0.0, -1.5]),
        "links.boom.modes.bending_z": numpy.int64(2),
        "links.boom.beam.length": numpy.float32(1.5),
        "formulation.flexible": numpy.bool_(False),
    }
    robot = read(PENDULUM, options=options)
    assert robot.gravity == (0.0, 0.0, -1.5)
    assert (robot.flexible_links["boom"].modes.bending_z, robot.formulation.flexible) == (2, False)


@pytest.mark.parametrize(
    ("options", "element", "attribute", "word"),
    [
        ({"links.bom.modes.bending_z": 2}, "links/bom", None, "boom"),
        ({"link.boom.modes.bending_z": 2}, None, "link", "links"),
        ({"links.boom.modes.bending_zz": 2}, None, "bending_zz", "bending_z"),
        ({"links.boom.modes.bending_z": 2.5}, None, "bending_z", "integer"),
        ({"links.boom.modes.bending_z": True}, None, "bending_z", "integer"),
        ({"formulation.flexible": "no"}, None, "flexible", "true or false"),
        ({"formulation.flexible": 1}, None, "flexible", "true or false"),
        ({"gravity": [0, 1]}, None, "gravity", "three"),
        ({"gravity": [0, 0, float("nan")]}, None, "gravity", "finite"),
        ({"gravity.z": 1}, None, "z", "unknown"),
        ({"links.boom.beam.length": float("inf")}, None, "length", "finite"),
        ({"links.boom.beam.length.x": 1}, "links/boom/beam", "length", "a finite number"),
        ({"links.boom.beam": 3}, None, None, "keys and values"),
        ({"links.boom.body": 3}, None, None, "keys and values"),
        ({"version": 2}, None, "version", "1"),
        ("formulation", None, None, "mapping"),
        (["formulation.flexible"], None, None, "path=value"),
    ],
)
def test_wrong_options_are_refused(options, element: str | None, attribute: str | None, word: str) -> None:
    with pytest.raises(DescriptionError, match=word) as caught:
        read(PENDULUM, options=options)
    assert caught.value.file == "options"
    assert caught.value.attribute == attribute
    if element is not None:
        assert caught.value.element.endswith(element)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("flexdyn:\n  gravity: [0, 0, nan]\n", 2),
        ("flexdyn:\n  links:\n    boom:\n      modes: {bending_z: two}\n", 4),
        ("flexdyn:\n  links:\n    bom: {modes: {bending_z: 2}}\n", 3),
        ("flexdyn:\n  gravty: [0, 0, 1]\n", 2),
        ("flexdyn:\n  gravity: [0, 0, 1]\n  gravity: [0, 0, 2]\n", 3),
        ("gravity: [0, 0, 1]\n", 1),
        ("flexdyn: [1, 2\n", 2),
        ("- 1\n", 1),
        ("flexdyn: !!python/object/apply:os.system ['true']\n", 1),
    ],
)
def test_wrong_yaml_is_refused_with_its_line(text: str, line: int, tmp_path: Path) -> None:
    config = write(tmp_path, "c.yaml", text)
    with pytest.raises(DescriptionError) as caught:
        read(PENDULUM, config=config)
    assert (caught.value.file, caught.value.line) == (str(config), line)


def test_yaml_that_multiplies_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    config = write(tmp_path, "c.yaml", "\n".join(lines))
    with pytest.raises(DescriptionError, match="too large"):
        read(PENDULUM, config=config)


def test_file_of_blocks_holds_blocks_only(tmp_path: Path) -> None:
    text = PENDULUM.replace("</robot>", '<flexdyn file="flex.xml"/></robot>')
    file = write(tmp_path, "robot.urdf", text)
    with pytest.raises(DescriptionError, match="no such file") as caught:
        read(file)
    assert (caught.value.attribute, caught.value.value, caught.value.line) == ("file", "flex.xml", 12)
    other = write(tmp_path, "flex.xml", '<robot>\n<link name="x"/></robot>')
    with pytest.raises(DescriptionError, match="blocks") as caught:
        read(file)
    assert (caught.value.file, caught.value.line) == (str(other), 2)
    write(tmp_path, "flex.xml", '<robot>\n\n<flexdyn file="more.xml"/></robot>')
    with pytest.raises(DescriptionError, match="names another") as caught:
        read(file)
    assert (caught.value.file, caught.value.line, caught.value.value) == (str(other), 3, "more.xml")


def test_plain_urdf_is_made_flexible_by_options_alone() -> None:
    plain = PENDULUM[: PENDULUM.index("  <flexdyn")] + "</robot>"
    assert not read(plain).flexible_links
    boom = {"beam": {"rod": {"radius": 0.01}, "material": {"name": "steel"}}, "modes": {"bending_z": 1}}
    robot = read(plain, options={"links": {"boom": boom}, "base.type": "floating"})
    assert robot.flexible_links["boom"].beam.section.radius == 0.01
    assert robot.base.type == "floating"


def test_long_paths_are_refused_soon() -> None:
    with pytest.raises(DescriptionError):
        read(PENDULUM, options={"links" + ".boom" * 100_000: 1})
