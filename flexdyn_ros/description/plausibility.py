"""Numbers of a description that cannot belong together, by their ratios: most are given in another unit.

A robot is as light for its reach as a crane, as dense as a metal, bends like a rod; a number that is a
thousand times off leaves these bounds whatever the robot's size. Names say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import dist, hypot, isfinite, log10, pi, sqrt

from flexdyn_ros.description.elements.description import RobotDescription
from flexdyn_ros.description.elements.links import FlexibleLink, Rectangle, Rod, Tube
from flexdyn_ros.description.elements.platforms import Hydraulics

#: mass by the cube of reach [kg/m3]: cranes have 0.02, space arms 0.1
_LEAST_MASS = 3e-4
#: reach of the longest cranes [m]
_FARTHEST = 200.0
#: radius of gyration or centre of mass of a link, by the reach
_MOST_GYRATION, _MOST_OFFSET = 3.0, 5.0
#: radius of gyration that says "point mass" [m]
_POINT = 1e-6
#: mass by the cube of the radius of gyration [kg/m3]; a ball of tungsten has 3e5
_MOST_DENSITY = 1e11
#: limits of a revolute joint that look like degrees: beyond three turns in rad, within two in degrees
_DEGREES = (6.0 * pi, 720.0)
#: length of a beam by the half height of its section
_MOST_SLENDER = 1000.0
#: bulk modulus by supply pressure; speed of a rod [m/s]; bore by stroke
_LEAST_STIFFNESS, _FASTEST_ROD, _WIDEST_BORE = 5.0, 30.0, 3.0
_NEAR_ROOT = 0.02
#: speed of sound in what beams are made of, sqrt(E/density) [m/s]: rubber has 50, diamond 18,000; the density
#: of a material that states none [kg/m3]
_SOUND, _SOME_DENSITY = (20.0, 40e3), 2000.0
#: travel of a slider by the reach of all else, and the least travel that is asked about [m]
_FARTHEST_TRAVEL, _LONG_TRAVEL = 50.0, 10.0
#: weight behind a joint, on the longest lever, by the effort of its drive
_HEAVIEST = 100.0


def doubts_of(robot: RobotDescription) -> tuple[str, ...]:
    """Sentences on numbers that are probably given in another unit, or at the wrong place."""
    reach = reach_of(robot)
    found = [
        *_angles(robot),
        *_bodies(robot, reach),
        *_lightness(robot, reach),
        *_travels(robot),
        *_joints_without_numbers(robot),
    ]
    for link in robot.flexible_links.values():
        found += [*_beam(robot, link), *_material(link), *_payload(robot, link)]
    return (*found, *_hydraulics(robot))


def questions_of(robot: RobotDescription) -> tuple[str, ...]:
    """Sentences on what may be meant so, and often is not: a load that hangs on the link before the last, a
    drive that is far too weak for the weight behind it."""
    above = {joint.child: joint for joint in robot.joints}
    found = list(_weights(robot))
    for link in robot.flexible_links.values():
        moved = above.get(link.link)
        if moved is None or moved.parent not in robot.flexible_links or not _has_free_tip(robot, link):
            continue
        near = _NEAR_ROOT * _length(robot, robot.flexible_links[moved.parent])
        for joint in robot.children_of(moved.parent):
            body = robot.link(joint.child).inertial
            is_load = joint.type == "fixed" and body is not None and not robot.children_of(joint.child)
            if body is not None and is_load and body.mass > 0.0 and dist(joint.xyz, moved.xyz) <= near:
                found.append(
                    f"'{joint.child}' ({body.mass:g} kg) is fixed to '{moved.parent}' where joint "
                    f"'{moved.name}' is, and the tip of '{link.link}' is free: "
                    f"is it the load of '{link.link}'?"
                )
    return tuple(found)


def _has_free_tip(robot: RobotDescription, link: FlexibleLink) -> bool:
    """Whether a flexible link carries nothing but at its root."""
    length = _length(robot, link)
    if link.beam is None or length <= 0.0 or any(body.station > 0.0 for body in link.bodies):
        return False
    attached = {attach.joint for attach in link.attach}
    near = _NEAR_ROOT * length
    children = robot.children_of(link.link)
    return all(dist(j.xyz, link.beam.origin) <= near and j.name not in attached for j in children)


def reach_of(robot: RobotDescription, *, travel: bool = True) -> float:
    """Length of the longest way from the root through origins of joints, along beams and travels [m]."""
    far = {robot.root: 0.0}
    waiting = [robot.root]
    longest = 0.0
    while waiting:
        name = waiting.pop()
        beam = robot.flexible_links[name].beam if name in robot.flexible_links else None
        longest = max(longest, far[name] + ((beam.length or 0.0) if beam else 0.0))
        for joint in robot.children_of(name):
            far[joint.child] = far[name] + hypot(*joint.xyz)
            if travel and joint.type == "prismatic":
                ends = [
                    abs(x) for x in (joint.limit.lower, joint.limit.upper) if isfinite(x) and abs(x) < 1e3
                ]
                far[joint.child] += max(ends, default=0.0)
            waiting.append(joint.child)
    for link in robot.links:
        if robot.root == link.name and link.inertial is not None and longest == 0.0:
            longest = hypot(*link.inertial.xyz)
    return longest


def _angles(robot: RobotDescription) -> Iterator[str]:
    for joint in robot.joints:
        yield from _rpy(f"joint '{joint.name}'", joint.rpy)
        ends = [abs(x) for x in (joint.limit.lower, joint.limit.upper) if isfinite(x)]
        if joint.type == "revolute" and ends and _DEGREES[0] < max(ends) <= _DEGREES[1]:
            yield (
                f"joint '{joint.name}': limits {joint.limit.lower:g} to {joint.limit.upper:g} rad are "
                f"{max(ends) / (2 * pi):.3g} turns: degrees? URDF has rad"
            )
    for link in robot.links:
        if link.inertial is not None:
            yield from _rpy(f"link '{link.name}', <inertial>", link.inertial.rpy)


def _rpy(where: str, rpy: tuple[float, float, float]) -> Iterator[str]:
    if max(map(abs, rpy)) > 2.0 * pi + 0.01:
        angles = " ".join(f"{angle:g}" for angle in rpy)
        yield f"{where}: rpy {angles} rad is more than a turn: degrees? URDF has rad"


def _bodies(robot: RobotDescription, reach: float) -> Iterator[str]:
    for link in robot.links:
        body = link.inertial
        # a root that stands still has no say in the dynamics: its inertia is often a dummy
        stands = link.name == robot.root and robot.base.type == "fixed"
        if body is None or body.mass <= 0.0 or stands:
            continue
        largest = max(body.inertia[0], body.inertia[3], body.inertia[5])
        gyration, offset = sqrt(max(largest, 0.0) / body.mass), hypot(*body.xyz)
        if reach > 0.0 and gyration > _MOST_GYRATION * reach and gyration > 1.0:
            yield (
                f"link '{link.name}': its radius of gyration, {gyration:.3g} m, is far beyond the reach of "
                f"the robot, {reach:.3g} m: inertia in kg mm2 or kg cm2? URDF has kg m2"
            )
        elif gyration > _POINT and body.mass / gyration**3 > _MOST_DENSITY:
            yield (
                f"link '{link.name}': {body.mass:g} kg with a radius of gyration of {gyration:.2g} m is "
                "denser than any metal: the inertia is too small, or the mass in g? URDF has kg m2 and kg"
            )
        if reach > 0.0 and offset > _MOST_OFFSET * reach and offset > 1.0:
            yield (
                f"link '{link.name}': its centre of mass is {offset:.3g} m from its origin, the robot "
                f"reaches {reach:.3g} m: millimetres? URDF has m"
            )


def _lightness(robot: RobotDescription, reach: float) -> Iterator[str]:
    mass = sum(link.inertial.mass for link in robot.links if link.inertial is not None)
    light = not robot.flexible_links and mass > 0.0 and reach > 2.0 and mass < _LEAST_MASS * reach**3
    if light or reach > _FARTHEST:
        weight = f" with {mass:.4g} kg" if light else ""
        yield f"the robot reaches {reach:.4g} m{weight}: lengths in millimetres? URDF has m"


def _travels(robot: RobotDescription) -> Iterator[str]:
    """Sliders whose travel is far beyond all else; powers of ten are words of exporters for "no limit"."""
    sliders = [j for j in robot.joints if j.type == "prismatic"]
    if not sliders:
        return
    rest = reach_of(robot, travel=False)
    for joint in sliders:
        ends = [abs(x) for x in (joint.limit.lower, joint.limit.upper) if isfinite(x) and x != 0.0]
        far = max(ends, default=0.0)
        is_number = far > 0.0 and abs(log10(far) - round(log10(far))) > 1e-9
        if is_number and far > _LONG_TRAVEL and 0.0 < rest * _FARTHEST_TRAVEL < far < 1e5:
            yield (
                f"joint '{joint.name}': limits {joint.limit.lower:g} to {joint.limit.upper:g} m on a robot "
                f"that reaches {rest:.3g} m without them: millimetres? URDF has m"
            )


def _weights(robot: RobotDescription) -> Iterator[str]:
    """Drives that are far too weak for what hangs on them, on its longest lever."""
    gravity = hypot(*robot.gravity)
    if robot.base.type != "fixed" or gravity == 0.0:
        return
    mass, lever = _hanging(robot)
    for joint in robot.joints:
        effort = joint.limit.effort
        if joint.type not in ("revolute", "prismatic") or not isfinite(effort) or effort <= 0.0:
            continue
        unit, of = ("N", mass) if joint.type == "prismatic" else ("N m", lever)
        weight = gravity * of[joint.child]
        if weight > _HEAVIEST * effort:
            yield (
                f"joint '{joint.name}': its drive has at most {effort:g} {unit}, what hangs on it weighs up "
                f"to {weight:.3g} {unit}: masses in g, lengths in millimetres, or an effort without "
                "meaning?"
            )


def _hanging(robot: RobotDescription) -> tuple[dict[str, float], dict[str, float]]:
    """Mass that hangs on each link, and a bound of its first moment about the link's origin [kg], [kg m]."""
    order, waiting = [], [robot.root]
    while waiting:
        order.append(waiting.pop())
        waiting += [joint.child for joint in robot.children_of(order[-1])]
    mass: dict[str, float] = {}
    lever: dict[str, float] = {}
    for name in reversed(order):
        body = robot.link(name).inertial
        mass[name] = 0.0 if body is None else body.mass
        lever[name] = 0.0 if body is None else body.mass * hypot(*body.xyz)
        for joint in robot.children_of(name):
            mass[name] += mass[joint.child]
            lever[name] += lever[joint.child] + hypot(*joint.xyz) * mass[joint.child]
    return mass, lever


