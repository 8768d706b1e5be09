"""Random trees with random elements between their frames, as URDF text; the same for the same seed."""

from __future__ import annotations

import numpy as np
from lxml import etree
from models import numbers
from random_robots import random_robot
from scipy.spatial.transform import Rotation

import flexdyn_ros

__all__ = ["PUMPS", "random_closed_mixture", "random_mixture"]


def random_mixture(
    seed: int, family: str, *, cylinders: bool = True, damped: bool = True, oil: bool = False
) -> str:
    """A tree of a family, rigid, flexible, either of them with elastic joints or on wheels, with one to four
    elements: between moving links, to the world, on stations of links that bend, two on one link.

    cylinders: whether there may be some; damped: whether springs have dampers; oil: the first element is a
    cylinder on a supply, which most other cylinders share. Its pump is of the type PUMPS[seed % 4].
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
        kind = "cylinder" if oil and i == 0 else kind
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
    if oil:
        _fill(root, block, seed)
    return etree.tostring(root, encoding="unicode")


#: None: a supply of constant pressure
PUMPS = (None, "constant_pressure", "fixed_displacement", "load_sensing")
_PRESSURE, _SPEED = 160e5, 157.0


def _fill(root: etree._Element, block: etree._Element, seed: int) -> None:
    """Oil in most cylinders, of the size that their loads at zero ask for: a third of the supply's pressure
    carries a load, an open valve moves it with 0.3 m/s, pistons stand half way."""
    rng = np.random.default_rng([15, seed])
    drawn = block.findall("cylinder")
    lengths, loads = _lengths_and_loads(root)
    while min(lengths.values()) < 0.3:
        for cylinder in drawn:
            if lengths[cylinder.get("name")] < 0.3:
                cylinder.set("end_xyz", numbers(rng.uniform(-1.0, 1.0, 3)))
        lengths, loads = _lengths_and_loads(root)
    flow = volume = 0.0
    for i, cylinder in enumerate(drawn):
        length, load = (x[cylinder.get("name")] for x in (lengths, loads))
        # 0.7 to 1.3 of the length at zero
        _set(cylinder, minimum_length=0.7 * length, stroke=0.6 * length)
        if i == 0 or rng.random() < 0.75:
            area = (abs(load) + 0.3 * max(map(abs, loads.values())) + 50.0) / (0.33 * _PRESSURE)
            _put_oil(cylinder, area, 0.6 * length, load, rng)
            flow, volume = flow + 0.3 * area, volume + 0.6 * length * area
    pump = PUMPS[seed % 4]
    supply = _set(etree.SubElement(block, "supply", name="oil"), tank_pressure=3e5)
    etree.SubElement(supply, "fluid", bulk_modulus="1.4e9", air_fraction="0.005")
    if pump in (None, "constant_pressure"):
        _set(supply, pressure=_PRESSURE)
    if pump == "fixed_displacement":
        _set(supply, relief_pressure=_PRESSURE, relief_conductance=flow / 10e5)
    if pump is not None:
        made = etree.SubElement(supply, "pump", type=pump)
        _set(made, displacement=rng.uniform(0.8, 1.5) * flow / _SPEED, speed=_SPEED, leakage=flow / 1e9)
        _set(made, line_volume=rng.uniform(1.0, 3.0) * volume, band=10e5)
        if rng.random() < 0.4:
            _set(made, time_constant=0.02)
    if pump == "load_sensing":
        _set(made, margin=20e5, maximum_pressure=250e5)
    if pump is not None and rng.random() < 0.4:
        _set(etree.SubElement(supply, "accumulator"), volume=volume, precharge=0.6 * _PRESSURE)


def _put_oil(
    cylinder: etree._Element, area: float, stroke: float, load: float, rng: np.random.Generator
) -> None:
    """Chambers, a valve, friction and stops; a counterbalance valve for some under the side that carries."""
    oil, bore = etree.SubElement(cylinder, "hydraulics", supply="oil"), np.sqrt(4.0 * area / np.pi)
    chambers = _set(etree.SubElement(oil, "chambers"), bore=bore, rod_diameter=rng.uniform(0.4, 0.7) * bore)
    dead = 0.1 * area * stroke
    _set(chambers, dead_volume_bore=dead, dead_volume_rod=dead)
    valve = etree.SubElement(oil, "valve", rating="edge")
    _set(valve, rated_flow=0.3 * area, rated_pressure_drop=35e5)
    if rng.random() < 0.5:
        _set(valve, time_constant=rng.uniform(0.01, 0.03))
    else:
        _set(valve, natural_frequency_hz=rng.uniform(10.0, 30.0), damping_ratio=0.8)
    if rng.random() < 0.3:
        _set(valve, compensation=10e5)
    if rng.random() < 0.3:
        held = etree.SubElement(oil, "counterbalance", port="bore" if load > 0.0 else "rod")
        # of the flow of the valve at 35 bar
        _set(held, cracking_pressure=0.6 * _PRESSURE, pilot_ratio=rng.uniform(1.0, 4.0))
        _set(held, conductance=0.5 * area / np.sqrt(35e5), opening_range=20e5)
    if rng.random() < 0.3:
        _set(etree.SubElement(oil, "hose", port=str(rng.choice(["bore", "rod"]))), volume=dead)
    size = 0.33 * _PRESSURE * area
    friction = etree.SubElement(oil, "friction", model=str(rng.choice(["stribeck", "lugre"], p=[0.8, 0.2])))
    _set(friction, coulomb=0.01 * size, static=0.015 * size, stribeck_velocity=0.02, viscous=0.3 * size)
    if friction.get("model") == "lugre":
        _set(friction, bristle_stiffness=100.0 * size, bristle_damping=size)
    else:
        _set(friction, smoothing_velocity=0.01)
    _set(etree.SubElement(oil, "end_stop"), stiffness=1e4 * size, damping=1.0)


def _set(element: etree._Element, **values: float) -> etree._Element:
    for name, value in values.items():
        element.set(name, repr(float(value)))
    return element


def _lengths_and_loads(root: etree._Element) -> tuple[dict[str, float], dict[str, float]]:
    """Of the cylinders where all coordinates are zero, by name [m, N]; the loads hold the robot there."""
    robot = flexdyn_ros.load(etree.tostring(root, encoding="unicode"))
    q, still = robot.neutral(), np.zeros(robot.nv)
    found = robot.cylinder_states(q, still)
    tau = np.linalg.lstsq(robot.actuation_matrix(q), robot.bias_forces(q, still), rcond=None)[0]
    loads = dict(zip(robot.effort_names, tau.tolist(), strict=True))
    names = [name for name in robot.effort_names if name in robot.element_names]
    lengths = dict(zip(names, found.length.tolist(), strict=True))
    return lengths, {name: loads[name] for name in names}


_PAIRS = {
    "fixed": "", "spherical": "", "distance": "", "universal": "0.6 0 0.8", "revolute": "0.6 0.8 0",
    "prismatic": "0 0.6 0.8", "cylindrical": "0.6 0 -0.8", "planar": "0 1 0", "point_on_line": "0.8 0.6 0",
    "point_on_plane": "0 0.6 -0.8",
}  # fmt: skip


def random_closed_mixture(seed: int, family: str) -> str:
    """A mixture with one or two loops of random types, which are closed where all coordinates are zero."""
    rng, text = np.random.default_rng([10, seed]), random_mixture(seed, family)
    tree, root = flexdyn_ros.load(text), etree.fromstring(text)
    body = _bodies(root)
    bending = [block.get("reference") for block in root.findall("flexdyn") if block.find("beam") is not None]
    names = [*body, *(f"{name}@0.4" for name in bending)]
    q, block = tree.neutral(), etree.SubElement(root, "flexdyn")
    for i in range(int(rng.integers(1, 3))):
        base, end = (str(x) for x in rng.choice(names, 2, replace=False))
        if body.get(base, base) == body.get(end, end):
            continue
        kind = str(rng.choice([*_PAIRS]))
        known = tree.frame_names
        there = [
            np.eye(4) if name == "world" and name not in known else tree.frames(q, name)
            for name in (base, end)
        ]
        own = np.eye(4)
        own[:3, 3], own[:3, :3] = rng.uniform(-0.5, 0.5, 3), _turn(rng)
        if kind == "distance":
            far = np.eye(4)
            far[:3, 3] = rng.uniform(-0.5, 0.5, 3)
            length = np.linalg.norm((there[0] @ own)[:3, 3] - (there[1] @ far)[:3, 3])
            more = {
                "base_xyz": numbers(own[:3, 3]),
                "end_xyz": numbers(far[:3, 3]),
                "length": repr(float(length)),
            }
        else:
            far = np.linalg.solve(there[1], there[0] @ own)
            more = {f"{which}_xyz": numbers(x[:3, 3]) for which, x in (("base", own), ("end", far))}
            more |= {"base_rpy": _rpy(own)}
            if kind in ("fixed", "revolute", "prismatic", "cylindrical", "universal", "planar"):
                more |= {"end_rpy": _rpy(far)}
            if _PAIRS[kind]:
                more |= {"axis": _PAIRS[kind]}
            if kind == "universal":
                more |= {"end_axis": "0.8 0 -0.6"}
        etree.SubElement(block, "loop", {"name": f"loop{i}", "type": kind, "base": base, "end": end} | more)
    return etree.tostring(root, encoding="unicode")


def _turn(rng: np.random.Generator) -> np.ndarray:
    return Rotation.from_rotvec(rng.uniform(-1.0, 1.0, 3)).as_matrix()


def _rpy(T: np.ndarray) -> str:
    """Fixed-axis angles, as URDF has them."""
    return numbers(Rotation.from_matrix(T[:3, :3]).as_euler("xyz"))


def _tree(family: str, seed: int) -> etree._Element:
    """A random tree of the family."""
    if family not in ("wheeled", "elastic"):
        return etree.fromstring(random_robot(family, seed))
    rng = np.random.default_rng([10, seed])
    root = etree.fromstring(random_robot(("rigid", "flexible")[seed % 2], 2 * (seed // 2)))
    if family == "elastic" or seed % 3 == 0:
        _make_elastic(root, rng)
    if family == "elastic":
        return root
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


def _make_elastic(root: etree._Element, rng: np.random.Generator) -> None:
    """Motors behind springs in most joints."""
    for joint in root.findall("joint"):
        single = joint.get("type") in ("revolute", "continuous", "prismatic") and joint.find("mimic") is None
        if single and rng.random() < 0.7:
            block = etree.SubElement(root, "flexdyn", reference=joint.get("name"))
            inertia, stiffness, damping = (repr(float(x)) for x in rng.uniform(0.1, 1.0, 3))
            if root.find(f"flexdyn[@reference='{joint.get('name')}']/rotor") is None:
                etree.SubElement(block, "rotor", inertia=inertia, gear_ratio="2")
            etree.SubElement(block, "joint_elasticity", stiffness=f"{stiffness}e3", damping=damping)


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
