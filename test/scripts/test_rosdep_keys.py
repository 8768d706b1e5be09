"""Keys of package.xml in the public rosdep tables, as test/reference/make_rosdep_keys.py kept them."""

import re
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest
import yaml
from reference.make_rosdep_keys import DISTRIBUTIONS, PLATFORMS, ROOT, TABLE, installer, keys

#: extras of those who develop the library
OF_DEVELOPERS = {"test", "docs", "benchmark", "derive", "cross"}
KEPT = yaml.safe_load(TABLE.read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = (ROOT / "package.xml").read_text()


def test_the_table_has_every_key_and_no_other():
    kept = set(KEPT["packages"]) | set(KEPT["system"])
    assert keys() == kept, "run test/reference/make_rosdep_keys.py on a new copy of rosdistro"


def test_every_package_is_released_for_every_distribution():
    assert {name: where for name, where in KEPT["packages"].items() if where != list(DISTRIBUTIONS)} == {}


def test_every_key_of_the_system_has_an_installer_on_every_platform():
    lacking = {
        (name, platform)
        for name, how in KEPT["system"].items()
        for platform in PLATFORMS
        if how.get(platform) not in ("apt", "pip")
    }
    assert lacking == set()
    by_pip = {name for name, how in KEPT["system"].items() if "pip" in how.values()}
    assert by_pip == {"python3-urchin-pip"}, "docs/install.md tells which keys pip installs"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"ubuntu": ["python3-x"]}, ["apt", None]),
        ({"ubuntu": {"noble": None, "*": ["python3-x"]}, "debian": {"trixie": ["python3-x"]}}, [None, None]),
        ({"*": {"pip": {"packages": ["x"]}}}, ["pip", "pip"]),
        ({"ubuntu": {"pip": {"packages": ["x"]}}}, ["pip", None]),
    ],
)
def test_rules_of_rosdep_are_read(rules, expected):
    assert [installer(rules, platform) for platform in ("ubuntu noble", "debian bookworm")] == expected


def test_every_requirement_of_the_library_is_a_key():
    """By its name in Debian or by pip."""
    required = {re.split(r"[<>=\[; ]", line)[0].lower() for line in PROJECT["dependencies"]}
    names = {"pyyaml": "yaml"}
    packages = {element.text for element in ElementTree.fromstring(PACKAGE).iter("exec_depend")}
    lacking = {
        name
        for name in required
        if not {f"python3-{names.get(name, name)}", f"python3-{name}-pip", name} & packages
    }
    assert lacking == set()


def test_extras_without_keys_are_said_to_be_optional():
    comment = re.search(r"<!-- optional.*?-->", PACKAGE, re.DOTALL)
    assert comment is not None
    extras = set(PROJECT["optional-dependencies"]) - OF_DEVELOPERS
    assert {extra for extra in extras if not re.search(rf"\b{extra}\b", comment[0])} == set()
