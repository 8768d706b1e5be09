"""What a compiler made of files is taken again for the same files and words, and for no others."""

import subprocess
import time
from pathlib import Path

import kept_compiler
import pytest

#: a compiler that counts its calls; it fails or warns where a source asks for it
COUNTING = """#!/bin/sh
echo called >>"$CALLS"
out=; last=
for word in "$@"; do [ "$last" = -o ] && out=$word; last=$word; done
grep -q fail one.c && exit 3
grep -q warn one.c && echo 'a warning' >&2
[ -n "$out" ] || exit 0
cat one.c include/one.h >"$out"; echo "$@" >>"$out"
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Runs the compiler over what is in a folder and tells how often it has been called."""
    compiler, calls = tmp_path / "bin" / "counting", tmp_path / "calls"
    for folder in ("bin", "work/include"):
        (tmp_path / folder).mkdir(parents=True)
    compiler.write_text(COUNTING)
    compiler.chmod(0o755)
    calls.touch()
    monkeypatch.setenv("CALLS", str(calls))
    monkeypatch.setattr(kept_compiler, "FOLDER", tmp_path / "kept")
    here = tmp_path / "work"
    (here / "one.c").write_text("int one;")
    (here / "include" / "one.h").write_text("int two;")

    def run(*words):
        (here / "made").unlink(missing_ok=True)
        command = [str(compiler), *words, "-Iinclude", "one.c", "-o", "made"]
        code = kept_compiler.run(command, here)
        return code, run.calls()

    run.folder, run.compiler = here, compiler
    run.calls = lambda: len(calls.read_text().splitlines())
    return run


def test_the_same_files_are_compiled_once(work):
    assert work("-O1") == (0, 1)
    made = (work.folder / "made").read_bytes()
    assert work("-O1") == (0, 1)
    assert (work.folder / "made").read_bytes() == made


def test_a_source_that_was_judged_is_not_judged_again(work, capfd):
    def judged(text):
        (work.folder / "one.c").write_text(text)
        command = [work.compiler, kept_compiler.JUDGED, "-Iinclude", "one.c"]
        code = kept_compiler.run(command, work.folder)
        return code, capfd.readouterr().err

    before = set(work.folder.iterdir())
    assert judged("int one;") == judged("int one;") == (0, "")
    assert work.calls() == 1
    assert judged("int fail;") == judged("int fail;") == (3, "")
    assert judged("int warn;")[1] == judged("int warn;")[1] == "a warning\n"
    assert work.calls() == 5
    assert set(work.folder.iterdir()) == before


@pytest.mark.parametrize("changed", ["words", "source", "header", "compiler", "environment"])
def test_what_changes_is_compiled_again(work, changed, monkeypatch):
    work("-O1")
    if changed == "source":
        (work.folder / "one.c").write_text("int three;")
    elif changed == "header":
        (work.folder / "include" / "one.h").write_text("int four;")
    elif changed == "compiler":
        work.compiler.write_text(COUNTING + "\n")
    elif changed == "environment":
        monkeypatch.setenv("CPATH", "/elsewhere")
    assert work("-O2" if changed == "words" else "-O1") == (0, 2)
    text = (work.folder / "made").read_text()
    assert ("three" in text, "four" in text, "-O2" in text) == tuple(
        changed == what for what in ("source", "header", "words")
    )


@pytest.mark.parametrize(("source", "code"), [("fail", 3), ("warn", 0)])
def test_what_fails_or_says_something_is_not_kept(work, source, code, capsys):
    (work.folder / "one.c").write_text(source)
    assert work() == (code, 1)
    assert work() == (code, 2)
    assert capsys.readouterr().err.count("a warning") == 2 * (source == "warn")


def test_a_failure_raises_where_it_is_asked_for(work):
    (work.folder / "one.c").write_text("fail")
    command = [str(work.compiler), "one.c", "-o", "made"]
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3"):
        kept_compiler.run(command, work.folder, check=True)


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(work, monkeypatch):
    (work.folder / "file").touch()
    monkeypatch.setattr(kept_compiler, "FOLDER", work.folder / "file" / "kept")
    assert work() == (0, 1)
    assert work() == (0, 2)
    assert (work.folder / "made").exists()


def test_what_nobody_asks_for_goes(work):
    work("-O1")
    (kept,) = Path(kept_compiler.FOLDER).iterdir()
    kept_compiler.forget_old(time.time())
    assert kept.exists()
    kept_compiler.forget_old(time.time() + kept_compiler.AGE + 60)
    assert not kept.exists()
