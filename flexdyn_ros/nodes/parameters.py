"""All nodes and their parameters, and the page that documents them."""

from __future__ import annotations

from flexdyn_ros.description.language.reference_page import names_as_code
from flexdyn_ros.description.language.vocabulary import Attribute, rule_of
from flexdyn_ros.nodes.controllers.parameters import (
    ComputedTorqueParameters,
    InputShaperParameters,
    PdControllerParameters,
    PlatformControllerParameters,
    SoftArmControllerParameters,
)
from flexdyn_ros.nodes.ros.robot_parameters import (
    DynamicsServerParameters,
    HydraulicActuatorsParameters,
    StatePublisherParameters,
)
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters

NODES: dict[str, type] = {
    rule_of(record).name: record
    for record in (
        DynamicsServerParameters,
        SimulatorParameters,
        HydraulicActuatorsParameters,
        StatePublisherParameters,
        PdControllerParameters,
        ComputedTorqueParameters,
        InputShaperParameters,
        PlatformControllerParameters,
        SoftArmControllerParameters,
    )
}


def declared_names(record: type) -> list[tuple[str, Attribute]]:
    """Names of all parameters of a record and what is declared of them; NAME stands for a coordinate."""
    found = [(about.name, about) for about in rule_of(record).attributes]
    for family in getattr(record, "families", ()):
        found += [(f"{family.prefix}.{about.name}", about) for about in family.attributes]
    return found


def page() -> str:
    """docs/parameters.md, generated."""
    lines = [
        "# Parameters of the nodes",
        "",
        "Made by `python -m flexdyn_ros.nodes.parameters`; do not edit.",
        "",
        "They are read when the node is configured; those marked *live* may be changed while it runs.",
        "",
    ]
    for node, record in NODES.items():
        lines += [
            f"## {node}",
            "",
            "| parameter | default | unit | range | meaning |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(name, about) for name, about in declared_names(record)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(name: str, about: Attribute) -> str:
    limits = ", ".join(about.choices)
    if about.least is not None and about.most is not None:
        limits = f"{about.least:g} to {about.most:g}"
    text = names_as_code(about.meaning) + (" (*live*)" if about.live else "")
    return f"| `{name}` | {_shown(about.default)} | {about.unit} | {limits} | {text} |"


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if default is None:
        return ""
    return "(empty)" if default in ("", ()) else f"{default}"


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