def _joints_without_numbers(robot: RobotDescription) -> Iterator[str]:
    for joint in robot.joints:
        limit = joint.limit
        if joint.type not in ("revolute", "prismatic") or limit.lower != limit.upper:
            continue
        effort = " and effort" if limit.effort == 0.0 else ""
        end = ", and no drive" if effort else ""
        yield (
            f"joint '{joint.name}': lower = upper{effort} = {limit.lower:g} leaves it no room{end}; "
            "exporters write 0 for what was not given"
        )


def _length(robot: RobotDescription, link: FlexibleLink) -> float:
    if link.beam is None:
        return 0.0
    if link.beam.length is not None:
        return link.beam.length
    return max((dist(j.xyz, link.beam.origin) for j in robot.children_of(link.link)), default=0.0)


def _beam(robot: RobotDescription, link: FlexibleLink) -> Iterator[str]:
    section = None if link.beam is None else link.beam.section
    if section is None:
        return
    if isinstance(section, (Rod, Tube)):
        half = section.radius if isinstance(section, Rod) else section.outer_radius
    else:
        half = (max(section.width, section.height) if isinstance(section, Rectangle) else section.height) / 2
    length = _length(robot, link)
    if length > _MOST_SLENDER * half:
        yield (
            f"link '{link.link}': {length:g} m long with a section of {2 * half:g} m, "
            f"{length / (2 * half):.3g} times as long as high: its length in millimetres? URDF has m"
        )
    elif length > 0.0 and half > 2.0 * length:
        yield (
            f"link '{link.link}': a section of {2 * half:g} m on a length of {length:g} m: the section in "
            "millimetres? it is in m"
        )


