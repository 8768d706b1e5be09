"""Elements of a flexible link: beam, section, material, modes, damping, bodies, and what hangs on it.

Attributes that the text left out and that have no default are None. Units are SI and rad.
"""

from __future__ import annotations

from math import sqrt
from operator import itemgetter
from typing import Any

from flexdyn_ros.description.elements.beam_table import Table
from flexdyn_ros.description.elements.urdf import ZERO, Context, Inertia, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.values import is_within
from flexdyn_ros.description.language.vocabulary import (
    child,
    children,
    choice,
    element,
    file_name,
    fraction,
    integer,
    not_negative,
    number,
    numbers,
    positive,
    reference,
    rule_of,
    vector,
)
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.inertia import check_inertia

#: Young's modulus [Pa], density [kg/m3], Poisson's ratio
MATERIALS = {
    "steel": {"E": 210e9, "density": 7850.0, "poisson": 0.30},
    "aluminium": {"E": 70e9, "density": 2700.0, "poisson": 0.33},
    "titanium": {"E": 114e9, "density": 4430.0, "poisson": 0.34},
}
# the stiffness that resists each field, and the modulus of the material that gives it together with a section
_STIFFNESS = {
    "axial": ("EA", "E"),
    "bending_y": ("EIz", "E"),
    "bending_z": ("EIy", "E"),
    "torsion": ("GJ", "G"),
}
_PERPENDICULAR = 1e-6


@element("tube", "Round hollow section.")
class Tube:
    outer_radius: float = positive("m", "outer radius")
    wall: float = positive("m", "wall thickness, at most the radius")

    def check(self, statement: Statement, context: Context) -> None:
        if self.wall > self.outer_radius:
            statement.fail("the wall is thicker than the radius", "wall", f"at most {self.outer_radius:g} m")


@element("rod", "Round solid section.")
class Rod:
    radius: float = positive("m", "radius")


@element("rectangle", "Rectangular solid section.")
class Rectangle:
    width: float = positive("m", "along beam y")
    height: float = positive("m", "along beam z")


@element("i_section", "I section, height along beam z.")
class ISection:
    width: float = positive("m", "of the flanges, along beam y")
    height: float = positive("m", "along beam z")
    web: float = positive("m", "thickness of the web")
    flange: float = positive("m", "thickness of a flange")

    def check(self, statement: Statement, context: Context) -> None:
        if 2 * self.flange > self.height:
            statement.fail(
                "the flanges are higher than the section", "flange", f"at most {self.height / 2:g} m"
            )
        if self.web > self.width:
            statement.fail("the web is wider than the section", "web", f"at most {self.width:g} m")


@element(
    "material",
    "Material of the section: a name, numbers, or a name with numbers that override it.",
    one_of=(("G",), ("poisson",)),
)
class Material:
    name: str | None = choice(" ".join(MATERIALS), "a material known by name", default=None)
    E: float | None = positive("Pa", "Young's modulus", default=None)
    density: float | None = positive("kg/m3", "density", default=None)
    G: float | None = positive("Pa", "shear modulus; this or poisson", default=None)
    poisson: float | None = number("-", "Poisson's ratio", above=-1.0, below=0.5, default=None)

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        if values["name"] is None and values["E"] is None:
            statement.fail("a material without name needs E", "E", "a number > 0 Pa")
        for name, known in MATERIALS.get(values["name"], {}).items():
            if values[name] is None and not (name == "poisson" and values["G"] is not None):
                values[name] = known


def _along(unit: str, meaning: str, shown: str = "from the section", **bound: float) -> Any:
    """A property of the beam, which may also be a column of `<table>`."""
    return number(unit, meaning, shown=shown, default=None, group="column", **bound or {"above": 0.0})


