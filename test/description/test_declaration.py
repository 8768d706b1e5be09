"""A new attribute needs one declaration: reader, YAML mirror, reference page and XSD follow from it."""

from __future__ import annotations

import ast
import pickle
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest
from lxml import etree

from flexdyn_ros.description import read, schema_table, schema_xsd
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.vocabulary import Attribute, declared, element
from flexdyn_ros.errors import DescriptionError

PENDULUM = '''
"""A family's own element."""

from __future__ import annotations

from flexdyn_ros.description.language.vocabulary import child, choice, element, number, positive


@element("bob", "What swings.")
class Bob:
    mass: float = positive("kg", "mass of the bob")


@element("pendulum", "A point mass on a rod.")
class Pendulum:
    length: float = positive("m", "from the pivot to the mass")
    mass: float = positive("kg", "of the point", default=2.5)
    law: str = choice("linear exact", "restoring moment", default="exact")
    damping: float | None = number("N m s/rad", "at the pivot", only=("law", ("linear",)), default=None)
    bob: Bob | None = child(Bob, default=None)
    line: int | None = None

    def check(self, statement, context) -> None:
        if self.length > 100.0 * self.mass:
            statement.fail("the rod is too long for its mass", "length", f"at most {100.0 * self.mass:g} m")
'''


