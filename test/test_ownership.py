"""What is executed or unpickled comes from folders that nobody else could have written to."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from programs import compiling_server

from flexdyn_ros import ownership
from flexdyn_ros.export.native import library
from flexdyn_ros.numerics.compiling import cache
from flexdyn_ros.ownership import own_folder, stranger_among

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def _unknown_folders():
    """Permissions change within these tests, not within a run of the program."""
    ownership._stranger_above.cache_clear()
    library._passing_folder.cache_clear()
    yield
    ownership._stranger_above.cache_clear()


def make(path: Path, mode: int = 0o755, owner: int | None = None) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def test_a_folder_of_this_user_is_taken(tmp_path):
    folder, stranger = own_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert stranger == ""


def test_new_folders_are_of_this_user_alone_whatever_the_mask(tmp_path):
    before = os.umask(0)
    try:
        folder, stranger = own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert stranger == ""
    assert folder.stat().st_mode & 0o777 == 0o700 == folder.parent.stat().st_mode & 0o777


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_folder_that_all_may_write_to_is_refused(tmp_path, mode):
    assert "can be written by others" in own_folder(make(tmp_path / "a", mode))[1]


def test_a_folder_below_one_that_all_may_write_to_is_refused(tmp_path):
    make(tmp_path / "open", 0o777)
    assert str(tmp_path / "open") in own_folder(tmp_path / "open" / "a" / "b")[1]


def test_a_folder_below_a_sticky_one_is_taken(tmp_path):
    make(tmp_path / "tmp", 0o1777)
    assert own_folder(tmp_path / "tmp" / "a")[1] == ""


@AS_ROOT
def test_a_folder_that_a_foreign_group_may_write_to_is_refused(tmp_path):
    folder = make(tmp_path / "a", 0o775)
    os.chown(folder, -1, NOBODY)
    assert "can be written by others" in own_folder(folder)[1]


@AS_ROOT
@pytest.mark.parametrize("mode", [0o755, 0o750, 0o705])
def test_a_folder_that_a_foreign_group_may_only_read_is_taken(tmp_path, mode):
    folder = make(tmp_path / "a", mode)
    os.chown(folder, -1, NOBODY)
    assert own_folder(folder)[1] == ""


@AS_ROOT
@pytest.mark.parametrize("place", [".", ".."])
def test_a_folder_of_another_user_or_below_one_is_refused_to_root_too(tmp_path, place):
    folder = make(tmp_path / "a" / "b")
    os.chown(folder / place, NOBODY, NOBODY)
    assert f"belongs to user {NOBODY}" in own_folder(folder)[1]


@AS_ROOT
def test_a_link_leads_to_a_folder_that_is_judged_itself(tmp_path):
    make(tmp_path / "theirs", owner=NOBODY)
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    folder, stranger = own_folder(tmp_path / "link" / "kernels")
    assert folder == tmp_path / "theirs" / "kernels"
    assert f"belongs to user {NOBODY}" in stranger


def test_a_link_among_the_files_of_a_folder_is_told(tmp_path):
    (tmp_path / "there").write_text("")
    assert stranger_among(tmp_path) == ""
    (tmp_path / "a.nbi").symlink_to(tmp_path / "there")
    assert "neither a file nor a folder" in stranger_among(tmp_path)


def test_a_file_that_all_may_write_to_is_told(tmp_path):
    (tmp_path / "a.nbi").write_text("")
    (tmp_path / "a.nbi").chmod(0o666)
    assert "can be written by others" in stranger_among(tmp_path)


class Command:
    """Unpickled, it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


TOY = """from numba import njit
from flexdyn_ros.numerics.compiling.numba_cache import keep, our_cache
def twice(x):
    return 2.0 * x
keep(twice)
with our_cache():
    twice = njit(cache=True)(twice)
    print(twice(21.0))
"""


