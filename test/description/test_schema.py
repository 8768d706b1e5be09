"""The XSD and the reference page are generated from the schema, and agree with the reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree
from oil_robots import hanging

from flexdyn_ros.description import read, schema_table, schema_xsd
from flexdyn_ros.description.language import schema

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = [
    HERE / "pendulum.urdf",
    *(
        ROOT / "urdf" / f"{name}.urdf"
        for name in ("canadarm2", "canadarm2_7", "flexible_two_link", "kane_beam", "mobile_arm", "soft_arm_3")
    ),
]


@pytest.fixture(scope="module")
def xsd() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(schema_xsd().encode()))


def every_element(rule=None, path=()):
    """All elements of the schema with their paths."""
    for child in (c for scope in schema.SCOPES for c in scope.children) if rule is None else rule.children:
        yield (*path, child.name), child
        yield from every_element(child, (*path, child.name))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_xsd_accepts_the_examples(xsd: etree.XMLSchema, file: Path) -> None:
    xsd.assertValid(etree.parse(file))


def test_xsd_accepts_the_expanded_hexapod(xsd: etree.XMLSchema) -> None:
    pytest.importorskip("xacro")
    xsd.assertValid(etree.fromstring(read(ROOT / "urdf" / "stewart_1t.urdf.xacro").text.encode()))


@pytest.mark.parametrize("path", [path for path, _ in every_element()], ids="/".join)
def test_xsd_rejects_an_unknown_attribute_of_every_element(
    xsd: etree.XMLSchema, path: tuple[str, ...]
) -> None:
    robot = etree.Element("robot", name="r")
    at = etree.SubElement(robot, "flexdyn")
    for tag in path:
        at = etree.SubElement(at, tag)
    xsd.validate(robot)
    before = [entry.message for entry in xsd.error_log if "unknown_word" in entry.message]
    at.set("unknown_word", "1")
    assert not xsd.validate(robot)
    after = [entry.message for entry in xsd.error_log if "unknown_word" in entry.message]
    assert not before
    assert after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('wall="0.002"', 'wall="0"'),
        ('wall="0.002"', 'wall="NaN"'),
        ('wall="0.002"', 'wall="thin"'),
        ("<modes", '<remainder station="1.5"/><modes'),
        ("<modes", "<mode/><modes"),
        ('"steel"', '"steal"'),
        ('bending_z="3"', 'bending_z="2.5"'),
        ('bending_z="3"', 'bending_z="31"'),
        ("<modes", '<damping ratio="1.0"/><modes'),
        ("<modes", '<damping ratio=""/><modes'),
        ("<modes", '<damping ratio="0.1 -0.1"/><modes'),
        ("<beam>", '<beam axis="1 0">'),
        ("<flexdyn ", '<flexdyn version="2" '),
        ("<flexdyn ", '<flexdyn refrence="x" '),
        ('outer_radius="0.025" ', ""),
    ],
)
def test_xsd_rejects_what_the_reader_refuses(xsd: etree.XMLSchema, old: str, new: str) -> None:
    text = EXAMPLES[0].read_text()
    assert old in text
    assert not xsd.validate(etree.fromstring(text.replace(old, new).encode()))
    with pytest.raises(ValueError, match=r"expected|missing"):
        read(text.replace(old, new))


@pytest.mark.parametrize("numbers", ["", "1 2", "1 2 3 4", "1 -2 3", "1 x 3"])
@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_xsd_bounds_how_many_numbers_stand_in_a_list(xsd: etree.XMLSchema, name: str, numbers: str) -> None:
    text = next(file for file in EXAMPLES if file.stem == "soft_arm_3").read_text()
    for many in ("1", "1 2 3", numbers):
        changed = re.sub(rf'(<section length.* {name}=)"[^"]*"', rf'\1"{many}"', text)
        assert changed != text
        assert xsd.validate(etree.fromstring(changed.encode())) == (many != numbers)
        if many != numbers:
            read(changed)
    with pytest.raises(ValueError, match="expected"):
        read(changed)


def test_reference_page_names_every_attribute() -> None:
    table = schema_table()
    for path, rule in every_element():
        assert f"### `<{'/'.join(path)}>`" in table
        section = table.split(f"### `<{'/'.join(path)}>`\n")[1].split("\n##")[0]
        for attribute in rule.attributes:
            assert f"| `{attribute.name}` |" in section
            assert attribute.meaning in section.replace("`<", "<").replace(">`", ">")


def test_reference_page_hides_no_name_of_an_element() -> None:
    # a page takes <inertial> for a tag of its own, unless it is code
    prose = re.sub(r"`[^`]*`", "", schema_table())
    assert not re.findall(r"<[a-z_/]+>", prose)


def test_reference_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "schema.md").read_text() == schema_table()


def test_a_default_of_the_page_changes_nothing_where_it_is_written_out() -> None:
    """Of oil, and of a pump and a gas spring on its line."""
    page = (ROOT / "docs" / "schema.md").read_text()
    pump = '<pump type="constant_pressure" displacement="1.2e-5" speed="157" line_volume="2e-3"/>'
    text = hanging(in_supply=pump + '<accumulator volume="1e-3" precharge="9e6"/>')
    whole, written = text, 0
    for path in ("supply", "supply/fluid", "supply/pump", "supply/accumulator"):
        rows = page.partition(f"### `<{path}>`")[2].partition("\n### ")[0]
        (start,) = re.findall(f"<{path.rpartition('/')[2]} ", text)
        for name, default in re.findall(r"^\| `(\w+)` \|.*\| ([-+.e\d]+) \| [^|]* \|$", rows, re.MULTILINE):
            whole = whole.replace(start, f'{start}{name}="{default}" ', 1)
            written += 1
    assert written == 9
    found, expected = (read(each).extras["supply"] for each in (text, whole))
    assert found == expected
    assert found[0].accumulator is not None
