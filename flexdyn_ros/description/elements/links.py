"""From statements about a link to a FlexibleLink, refusing what text alone shows to be impossible."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

from flexdyn_ros.description.elements import beam_table
from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.records import (
    Attach,
    Beam,
    Body,
    Display,
    FlexibleLink,
    ISection,
    Material,
    ModalDamping,
    Modes,
    Rectangle,
    Rod,
    Tube,
)
from flexdyn_ros.description.language.schema_link import SECTION_NUMBERS, SECTIONS
from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.values import suggestion
from flexdyn_ros.description.urdf.inertia import check_inertia

_RECORDS: dict[str, Any] = {"tube": Tube, "rod": Rod, "rectangle": Rectangle, "i_section": ISection}
# Young's modulus [Pa], density [kg/m3], Poisson's ratio
MATERIALS = {
    "steel": (210e9, 7850.0, 0.30),
    "aluminium": (70e9, 2700.0, 0.33),
    "titanium": (114e9, 4430.0, 0.34),
}
_FIELDS = ("axial", "bending_y", "bending_z", "torsion")
# the stiffness that resists each field, and the property of the material that gives it together with a
# section
_STIFFNESS = {
    "axial": ("EA", "E"),
    "bending_y": ("EIz", "E"),
    "bending_z": ("EIy", "E"),
    "torsion": ("GJ", "G"),
}
_PERPENDICULAR = 1e-6


def build_link(name: str, said: Statement, context: Context) -> FlexibleLink | None:
    """The flexible link of that name; None if the statements leave nothing said."""
    if not any(said.children.values()):
        return None
    modes_said, beam_said = said.child("modes"), said.child("beam")
    if modes_said is None:
        said.fail("a link without <modes> does not bend", None, "<beam> and <modes>")
    modes = _modes(modes_said, context)
    if beam_said is None and modes.file is None:
        said.fail("<modes> without <beam>", None, "<beam>, or a file with imported modes")
    beam = None if beam_said is None else _beam(name, beam_said, modes, modes_said, context)
    damping = said.child("damping")
    remainder, display = said.child("remainder"), said.child("display")
    return FlexibleLink(
        link=name,
        beam=beam,
        modes=modes,
        damping=None if damping is None else _damping(damping, modes),
        bodies=tuple(_body(name, each, context) for each in said.all("body")),
        remainder="auto" if remainder is None else complete(remainder)["station"],
        attach=tuple(_attach(name, each, context) for each in said.all("attach")),
        display=Display() if display is None else Display(**complete(display)),
        line=said.place.line,
    )


def _modes(said: Statement, context: Context) -> Modes:
    values = complete(said, axial=0, bending_y=0, bending_z=0, torsion=0, basis="eigen", elements=20)
    values["boundary"] = values["boundary"] or "clamped-free"
    if values["file"] is not None:
        others = [name for name in said.values if name != "file"]
        if others:
            said.fail(f"'file' and '{others[0]}' exclude each other", others[0], "only one of them")
        values["file"] = context.find(said, "file")
    elif not any(values[field] for field in _FIELDS):
        said.fail("no modes are asked for", None, "at least one number > 0 of " + ", ".join(_FIELDS))
    if values["shapes"] is not None:
        others = [name for name in ("basis", "elements", "boundary") if name in said.values]
        if others:
            said.fail(f"'shapes' and '{others[0]}' exclude each other", others[0], "only one of them")
        values["shapes"] = context.find(said, "shapes")
    most = max(values[field] for field in _FIELDS)
    if values["basis"] == "finite_element" and most > values["elements"]:
        said.fail(f"{most} modes need as many finite elements", "elements", f"at least {most}")
    return Modes(**values)


def _beam(link: str, said: Statement, modes: Modes, modes_said: Statement, context: Context) -> Beam:
    values = complete(said)
    values["axis"] = _direction(said, "axis", values["axis"])
    if values["y_axis"] is not None:
        values["y_axis"] = _direction(said, "y_axis", values["y_axis"])
        if abs(sum(a * b for a, b in zip(values["axis"], values["y_axis"], strict=True))) > _PERPENDICULAR:
            said.fail("y_axis is not perpendicular to axis", "y_axis", "a vector perpendicular to axis")
    sections = [child for rule in SECTIONS for child in said.all(rule.name)]
    if len(sections) > 1:
        sections[1].fail(
            f"<{sections[0].element.name}> and <{sections[1].element.name}> in one beam", None, "one"
        )
    table, material = said.child("table"), said.child("material")
    if table is not None and sections:
        sections[0].fail("a table and a section exclude each other", None, "only one of them")
    beam = Beam(
        **values,
        section=_section(sections[0]) if sections else None,
        material=None if material is None else _material(material),
        table=None if table is None else beam_table.build_table(table, said, context),
    )
    if modes.file is not None:
        _refuse_section_data(said, sections, material, table)
    else:
        _check_stiffness(beam, modes, modes_said)
        _check_mass(link, beam, said, context)
    if beam.length is None and not context.children(link):
        said.fail("the length of a link without children is missing", "length", "a number > 0 m")
    return beam


def _direction(said: Statement, name: str, vector: tuple[float, ...]) -> tuple[float, ...]:
    largest = max(map(abs, vector))
    if largest == 0.0:
        said.fail(f"{name} has no direction", name, "a vector that is not zero")
    scaled = [c / largest for c in vector]
    length = sqrt(sum(c * c for c in scaled))
    return tuple(c / length for c in scaled)


def _section(said: Statement) -> Any:
    section = _RECORDS[said.element.name](**complete(said))
    if isinstance(section, Tube) and section.wall > section.outer_radius:
        said.fail("the wall is thicker than the radius", "wall", f"at most {section.outer_radius:g} m")
    if isinstance(section, ISection) and 2 * section.flange > section.height:
        said.fail("the flanges are higher than the section", "flange", f"at most {section.height / 2:g} m")
    if isinstance(section, ISection) and section.web > section.width:
        said.fail("the web is wider than the section", "web", f"at most {section.width:g} m")
    return section


def _material(said: Statement) -> Material:
    values = complete(said)
    if values["name"] is None:
        if values["E"] is None:
            said.fail("a material without name needs E", "E", "a number > 0 Pa")
        return Material(**values)
    E, density, poisson = MATERIALS[values["name"]]
    known: dict[str, Any] = {
        "E": E,
        "density": density,
        "poisson": None if values["G"] is not None else poisson,
    }
    return Material(**{key: known.get(key) if value is None else value for key, value in values.items()})


def _refuse_section_data(
    said: Statement, sections: list[Statement], material: Statement | None, table: Statement | None
) -> None:
    for child in (*sections, material, table):
        if child is not None:
            child.fail("imported modes exclude section data", None, "no section data beside <modes file>")
    for attribute in SECTION_NUMBERS:
        if attribute.name in said.values:
            said.fail("imported modes exclude section data", attribute.name, "nothing beside <modes file>")


def _check_mass(link: str, beam: Beam, said: Statement, context: Context) -> None:
    """The beam has a mass: a number, a column, density and section, or what `<inertial>` leaves for it."""
    has_density = beam.section is not None and beam.material is not None and beam.material.density is not None
    has_column = beam.table is not None and "mass_per_length" in beam.table.columns
    inertial = context.links[link].inertial
    has_mass = inertial is not None and inertial.mass > 0.0
    if beam.mass_per_length is None and not (has_density or has_column or has_mass):
        expected = "mass_per_length, a section with the density of its material, or <inertial> of the link"
        said.fail("the beam has no mass", "mass_per_length", expected)


def _check_stiffness(beam: Beam, modes: Modes, modes_said: Statement) -> None:
    """Every field with modes needs its stiffness: a number, a column of the table, or section and
    material."""
    columns = () if beam.table is None else beam.table.columns
    material = beam.material
    gives = {
        "E": beam.section is not None and material is not None,
        "G": beam.section is not None
        and material is not None
        and (material.G or material.poisson) is not None,
    }
    for field in _FIELDS:
        name, modulus = _STIFFNESS[field]
        if (
            getattr(modes, field)
            and getattr(beam, name) is None
            and name not in columns
            and not gives[modulus]
        ):
            more = "a section and a material" + (" with G or poisson" if modulus == "G" else "")
            modes_said.fail(f"{field} modes need the stiffness {name}", field, f"{name} in <beam>, or {more}")


def _damping(said: Statement, modes: Modes) -> ModalDamping:
    values = complete(said, rayleigh_mass=0.0, rayleigh_stiffness=0.0)
    damping = ModalDamping(**values)
    count = sum(getattr(modes, field) for field in _FIELDS)
    if damping.ratio is not None and modes.file is None and len(damping.ratio) not in (1, count):
        said.fail("as many ratios as modes are needed, or one", "ratio", f"1 or {count} numbers")
    return damping


def _body(link: str, said: Statement, context: Context) -> Body:
    values = complete(said)
    mass, origin, inertia = said.child("mass"), said.child("origin"), said.child("inertia")
    if mass is None:
        said.fail("<mass> is missing", None, '<mass value="..."/>')
    body = Body(**values, mass=complete(mass)["value"])
    if origin is not None:
        body = replace(body, **complete(origin))
    if inertia is not None:
        tensor = tuple(complete(inertia)[key] for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        check_inertia(
            inertia.place.fail, f"body '{body.name}' of link '{link}'", body.mass, tensor, context.warnings
        )
        body = replace(body, inertia=tensor)
    return body


def _attach(link: str, said: Statement, context: Context) -> Attach:
    attach = Attach(**complete(said))
    children = [joint.name for joint in context.children(link)]
    if attach.joint not in children:
        hint = suggestion(attach.joint, children)
        said.fail(
            f"link '{link}' has no child joint of that name{hint}", "joint", "a child joint of the link"
        )
    return attach