def run_toy(folder):
    """A program in a folder, its kernels in the folder below."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    kernels = str(folder / "kernels")
    return compiling_server().run_text("import toy", folder=folder, PYTHONPATH=path, NUMBA_CACHE_DIR=kernels)


@pytest.fixture(scope="module")
def compiled_toy(tmp_path_factory):
    """A program and its kernels, as its first run leaves them."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.py").write_text(TOY)
    make(folder / "kernels", 0o700)
    done = run_toy(folder)
    assert (done.returncode, done.stdout) == (0, "42.0\n"), done.stderr
    return folder


def kernels_of_others(compiled_toy, tmp_path, change):
    """The result of a program whose kernels lie in a folder that has been changed, and what it said."""
    shutil.copytree(compiled_toy, tmp_path, dirs_exist_ok=True)
    indexes = list((tmp_path / "kernels").rglob("*.nbi"))
    assert indexes
    marker = tmp_path / "marker"
    for index in indexes:
        index.write_bytes(pickle.dumps(Command(marker)))
        change(index)
    done = run_toy(tmp_path)
    assert (done.returncode, done.stdout) == (0, "42.0\n"), done.stderr
    return marker.exists(), done.stderr


def test_an_index_of_kernels_in_a_folder_of_this_user_is_read(compiled_toy, tmp_path):
    """So that the tests below see what they are about."""
    assert kernels_of_others(compiled_toy, tmp_path, lambda index: None)[0]


CHANGES = {
    "a folder that all may write to": lambda index: index.parent.chmod(0o777),
    "a folder above": lambda index: index.parents[2].chmod(0o777),
    "a file": lambda index: index.chmod(0o666),
    "a link": lambda index: index.symlink_to(index.rename(index.parents[3] / index.name)),
}
OWNERS = {
    "a folder of another user": lambda index: os.chown(index.parent, NOBODY, NOBODY),
    "a folder of another user above": lambda index: os.chown(index.parents[2], NOBODY, NOBODY),
    "a file of another user": lambda index: os.chown(index, NOBODY, NOBODY),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_index_of_kernels_that_others_could_write_is_not_unpickled(compiled_toy, tmp_path, name):
    ran, said = kernels_of_others(compiled_toy, tmp_path, CHANGES[name])
    assert not ran
    assert "compiled in every process" in said


@AS_ROOT
@pytest.mark.parametrize("name", OWNERS)
def test_an_index_of_kernels_of_another_user_is_not_unpickled(compiled_toy, tmp_path, name):
    ran, said = kernels_of_others(compiled_toy, tmp_path, OWNERS[name])
    assert not ran
    assert f"belongs to user {NOBODY}" in said


class Compiler:
    """Writes what it was asked for, and counts."""

    command, version = ("none",), "0"

    def __init__(self):
        self.count = 0

    def shared_library(self, folder, sources, name, flags):
        self.count += 1
        (folder / name).write_bytes(b"library")
        return folder / name


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.parent.chmod(0o777),
        lambda found: found.parent.parent.chmod(0o777),
        lambda found: found.chmod(0o666),
        lambda found: found.symlink_to(found.rename(found.parents[2] / found.name)),
    ],
    ids=["folder", "folder above", "file", "link"],
)
def test_a_library_that_others_could_write_is_compiled_anew(tmp_path, monkeypatch, change):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(make(tmp_path / "cache", 0o700)))
    compiler = Compiler()
    found = library.library_of({"a.c": ""}, compiler)
    assert library.library_of({"a.c": ""}, compiler) == found
    assert compiler.count == 1
    found.write_bytes(b"theirs")
    change(found)
    ownership._stranger_above.cache_clear()
    assert library.library_of({"a.c": ""}, compiler).read_bytes() == b"library"
    assert compiler.count == 2


def test_the_folder_of_kernels_of_this_machine_is_taken():
    folder, stranger = own_folder(cache.cache_folder())
    assert cache.own_folder is own_folder
    assert stranger == "", f"{folder} should be this user's alone"
