"""Interface files of ROS 2 are parsed once while messages are compiled."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "scripts" / "provision" / "parsing"
#: stands for the parser of ROS 2: says that it parses, and what
PARSER = """
class Content(list):
    pass


def parse_idl_string(idl_string, png_file=None):
    print("parses", idl_string)
    if idl_string == "wrong":
        raise ValueError(idl_string)
    return Content(idl_string.split())


def parse_idl_file(path):
    return parse_idl_string(path)
"""
PROGRAM = """
import sys
from rosidl_parser.parser import parse_idl_file

found = parse_idl_file(sys.argv[1])
print(type(found).__name__, *found)
"""


def run(folder, text, **environment):
    """What a Python prints that parses a text, as the generators do."""
    path = os.pathsep.join([str(FOLDER), str(folder)])
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, text],
        env={**os.environ, "PYTHONPATH": path, "FLEXDYN_PARSED": str(folder / "parsed"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_one_generator_parsed_the_others_find_and_a_mistake_is_told_by_each(tmp_path):
    (tmp_path / "parsed").mkdir()
    package = tmp_path / "rosidl_parser"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "parser.py").write_text(PARSER)
    assert run(tmp_path, "a b").stdout.splitlines() == ["parses a b", "Content a b"]
    assert run(tmp_path, "a b").stdout.splitlines() == ["Content a b"]
    # another text is another file; one that is wrong is not kept
    assert run(tmp_path, "a c").stdout.splitlines() == ["parses a c", "Content a c"]
    for _ in range(2):
        done = run(tmp_path, "wrong")
        assert done.returncode == 1
        assert done.stdout.splitlines() == ["parses wrong"]
    assert len(list((tmp_path / "parsed").iterdir())) == 2


def test_a_python_without_the_parser_starts_as_ever(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import sitecustomize",
        ],
        env={
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FLEXDYN_PARSED")
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
