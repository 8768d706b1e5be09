"""Frozen records do what frozen dataclasses do, by functions that they share."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from flexdyn_ros.records import frozen


class _Fields:
    name: str
    size: float = 1.0
    parts: list[int] = field(default_factory=list)


def _made(decorator, **options):
    """The same class by another decorator."""
    of = {"__annotations__": _Fields.__annotations__, "__doc__": "A part.", "__qualname__": "Part"}
    of |= {"size": 1.0, "parts": field(default_factory=list)}
    return decorator(**options)(type("Part", (), of))


@pytest.mark.parametrize("options", [{}, {"kw_only": True}], ids=["by place", "by name"])
def test_they_are_as_dataclasses_are(options):
    ours, theirs = _made(frozen, **options), _made(dataclass, frozen=True, **options)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs)).replace(
        "<factory>", "<class 'list'>"
    )
    for given in ({"name": "a"}, {"name": "a", "size": 2.0, "parts": [3]}):
        a, b = ours(**given), theirs(**given)
        assert repr(a) == repr(b)
        assert asdict(a) == asdict(b)
        assert replace(a, size=5.0) == ours(**given | {"size": 5.0})
        assert a == ours(**given) != replace(a, name="b")
        assert copy.copy(a) == copy.deepcopy(a) == a
        with pytest.raises(FrozenInstanceError):
            a.size = 3.0
        with pytest.raises(FrozenInstanceError):
            del a.size
    # lists of their own
    assert ours(name="a").parts is not ours(name="a").parts
    assert ours(name="a") != theirs(name="a")


@pytest.mark.parametrize("given", [{}, {"size": 1.0}, {"name": "a", "weight": 2.0}])
def test_wrong_arguments_are_refused(given):
    for decorator in (frozen, lambda: dataclass(frozen=True)):
        with pytest.raises(TypeError, match=r"name|weight"):
            _made(decorator)(**given)


def test_places_are_counted():
    part = _made(frozen)
    assert part("a", 2.0) == part(name="a", size=2.0)
    with pytest.raises(TypeError, match="takes 3"):
        part("a", 1.0, [], 4)
    with pytest.raises(TypeError, match="another value for 'name'"):
        part("a", name="b")
    with pytest.raises(TypeError, match="takes 0"):
        _made(frozen, kw_only=True)("a")


@frozen
class Pair:
    """Two numbers, the larger last."""

    least: float
    most: float = 1.0

    def __post_init__(self) -> None:
        if self.most < self.least:
            raise ValueError(f"{self.most} < {self.least}")


def test_what_comes_after_the_fields_and_hashes():
    with pytest.raises(ValueError, match=r"0\.0 < 1\.0"):
        Pair(1.0, 0.0)
    assert {Pair(0.5): "x"}[Pair(0.5, 1.0)] == "x"
    assert pickle.loads(pickle.dumps(Pair(0.5))) == Pair(0.5)
    by_identity = frozen(eq=False)(type("Thing", (), {"__annotations__": {"x": "int"}, "__doc__": "One."}))
    assert by_identity(1) != by_identity(1)
    assert len({by_identity(1), by_identity(1)}) == 2
