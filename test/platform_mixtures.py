"""Random mixtures with one or two random platforms in them, as URDF text; the same for the same seed."""

from __future__ import annotations

import numpy as np
from lxml import etree
from mixtures import random_closed_mixture, random_mixture
from models import numbers
from platforms import random_platform

__all__ = ["random_platform_mixture"]

_HEAVY = (
    '<inertial><origin xyz="0.1 0 0.05"/><mass value="20"/>'
    '<inertia ixx="2" ixy="0.1" ixz="0" iyy="3" iyz="0" izz="4"/></inertial>'
)


def random_platform_mixture(seed: int, family: str, *, closed: bool = False) -> str:
    """A random mixture of a family, with loops or without, and a platform on a random link of it, which may
    bend, or on another platform; some are tied to other links by springs."""
    rng = np.random.default_rng([16, seed])
    root = etree.fromstring((random_closed_mixture if closed else random_mixture)(seed, family))
    bending = {block.get("reference") for block in root.findall("flexdyn") if block.find("beam") is not None}
    carriers = [link.get("name") for link in root.findall("link")]
    links, block = list(carriers), etree.SubElement(root, "flexdyn")
    for k in range(1 + seed % 2):
        carrier = str(rng.choice(carriers))
        _stand(root, block, random_platform((seed + 3 * k) % 6)[0], f"p{k}", carrier, rng)
        if carrier in bending:
            station = str(rng.choice(["0.4", "tip"]))
            on = etree.SubElement(root, "flexdyn", reference=carrier)
            etree.SubElement(on, "attach", joint=f"p{k}_stand", station=station)
        if rng.random() < 0.5:
            ends = {"base": str(rng.choice(links)), "end": f"p{k}_top", "end_xyz": "0.3 2.1 1.2"}
            etree.SubElement(block, "spring", ends, name=f"s{k}", stiffness="200", damping="5")
        carriers = [*links, f"p{k}_top"]
    return etree.tostring(root, encoding="unicode")


def _stand(
    root: etree._Element, block: etree._Element, text: str, name: str, carrier: str, rng: np.random.Generator
) -> None:
    """Add a platform with names of its own, fixed to a link."""
    for old, new in (("leg_", f"{name}_leg_"), ("base_link", f"{name}_low"), ('"platform"', f'"{name}_top"')):
        text = text.replace(old, new)
    added = etree.fromstring(text)
    for element in added.findall("link") + added.findall("joint"):
        root.append(element)
        if element.get("name") == f"{name}_low":
            element.append(etree.fromstring(_HEAVY))
    block.append(added.find("flexdyn/platform"))
    joint = etree.SubElement(root, "joint", name=f"{name}_stand", type="fixed")
    etree.SubElement(joint, "parent", link=carrier)
    etree.SubElement(joint, "child", link=f"{name}_low")
    place = {which: numbers(rng.uniform(-0.5, 0.5, 3)) for which in ("xyz", "rpy")}
    etree.SubElement(joint, "origin", place)