def _material(link: FlexibleLink) -> Iterator[str]:
    material = None if link.beam is None else link.beam.material
    if material is None or material.E is None:
        return
    density = material.density or _SOME_DENSITY
    sound = sqrt(material.E / density)
    if not _SOUND[0] <= sound <= _SOUND[1]:
        slow = sound < _SOUND[0]
        yield (
            f"link '{link.link}': E {material.E:g} Pa and density {density:g} kg/m3 give a speed of sound of "
            f"{sound:.3g} m/s: {'E in GPa or MPa' if slow else 'density in g/cm3, or E too large'}? "
            "they are in Pa and kg/m3"
        )


def _payload(robot: RobotDescription, link: FlexibleLink) -> Iterator[str]:
    """A body fixed at the root of a beam that ends in nothing."""
    if link.beam is None or not _has_free_tip(robot, link):
        return
    length = _length(robot, link)
    for joint in robot.children_of(link.link):
        body = robot.link(joint.child).inertial
        if joint.type == "fixed" and body is not None and body.mass > 0.0:
            tip = " ".join(
                f"{o + length * a:g}" for o, a in zip(link.beam.origin, link.beam.axis, strict=True)
            )
            yield (
                f"joint '{joint.name}' fixes '{joint.child}' ({body.mass:g} kg) at the root of the flexible "
                f"link '{link.link}', whose tip is free: <origin xyz=\"{tip}\"/> is its tip"
            )


