"""Schema of the elements of a flexible link."""

from __future__ import annotations

from flexdyn_ros.description.language.tables import (
    choice,
    integer,
    not_negative,
    number,
    positive,
    reference,
    required,
    vector,
)
from flexdyn_ros.description.language.vocabulary import Attribute, Element

ZERO = (0.0, 0.0, 0.0)
_FIELDS = ("axial", "bending_y", "bending_z", "torsion")

SECTION_NUMBERS = (
    positive(
        "mass_per_length", "kg/m", "line mass", shown="density x area, else what <inertial> leaves / length"
    ),
    positive("EIy", "N m2", "bending stiffness about beam y: resists bending_z", shown="from the section"),
    positive("EIz", "N m2", "bending stiffness about beam z: resists bending_y", shown="from the section"),
    positive("GJ", "N m2", "torsional stiffness, J = St-Venant constant", shown="from the section"),
    positive("EA", "N", "axial stiffness", shown="from the section"),
    not_negative(
        "rotary_inertia_y", "kg m", "rotary inertia per length about beam y", shown="from the section"
    ),
    not_negative(
        "rotary_inertia_z", "kg m", "rotary inertia per length about beam z", shown="from the section"
    ),
    not_negative("polar_inertia", "kg m", "rotary inertia per length about the axis", shown="sum of the two"),
)

SECTIONS = (
    Element(
        "tube",
        "Round hollow section.",
        required(
            positive("outer_radius", "m", "outer radius"),
            positive("wall", "m", "wall thickness, at most the radius"),
        ),
    ),
    Element("rod", "Round solid section.", required(positive("radius", "m", "radius"))),
    Element(
        "rectangle",
        "Rectangular solid section.",
        required(positive("width", "m", "along beam y"), positive("height", "m", "along beam z")),
    ),
    Element(
        "i_section",
        "I section, height along beam z.",
        required(
            positive("width", "m", "of the flanges, along beam y"),
            positive("height", "m", "along beam z"),
            positive("web", "m", "thickness of the web"),
            positive("flange", "m", "thickness of a flange"),
        ),
    ),
)

MATERIAL = Element(
    "material",
    "Material of the section: a name, numbers, or a name with numbers that override it.",
    (
        choice("name", "steel aluminium titanium", "a material known by name"),
        positive("E", "Pa", "Young's modulus"),
        positive("density", "kg/m3", "density"),
        positive("G", "Pa", "shear modulus; this or poisson"),
        number("poisson", "-", "Poisson's ratio", above=-1.0, below=0.5),
    ),
    one_of=(("G",), ("poisson",)),
)

TABLE = Element(
    "table",
    "Properties along the beam, piecewise linear; a repeated station is a step. Its text is the rows.",
    (
        Attribute("columns", "words", "`station`, then beam attributes by name", required=True),
        Attribute("file", "file", "text file with the rows"),
    ),
    text=Attribute("rows", "numbers", "rows from station 0 to 1"),
    one_of=(("file",), ("rows",)),
    one_of_needed=True,
)

BEAM = Element(
    "beam",
    "The elastic centre line of a link and its section.",
    (
        vector("axis", "-", "direction of the centre line in link axes, from root to tip", (1.0, 0.0, 0.0)),
        vector("origin", "m", "root of the centre line in the link frame", ZERO),
        vector("y_axis", "-", "beam y, perpendicular to axis", shown="from the link's z axis"),
        positive("length", "m", "length", shown="farthest child joint along axis"),
        *SECTION_NUMBERS,
    ),
    (*SECTIONS, MATERIAL, TABLE),
)

MODES = Element(
    "modes",
    "How many assumed modes each field has, and their shapes.",
    (
        *(integer(name, "number of modes of this field", shown="0", least=0, most=30) for name in _FIELDS),
        choice("basis", "eigen polynomial finite_element hermite", "shape functions", shown="eigen"),
        integer(
            "elements",
            "number of elements of basis finite_element",
            shown="20",
            least=1,
            most=1000,
            only=("basis", ("finite_element",)),
        ),
        choice(
            "boundary",
            "clamped-free clamped-body clamped-pinned clamped-clamped pinned-pinned free-free",
            "end conditions of the shape functions",
            shown="clamped-free",
        ),
        Attribute(
            "shapes",
            "file",
            "own shape functions (.npz), polynomials; excludes basis and boundary",
        ),
        Attribute("file", "file", "imported modes (.npz); excludes all else here"),
    ),
)

DAMPING = Element(
    "damping",
    "Modal damping; none without this element.",
    (
        Attribute("ratio", "numbers", "one, or one per mode by rising frequency", "-", least=0.0, below=1.0),
        not_negative("rayleigh_mass", "1/s", "factor of the mass matrix", shown="0"),
        not_negative("rayleigh_stiffness", "s", "factor of the stiffness matrix", shown="0"),
    ),
    one_of=(("ratio",), ("rayleigh_mass", "rayleigh_stiffness")),
    one_of_needed=True,
)

_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

BODY = Element(
    "body",
    "Rigid body fixed to the cross section at a station; origin in beam axes, from the section's centre.",
    (
        reference("name", "name of the body"),
        Attribute("station", "station", "fraction of the length, root or tip", "-", default=1.0),
    ),
    (
        Element("mass", "As in URDF.", (not_negative("value", "kg", "mass", required=True),)),
        Element(
            "origin",
            "As in URDF.",
            (vector("xyz", "m", "centre of mass", ZERO), vector("rpy", "rad", "axes of <inertia>", ZERO)),
        ),
        Element(
            "inertia",
            "As in URDF: about the centre of mass, tensor entries.",
            tuple(
                number(name, "kg m2", "entry of the tensor", None if name[1] == name[2] else 0.0,
                       required=name[1] == name[2])
                for name in _TENSOR
            ),
        ),
    ),
    key="name",
)  # fmt: skip

REMAINDER = Element(
    "remainder",
    "Where the part of <inertial> rides that neither beam nor bodies account for.",
    (
        Attribute(
            "station",
            "station",
            "auto = below its own centre of mass; none = it is dropped",
            "-",
            default="auto",
            choices=("auto", "none"),
        ),
    ),
)

ATTACH = Element(
    "attach",
    "A child joint that hangs on the section at a station instead of the tip.",
    (
        reference("joint", "child joint"),
        Attribute(
            "station",
            "station",
            "auto = projection on the axis",
            "-",
            default="auto",
            choices=("auto",),
        ),
    ),
    key="joint",
)

DISPLAY = Element(
    "display",
    "How the link is shown in the expanded description.",
    (
        integer("segments", "number of pieces", 8, least=1, most=1000),
        choice("visual", "segments keep", "pieces of the section, or the link's own visual", "segments"),
    ),
)
