"""Schema of the elements that say something of the whole robot: world, formulation, wheels, road, drive."""

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

GRAVITY = Element(
    "gravity",
    "Acceleration of free fall, in world axes.",
    text=vector("gravity", "m/s2", "acceleration of free fall in world axes", (0.0, 0.0, -9.80665)),
)

BASE = Element(
    "base",
    "How the root link stands in the world. A URDF `floating` joint under a link `world` means floating.",
    (
        choice("type", "fixed floating planar", "planar = x, z and pitch only", "fixed"),
        vector(
            "xyz", "m", "position of the root link (fixed), or of the zero of its coordinates (planar)", ZERO
        ),
        vector("rpy", "rad", "its orientation: roll, pitch, yaw", ZERO),
    ),
)

FORMULATION = Element(
    "formulation",
    "Which equations are used. Attributes of another kind of robot are refused.",
    (
        choice("method", "articulated lagrange floating_frame", "path that computes", shown="by kind"),
        Attribute("flexible", "boolean", "false: the rigid twin, masses unchanged", shown="true"),
        choice(
            "rotary_inertia",
            "consistent paper none",
            "rotary inertia of beam sections; none = line mass, without torsion modes",
            shown="consistent; none with floating_frame",
        ),
        choice("frame", "so3 affine", "section frames; affine only with lagrange", shown="so3"),
        choice(
            "stiffening",
            "full geometric none",
            "foreshortening, centrifugal stiffness (floating_frame), or nothing",
            shown="full; none with floating_frame",
        ),
        choice("preset", "paper", "= lagrange, paper, affine, none; these not beside it"),
        choice("suspension", "small_angle exact", "mobile: geometry of the suspension", shown="small_angle"),
        choice("kinematics", "exact modal", "continuum: section kinematics", shown="exact"),
        integer("order", "continuum: order of the modal series", shown="11", least=1, most=30),
        choice("mass_model", "distributed lumped lumped2", "continuum: mass model", shown="distributed"),
        positive("energy_ratio", "-", "continuum: energy ratio of the lumped models", shown="0.56"),
        choice(
            "leg_spin", "universal none", "platform: spin of the legs about their axes", shown="universal"
        ),
    ),
)

WHEEL = Element(
    "wheel",
    "A suspended wheel; name, the rigid link that carries it, and its upper mount on that link.",
    (
        reference("name", "name of the wheel"),
        reference("link", "rigid link that carries it"),
        vector("xyz", "m", "upper mount in the frame of the link; y = 0 with a planar base", required=True),
    ),
    (
        Element(
            "suspension",
            "Spring and damper between mount and hub, or ground where there is no tyre.",
            required(
                positive("stiffness", "N/m", "spring"),
                not_negative("damping", "N s/m", "damper"),
                positive("free_length", "m", "length without load"),
            ),
        ),
        Element(
            "tyre",
            "A tyre and the unsprung mass of its hub; adds the coordinate WHEEL/hub_z.",
            required(
                positive("stiffness", "N/m", "vertical stiffness"),
                not_negative("damping", "N s/m", "vertical damping"),
                positive("radius", "m", "unloaded radius"),
                positive("mass", "kg", "unsprung mass"),
            ),
        ),
    ),
    key="name",
)


def _of(*kinds: str) -> tuple[str, tuple[str, ...]]:
    return ("kind", kinds)


ROAD = Element(
    "road",
    "Height of the road over the world abscissa. Its text is the table `X z X z ...` of kind table.",
    (
        choice("kind", "flat sine sines bump step slope table iso8608", "shape of the profile", "flat"),
        number("start", "m", "abscissa where the profile begins", 0.0),
        choice("contact", "monitor unilateral stop", "what happens at lift-off", "monitor"),
        not_negative("amplitude", "m", "amplitude of the sine", only=_of("sine"), needed=_of("sine")),
        positive("wavelength", "m", "wave length of the sine", only=_of("sine"), needed=_of("sine")),
        number("phase", "rad", "phase of the sine at start", shown="0", only=_of("sine")),
        number("offset", "m", "height added to the sine or sines", shown="0", only=_of("sine", "sines")),
        number("height", "m", "height of bump or step", only=_of("bump", "step"), needed=_of("bump", "step")),
        positive(
            "length", "m", "length of bump or step", only=_of("bump", "step"), needed=_of("bump", "step")
        ),
        number("grade", "-", "rise over run; level before the start", only=_of("slope"), needed=_of("slope")),
        choice("class", "A B C D E", "road class of ISO 8608", only=_of("iso8608"), needed=_of("iso8608")),
        integer("seed", "of the phases: same seed, same road", shown="0", least=0, only=_of("iso8608")),
        integer("lines", "number of spectral lines", shown="500", least=2, most=100000, only=_of("iso8608")),
        positive("n_min", "1/m", "lowest spatial frequency", shown="0.011", only=_of("iso8608")),
        positive("n_max", "1/m", "highest spatial frequency", shown="2.83", only=_of("iso8608")),
        Attribute("file", "file", "text file of X z, one pair a line", only=_of("table")),
    ),
    (
        Element(
            "wave",
            "One wave of kind sines.",
            (
                not_negative("amplitude", "m", "amplitude", required=True),
                positive("wavelength", "m", "wave length", required=True),
                number("phase", "rad", "phase at start", 0.0),
            ),
            repeated=True,
        ),
    ),
    text=Attribute("points", "numbers", "pairs X z of kind table", "m", only=_of("table")),
    one_of=(("file",), ("points",)),
    of_callable=True,
)

DRIVE = Element(
    "drive",
    "How base/x is moved: prescribed (speed, profile), or free with the force as an effort (force).",
    (
        choice("type", "speed profile force", "what is given", "speed"),
        number("speed", "m/s", "constant speed", only=("type", ("speed",)), needed=("type", ("speed",))),
        number("start", "m", "base/x at t = 0", shown="0", only=("type", ("speed",))),
        Attribute("file", "file", "text file of t x, one pair a line", only=("type", ("profile",))),
    ),
    text=Attribute("points", "numbers", "pairs t x of type profile", "s, m", only=("type", ("profile",))),
    one_of=(("file",), ("points",)),
)
