"""The warm-up finds every entry of the kernels, knows its groups, and says in one line what went wrong."""

import ast
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flexdyn_ros
from flexdyn_ros.numerics.compiling import cache, warmup, warmup_names
from flexdyn_ros.numerics.compiling.warmup_names import WarmUpError, add_package, names_of, packages, shown

sys.path.insert(0, str(Path(__file__).parent))

from toy_packages import DECORATORS, run, write

PACKAGE = Path(flexdyn_ros.__file__).parent


def short(groups):
    """Names of groups without their packages."""
    return {".".join(name.split(".")[-4:]) for name in names_of(groups)}


def test_every_decorated_entry_is_found():
    names = [name for name, _ in warmup_names.entries()]
    assert len(set(names)) == len(names)
    decorated = re.compile(r"^@(?:direct_)?(?:entry|callback)\((?:.|\n)*?\n(?=def )def (\w+)\(", re.MULTILINE)
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for name in decorated.findall(path.read_text()):
            assert f"{module}.{name}" in names
    ours = {f"rigid.kernels.{name}" for name in ("entries.balance", "steps.accelerate")}
    assert ours | {"rigid.kernels.coriolis.coriolis_many"} <= short(["all"])


def test_groups_are_within_each_other():
    every = {name for name, _ in warmup_names.entries()}
    groups = {group: set(names_of([group])) for group in warmup_names.GROUPS}
    assert groups["demo"] < groups["start"] < groups["common"] < groups["all"] == every
    assert set(names_of(["rigid.kernels.entries.balance", "demo"])) == groups["demo"]


def test_those_that_groups_say_take_longest_go_first():
    longest = warmup_names._groups().longest
    long = [warmup_names._fits(name, longest) for name in names_of(["all"])]
    assert 0 < sum(long) < len(long)
    assert long == sorted(long, reverse=True)


def test_entries_are_made_where_the_warm_up_looks_for_them():
    """Those that are made from a family's kernels too."""
    makers, inside = {"entry", "callback", "functions_of"}, {*packages()}
    for path in PACKAGE.rglob("*.py"):
        if ".".join(path.parent.relative_to(PACKAGE.parent).parts) in inside:
            continue
        text = path.read_text()
        if not any(maker in text for maker in makers):
            continue
        found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
        assert not makers & {alias.name for node in found for alias in node.names}, path


def test_every_pattern_of_a_group_fits_an_entry():
    every = {name for name, _ in warmup_names.entries()}
    for patterns in warmup_names._groups():
        assert patterns
        for pattern in patterns:
            assert any(warmup_names._fits(name, [pattern]) for name in every), pattern


def test_no_kernel_is_named_by_the_warm_up_but_in_its_table():
    """A kernel belongs to the groups `common` and `all` without a word."""
    words = {word for name in names_of(["all"]) for word in name.split(".")[1:-1]}
    modules = words - {"entries", "kernels", "numerics"}
    for path in (warmup.__file__, warmup_names.__file__):
        tree = ast.parse(Path(path).read_text())
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        patterns = [text for text in texts if isinstance(text, str) and re.fullmatch(r"[\w.*]+", text)]
        assert not modules & {part for text in patterns for part in text.split(".")}, path


ONE_STATE = ("balance", "forward", "mass")


def test_what_trees_need_to_move_is_compiled_at_the_start():
    start = short(["start"])
    for module in ("rigid", "flexible"):
        entries = f"{module}.kernels.entries"
        assert {f"{entries}.{verb}" for verb in (*ONE_STATE, "frames", "energy")} <= start
        assert f"{module}.kernels.steps.accelerate" in start


def test_what_every_family_needs_to_move_is_common():
    common = short(["common"])
    for family in ("rigid", "flexible", "continuum", "wheeled", "platform"):
        verbs = (*ONE_STATE, "inverse_on_lanes", "forward_on_lanes")
        assert {f"{family}.kernels.entries.{verb}" for verb in verbs} <= common


def test_an_unknown_group_is_refused_by_name():
    expected = r"no kernel fits 'demos', expected demo, start, common, all"
    with pytest.raises(WarmUpError, match=expected):
        names_of(["demos"])