def _hydraulics(robot: RobotDescription) -> Iterator[str]:
    told: set[str] = set()
    legs = [(leg, platform.hydraulics) for platform in robot.platforms for leg in platform.legs]
    for leg, of_all in legs:
        given = leg.hydraulics or of_all
        if given is None:
            continue
        slider = robot.joint(leg.slider)
        for text in _cylinder(given, slider.limit.upper - slider.limit.lower, hypot(*slider.xyz)):
            if text not in told:
                told.add(text)
                yield f"leg '{leg.name}': {text}"


def _cylinder(given: Hydraulics, stroke: float, shortest: float) -> Iterator[str]:
    bore, supply = given.cylinder.bore, given.supply.pressure
    if bore > _WIDEST_BORE * stroke or bore > shortest + stroke:
        yield (
            f"<cylinder> bore {bore:g} m on a stroke of {stroke:g} m in a leg of {shortest:g} m: "
            "millimetres? it is in m"
        )
    if not given.supply.name and given.fluid.bulk_modulus < _LEAST_STIFFNESS * supply:
        yield (
            f"<fluid> bulk_modulus {given.fluid.bulk_modulus:g} Pa is not far above the supply pressure, "
            f"{supply:g} Pa: MPa or bar? it is in Pa"
        )
    speed = given.valve.rated_flow / (pi / 4 * bore**2)
    if speed > _FASTEST_ROD:
        yield (
            f"<valve> rated_flow {given.valve.rated_flow:g} m3/s would move the rod at {speed:.3g} m/s: "
            "l/min? it is in m3/s"
        )
    if not given.supply.name and supply < 3e5:
        yield f"<supply> pressure {supply:g} Pa is about that of the atmosphere: bar or MPa? it is in Pa"