@element("beam", "The elastic centre line of a link and its section.")
class Beam:
    axis: Vec3 = vector(
        "-", "direction of the centre line in link axes, from root to tip", default=(1.0, 0.0, 0.0)
    )
    origin: Vec3 = vector("m", "root of the centre line in the link frame", default=ZERO)
    y_axis: Vec3 | None = vector(
        "-", "beam y, perpendicular to axis", shown="from the link's z axis", default=None
    )
    length: float | None = positive("m", "length", shown="farthest child joint along axis", default=None)
    mass_per_length: float | None = _along(
        "kg/m", "line mass", "density x area, else what <inertial> leaves / length"
    )
    EIy: float | None = _along("N m2", "bending stiffness about beam y: resists bending_z")
    EIz: float | None = _along("N m2", "bending stiffness about beam z: resists bending_y")
    GJ: float | None = _along("N m2", "torsional stiffness, J = St-Venant constant")
    EA: float | None = _along("N", "axial stiffness")
    rotary_inertia_y: float | None = _along("kg m", "rotary inertia per length about beam y", least=0.0)
    rotary_inertia_z: float | None = _along("kg m", "rotary inertia per length about beam z", least=0.0)
    polar_inertia: float | None = _along(
        "kg m", "rotary inertia per length about the axis", "sum of the two", least=0.0
    )
    section: Tube | Rod | Rectangle | ISection | None = child(Tube, Rod, Rectangle, ISection, default=None)
    material: Material | None = child(Material, default=None)
    table: Table | None = child(Table, default=None)

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        values["axis"] = axis = _direction(statement, "axis", values["axis"])
        if values["y_axis"] is not None:
            values["y_axis"] = y_axis = _direction(statement, "y_axis", values["y_axis"])
            if abs(sum(a * b for a, b in zip(axis, y_axis, strict=True))) > _PERPENDICULAR:
                expected = "a vector perpendicular to axis"
                statement.fail("y_axis is not perpendicular to axis", "y_axis", expected)
        for section in _sections(statement) if statement.child("table") else ():
            section.fail("a table and a section exclude each other", None, "only one of them")

    def check(self, statement: Statement, context: Context) -> None:
        if self.table is not None:
            _check_columns(self.table, statement)
        if self.length is None and not context.children(context.owner):
            statement.fail("the length of a link without children is missing", "length", "a number > 0 m")


def _direction(statement: Statement, name: str, vector: Vec3) -> tuple[float, ...]:
    largest = max(map(abs, vector))
    if largest == 0.0:
        statement.fail(f"{name} has no direction", name, "a vector that is not zero")
    scaled = [c / largest for c in vector]
    length = sqrt(sum(c * c for c in scaled))
    return tuple(c / length for c in scaled)


def _check_columns(table: Table, beam: Statement) -> None:
    """The columns are properties of the beam, stated nowhere else, with values within their bounds."""
    stated = beam.child("table")
    assert stated is not None
    known = {attribute.name: attribute for attribute in _columns()}
    for name in table.columns[1:]:
        if name not in known:
            message = f"unknown column '{name}'{suggestion(name, known)}"
            stated.fail(message, "columns", "columns of " + ", ".join(known))
        if name in beam.values:
            beam.fail(f"'{name}' is a column of the table too", name, "one of them")
    what = "rows" if table.file is None else "file"
    for at, name in enumerate(table.columns[1:], 1):
        row = min(table.rows, key=itemgetter(at))
        if not is_within(known[name], row[at]):
            (sign,) = known[name].bounds
            stated.fail(f"{name} = {row[at]:g} at station {row[0]:g}", what, f"{name} {sign} 0")


def _columns() -> list[Any]:
    return [attribute for attribute in rule_of(Beam).attributes if attribute.group == "column"]


def _sections(beam: Statement) -> list[Statement]:
    tags = [rule_of(record).name for record in (Tube, Rod, Rectangle, ISection)]
    return [section for tag in tags for section in beam.all(tag)]


