"""Names of files and of what is public; versions and declared dependencies that agree."""

import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import flexdyn_ros

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = ROOT / "flexdyn_ros"
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def packages():
    """flexdyn_ros and its rooms; nodes need ROS and are looked at where ROS is."""
    yield flexdyn_ros
    for info in pkgutil.iter_modules(flexdyn_ros.__path__, "flexdyn_ros."):
        if info.ispkg and info.name != "flexdyn_ros.nodes":
            yield importlib.import_module(info.name)


def test_files_have_telling_names():
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in VAGUE]


def test_no_file_is_named_like_a_standard_module():
    stems = {path.stem for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert not stems & sys.stdlib_module_names


def test_public_names_exist_and_are_documented():
    for package in packages():
        for name in getattr(package, "__all__", ()):
            assert getattr(package, name).__doc__, f"{package.__name__}.{name}"


def test_every_public_name_has_one_import_path():
    """The same thing is not offered by two rooms, so that all code spells its import alike."""
    offered = {}
    for package in packages():
        for name in getattr(package, "__all__", ()):
            offered.setdefault(id(getattr(package, name)), []).append(f"{package.__name__}.{name}")
    rooms = [paths for paths in offered.values() if len([p for p in paths if p.count(".") > 1]) > 1]
    assert not rooms


def manifest(folder):
    return ElementTree.parse(ROOT / folder / "package.xml").getroot()


def test_versions_agree():
    folders = (".", "flexdyn_interfaces", "examples/cpp")
    stated = {folder: manifest(folder).findtext("version") for folder in folders}
    stated["pyproject.toml"] = PROJECT["version"]
    stated["flexdyn_ros"] = flexdyn_ros.__version__
    stated["CITATION.cff"] = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    assert len(set(stated.values())) == 1, stated


@pytest.mark.parametrize("folder", [".", "flexdyn_interfaces"])
def test_each_package_has_a_changelog_of_its_own_as_catkin_reads_it(folder):
    """Title, then versions, the newest first, what is not released yet before them; each has entries."""
    name, version = (manifest(folder).findtext(key) for key in ("name", "version"))
    text = (ROOT / folder / "CHANGELOG.rst").read_text()
    assert re.match(rf"\^+\nChangelog for package {name}\n\^+\n", text)
    headings = re.findall(
        r"^(Forthcoming|\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\))\n-{3,}\n+\* ", text, re.MULTILINE
    )
    assert len(headings) == len(re.findall(r"^-{3,}$", text, re.MULTILINE))
    assert headings[:1] == ["Forthcoming"] or headings[0].startswith(version)
    assert next(one.split()[0] for one in headings if one != "Forthcoming") == version


def test_message_packages_that_nodes_import_are_declared():
    declared = {element.text for element in manifest(".") if element.tag.endswith("depend")}
    source = "".join(path.read_text() for path in PACKAGE.glob("nodes/*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+_(?:msgs|interfaces|srvs))\b", source, re.MULTILINE))
    assert imported - {"control_msgs"} <= declared  # control_msgs is optional: imported where it exists


def test_the_cpp_client_declares_what_it_finds_and_fills_fields_that_there_are():
    folder = ROOT / "examples" / "cpp"
    needs = {element.text for element in manifest(folder) if element.tag.endswith("depend")}
    cmake, program = (folder / "CMakeLists.txt").read_text(), (folder / "client.cpp").read_text()
    assert set(re.findall(r"find_package\((\w+)", cmake)) == needs
    assert f"project({manifest(folder).findtext('name')})" in cmake
    kinds = {"wanted": "InverseDynamics", "applied": "ForwardDynamics"}
    for variable, kind in kinds.items():
        request, _, answer = (ROOT / f"flexdyn_interfaces/srv/{kind}.srv").read_text().partition("---")
        used = set(re.findall(rf"\b{variable}\.(\w+)", program))
        assert len(used) > 3
        assert used <= set(re.findall(r"^\S+ (\w+) ", request, re.MULTILINE))
        (read,) = re.findall(rf"\b{kind[:7].lower()}\({variable}\)->(\w+)", program)
        assert re.search(rf"^\S+ {read} ", answer, re.MULTILINE)


def test_the_python_dependencies_that_pip_installs_are_those_that_rosdep_installs():
    pip = {re.match(r"[\w.-]+", line)[0] for line in PROJECT["dependencies"]}
    keys = {element.text for element in manifest(".") if element.tag == "exec_depend"}
    rosdep = {key.removeprefix("python3-").removesuffix("-pip") for key in keys}
    assert {name.lower().removeprefix("py") for name in pip} <= rosdep
