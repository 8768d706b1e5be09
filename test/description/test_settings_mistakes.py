"""All mistakes of YAML files and options are found, not the first of each file."""

from pathlib import Path

from flexdyn_ros.description.reader import find_mistakes

ROOT = Path(__file__).parents[2]


CONFIG = """flexdyn:
  gravty: [0, 0, -9.81]
  gravity: [0, 0]
  formulation: {flexible: 3, methd: x}
  links:
    upper:
      beam: {youngs_modulus: -1, densty: 3}
      modes: {bendin_y: 2, axial: -1}
    nolink: {modes: {bending_y: 1}}
    other: {modes: {bending_y: 1}}
  joints:
    nojoint: {rotor: {inertia: 1}}
"""


def test_all_mistakes_of_settings_are_found(tmp_path):
    """Of every file and of options, each key by itself, also beside mistakes of the URDF."""
    (tmp_path / "a.yaml").write_text(CONFIG)
    (tmp_path / "b.yaml").write_text("a: [\n")
    (tmp_path / "c.yaml").write_text("x: 1\n")
    files = [tmp_path / name for name in ("a.yaml", "b.yaml", "none.yaml", "c.yaml")]
    options = {"formulation.flexible": "seven", "gravvity": 1}
    text = (ROOT / "urdf/two_link.urdf").read_text()
    for source, more in ((text, 0), (text.replace('"continuous"', '"continuos"', 1), 1)):
        found = find_mistakes(source, config=files, options=options)
        said = "\n".join(map(str, found))
        for word in (
            "gravty", "wrong value of gravity", "'flexible'", "methd", "densty", "youngs_modulus", "bendin_y",
            "axial", "'nolink'", "'other'", "nojoint", "b.yaml", "none.yaml", "c.yaml", "gravvity",
            "given 'seven'",
        ):  # fmt: skip
            assert word in said, word
        assert len(found) == 16 + more


def test_mistakes_that_no_line_belongs_to_come_first():
    """Those of options that are data beside a text, which is one line."""
    text = '<robot name="r"><link name="a"/><flexdyn><gravty>0 0 1</gravty><wehl name="w"/></flexdyn></robot>'
    found = find_mistakes(text, options={"gravvity": 1, "bsae.type": "planar"}, origin="recording")
    assert [error.file for error in found] == [None] * 4
    assert [error.line for error in found] == [None, None, 1, 1]
    for error, word in zip(found, ("gravvity", "bsae", "gravty", "wehl"), strict=True):
        assert word in str(error)
