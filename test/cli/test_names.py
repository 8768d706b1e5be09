"""Names from descriptions of others in tables, messages and files: no markup, no codes, no paths."""

import itertools
import re

import pytest

import flexdyn_ros
from flexdyn_ros.errors import UnknownNameError

#: [/red] ends a colour that was never begun, CSI clears the screen, U+202E turns the line around
HOSTILE = ("[/red]", "[bold]x", "a[/foo]b", "\u009b2J", "\u202egnp", "\\[", ":skull:", "x[link=http://y]z")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def arm(folder, robot="arm", joint="j", link="l", limits=1):
    text = f"""<robot name='{robot}'><link name='b'/><link name='{link}'><inertial><origin xyz='0.5 0 0'/>
<mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1' ixy='0' ixz='0' iyz='0'/></inertial></link>
<joint name='{joint}' type='revolute'><parent link='b'/><child link='{link}'/><axis xyz='0 1 0'/>
<limit lower='-{limits}' upper='{limits}' effort='1' velocity='1'/></joint></robot>"""
    path = folder / "hostile.urdf"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "place"), list(itertools.product(HOSTILE, ("robot", "joint", "link"))))
def test_names_are_shown_as_they_are_and_obeyed_by_no_terminal(flexdyn, tmp_path, name, place):
    path = arm(tmp_path, **{place: name})
    shown = name.encode("unicode_escape").decode() if CONTROL.search(name) else name
    for words in (
        ("check", path), ("simulate", path, "--duration", "0.01"), ("derive", path),
        ("derive", path, "--as", "python"), ("identify", path, "--explain"), ("expand", path),
    ):  # fmt: skip
        code, out, err = flexdyn(*words)
        assert code == 0, (words, err)
        assert not CONTROL.search(out + err), words
        if words[0] == "check":
            assert shown in out


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_errors_and_warnings_are_shown_as_they_are(flexdyn, tmp_path, name):
    path = arm(tmp_path, joint=name, link=f"{name}l")
    for words in (
        ("simulate", path, "--q", "nothing=1"), ("simulate", path, "--hold", "nothing"),
        ("simulate", path, "--duration", "0.01", "--q", f"{name}=2"), ("check", tmp_path / f"{name}.urdf"),
        ("simulate", path, "--duration", "0.01", "--csv", tmp_path / f"{name}.csv".replace("/", "")),
    ):  # fmt: skip
        code, out, err = flexdyn(*words)
        assert code in (0, 2, 3), (words, err)
        assert not CONTROL.search(out + err), words


def test_an_error_of_the_library_moves_no_cursor(tmp_path):
    robot = flexdyn_ros.load(arm(tmp_path, joint="\u009b2J"))
    with pytest.raises(UnknownNameError) as found:
        robot.with_parameters({"nothing": 1.0})
    assert not CONTROL.search(str(found.value))


@pytest.mark.parametrize("name", ["[/red]", "$\\frac{$", "$x$", "_joint", "\u202eabc"])
def test_names_in_pictures_are_no_formulas(flexdyn, tmp_path, name):
    pytest.importorskip("matplotlib")
    path = arm(tmp_path, robot=name, joint=name)
    code, _, err = flexdyn("simulate", path, "--duration", "0.01", "--plot", tmp_path / "a.svg")
    assert code == 0, err
    assert "Traceback" not in err
    if name != "\u202eabc":
        assert name.strip() in (tmp_path / "a.svg").read_text(encoding="utf-8").replace("&#x", "")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-j", "@SUM(A1:A9)", "=cmd|' /C calc'!A0"])
def test_spreadsheets_compute_no_header_and_the_reader_finds_the_name(flexdyn, tmp_path, name):
    import csv

    from flexdyn_ros.identification import Measurement

    path = arm(tmp_path, joint=name.replace("'", "&apos;"))
    code, _, err = flexdyn("simulate", path, "--duration", "0.05", "--csv", tmp_path / "a.csv")
    assert code == 0, err
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert not [cell for cell in header if cell[:1] in "=+-@"]
    assert name in Measurement.read(tmp_path / "a.csv").columns


@pytest.mark.parametrize("name", ["/etc/x", "..", ".", "-rf", "a\\b", "x" * 250, "a&#10;b"])
def test_a_robot_names_no_file_elsewhere(flexdyn, tmp_path, name, monkeypatch):
    (tmp_path / "here").mkdir()
    path = arm(tmp_path, robot=name)
    monkeypatch.chdir(tmp_path / "here")
    code, _, err = flexdyn("compile", path, "--target", "c", "--verbs", "energy")
    assert code == 0, err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "hostile.urdf"]
    (made,) = (tmp_path / "here").iterdir()
    assert not made.name.startswith("-")
    assert made.name.isprintable()
