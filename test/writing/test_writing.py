"""Files that are replaced when the new one is complete, and not before."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from flexdyn_ros import writing
from flexdyn_ros.writing import beside, write_bytes, write_text


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.csv"
    path.write_text("the old file")
    return path


def test_a_file_is_replaced_and_nothing_lies_beside_it(old):
    write_text(old, "the new file\n")
    assert old.read_bytes() == b"the new file\n"
    assert os.listdir(old.parent) == ["old.csv"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt(), ValueError()])
def test_what_ends_the_writing_leaves_the_old_file(old, error):
    def write():
        with beside(old) as draft, draft.open("wb") as file:
            file.write(b"half of")
            raise error

    with pytest.raises(type(error)):
        write()
    assert old.read_text() == "the old file"
    assert os.listdir(old.parent) == ["old.csv"]


def test_a_full_disk_is_told_with_the_name_of_the_file(old):
    with pytest.raises(OSError, match=r"No space left on device: .*old\.csv"), beside(old):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_only_when_it_is_asked_leaves_the_old_file(old, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(old, "new")
    assert old.read_text() == "the old file"
    assert os.listdir(old.parent) == ["old.csv"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_new_file_has_the_permissions_of_the_old_one(old, mode):
    old.chmod(mode)
    write_text(old, "new")
    assert stat.S_IMODE(old.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_files_that_are_opened(tmp_path):
    (tmp_path / "opened").write_text("")
    write_text(tmp_path / "replaced", "")
    assert (tmp_path / "opened").stat().st_mode == (tmp_path / "replaced").stat().st_mode


def test_a_symbolic_link_stays_and_its_file_is_replaced(old, tmp_path):
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "near").symlink_to("../old.csv")
    (folder / "far").symlink_to("near")
    write_text(folder / "far", "new")
    assert (folder / "far").is_symlink()
    assert (folder / "near").is_symlink()
    assert old.read_text() == "new"
    assert sorted(os.listdir(folder)) == ["far", "near"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path):
    (tmp_path / "link").symlink_to("later")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "later").read_text() == "new"


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="a"):
        write_text(tmp_path / "a", "new")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        write_text(tmp_path / "folder", "new")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is protected from root")
def test_a_file_that_is_protected_from_writing_is_not_replaced(old):
    old.chmod(0o444)
    with pytest.raises(PermissionError, match=r"old\.csv"):
        write_text(old, "new")


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_what_a_process_has_open_is_written_to_as_it_is(tmp_path, place):
    code = f"from flexdyn_ros.writing import write_text; print('a', flush=True); write_text({place!r}, 'b')"
    with (tmp_path / "out").open("ab") as out:
        inode = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, timeout=300)
    assert (tmp_path / "out").stat().st_ino == inode
    assert os.listdir(tmp_path) == ["out"]


def test_pipes_are_written_to_as_they_are(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_bytes(pipe, b"content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_name_as_long_as_names_can_be_is_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_text(path, "new")
    assert path.read_text() == "new"


def test_a_folder_that_is_not_there_is_told_with_the_name_of_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.csv"):
        write_text(tmp_path / "nowhere/a.csv", "new")
