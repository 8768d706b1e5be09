"""xacro runs on files that the user named, in a process with limits, and what it made is kept by content."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from xml.sax.saxutils import quoteattr

import hostile
import pytest

from flexdyn_ros.description import read
from flexdyn_ros.description.urdf import xacro_process
from flexdyn_ros.errors import DescriptionError, MissingExtraError

pytest.importorskip("xacro")
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nothing is in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(xacro_process, "_memory", {})
    return tmp_path / "cache" / "flexdyn_ros" / "xacro"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files for which a process has been started."""
    files: list[str] = []
    run = xacro_process._run
    monkeypatch.setattr(xacro_process, "_run", lambda path, given: (files.append(path), run(path, given))[1])
    return files


def write(folder: Path, body: str, name: str = "robot.urdf.xacro") -> Path:
    file = folder / name
    file.write_text(hostile.robot(body))
    return file


def refusal(file: Path) -> DescriptionError:
    with pytest.raises(DescriptionError) as caught:
        read(file)
    return caught.value


def forget() -> None:
    """As in a process that begins."""
    xacro_process._memory.clear()


LINK = '<link name="{}"/><joint name="j" type="fixed"><parent link="a"/><child link="{}"/></joint>'


def child_named(expression: str) -> str:
    return LINK.format(expression, expression)


# ---- limits ----


def test_an_expression_without_end_is_ended_and_named_with_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xacro_process, "SECONDS", 1)
    inner = write(tmp_path, '<link name="${9**9**9}"/>', "inner.xacro")
    outer = write(tmp_path, '\n\n<xacro:include filename="inner.xacro"/>')
    begin = time.monotonic()
    error = refusal(outer)
    # a start of the interpreter and of xacro comes on top, on a machine that does other things
    assert time.monotonic() - begin < 20.0
    assert (error.file, error.line) == (str(inner), 3)
    assert "longer than 1 s, at the expression ${9**9**9}" in error.message
    assert str(outer) in error.message


def test_the_limits_are_ten_seconds_and_a_gigabyte() -> None:
    assert (xacro_process.SECONDS, xacro_process.MEMORY) == (10, 1 << 30)


@pytest.mark.parametrize(
    ("body", "words", "line"),
    [
        ("<link name=\"${'a' * 10**11}\"/>", "MemoryError", 3),
        ('<link name="${[0] * 3 * 10**8}"/>', "MemoryError", 3),
        (hostile.EXPRESSIONS["a macro that calls itself"], "without end", None),
        ('<xacro:include filename="robot.urdf.xacro"/>', "without end", None),
        ('\n<xacro:include filename="gone.xacro"/>', "gone.xacro", 4),
        ('\n\n<link name="${1/0}"/>', "ZeroDivisionError", 5),
        ("\n<xacro:nothing/>", "unknown macro name: xacro:nothing", 4),
        ('<link name="b">', "mismatched tag", 4),
        ('<link name="$(env FLEXDYN_NOT_SET)"/>', "FLEXDYN_NOT_SET", None),
    ],
)
def test_the_error_tells_file_line_and_cause(body: str, words: str, line: int | None, tmp_path: Path) -> None:
    file = write(tmp_path, body)
    error = refusal(file)
    assert words in error.message
    assert error.file == str(file)
    if line is not None:
        assert error.line == line


def test_entities_in_a_xacro_file_do_not_multiply(tmp_path: Path) -> None:
    file = tmp_path / "robot.xacro"
    file.write_text(hostile.DOCUMENT_TYPES["entities that multiply"])
    assert refusal(file)


def program(expression: str) -> str:
    """A body that evaluates what xacro does not look at: its names are in a lambda."""
    wrapped = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    code = f"(lambda: [g[{expression}] for g in [{wrapped}.__init__.__globals__]] and 0)()"
    return f"<xacro:property name='p' value={quoteattr('${' + code + '}')}/><xacro:if value='${{p}}'/>"


