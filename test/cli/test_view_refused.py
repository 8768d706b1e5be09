"""`flexdyn view` refuses what it cannot do before it reads a robot or starts a viewer."""

import pytest

from flexdyn_ros.view import Viewer, kept


@pytest.fixture
def refused(flexdyn, monkeypatch):
    """What the command says; a viewer that starts fails the test."""

    def no_start(self, *arguments, **options):
        raise AssertionError("the viewer was started")

    monkeypatch.setattr(Viewer, "__init__", no_start)

    def run(*words):
        code, out, err = flexdyn("view", "no_such_robot_is_read", *words)
        assert code in (1, 2, 4), (code, out, err)
        assert "no_such_robot" not in err
        return err

    return run


@pytest.fixture
def browser(monkeypatch):
    monkeypatch.setattr(kept.shutil, "which", lambda name: f"/usr/bin/{name}")


@pytest.mark.parametrize("name", ["x.avi", "x.txt", "x.mov", "x.MKV", "x.webm", ".hidden.avi"])
def test_films_of_other_formats(refused, browser, tmp_path, name):
    assert "expected one of .mp4, .gif, .apng, .png, or a folder" in refused("--film", tmp_path / name)


def test_films_and_pages_without_a_place(refused, browser, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.gif").mkdir()
    assert "there is no folder" in refused("--film", tmp_path / "nowhere/x.gif")
    assert "there is no folder" in refused("--html", tmp_path / "nowhere/x.html")
    assert "is there already" in refused("--film", tmp_path / "folder")
    assert "is a folder" in refused("--film", tmp_path / "folder.gif")
    assert "is a folder" in refused("--html", tmp_path / "folder")
    same = tmp_path / "x.gif"
    assert "the same file" in refused("--film", same, "--html", same).replace("\n", " ").replace("│", "")


def test_films_without_a_browser(refused, monkeypatch, tmp_path):
    monkeypatch.setattr(kept.shutil, "which", lambda name: None)
    assert "films need a browser" in refused("--film", tmp_path / "x.gif")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--still", "--simulate", "1"), "exclude each other"),
        (("--ros", "--still"), "exclude each other"),
        (("--ros", "--simulate", "1"), "exclude each other"),
        (("--namespace", "a"), "--ros follows"),
        (("--ros", "--film", "x.gif"), "live topics"),
        (("--ros", "--html", "x.html"), "live topics"),
        (("--port", "70000"), "65535"),
        (("--size", "big", "--film", "x.gif"), "WIDTHxHEIGHT"),
        (("--rate", "0", "--film", "x.gif"), "to 1 "),
        (("--rate", "nan", "--film", "x.gif"), "for '--rate'"),
        (("--simulate", "inf"), "inf is not finite"),
        (("--simulate", "nan"), "for '--simulate'"),
    ],
)
def test_options_that_contradict_each_other(refused, words, told):
    assert told in refused(*words)
