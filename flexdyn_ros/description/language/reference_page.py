"""The schema as a page of tables in Markdown (docs/schema.md)."""

from __future__ import annotations

import re

from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.values import expected
from flexdyn_ros.description.language.vocabulary import Attribute, Element

_HEAD = """# The elements of `<flexdyn>`

Generated from the records in `flexdyn_ros/description/elements/` by `flexdyn schema --table`; do not edit.
Units are SI and rad. Numbers are finite; vectors are numbers separated by blanks. How blocks, files, YAML and
options work together is described in [description.md](description.md).
"""
_TITLES = {
    "robot": "Whole robot: `<flexdyn>` without reference; YAML: below `flexdyn`",
    "link": 'Flexible link: `<flexdyn reference="LINK">`; YAML: below `flexdyn.links.LINK`',
    "joint": 'Joint: `<flexdyn reference="JOINT">`; YAML: below `flexdyn.joints.JOINT`',
}
_COLUMNS = "| attribute | unit | type | default | meaning |\n|---|---|---|---|---|"


def schema_table() -> str:
    """Every element and attribute with type, unit, default, bounds and meaning."""
    parts = [_HEAD]
    for scope in schema.SCOPES:
        parts.append(f"## {_TITLES[scope.name]}\n")
        for child in scope.children:
            parts += _element(child, "")
    return "\n".join(parts).rstrip() + "\n"


def _element(rule: Element, path: str) -> list[str]:
    at = f"{path}{rule.name}"
    many = f", named by `{rule.key}`" if rule.key else ", any number" if rule.repeated or rule.more_by else ""
    parts = [f"### `<{at}>`\n", f"{names_as_code(rule.meaning)}{_alternatives(rule)}"]
    if many:
        parts[-1] += f" Several are allowed{many}."
    parts[-1] += "\n"
    if rule.settings:
        rows = [_row(attribute) for attribute in rule.attributes]
        if rule.text is not None:
            rows.append(_row(rule.text, of_text=True))
        parts.append("\n".join([_COLUMNS, *rows]) + "\n")
    for child in rule.children:
        parts += _element(child, at + "/")
    return parts


def _alternatives(rule: Element) -> str:
    if not rule.one_of:
        return ""
    groups = " or ".join(" and ".join(f"`{name}`" for name in group) for group in rule.one_of)
    return f" Either {groups}{', one of them required' if rule.one_of_needed else ''}."


def _row(rule: Attribute, of_text: bool = False) -> str:
    name = f"text (YAML: `{rule.name}`)" if of_text else f"`{rule.name}`"
    kind = expected(rule).removesuffix(f" {rule.unit}") if rule.unit else expected(rule)
    meaning = rule.meaning
    for condition, word in ((rule.only, "only with"), (rule.needed, "required with")):
        if condition is not None:
            meaning += f"; {word} {condition[0]} = {' or '.join(condition[1])}"
    cells = (name, rule.unit, kind, names_as_code(_default(rule)), names_as_code(meaning))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def names_as_code(text: str) -> str:
    """Text for a page of Markdown: names of elements as code, or they would be taken for tags and hidden."""
    return re.sub(r"(?<!`)<[\w/]+>", r"`\g<0>`", text)


def _default(rule: Attribute) -> str:
    default = rule.implied if rule.default is None else rule.default
    if rule.required:
        return "required"
    if default is None:
        return rule.shown
    if isinstance(default, tuple):
        return " ".join(f"{number:.10g}" for number in default)
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.10g}" if isinstance(default, float) else str(default)
