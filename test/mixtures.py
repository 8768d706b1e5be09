"""Random trees with random elements between their frames, as URDF text; the same for the same seed."""

from __future__ import annotations

import numpy as np
from lxml import etree
from models import numbers
from random_robots import random_robot

__all__ = ["random_mixture"]


def random_mixture(seed: int, family: str, *, cylinders: bool = True, damped: bool = True) -> str:
    """A tree of a family, rigid, flexible, or either of them on wheels, with one to four elements: between
    moving links, to the world, on stations of links that bend, two on one link.

    cylinders: whether there may be some; damped: whether springs have dampers.
    """
    rng = np.random.default_rng([9, seed])
    # some random trees have nothing but fixed joints
    trees = (_tree(family, seed + 1000 * k) for k in range(9))
    root = next(tree for tree in trees if len({*_bodies(tree).values()}) > 1)
    body = _bodies(root)
    bending = [block.get("reference") for block in root.findall("flexdyn") if block.find("beam") is not None]
    body |= {f"{name}@{s}": f"{name}@{s}" for name in bending for s in ("0.4", "tip")}
    block = etree.SubElement(root, "flexdyn")
    for i in range(int(rng.integers(1, 5))):
        first = str(rng.choice(list(body)))
        second = str(rng.choice([name for name in body if body[name] != body[first]]))
        kinds = ["spring", "spring", "damper", "torsion_spring", *(["cylinder"] if cylinders else [])]
        kind = str(rng.choice(kinds if damped else [kind for kind in kinds if kind != "damper"]))
        ends = {"name": f"e{i}", "base": first, "end": second}
        ends |= {f"{end}_xyz": numbers(rng.uniform(-0.5, 0.5, 3)) for end in ("base", "end")}
        damping = repr(float(rng.uniform(1.0, 20.0))) if damped else "0"
        stiffness = repr(float(rng.uniform(50.0, 400.0)))
        more = {
            "spring": {
                "stiffness": stiffness,
                "damping": damping,
                "free_length": repr(float(rng.uniform(0.0, 0.8))),
                "tension_only": str(rng.random() < 0.3).lower(),
            },
            "damper": {"damping": damping},
            "torsion_spring": {
                "axis": numbers(rng.uniform(-1.0, 1.0, 3)),
                "stiffness": stiffness,
                "damping": damping,
                "reference": repr(float(rng.uniform(-1.0, 1.0))),
                "base_rpy": numbers(rng.uniform(-1.0, 1.0, 3)),
                "end_rpy": numbers(rng.uniform(-1.0, 1.0, 3)),
            },
            "cylinder": {"minimum_length": "0.001", "stroke": "50"},
        }[kind]
        made = etree.SubElement(block, kind, ends | more)
        if kind == "cylinder" and rng.random() < 0.5:
            for part, sign in (("barrel", 1.0), ("rod", -1.0)):
                of_part = {"mass": rng.uniform(0.1, 1.0), "com": sign * rng.uniform(0.05, 0.3)}
                of_part |= {"inertia": rng.uniform(0.0, 0.05)}
                etree.SubElement(made, part, {name: repr(float(x)) for name, x in of_part.items()})
    return etree.tostring(root, encoding="unicode")


def _tree(family: str, seed: int) -> etree._Element:
    """A random tree of the family."""
    if family != "wheeled":
        return etree.fromstring(random_robot(family, seed))
    rng = np.random.default_rng([10, seed])
    root = etree.fromstring(random_robot(("rigid", "flexible")[seed % 2], 2 * (seed // 2)))
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    cart = next(link for link in root.findall("link") if link.get("name") not in children)
    if cart.find("inertial") is None:
        cart.append(
            etree.fromstring(
                '<inertial><mass value="9"/>'
                '<inertia ixx="0.4" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.6"/></inertial>'
            )
        )
    block = etree.SubElement(root, "flexdyn")
    base = root.find("flexdyn/base")
    (etree.SubElement(block, "base") if base is None else base).set("type", "floating")
    for i in range(int(rng.integers(1, 4))):
        wheel = etree.SubElement(block, "wheel", name=f"w{i}", link=cart.get("name"))
        wheel.set("xyz", numbers(rng.uniform(-0.5, 0.5, 3)))
        spring = {"stiffness": rng.uniform(500.0, 2000.0), "damping": rng.uniform(0.0, 50.0)}
        etree.SubElement(
            wheel, "suspension", {name: repr(float(x)) for name, x in spring.items()}, free_length="0.3"
        )
        if rng.random() < 0.4:
            etree.SubElement(
                wheel, "tyre", stiffness="8000", damping=repr(spring["damping"]), radius="0.2", mass="1.5"
            )
    return root


def _bodies(root: etree._Element) -> dict[str, str]:
    """Frames that may carry an end, by the rigid body that each is on."""
    body = {link.get("name"): link.get("name") for link in root.findall("link")}
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed":
            parent, child = (body[joint.find(which).get("link")] for which in ("parent", "child"))
            body = {name: parent if own == child else own for name, own in body.items()}
    base = next(
        (block.find("base") for block in root.findall("flexdyn") if block.find("base") is not None), None
    )
    is_fixed = base is None or base.get("type") == "fixed"
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    root_link = next(name for name in body if name not in children)
    return {"world": body[root_link] if is_fixed else "world", **body}