@pytest.fixture
def pendulum(tmp_path, monkeypatch):
    """The record of <pendulum>, declared in a module of its own, and known to the schema."""
    (tmp_path / "toy_elements.py").write_text(PENDULUM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_elements", raising=False)
    import toy_elements

    schema.add_element(toy_elements.Pendulum)
    yield toy_elements.Pendulum
    schema.remove_element(toy_elements.Pendulum)
    del sys.modules["toy_elements"]


def described(text: str) -> str:
    return f'<robot name="r"><link name="base"/>\n<flexdyn>\n{text}\n</flexdyn></robot>'


def test_the_reader_knows_a_declared_element(pendulum):
    robot = read(described('<pendulum length="2"><bob mass="0.1"/></pendulum>'))
    (found,) = robot.extras["pendulum"]
    assert type(found) is pendulum
    assert (found.length, found.mass, found.law, found.damping) == (2.0, 2.5, "exact", None)
    assert (found.bob.mass, found.line) == (0.1, 3)
    with pytest.raises(FrozenInstanceError):
        found.length = 3.0
    assert pickle.loads(pickle.dumps(robot)).extras == robot.extras
    assert read(described("")).extras == {}


@pytest.mark.parametrize(
    ("text", "attribute", "message"),
    [
        ("<pendulum/>", "length", r"attribute 'length' of <pendulum> is missing.*a finite number > 0 m"),
        ('<pendulum length="-1"/>', "length", r"wrong value of length.*-1.*a finite number > 0 m"),
        ('<pendulum lenght="1"/>', "lenght", r"unknown attribute 'lenght'.*did you mean 'length'"),
        ('<pendulum length="1" damping="1"/>', "damping", "no meaning with law = exact"),
        ('<pendulum length="1" law="liner"/>', "law", "did you mean 'linear'"),
        ('<pendulum length="999"/>', "length", "too long for its mass.*at most 250 m"),
        ('<pendulum length="1"><bob/></pendulum>', "mass", "attribute 'mass' of <bob> is missing"),
        ('<pendulum length="1"><bib/></pendulum>', None, "unknown element <bib>.*did you mean 'bob'"),
        ("<pendulums/>", None, "unknown element <pendulums>.*did you mean 'pendulum'"),
    ],
)
def test_the_reader_is_as_strict_with_it_as_with_its_own(pendulum, text, attribute, message):
    with pytest.raises(DescriptionError, match=message) as caught:
        read(described(text))
    assert caught.value.attribute == attribute
    assert caught.value.line == 3


def test_yaml_and_options_mirror_it(pendulum, tmp_path):
    (tmp_path / "c.yaml").write_text("flexdyn:\n  pendulum:\n    length: 4\n    bob: {mass: 3}\n")
    robot = read(described('<pendulum length="2"/>'), config=tmp_path / "c.yaml", options=["pendulum.mass=7"])
    (found,) = robot.extras["pendulum"]
    assert (found.length, found.mass, found.bob.mass) == (4.0, 7.0, 3.0)
    changed = [(o.path, o.old, o.new) for o in robot.overrides]
    assert ("pendulum.length", 2.0, 4.0) in changed
    assert ("pendulum.mass", 2.5, 7.0) in changed
    with pytest.raises(DescriptionError, match="did you mean 'length'"):
        read(described(""), options={"pendulum.lengt": 1})


def test_the_reference_page_shows_it(pendulum):
    section = schema_table().split("### `<pendulum>`\n")[1].split("\n##")[0]
    assert "| `length` | m | a finite number > 0 | required | from the pivot to the mass |" in section
    assert "| `mass` | kg | a finite number > 0 | 2.5 | of the point |" in section
    assert "### `<pendulum/bob>`" in schema_table()


def test_the_xsd_knows_it(pendulum):
    xsd = etree.XMLSchema(etree.fromstring(schema_xsd().encode()))
    assert xsd.validate(etree.fromstring(described('<pendulum length="2" law="linear"/>')))
    for text in ("<pendulum/>", '<pendulum length="0"/>', '<pendulum length="1" law="any"/>'):
        assert not xsd.validate(etree.fromstring(described(text)))


def test_an_added_element_has_a_name_of_its_own(pendulum):
    schema.add_element(pendulum)
    assert schema.added_elements() == (pendulum.__element__,)

    for name in ("wheel", "rotor", "links"):
        with pytest.raises(ValueError, match=f"there is an element <{name}> already"):
            schema.add_element(element(name, "Another one.")(type("Another", (), {})))
    with pytest.raises(TypeError, match="no declared element"):
        schema.add_element(int)


def test_a_record_has_exactly_the_declared_fields(pendulum):
    assert [f.name for f in fields(pendulum)] == ["length", "mass", "law", "damping", "bob", "line"]
    assert [a.name for a in pendulum.__element__.attributes] == ["length", "mass", "law", "damping"]


def every_element(rules=None):
    for rule in [rule for scope in schema.SCOPES for rule in scope.children] if rules is None else rules:
        yield rule
        yield from every_element(rule.children)


def test_every_element_of_the_schema_is_declared_by_its_record():
    """One field for each attribute, in the record that the reader makes; there is no other table."""
    for rule in every_element():
        assert rule.record is not None, rule.name
        names = {about.name for _, about in declared(rule.record, Attribute)}
        assert names == {setting.name for setting in rule.settings}, rule.name
        assert {f.name for f in fields(rule.record)} >= {f for f, _ in declared(rule.record, Attribute)}


#: tables of values of several attributes, which declare nothing: presets and materials; what formulations
#: each kind of robot has; the stiffness that belongs to each field of modes
VALUES = {"PRESETS", "PRESET_ORIGINS", "MATERIALS", "_ALLOWED", "_PAPER", "_STIFFNESS"}


def lists_of_words(tree):
    """(line, words) of every literal and call that holds three words or more."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if {getattr(target, "id", None) for target in targets} & VALUES:
            continue
        for part in ast.walk(node):
            words = getattr(part, "elts", None) or getattr(part, "keys", None) or ()
            named = [word.value for word in words if isinstance(word, ast.Constant)]
            named += [word.arg for word in getattr(part, "keywords", ())]
            if len(named) > 2:
                yield part.lineno, {word for word in named if isinstance(word, str)}


def test_no_list_names_the_attributes_of_an_element_once_more():
    """A second table (of defaults, of what is required, of arguments) would have to be kept in step."""
    attributes = [{setting.name for setting in rule.settings} for rule in every_element()]
    folder = Path(schema.__file__).parents[1]
    again = [
        f"{path.name}:{line} {sorted(words & names)}"
        for path in sorted([*folder.glob("elements/*.py"), *folder.glob("language/*.py")])
        for line, words in lists_of_words(ast.parse(path.read_text()))
        for names in attributes
        if len(words & names) > 2
    ]
    assert not again


@pytest.mark.slow
def test_a_type_checker_knows_the_fields_of_a_declared_record(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    (tmp_path / "toy.py").write_text(
        PENDULUM.replace("statement, context", "statement: object, context: object").replace(
            "statement.fail(", "print("
        )
        + "\nreveal_type(Pendulum(2.0).damping)\nPendulum()\nPendulum('2')\nPendulum(2.0).length = 3.0\n"
    )
    found, _, status = mypy.run([str(tmp_path / "toy.py"), "--cache-dir", str(tmp_path / "cache")])
    assert status == 1
    for message in ('"float | None"', "Missing positional argument", 'incompatible type "str"', "read-only"):
        assert message in found, found
