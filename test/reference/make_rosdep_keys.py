"""Keys of the packages of this repository in the public rosdep tables, kept in rosdep_keys.yaml.

    python test/reference/make_rosdep_keys.py FOLDER

FOLDER: a copy of the repository rosdistro. To be run where a key comes or goes, or before a release.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("rosdep_keys.yaml")
DISTRIBUTIONS = ("jazzy", "kilted", "rolling")
PLATFORMS = ("ubuntu noble", "ubuntu resolute", "debian bookworm", "debian trixie")
FALLBACK = ROOT / "fallback"
PACKAGES = [ROOT / "package.xml", ROOT / "flexdyn_interfaces/package.xml", *FALLBACK.glob("*/package.xml")]


def keys() -> set[str]:
    """Every key that a package.xml depends on, but for packages of this repository that are nowhere else."""
    elements = [element for file in PACKAGES for element in ElementTree.parse(file).getroot()]
    return {str(element.text) for element in elements if element.tag.endswith("depend")} - {
        "flexdyn_interfaces"
    }


def installer(rules: dict[str, Any], platform: str) -> str | None:
    """What installs a key on a platform: "apt", "pip" or None."""
    system, name = platform.split()
    rule = rules.get(system, rules.get("*"))
    if isinstance(rule, dict) and not {"pip", "apt", "packages"} & set(rule):
        rule = rule.get(name, rule.get("*"))
    if not rule:
        return None
    return "pip" if isinstance(rule, dict) and "pip" in rule else "apt"


def table(folder: Path) -> dict[str, Any]:
    """Distributions that have released a package of ROS; what installs a key of the system."""
    read = [yaml.safe_load((folder / "rosdep" / f"{name}.yaml").read_text()) for name in ("base", "python")]
    system = read[0] | read[1]
    released: dict[str, list[str]] = {}
    for distribution in DISTRIBUTIONS:
        there = yaml.safe_load((folder / distribution / "distribution.yaml").read_text())["repositories"]
        for name, repository in there.items():
            for package in repository.get("release", {}).get(
                "packages", [name] if "release" in repository else []
            ):
                released.setdefault(package, []).append(distribution)
    when = subprocess.run(
        ["git", "log", "-1", "--format=%cs"], cwd=folder, capture_output=True, text=True, check=True
    )
    found = sorted(keys())
    return {
        "as_of": when.stdout.strip(),
        "packages": {key: released.get(key, []) for key in found if key not in system},
        "system": {key: {p: installer(system[key], p) for p in PLATFORMS} for key in found if key in system},
    }


if __name__ == "__main__":
    TABLE.write_text(
        "# made by make_rosdep_keys.py\n"
        + yaml.safe_dump(table(Path(sys.argv[1])), sort_keys=False, default_flow_style=None, width=110)
    )
