"""Kernels in packages are found again by their modules' paths, and are compiled anew after edits in reach."""

import importlib
import os
import re
import sys
from pathlib import Path
from time import process_time

import pytest

import flexdyn_ros
from flexdyn_ros.numerics.compiling import sources
from flexdyn_ros.numerics.compiling.sources import Import, _parsed, imports

sys.path.insert(0, str(Path(__file__).parent))

from toy_packages import DECORATORS, call, edit, run, write

TWICE = DECORATORS + "@kernel\ndef f(x):\n    return 2.0 * x\n"
ENTRY = '@entry("float64(float64)")\ndef run(x):\n    return {}\n'


#: how toy/arms/kernels/x.py imports a function or a number, what it computes with it, and the source of that
FORMS = {
    "absolute": ("from toy.base.rows import f", "f(x)", "toy/base/rows.py"),
    "relative": ("from ...base.rows import f", "f(x)", "toy/base/rows.py"),
    "renamed module": ("import toy.base.rows as rows", "rows.f(x)", "toy/base/rows.py"),
    "bare module": ("import toy.base.rows", "toy.base.rows.f(x)", "toy/base/rows.py"),
    "module beside": ("from . import near as at", "at.GAIN * x", "toy/arms/kernels/near.py"),
    "parent package": ("from ...base import f", "f(x)", "toy/base/rows.py"),
    "parent's own": ("from ...base import GAIN", "GAIN * x", "toy/base/__init__.py"),
    "whole package": ("from ... import base", "base.rows.f(x)", "toy/base/rows.py"),
    "through another": ("from .between import g", "g(x)", "toy/base/rows.py"),
    "several lines": ("from toy.base.rows import (  # (f)\n    f,\n)", "f(x)", "toy/base/rows.py"),
}


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A function that writes the packages, with x.py importing in some form; keys of its modules."""
    files = {
        "toy/base/rows.py": TWICE,
        "toy/base/__init__.py": "from .rows import f\nGAIN = 2.0\n",
        "toy/base/other.py": "GAIN = 2.0\n",
        "toy/arms/kernels/near.py": "GAIN = 2.0\n",
        "toy/arms/kernels/between.py": DECORATORS
        + "from ...base.rows import f\n@kernel\ndef g(x):\n    return f(x)\n",
        "toy/arms/__init__.py": "",
    }

    def written(line, value):
        write(tmp_path, files | {"toy/arms/kernels/x.py": f"{DECORATORS}{line}\n{ENTRY.format(value)}"})
        return tmp_path

    monkeypatch.syspath_prepend(str(tmp_path))
    yield written
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


def forget():
    """What was read of sources in this process."""
    for known in (sources._source, sources._found, sources._below, sources._imported):
        known.cache_clear()


def key(module="toy.arms.kernels.x"):
    forget()
    importlib.import_module("toy")
    return sources.source_key((module, None))


@pytest.mark.parametrize("form", FORMS)
def test_an_edited_callee_changes_the_key_in_every_form_of_import(form, toy):
    line, value, source = FORMS[form]
    folder = toy(line, value)
    before = key()
    edit(folder / source, "2.0", "7.0")
    assert key() != before


def test_an_edit_out_of_reach_leaves_the_key(toy):
    folder = toy("from toy.base.rows import f", "f(x)")
    before = key()
    for path in ("toy/base/other.py", "toy/arms/kernels/near.py", "toy/arms/__init__.py", "toy/__init__.py"):
        (folder / path).write_text("GAIN = 5.0\n")
    assert key() == before


def test_a_source_that_appears_changes_the_key(toy):
    folder = toy("from toy.base import f", "f(x)")
    before = key()
    write(folder, {"toy/base/f.py": ""})
    assert key() != before


def test_equal_sources_in_two_places_have_two_keys(toy):
    folder = toy("from toy.base.rows import f", "f(x)")
    write(folder, {"toy/arms/kernels/y.py": (folder / "toy/arms/kernels/x.py").read_text()})
    assert key("toy.arms.kernels.x") != key("toy.arms.kernels.y")


def test_checkouts_with_equal_sources_share_keys(toy, monkeypatch):
    folder = toy("from toy.base.rows import f", "f(x)")
    before = key()
    (folder / "second").mkdir()
    os.rename(folder / "toy", folder / "second" / "toy")
    del sys.modules["toy"]
    monkeypatch.syspath_prepend(str(folder / "second"))
    assert key() == before
    edit(folder / "second/toy/base/rows.py", "2.0", "7.0")
    assert key() != before


def test_versions_of_numpy_share_no_compiled_kernels(monkeypatch):
    module = "flexdyn_ros.numerics.algebra.rotations", None
    before = sources.source_key(module)
    monkeypatch.setattr(sources.np, "__version__", "0.0")
    assert sources.source_key(module) != before


MADE = (
    DECORATORS
    + """