def is_running(mark: str) -> bool:
    """Whether a process has this word in its command."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(mark.encode() in file.read_bytes())
    return any(found)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed in /proc")
@pytest.mark.parametrize("how", ["", "setsid "])
@pytest.mark.parametrize("ending", ["", " or g['sys'].modules['time'].sleep(60)"])
def test_what_a_file_starts_runs_with_the_rights_of_the_user_and_ends_with_the_expansion(
    how: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A xacro file is a program: it may start others; none of them outlives it, in a session of its own
    neither."""
    monkeypatch.setattr(xacro_process, "SECONDS", 3)
    mark = f"987.{os.getpid()}{len(how)}{len(ending)}"
    marker = tmp_path / "marker"
    body = program(f"'system'](f'{how}sleep {mark} & touch {marker}'){ending} or g['name'")
    file = write(tmp_path, body)
    if ending:
        assert "longer than 3 s" in refusal(file).message
    else:
        assert read(file).links
    assert marker.exists()
    deadline = time.monotonic() + 10.0
    while is_running(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(mark)


def test_an_expansion_that_started_a_program_is_not_kept(tmp_path: Path, own_cache: Path) -> None:
    assert read(write(tmp_path, program("'system']('true') or g['name'"))).links
    assert not list(own_cache.glob("*.json"))


# ---- arguments ----

ARGUMENT = '<xacro:arg name="end" default="b"/>' + child_named("$(arg end)")


def test_arguments_reach_the_file_and_each_of_their_values_is_kept_by_itself(
    tmp_path: Path, started: list[str]
) -> None:
    file = write(tmp_path, ARGUMENT)
    for _ in range(2):
        forget()
        for given, name in ((None, "b"), ({"end": "c"}, "c"), ({"end": 7}, "7"), ({"end": True}, "true")):
            assert read(file, xacro=given).links[-1].name == name
    assert len(started) == 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ende": "c"}, "no argument 'ende'; its arguments: end"),
        ({"end": ["c"]}, "value of xacro argument 'end'"),
        ({"": 1}, "not the name of a xacro argument"),
        (["end:=c"], "no mapping"),
    ],
)
def test_an_argument_that_the_file_does_not_have_is_refused_by_name(
    given: object, words: str, tmp_path: Path
) -> None:
    with pytest.raises(DescriptionError, match=re.escape(words)):
        read(write(tmp_path, ARGUMENT), xacro=given)


def test_an_argument_without_default_is_required(tmp_path: Path) -> None:
    file = write(tmp_path, child_named("$(arg end)"))
    assert "end" in refusal(file).message
    assert read(file, xacro={"end": "c"}).links[-1].name == "c"


def test_arguments_for_what_is_no_xacro_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a"/></robot>')
    for source in (file, file.read_text()):
        with pytest.raises(DescriptionError, match="xacro arguments for what is no xacro file"):
            read(source, xacro={"end": "c"})


def test_what_a_file_prints_is_no_answer(tmp_path: Path) -> None:
    body = child_named("b") + '\n<xacro:property name="p" value="${xacro.warning(\'look here\')}"/>${p}'
    robot = read(write(tmp_path, body))
    assert any("look here" in text for text in robot.warnings)
    assert read(write(tmp_path, body)).warnings == robot.warnings


# ---- interruption ----

#: a shell that runs the tests in the background lets them ignore SIGINT, and their children too
WAITING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from flexdyn_ros.description import read; print('begin', flush=True); read(sys.argv[1])"
)