def test_a_kernel_that_cannot_be_compiled_is_told_of_in_one_line():
    run = subprocess.run(
        [sys.executable, "-m", "flexdyn_ros.numerics.compiling.warmup", "nothing.*"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "no kernel fits 'nothing.*', expected demo, start, common, all or a pattern such as 'rigid.*'"
    ]


@pytest.mark.parametrize(
    ("words", "groups", "quiet"),
    [
        ([], ["start"], False),
        (["--quiet"], ["start"], True),
        (["--quiet", "rigid.*", "demo"], ["rigid.*", "demo"], True),
        (["common", "--quiet"], ["common"], True),
        (["all"], ["all"], False),
    ],
)
def test_the_program_warms_up_what_its_words_name(words, groups, quiet, monkeypatch, capsys):
    asked = []

    def warm_up(report, processes, wanted):
        asked.append(wanted)
        assert processes >= 1
        if report:
            report("rigid.balance", 1.25, 7, 12)
        return 3.25

    monkeypatch.setattr(warmup, "warm_up", warm_up)
    monkeypatch.setattr(warmup.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["warmup", *words])
    assert warmup.main() == 0
    assert asked == [groups]
    said = capsys.readouterr().out.splitlines()
    assert said.pop() == f"kernels ready in 3.2 s, kept in {cache.cache_folder()}"
    expected = [] if quiet else [["[", "7/12]", "rigid.balance", "1.25", "s"]]
    assert [line.split() for line in said] == expected


def test_a_warm_up_that_is_interrupted_says_so(monkeypatch, capsys):
    def warm_up(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(warmup, "warm_up", warm_up)
    monkeypatch.setattr(warmup.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["warmup"])
    assert warmup.main() == 130
    assert capsys.readouterr().err == "interrupted; what was compiled is kept\n"


def test_the_cause_of_a_failed_kernel_takes_one_line(monkeypatch):
    class Failed:
        def result(self):
            raise TypeError("Failed in nopython mode pipeline\n\nFile x, line 3\nmany more")

    with pytest.raises(
        WarmUpError,
        match=r"^kernel a\.b could not be compiled: TypeError: Failed in nopython mode pipeline$",
    ):
        warmup._result("a.b", Failed())


def test_a_long_compilation_is_told_of_and_a_short_one_is_not(monkeypatch, caplog):
    def some_kernel():
        """Stands for a kernel that compiles."""

    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    with cache.compiling(some_kernel):
        time.sleep(0.3)
    assert [record.getMessage() for record in caplog.records if "some_kernel" in record.getMessage()]
    caplog.clear()
    monkeypatch.setattr(cache, "PATIENCE", 5.0)
    with cache.compiling(some_kernel):
        pass
    assert not caplog.records


def test_a_process_keeps_to_a_module_and_helps_when_none_is_left():
    shares = warmup._Shares(["a.1", "b.1", "a.2", "a.3", "c.1"])
    first, second = "first", "second"
    assert [shares.next(first), shares.next(second)] == ["a.1", "b.1"]
    assert shares.next(second) == "c.1"
    assert shares.next(second) == "a.2"
    assert shares.next(first) == "a.3"
    assert shares.next(first) is None
    assert shares.next(second) is None


# ---- packages of others ----

TOY = (
    DECORATORS
    + """
@entry("float64(float64)")
def swing(x):
    return 2.0 * x

@entry("float64(float64)")
def linearize(x):
    return 3.0 * x
"""
)


@pytest.fixture
def pendulum(tmp_path, monkeypatch):
    """Folder of a package of kernels outside flexdyn_ros; one of its modules has the name of one of ours."""
    write(tmp_path, {"pendulum/kernels/rigid.py": TOY})
    (tmp_path / "pendulum/kernels/__init__.py").write_text(
        "from flexdyn_ros.numerics.compiling.warmup_groups import Groups\n"
        'CHOSEN = Groups(start=("rigid.swing",), rare=("rigid.lin*",))\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(warmup_names, "_added", [])
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "pendulum"]:
        del sys.modules[name]


def test_a_package_outside_brings_its_own_groups(pendulum):
    before = {group: set(names_of([group])) for group in warmup_names.GROUPS}
    add_package("pendulum.kernels")
    swing, linearize = "pendulum.kernels.rigid.swing", "pendulum.kernels.rigid.linearize"
    both = {swing, linearize}
    assert added_to(before) == {"demo": set(), "start": set(), "common": both, "all": both}
    add_package("pendulum.kernels:CHOSEN")
    assert added_to(before) == {"demo": set(), "start": {swing}, "common": {swing}, "all": both}
    assert set(names_of(["pendulum.*"])) == {swing, linearize}
    assert swing in names_of(["rigid.*"])


def added_to(before):
    return {group: set(names_of([group])) - before[group] for group in warmup_names.GROUPS}


def test_groups_that_are_not_there_are_told_of_by_name(pendulum):
    add_package("pendulum.kernels:CHOICE")
    with pytest.raises(
        WarmUpError, match=r"^groups of kernels pendulum\.kernels:CHOICE are not there: .*CHOICE"
    ):
        names_of(["start"])


def test_names_are_shown_as_long_as_it_takes_to_tell_them_apart():
    names = ["a.kernels.rigid.run", "b.kernels.rigid.run", "b.kernels.rods.run"]
    assert shown(names) == dict(
        zip(names, ["a.kernels.rigid.run", "b.kernels.rigid.run", "rods.run"], strict=True)
    )


def test_the_warm_up_compiles_what_an_installed_distribution_names(pendulum, tmp_path):
    write_metadata(pendulum)
    cache = tmp_path / "cache"
    program = """
if __name__ == "__main__":
    from flexdyn_ros.numerics.compiling.warmup import main
    sys.exit(main())
"""
    said = run(pendulum, cache, "import sys" + program, "pendulum.*")
    lines = [line.split()[:3] for line in said.splitlines()]
    assert sorted(line[-1] for line in lines[:2]) == ["rigid.linearize", "rigid.swing"]
    kept = {path.name.partition("-")[0] for path in cache.glob("flexdyn_ros/pendulum.kernels.rigid-*/*.o")}
    assert kept == {"linearize", "swing"}


def write_metadata(folder):
    """As an installer writes it for a distribution that names its package of kernels."""
    info = folder / "pendulum-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pendulum\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[flexdyn_ros.kernels]\npendulum = pendulum.kernels\n")


def test_a_package_that_cannot_be_imported_is_told_of_by_name(monkeypatch):
    monkeypatch.setattr(warmup_names, "_added", ["pendulum_that_is_not_there.kernels"])
    expected = r"^kernels of pendulum_that_is_not_there\.kernels cannot be imported: No module named"
    with pytest.raises(WarmUpError, match=expected):
        names_of(["start"])