@element("modes", "How many assumed modes each field has, and their shapes.")
class Modes:
    axial: int = integer("number of modes of this field", within=(0, 30), default=0)
    bending_y: int = integer("number of modes of this field", within=(0, 30), default=0)
    bending_z: int = integer("number of modes of this field", within=(0, 30), default=0)
    torsion: int = integer("number of modes of this field", within=(0, 30), default=0)
    basis: str = choice(
        "eigen polynomial finite_element hermite", "shape functions", default="eigen", group="ready shapes"
    )
    elements: int = integer(
        "number of elements of basis finite_element",
        within=(1, 1000),
        only=("basis", ("finite_element",)),
        default=20,
        group="ready shapes",
    )
    boundary: str = choice(
        "clamped-free clamped-body clamped-pinned clamped-clamped pinned-pinned free-free",
        "end conditions of the shape functions",
        default="clamped-free",
        group="ready shapes",
    )
    shapes: str | None = file_name(
        "own shape functions (.npz), polynomials; excludes basis and boundary", default=None
    )
    file: str | None = file_name("imported modes (.npz); no other attribute beside it", default=None)

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        ready = [each.name for each in statement.element.attributes if each.group == "ready shapes"]
        for name, excluded in (("file", list(statement.values)), ("shapes", ready)):
            if values[name] is not None:
                for other in excluded:
                    if other != name and other in statement.values:
                        message = f"'{name}' and '{other}' exclude each other"
                        statement.fail(message, other, "only one of them")
                values[name] = context.find(statement, name)

    @property
    def counts(self) -> dict[str, int]:
        """Number of modes by field."""
        return {field: getattr(self, field) for field in _STIFFNESS}

    def check(self, statement: Statement, context: Context) -> None:
        most = max(self.counts.values())
        if self.file is None and not most:
            expected = "at least one number > 0 of " + ", ".join(_STIFFNESS)
            statement.fail("no modes are asked for", None, expected)
        if self.basis == "finite_element" and most > self.elements:
            statement.fail(f"{most} modes need as many finite elements", "elements", f"at least {most}")


@element(
    "damping",
    "Modal damping; none without this element.",
    one_of=(("ratio",), ("rayleigh_mass", "rayleigh_stiffness")),
    one_of_needed=True,
)
class ModalDamping:
    ratio: tuple[float, ...] | None = numbers(
        "-", "one, or one per mode by rising frequency", least=0.0, below=1.0, default=None
    )
    rayleigh_mass: float = not_negative("1/s", "factor of the mass matrix", default=0.0)
    rayleigh_stiffness: float = not_negative("s", "factor of the stiffness matrix", default=0.0)


@element("mass", "As in URDF.")
class Mass:
    value: float = not_negative("kg", "mass")


@element("origin", "As in URDF.")
class Origin:
    xyz: Vec3 = vector("m", "centre of mass", default=ZERO)
    rpy: Vec3 = vector("rad", "axes of <inertia>", default=ZERO)


@element("inertia", "As in URDF: about the centre of mass, tensor entries.", kw_only=True)
class Tensor:
    ixx: float = number("kg m2", "entry of the tensor")
    ixy: float = number("kg m2", "entry of the tensor", default=0.0)
    ixz: float = number("kg m2", "entry of the tensor", default=0.0)
    iyy: float = number("kg m2", "entry of the tensor")
    iyz: float = number("kg m2", "entry of the tensor", default=0.0)
    izz: float = number("kg m2", "entry of the tensor")

    @property
    def entries(self) -> Inertia:
        return (self.ixx, self.ixy, self.ixz, self.iyy, self.iyz, self.izz)


@element(
    "body",
    "Rigid body fixed to the cross section at a station; origin in beam axes, from the section's centre.",
    key="name",
)
class Body:
    """Inertia as in URDF: (ixx, ixy, ixz, iyy, iyz, izz)."""

    name: str = reference("name of the body")
    mass: float = child(Mass, attribute="value")
    station: float = fraction("fraction of the length, root or tip", default=1.0)
    xyz: Vec3 = child(Origin, attribute="xyz", default=ZERO)
    rpy: Vec3 = child(Origin, attribute="rpy", default=ZERO)
    inertia: Inertia = child(Tensor, attribute="entries", default=(0.0,) * 6)

    def check(self, statement: Statement, context: Context) -> None:
        tensor = statement.child("inertia")
        if tensor is not None:
            label = f"body '{self.name}' of link '{context.owner}'"
            check_inertia(tensor.place.fail, label, self.mass, self.inertia, context.warnings)


@element("remainder", "Where the part of <inertial> that neither beam nor bodies account for is attached.")
class Remainder:
    station: float | str = fraction(
        "auto = below its own centre of mass; none = it is dropped", "auto none", default="auto"
    )