def processes_of(file: Path) -> list[int]:
    """Processes that expand, of a parent whose working folder is that of the file."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            working = (folder / "cwd").readlink()
        except OSError:
            continue
        if b"xacro_child.py" in command and working == file.parent:
            found.append(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are counted in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    file = write(tmp_path, '<link name="${9**9**9}"/>')
    parent = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(file)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(read.__code__.co_filename).parents[2])},
    )
    try:
        deadline = time.monotonic() + 60.0
        while not processes_of(file):
            assert time.monotonic() < deadline, "no process that expands"
            time.sleep(0.05)
        # it shall hang in the expression
        time.sleep(0.5)
        parent.send_signal(number)
        begin = time.monotonic()
        parent.wait(8.0)
        while processes_of(file):
            assert time.monotonic() - begin < 8.0, "the process outlives its parent"
            time.sleep(0.05)
        assert parent.returncode != 0
    finally:
        parent.kill()
        parent.wait()


# ---- what is kept ----


def test_a_plain_file_starts_no_process(tmp_path: Path, started: list[str]) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a"/></robot>')
    assert read(file).links
    assert read('<robot name="r"><link name="a"/></robot>').links
    assert started == []


def test_an_expansion_is_kept_in_memory_and_on_the_disk(
    tmp_path: Path, started: list[str], own_cache: Path
) -> None:
    file = write(tmp_path, child_named("${1 + 1}"))
    first = read(file)
    assert read(file) == first
    forget()
    assert read(file) == first
    assert started == [str(file)]
    assert len(list(own_cache.glob("*.json"))) == 1
    assert not own_cache.stat().st_mode & 0o077


def test_whatever_the_expansion_read_makes_a_new_one_when_it_changes(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner.xacro").write_text(hostile.robot('<xacro:property name="n" value="one"/>'))
    (tmp_path / "values.yaml").write_text("name: two")
    (tmp_path / "part_1.xacro").write_text(hostile.robot('<xacro:property name="p" value="three"/>'))
    monkeypatch.setenv("FLEXDYN_PART", "four")
    body = (
        '<xacro:include filename="inner.xacro"/><xacro:include filename="part_*.xacro"/>'
        '<xacro:include filename="missing.xacro" optional="true"/>'
        "<xacro:property name=\"y\" value=\"${xacro.load_yaml('values.yaml')['name']}\"/>"
    ).replace('<link name="a"/>', "")
    body += child_named("${n}_${y}_${p}_$(optenv FLEXDYN_PART none)")
    for name in ("inner.xacro", "part_1.xacro"):
        inner = tmp_path / name
        inner.write_text(inner.read_text().replace('<link name="a"/>', ""))
    file = write(tmp_path, body)

    def name_now() -> str:
        names = []
        for _ in range(2):
            forget()
            names.append(read(file).links[-1].name)
        assert names[0] == names[1]
        return names[0]

    assert name_now() == "one_two_three_four"
    (tmp_path / "inner.xacro").write_text((tmp_path / "inner.xacro").read_text().replace("one", "uno"))
    assert name_now() == "uno_two_three_four"
    (tmp_path / "values.yaml").write_text("name: due")
    assert name_now() == "uno_due_three_four"
    text = (tmp_path / "part_1.xacro").read_text()
    (tmp_path / "part_2.xacro").write_text(text.replace("three", "tre"))
    assert name_now() == "uno_due_tre_four"
    monkeypatch.setenv("FLEXDYN_PART", "quattro")
    assert name_now() == "uno_due_tre_quattro"
    monkeypatch.setenv("FLEXDYN_OTHER", "not asked for")
    assert name_now() == "uno_due_tre_quattro"
    (tmp_path / "missing.xacro").write_text(text.replace("three", "cinque"))
    assert name_now() == "uno_due_cinque_quattro"
    assert len(started) == 6


def test_an_overlay_that_brings_the_package_again_is_noticed(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ament_index_python")

    def install(prefix: Path, length: str) -> None:
        index = prefix / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True)
        (index / "parts").touch()
        (prefix / "share" / "parts").mkdir()
        inner = hostile.robot(f'<xacro:property name="n" value="{length}"/>').replace('<link name="a"/>', "")
        (prefix / "share" / "parts" / "inner.xacro").write_text(inner)

    over, under = tmp_path / "over", tmp_path / "under"
    over.mkdir()
    install(under, "below")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{over}:{under}")
    body = '<xacro:include filename="$(find parts)/inner.xacro"/>' + child_named("${n}")
    file = write(tmp_path, body)
    assert read(file).links[-1].name == "below"
    forget()
    assert read(file).links[-1].name == "below"
    assert len(started) == 1
    install(over, "above")
    assert read(file).links[-1].name == "above"


def test_secrets_of_the_environment_are_not_written_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setenv("FLEXDYN_SECRET", "unheard-of")
    body = '<xacro:property name="s" value="$(env FLEXDYN_SECRET)"/>'
    body += child_named("${len(s)}")
    assert read(write(tmp_path, body)).links[-1].name == "10"
    entry = next(own_cache.glob("*.json")).read_text()
    assert "FLEXDYN_SECRET" in entry
    assert "unheard-of" not in entry


@pytest.mark.parametrize("damage", ["cut off", "another file's", "writable by others", "a link", "nonsense"])
def test_an_entry_that_is_not_ours_is_not_used(
    damage: str, tmp_path: Path, started: list[str], own_cache: Path
) -> None:
    file = write(tmp_path, child_named("${'right'}"))
    assert read(file).links[-1].name == "right"
    forget()
    entry = next(own_cache.glob("*.json"))
    text = entry.read_text().replace("right", "wrong")
    if damage == "cut off":
        entry.write_text(text[:-20])
    elif damage == "another file's":
        entry.write_text(json.dumps(json.loads(text) | {"path": "/elsewhere"}))
    elif damage == "writable by others":
        entry.write_text(text)
        entry.chmod(0o666)
    elif damage == "a link":
        (tmp_path / "elsewhere.json").write_text(text)
        entry.unlink()
        entry.symlink_to(tmp_path / "elsewhere.json")
    else:
        entry.write_text('{"version": 1, "text": [], "inputs": {}}')
    assert read(file).links[-1].name == "right"
    assert len(started) == 2


def test_without_a_folder_to_write_to_the_file_is_expanded_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    assert read(write(tmp_path, child_named("${2}"))).links[-1].name == "2"


def test_the_child_sees_nothing_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file json.py or yaml.py beside the user is not what the interpreter imports."""
    for name in ("json.py", "yaml.py", "xacro.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'marker')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    assert read(write(tmp_path, child_named("b"))).links[-1].name == "b"
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("found", [None, ModuleSpec("xacro", None)], ids=["nothing", "a folder without code"])
def test_xacro_that_is_not_installed_is_told_with_what_installs_it(
    found: ModuleSpec | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xacro_process.importlib.util, "find_spec", lambda name: found)
    with pytest.raises(MissingExtraError, match="pip install xacro"):
        read(write(tmp_path, '<link name="b"/>'))
