"""Whatever is done to the text, reading ends in a description or in a FlexdynError, and soon."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdyn_ros.description import RobotDescription, read
from flexdyn_ros.errors import DescriptionError, FlexdynError

HERE = Path(__file__).parent
URDF = HERE.parents[1] / "urdf"
TEXTS = [
    (HERE / "pendulum.urdf").read_text(),
    *((URDF / f"{name}.urdf").read_text() for name in ("canadarm2", "mobile_arm", "soft_arm_3")),
]
_WORDS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "",
    "1 2",
    "0 0 0",
    "true",
    "null",
    "${x}",
    "é",
    "&amp;",
    "boom",
    "\u0660",
]
_TOKENS = [
    "<flexdyn/>",
    "<",
    ">",
    '"',
    "<!--",
    "]]>",
    "<robot>",
    "</robot>",
    "<modes/>",
    "<beam/>",
    "<![CDATA[",
    "&x;",
]
#: of the processor: a machine that does other things is not slow reading
_SECONDS = 2.0


def reads_or_refuses(source, **more) -> None:
    begin = time.process_time()
    with suppress(FlexdynError):
        assert isinstance(read(source, **more), RobotDescription)
    assert time.process_time() - begin < _SECONDS


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """One of our robots with pieces cut out, doubled, moved, or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 5))):
        i = draw(st.integers(0, len(text)))
        j = min(len(text), i + draw(st.integers(0, 60)))
        kind = draw(st.sampled_from(["cut", "double", "token", "text", "move"]))
        piece = {
            "cut": "",
            "double": 2 * text[i:j],
            "token": draw(st.sampled_from(_TOKENS)),
            "text": draw(st.text(max_size=8)),
            "move": text[j : j + 40],
        }[kind]
        text = text[:i] + piece + text[j:]
    return text


@st.composite
def other_values(draw: st.DrawFn) -> str:
    """One of our robots, still well formed, with the values of some attributes exchanged."""
    parts = draw(st.sampled_from(TEXTS)).split('"')
    values = range(1, len(parts), 2)
    for at in draw(st.lists(st.sampled_from(values), min_size=1, max_size=4)):
        other = st.sampled_from([parts[i] for i in values])
        parts[at] = draw(st.one_of(st.sampled_from(_WORDS), other, st.floats().map(str)))
    return '"'.join(parts)


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_mutated_text_is_read_or_refused(text: str) -> None:
    reads_or_refuses(text if text.lstrip().startswith("<") else "<" + text)


@settings(max_examples=400, deadline=None)
@given(other_values())
def test_exchanged_values_are_read_or_refused(text: str) -> None:
    reads_or_refuses(text)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.text(max_size=60), st.binary(max_size=60), st.none(), st.integers(), st.lists(st.integers()))
)
def test_any_object_is_refused(source) -> None:
    with pytest.raises(FlexdynError):
        read(source)


_KEYS = st.sampled_from(
    [
        "links",
        "joints",
        "boom",
        "pivot",
        "beam",
        "modes",
        "bending_z",
        "length",
        "gravity",
        "base",
        "type",
        "road",
    ]
    + ["formulation", "body", "a", ".", "x", "flexdyn"]
)
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(_WORDS)
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.lists(_KEYS, min_size=1, max_size=4).map(".".join), _TREES, max_size=3))
def test_any_options_are_read_or_refused(options) -> None:
    reads_or_refuses(TEXTS[0], options=options)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="flexdyn: {}[],-&*a!|>'\"\n0123#%@`?", max_size=80))
def test_any_yaml_is_read_or_refused(tmp_path_factory, text: str) -> None:
    file = tmp_path_factory.mktemp("yaml") / "c.yaml"
    file.write_text(text, encoding="utf-8")
    reads_or_refuses(TEXTS[0], config=file)


def test_large_robots_are_read_quickly() -> None:
    count = 3000
    links = "".join(f'<link name="l{i}"/>' for i in range(count + 1))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count)
    )
    begin = time.process_time()
    robot = read(f'<robot name="r">{links}{joints}</robot>')
    assert len(robot.joints) == count
    assert time.process_time() - begin < 10 * _SECONDS


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DescriptionError, match="depth"):
        read('<robot name="r">' + "<a>" * 20000 + "</a>" * 20000 + "</robot>")
    options: dict = {"x": 1}
    for _ in range(5000):
        options = {"modes": options}
    with pytest.raises(DescriptionError, match="modes"):
        read(TEXTS[0], options={"links": {"boom": options}})
