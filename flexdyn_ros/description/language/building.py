"""From the values of an element to its record, by the declarations of the record's fields."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TypeVar

from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.vocabulary import Attribute, Part, declared, rule_of

Record = TypeVar("Record")


def build(record: type[Record], statement: Statement, context: object, **more: object) -> Record:
    """The record of an element and, within it, those of its child elements.

    context is handed to the record's `settle` and `check` (vocabulary.element); more are values of fields
    that are no attributes. A field `line` gets the line of the element.

    Raises
    ------
    DescriptionError
        If something required is missing, or the record's own checks refuse it.
    """
    given = complete(statement)
    settle = getattr(record, "settle", None)
    if settle is not None:
        settle(given, statement, context)
    defaults = {f.name: f.default for f in fields(record)}  # type: ignore[arg-type]
    values = {"line": statement.place.line} | more if "line" in defaults else more
    for name, attribute in declared(record, Attribute):
        # not given, and no default of the schema: the record may have its own
        if given[attribute.name] is not None or defaults[name] is MISSING:
            values[name] = given[attribute.name]
    for name, part in declared(record, Part):
        if part.many:
            values[name] = tuple(build(part.records[0], each, context) for each in statement.all(_tag(part)))
        else:
            built = _build_child(part, statement, context)
            if built is not None:
                values[name] = getattr(built, part.attribute) if part.attribute else built
            elif defaults[name] is MISSING:
                statement.fail(f"<{_tag(part)}> is missing", None, _example(part))
    made = record(**values)
    check = getattr(made, "check", None)
    if check is not None:
        check(statement, context)
    return made


def _tag(part: Part) -> str:
    return rule_of(part.records[0]).name


def _example(part: Part) -> str:
    """The element as it might be written, with what it needs."""
    rule = rule_of(part.records[0])
    return f"<{' '.join((rule.name, *(a.name for a in rule.attributes if a.required)))}/>"


def _build_child(part: Part, statement: Statement, context: object) -> object:
    """The record of the one child element of a part; None if it is not there."""
    found = [(each, record) for record in part.records for each in statement.all(rule_of(record).name)]
    if len(found) > 1:
        tags = [f"<{each.element.name}>" for each, _ in found]
        found[1][0].fail(f"{tags[0]} and {tags[1]} in one {statement.element.name}", None, "one")
    return build(found[0][1], found[0][0], context) if found else None