def made(f):
    @entry("float64(float64)")
    def run(x):
        return f(x)
    return run
"""
)


def test_compiled_kernels_of_packages_are_found_again_and_follow_edits_and_moves(toy, tmp_path):
    folder, cache = toy("", "x"), tmp_path / "cache"
    values = {}
    for number, (line, value, _) in enumerate(FORMS.values()):
        write(folder, {f"toy/arms/kernels/x{number}.py": f"{DECORATORS}{line}\n{ENTRY.format(value)}"})
        values[f"toy.arms.kernels.x{number}.run"] = 2.0
    # a file of a name that another package has, with another `f` from the same line
    write(folder, {"toy/soft/kernels/x0.py": DECORATORS + "from ..rows import f\n" + ENTRY.format("f(x)")})
    write(folder, {"toy/soft/rows.py": TWICE.replace("2.0", "3.0")})
    values["toy.soft.kernels.x0.run"] = 3.0
    # a function that toy/made.py makes for a kernel of another package; a package beside the first
    write(folder, {"toy/made.py": MADE, "legs/rows.py": "from toy.base.rows import f\n" + TWICE})
    write(folder, {"toy/use.py": "from .made import made\nfrom .base.rows import f\nrun = made(f)\n"})
    write(folder, {"toy/use_legs.py": DECORATORS + "from legs.rows import f\n" + ENTRY.format("f(x)")})
    values |= {"toy.use.run": 2.0, "toy.use_legs.run": 2.0}

    first, second = (call(folder, cache, *values) for _ in range(2))
    assert first == second == values
    assert (first.compiled, second.compiled) == (len(values), 0)
    for name in values.keys() - {"toy.use.run"}:
        assert re.fullmatch(rf"{re.escape(name.removesuffix('.run'))}-[0-9a-f]{{16}}", first.folders[name])
    assert len(set(first.folders.values())) == len(values)

    for path in ("toy/base/rows.py", "toy/base/__init__.py", "toy/arms/kernels/near.py", "legs/rows.py"):
        edit(folder / path, "2.0", "7.0")
    os.rename(folder / "toy/soft", folder / "toy/rods")
    write(folder, {"toy/rods/rows.py": TWICE.replace("2.0", "5.0")})
    del values["toy.soft.kernels.x0.run"]
    values = dict.fromkeys(values, 7.0) | {"toy.rods.kernels.x0.run": 5.0}
    edited = call(folder, cache, *values)
    assert edited == values
    assert edited.compiled == len(values)


OWN = """
import numba
import toy.x

@numba.extending.register_jitable(cache=True)
def before(x):
    return x

@numba.njit(cache=True)
def mine(x):
    return before(x) + toy.x.f(x)
"""


def test_a_users_own_functions_stay_where_numba_keeps_them(tmp_path):
    """Also those that are compiled because one of our entries calls them."""
    called = "from own import before\n" + TWICE + ENTRY.format("f(x) + before(x)")
    write(tmp_path, {"toy/x.py": called})
    (tmp_path / "own.py").write_text(OWN.replace("import toy.x\n", "").replace("toy.x.f(x)", "x"))
    elsewhere = tmp_path / "elsewhere"
    program = f"""
