"""Where compiled code of functions is kept, by sources and all that they close over, and that it is whole."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from flexdyn_ros.numerics.compiling import cache, sources

sys.path.insert(0, str(Path(__file__).parent))

from toy_packages import DECORATORS, edit, write

CALLBACK = "from flexdyn_ros.numerics.compiling.callbacks import callback\n"
AROUND = "def around({0}):\n    def inner(x):\n        return {1}\n    return inner\n"
#: a package that decorates nothing but a C function; a function over what others gave it
FILES = {
    "called/alone.py": CALLBACK + '@callback("float64(float64)")\ndef f(x):\n    return 2.0 * x\n',
    "called/plain.py": "GAIN = 2.0\n",
    "given/base.py": DECORATORS + "@kernel\ndef f(x):\n    return 2.0 * x\n",
    "given/more.py": DECORATORS + "@kernel\ndef f(x):\n    return 2.0 * x\n",
    "given/numbers.py": "class Chosen:\n    GAIN = 2.0\n",
    "given/module.py": DECORATORS + "GAIN = 2.0\n",
    "given/made.py": DECORATORS + AROUND.format("a", "a(x)"),
    "given/both.py": DECORATORS
    + AROUND.format("a, many, kind, module", "a(x) + many[0](x) + kind.GAIN + module.GAIN"),
    "given/use.py": "from . import base, both, made, module, more, numbers\n"
    "f = both.around(made.around(base.f), [more.f, (more.f,)], numbers.Chosen, module)\n",
}


@pytest.fixture
def folder_of(tmp_path, monkeypatch):
    """A function that reads the sources below a folder and tells the name of a function's folder."""
    write(tmp_path, FILES)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def told(function):
        for known in (sources._source, sources._found, sources._below, sources._imported, cache._folder_of):
            known.cache_clear()
        path = Path(cache.folder_of(function))
        assert path.parent == cache.cache_folder() == tmp_path / "cache/flexdyn_ros"
        return path.name

    told.below = tmp_path
    yield told
    cache._folder_of.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("called", "given")]:
        del sys.modules[name]


def test_the_folder_of_a_c_function_follows_its_source(folder_of):
    function = importlib.import_module("called.alone").f.function
    before = folder_of(function)
    assert before.startswith("called.alone-")
    edit(folder_of.below / "called/plain.py", "2.0", "7.0")
    assert folder_of(function) == before
    edit(folder_of.below / "called/alone.py", "2.0", "7.0")
    assert folder_of(function) != before


@pytest.mark.parametrize("part", ["base", "more", "numbers", "module", "made", "both"])
def test_the_folder_of_a_function_follows_all_that_it_was_given(part, folder_of):
    function = importlib.import_module("given.use").f
    before = folder_of(function)
    assert before.startswith("given.both-")
    assert folder_of(function) == before
    source = folder_of.below / f"given/{part}.py"
    source.write_text(source.read_text() + "MORE = 1\n")
    assert folder_of(function) != before


def test_a_function_that_closes_over_itself_has_a_folder(folder_of):
    def again(x):
        return again(x - 1) if x > 0 else x

    again.__module__ = importlib.import_module("given.use").__name__
    assert folder_of(again).startswith("given.use-")


def test_code_is_kept_whole_or_not_at_all(tmp_path):
    path, code = tmp_path / "some.o", bytes(range(256)) * 3
    assert cache.kept(path) is None
    cache.keep(path, code)
    assert cache.kept(path) == code
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[1:], whole + b"x", b"x" + whole[1:]):
        path.write_bytes(damaged)
        assert cache.kept(path) is None
    cache.keep(path, code[::-1])
    assert cache.kept(path) == code[::-1]
    assert os.listdir(tmp_path) == ["some.o"]
    # where nothing can be written, it is compiled again
    cache.keep(path / "below", code)
