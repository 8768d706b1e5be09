"""Warnings of commands are one line each on stderr; what cannot be written is told before work begins."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from identification.motions import measured

from flexdyn_ros import load
from flexdyn_ros.cli.main import show_warning


@pytest.fixture
def flexdyn(flexdyn):
    """The command in this process: exit code, lines of stdout and stderr."""

    def run(*arguments):
        code, out, err = flexdyn(*arguments)
        return code, out.splitlines(), err.splitlines()

    return run


@pytest.fixture
def log(tmp_path):
    """A log in which the sensor of one effort does not reach far enough."""
    data = measured(load("two_link"), 0.01, duration=2.0)
    columns = dict(data.columns)
    columns["shoulder.effort"] = np.clip(columns["shoulder.effort"], -2.0, 2.0)
    path = tmp_path / "log.csv"
    header = ",".join(["time", *columns])
    np.savetxt(path, np.column_stack([data.t, *columns.values()]), delimiter=",", header=header, comments="")
    return path


def test_a_run_that_warns_says_so_in_one_line(flexdyn):
    before = warnings.showwarning
    method = ("--method", "semi_implicit_euler", "--dt", "0.01")
    code, _, err = flexdyn("simulate", "seven_joint_arm", "--duration", "1", *method)
    assert code == 0
    (told,) = [line for line in err if "warning" in line]
    assert told.startswith("flexdyn: warning: the energy of 'seven_joint_arm' is off by")
    assert ".py" not in "".join(err)
    assert warnings.showwarning is before


def test_a_warning_of_several_lines_becomes_one(capsys):
    show_warning(UserWarning("links [bend]\n   far"), UserWarning, "file.py", 7)
    assert capsys.readouterr().err == "flexdyn: warning: links [bend] far\n"


def test_a_fit_that_is_doubtful_says_so_on_stderr(flexdyn, log):
    pytest.importorskip("pandas")
    code, out, err = flexdyn("identify", "two_link", log)
    assert code == 0
    told = [line for line in err if line.startswith("flexdyn: warning: ")]
    assert sum("shoulder.effort: saturated" in line for line in told) == 1
    assert len(told) == len(set(told))
    assert not any("warning" in line for line in out)
    assert not any("UserWarning" in line or "FlexdynWarning" in line for line in err)


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_place_that_cannot_be_written_is_told_before_the_fit(flexdyn, log, tmp_path, option):
    (tmp_path / "a_file").write_text("kept")
    good = tmp_path / "good.urdf"
    place = tmp_path / "a_file" / "below"
    more = ["-o", good] if option == "--report" else []
    code, out, err = flexdyn("identify", "two_link", log, option, place, *more)
    assert code == 1
    assert out == []
    (line,) = err
    assert line.startswith(
        f"error: {option} {place}: cannot be written, no file can be made in {tmp_path}/a_file"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_file", "log.csv"]


def test_a_folder_is_no_file_and_a_file_no_folder(flexdyn, log, tmp_path):
    (folder := tmp_path / "folder").mkdir()
    for option, place, said in (("-o", folder, "there is a folder"), ("--report", log, "there is a file")):
        code, _, (line,) = flexdyn("identify", "two_link", log, option, place)
        assert code == 1
        assert line.startswith(f"error: {option} {place}: {said}, expected")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")
def test_proc_is_refused(flexdyn, log):
    code, _, (line,) = flexdyn("identify", "two_link", log, "-o", "/proc/x")
    assert code == 1
    assert line.startswith("error: -o /proc/x: cannot be written")