import os
os.environ["XDG_CACHE_HOME"] = {str(elsewhere)!r}
os.environ.pop("NUMBA_CACHE_DIR")
import numba
numba.config.reload_config()
import own, toy.x
print(own.mine(1.0), toy.x.run(1.0))
"""
    assert run(tmp_path, tmp_path / "none", program).split() == ["2.0", "3.0"]
    kept = {path.name.partition("-")[0] for path in elsewhere.glob("*/*/toy.x-*/*")}
    theirs = {path.name.partition("-")[0] for path in (tmp_path / "__pycache__").glob("*.nbi")}
    assert (kept, theirs) == ({"run", "x.f"}, {"own.mine", "own.before"})


@pytest.mark.parametrize("place", ["file in the way", "no source"])
def test_what_cannot_be_kept_is_compiled_for_the_process_alone(place, tmp_path):
    write(tmp_path, {"toy/x.py": TWICE + ENTRY.format("f(x)")})
    cache = tmp_path / "cache"
    if place == "file in the way":
        cache.write_text("")
        program = "import toy.x; print(toy.x.run(1.0))"
    else:
        text = (tmp_path / "toy/x.py").read_text()
        program = f"import toy; exec({text!r}); print(run(1.0))"
    assert run(tmp_path, cache, program).split() == ["2.0"]
    ours = [path.parent.name for suffix in ("nbi", "o") for path in tmp_path.rglob(f"*.{suffix}")]
    assert not [name for name in ours if not name.startswith("flexdyn_ros.")]


# ---- what a source imports ----

LINES = {
    "from .a import b": [Import(1, "a", ("b",))],
    "    from ..a.b import c as d, e  # why": [Import(2, "a.b", ("c", "e"))],
    "from . import a as b": [Import(1, "", ("a",))],
    "from a import (\n    b,\n    c as d,\n)": [Import(0, "a", ("b", "c"))],
    "from a import (\n    b,  # (no)\n    c,\n)": [Import(0, "a", ("b", "c"))],
    "from.a import b": [Import(1, "a", ("b",))],
    "from a import *": [Import(0, "a", ("*",))],
    "from a \\\n    import b": [Import(0, "a", ("b",))],
    "from a import b, \\\n    c": [Import(0, "a", ("b", "c"))],
    "from a import b; from c import d": [Import(0, "a", ("b",)), Import(0, "c", ("d",))],
    "if True: import a": [Import(0, "a")],
    "import a.b as c": [Import(0, "a.b")],
    "import a.b": [Import(0, "a.b"), Import(0, "a")],
    "import a as b, c.d": [Import(0, "a"), Import(0, "c.d"), Import(0, "c")],
    "import a\r\nfrom b import c\r\n": [Import(0, "a"), Import(0, "b", ("c",))],
    "x = 1  # import a": [],
    "important = importlib = 1": [],
}


@pytest.mark.parametrize("text", LINES)
def test_every_form_of_import_is_read(text):
    wrapped = f"if 1:\n{text}\n" if text[0] == " " else f"{text}\n"
    assert imports(wrapped.encode()) == LINES[text]


# ---- the kernels of flexdyn_ros ----

PACKAGE = Path(flexdyn_ros.__file__).parent


def kernel_modules():
    """Names of the modules of flexdyn_ros that decorate a kernel, and their sources."""
    decorated = re.compile(r"^@(?:kernel|inner|leaf|entry|callback|any_types)\b", re.MULTILINE)
    for path in PACKAGE.rglob("*.py"):
        if decorated.search(path.read_text()):
            yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), path


def test_the_quick_reading_of_imports_misses_none_in_kernels():
    for _, path in kernel_modules():
        text = path.read_bytes()
        assert set(_parsed(text)) <= set(imports(text)), path


def test_kernels_are_compiled_from_packages_of_kernels_alone():
    """An edit of anything else - descriptions, models, robots, nodes - compiles no kernel anew."""
    from flexdyn_ros.numerics.compiling.warmup_names import packages

    modules = dict(kernel_modules())
    assert len(modules) > 60
    # all of numerics but the exporters' numbers and the readers of files
    allowed = {*packages()} - {"flexdyn_ros.numerics.tracing", "flexdyn_ros.numerics"}
    for module in modules:
        outside = [name for name in sources.reach(module) if not allowed & {name, name.rpartition(".")[0]}]
        assert not outside, module


def test_the_sources_of_all_kernels_are_read_and_hashed_quickly():
    """At most 60 ms of processor time on a machine that is busy with other tests; about 8 ms on its own."""
    modules = [(name, str(path)) for name, path in kernel_modules()]
    taken = []
    for _ in range(3):
        forget()
        begin = process_time()
        keys = {sources.source_key(module) for module in modules}
        taken.append(process_time() - begin)
        assert len(keys) == len(modules)
    assert min(taken) < 0.06
