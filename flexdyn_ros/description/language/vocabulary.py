"""The words in which attributes are declared: each one once, as a field of the record that it is read into.

    @element("rotor", "The motor's rotor; adds gear_ratio^2 x inertia to the joint.")
    class Rotor:
        inertia: float = positive("kg m2 (kg)", "on the motor side")
        gear_ratio: float = positive("-", "turns of the motor per turn of the joint", default=1.0)

makes a frozen dataclass, and `rule_of(Rotor)`, from which the strict reader, the YAML mirror, the reference
page, the XSD and the messages follow (`building.build` makes the record). An attribute without `default` (and
without `shown`) is required. Parameters of nodes are declared in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar, dataclass_transform

from flexdyn_ros.records import frozen

Record = TypeVar("Record")
Condition = tuple[str, tuple[str, ...]]
_DECLARED = "declared"


@frozen
class Attribute:
    """One attribute of an element, or one parameter of a node.

    type is `number`, `integer`, `boolean`, `vector` (three numbers), `numbers`, `text`, `name`, `words`,
    `choice`, `station` (a fraction, `root`, `tip` or one of `choices`) or `file`. above/least and below/most
    bound a number without and with the bound itself. counts are the lengths that `numbers` may have (empty:
    one or more). only = (attribute, values): has a meaning only where that other attribute has one of these
    values, and is refused elsewhere; implied is its value there if none is given; needed likewise: must be
    given there. shown describes a default that is computed later. is_text: the element's text stands for it.
    group marks attributes that belong together. live: a parameter that may change while its node runs.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    default: Any = None
    required: bool = False
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    only: Condition | None = None
    implied: Any = None
    needed: Condition | None = None
    shown: str = ""
    is_text: bool = False
    group: str = ""
    live: bool = False

    @cached_property
    def bounds(self) -> dict[str, float]:
        """The bounds that there are, by their sign."""
        signs = {">": self.above, ">=": self.least, "<": self.below, "<=": self.most}
        return {sign: bound for sign, bound in signs.items() if bound is not None}


@frozen
class Part:
    """A field that holds child elements: one of these records, or of one record as many as there are.

    attribute: only this attribute (or property) of the child's record is kept.
    """

    records: tuple[type, ...]
    many: bool = False
    attribute: str = ""


@frozen(eq=False)
class Element:
    """One element: the attributes that it may have, and the elements that it may hold.

    key names the attribute that tells several elements of this name apart; repeated without key is a plain
    list. more_by: of one that is single as a rule, the attribute that tells further ones apart, which YAML
    and options do not reach. text is the attribute that the element's text stands for. one_of holds groups of
    attributes of which at most one group may be used (exactly one if one_of_needed). of_callable: options may
    give a Python callable instead. record is the frozen dataclass that it is read into.
    """

    name: str
    meaning: str
    attributes: tuple[Attribute, ...] = ()
    children: list[Element] = field(default_factory=list)
    key: str | None = None
    repeated: bool = False
    more_by: str | None = None
    text: Attribute | None = None
    one_of: tuple[tuple[str, ...], ...] = ()
    one_of_needed: bool = False
    of_callable: bool = False
    record: type | None = None

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)

    def child(self, name: str) -> Element | None:
        return next((c for c in self.children if c.name == name), None)

    def setting(self, name: str) -> Attribute | None:
        """The attribute of that name, the text included."""
        return next((a for a in self.settings if a.name == name), None)

    @property
    def settings(self) -> tuple[Attribute, ...]:
        """Attributes, and the text as if it were one."""
        return self.attributes if self.text is None else (*self.attributes, self.text)


def _attribute(
    type: str,
    unit: str,
    meaning: str,
    *,
    default: Any = MISSING,
    shown: str = "",
    name: str = "",
    within: tuple[float | None, float | None] = (None, None),
    **more: Any,
) -> Any:
    """A field of a record that is an attribute.

    name: that of the attribute where the field has another. shown: words for a default that depends on more
    than this attribute; `default` is then that of the record alone. within: least and most.
    """
    if within != (None, None):
        more |= {"least": within[0], "most": within[1]}
    own = shown or default is MISSING or (default == () and more.get("is_text"))
    about = Attribute(
        name,
        type,
        meaning,
        unit,
        default=None if own else default,
        required=default is MISSING and not shown,
        shown=shown,
        **more,
    )
    return field(default=default, metadata={_DECLARED: about})