@element("attach", "A child joint that is attached to a section at a station, not to the tip.", key="joint")
class Attach:
    joint: str = reference("child joint")
    station: float | str = fraction("auto = projection on the axis", "auto", default="auto")

    def check(self, statement: Statement, context: Context) -> None:
        names = [joint.name for joint in context.children(context.owner)]
        if self.joint not in names:
            message = f"link '{context.owner}' has no child joint of that name{suggestion(self.joint, names)}"
            statement.fail(message, "joint", "a child joint of the link")


@element("display", "How the link is shown in the expanded description.")
class Display:
    segments: int = integer("number of pieces", within=(1, 1000), default=8)
    visual: str = choice(
        "segments keep", "pieces of the section, or the link's own visual", default="segments"
    )


@element("link", "a flexible link", kw_only=True)
class FlexibleLink:
    """All elements of one link; beam is None with imported modes."""

    link: str
    beam: Beam | None = child(Beam, default=None)
    modes: Modes = child(Modes)
    damping: ModalDamping | None = child(ModalDamping, default=None)
    bodies: tuple[Body, ...] = children(Body, default=())
    remainder: float | str = child(Remainder, attribute="station", default="auto")
    attach: tuple[Attach, ...] = children(Attach, default=())
    display: Display = child(Display, default=Display())
    line: int | None = None

    @staticmethod
    def settle(values: dict[str, Any], statement: Statement, context: Context) -> None:
        if statement.child("modes") is None:
            statement.fail("a link without <modes> does not bend", None, "<beam> and <modes>")

    def check(self, statement: Statement, context: Context) -> None:
        if self.beam is None and self.modes.file is None:
            statement.fail("<modes> without <beam>", None, "<beam>, or a file with imported modes")
        beam, modes, damping = (statement.child(tag) for tag in ("beam", "modes", "damping"))
        if self.beam is not None and beam is not None and modes is not None:
            if self.modes.file is not None:
                _refuse_section_data(beam)
            else:
                _check_stiffness(self.beam, self.modes, modes)
                _check_mass(self.beam, beam, context)
        count = sum(self.modes.counts.values())
        ratios = () if self.damping is None else self.damping.ratio
        if damping is not None and ratios and self.modes.file is None and len(ratios) not in (1, count):
            damping.fail("as many ratios as modes are needed, or one", "ratio", f"1 or {count} numbers")


def _refuse_section_data(beam: Statement) -> None:
    message = "imported modes exclude section data"
    for part in (*_sections(beam), *beam.all("material"), *beam.all("table")):
        part.fail(message, None, "no section data beside <modes file>")
    for attribute in _columns():
        if attribute.name in beam.values:
            beam.fail(message, attribute.name, "nothing beside <modes file>")


def _check_mass(beam: Beam, statement: Statement, context: Context) -> None:
    """The beam has a mass: a number, a column, density and section, or what `<inertial>` leaves for it."""
    has_density = beam.section is not None and beam.material is not None and beam.material.density is not None
    has_column = beam.table is not None and "mass_per_length" in beam.table.columns
    inertial = context.links[context.owner].inertial
    has_mass = inertial is not None and inertial.mass > 0.0
    if beam.mass_per_length is None and not (has_density or has_column or has_mass):
        expected = "mass_per_length, a section with the density of its material, or <inertial> of the link"
        statement.fail("the beam has no mass", "mass_per_length", expected)


def _check_stiffness(beam: Beam, modes: Modes, statement: Statement) -> None:
    """Every field with modes needs its stiffness: a number, a column, or section and material."""
    columns = () if beam.table is None else beam.table.columns
    material = beam.material if beam.section is not None else None
    has_shear = material is not None and (material.G or material.poisson) is not None
    gives = {"E": material is not None, "G": has_shear}
    for field, count in modes.counts.items():
        name, modulus = _STIFFNESS[field]
        if count and getattr(beam, name) is None and name not in columns and not gives[modulus]:
            more = "a section and a material" + (" with G or poisson" if modulus == "G" else "")
            statement.fail(f"{field} modes need the stiffness {name}", field, f"{name} in <beam>, or {more}")