def number(unit: str, meaning: str, **more: Any) -> Any:
    return _attribute("number", unit, meaning, **more)


def positive(unit: str, meaning: str, **more: Any) -> Any:
    return _attribute("number", unit, meaning, above=0.0, **more)


def not_negative(unit: str, meaning: str, **more: Any) -> Any:
    return _attribute("number", unit, meaning, least=0.0, **more)


def vector(unit: str, meaning: str, **more: Any) -> Any:
    return _attribute("vector", unit, meaning, **more)


def numbers(unit: str, meaning: str, **more: Any) -> Any:
    return _attribute("numbers", unit, meaning, **more)


def integer(meaning: str, **more: Any) -> Any:
    return _attribute("integer", "", meaning, **more)


def boolean(meaning: str, **more: Any) -> Any:
    return _attribute("boolean", "", meaning, **more)


def choice(choices: str, meaning: str, **more: Any) -> Any:
    return _attribute("choice", "", meaning, choices=tuple(choices.split()), **more)


def fraction(meaning: str, choices: str = "", **more: Any) -> Any:
    return _attribute("station", "-", meaning, choices=tuple(choices.split()), **more)


def reference(meaning: str, **more: Any) -> Any:
    return _attribute("name", "", meaning, **more)


def file_name(meaning: str, **more: Any) -> Any:
    return _attribute("file", "", meaning, **more)


def text(meaning: str, **more: Any) -> Any:
    return _attribute("text", "", meaning, **more)


def words(meaning: str, **more: Any) -> Any:
    return _attribute("words", "", meaning, **more)


def child(*records: type, default: Any = MISSING, attribute: str = "") -> Any:
    """A field that holds one child element, which is one of these records; required without default."""
    return field(default=default, metadata={_DECLARED: Part(records, attribute=attribute)})


def children(record: type, *, default: tuple[()]) -> Any:
    """A field that holds all child elements of this record."""
    return field(default=default, metadata={_DECLARED: Part((record,), many=True)})


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(
        number, positive, not_negative, vector, numbers, integer, boolean, choice, fraction, reference,
        file_name, text, words, child, children,
    ),
)  # fmt: skip
def element(
    name: str, meaning: str, *, kw_only: bool = False, **more: Any
) -> Callable[[type[Record]], type[Record]]:
    """Make a class whose fields are declared in these words a frozen dataclass that knows its Element.

    A method `check(self, statement, context)` refuses values that do not fit each other; a static method
    `settle(values, statement, context)` comes before the record is made, and may change the values. more:
    `key`, `repeated`, `more_by`, `one_of`, `one_of_needed`, `of_callable` of Element.
    """

    def made(cls: type[Record]) -> type[Record]:
        cls.__doc__ = cls.__doc__ or meaning
        record: Any = frozen(kw_only=kw_only)(cls)
        record.__declared__ = tuple(_abouts(record))
        attributes = tuple(about for _, about in declared(record, Attribute))
        parts: dict[str, Element] = {}
        for _, part in declared(record, Part):
            parts |= {rule.name: rule for rule in map(rule_of, part.records)}
        record.__element__ = Element(
            name,
            meaning,
            tuple(about for about in attributes if not about.is_text),
            list(parts.values()),
            text=next((about for about in attributes if about.is_text), None),
            record=record,
            **more,
        )
        return record

    return made


def _abouts(record: Any) -> Iterator[tuple[str, Attribute | Part]]:
    """(field, what is declared of it); an attribute without a name of its own has that of its field."""
    for f in fields(record):
        about = f.metadata.get(_DECLARED)
        if isinstance(about, Attribute):
            yield f.name, about if about.name else replace(about, name=f.name)
        elif about is not None:
            yield f.name, about


def rule_of(record: type) -> Element:
    """The element that a class was declared as; TypeError if it was not."""
    rule: Element | None = record.__dict__.get("__element__")
    if rule is None:
        raise TypeError(f"{record.__name__} is no declared element: expected a class made by @element")
    return rule


def declared(record: Any, kind: type[Record]) -> list[tuple[str, Record]]:
    """(field, Attribute) or (field, Part), by kind, of all fields of a record that are declared so."""
    return [(name, about) for name, about in record.__declared__ if isinstance(about, kind)]
