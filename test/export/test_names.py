"""Names of robots that C, its library or other exported files have already; choices of nothing."""

import subprocess
import warnings

import numpy as np
import pytest
from exported import COMPILERS, STRICT, at_random, run_example
from models import two_link_arm

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import ExportError
from flexdyn_ros.export.files import c_name

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")


def arm_called(name):
    return flexdyn_ros.load(two_link_arm().replace('name="two_link"', f'name="{name}"'))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("main", "robot_main"),
        ("Main", "robot_Main"),
        ("double", "robot_double"),
        ("math", "robot_math"),
        ("_math", "robot_math"),
        ("stddef", "robot_stddef"),
        ("energy", "energy"),
        ("7_joints", "robot_7_joints"),
    ],
)
def test_a_name_that_is_taken_is_replaced_and_the_example_compiles(name, expected, tmp_path):
    files = export.c(arm_called(name), tmp_path, ["bias_forces", "energy"])
    assert [file.name for file in files] == [f"{expected}.h", f"{expected}.c", "README.md", "main.c"]
    assert len(list(tmp_path.iterdir())) == 4
    assert f"int {expected}_energy(" in (tmp_path / f"{expected}.h").read_text()
    # the folder as one of headers: none of its files hides one of the library
    done = run_example(tmp_path, "-I.")
    assert done.returncode == 0, done.stdout


@pytest.mark.usefixtures("own_compiler")
@pytest.mark.parametrize("name", ["model", "robot", "fmi", "int"])
def test_an_fmu_of_such_a_name_has_all_its_files(name, tmp_path):
    from zipfile import ZipFile

    path = export.fmu(arm_called(name), tmp_path / "x.fmu", frames=[])
    with ZipFile(path) as archive:
        sources = {file.removeprefix("sources/") for file in archive.namelist() if "sources/" in file}
        described = archive.read("modelDescription.xml").decode()
    own = {f"robot_{name}.h", f"robot_{name}.c"}
    assert sources == own | {"model.h", "model.c", "fmi.c", "robot.h"}
    assert f'modelName="{name}"' in described
    assert f'modelIdentifier="robot_{name}"' in described


@pytest.mark.parametrize("name", ["flexdyn", "lanes", "rows"])
def test_a_library_in_the_cache_of_such_a_name_computes(name):
    robot = arm_called(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        native = export.specialized(robot)
    q, v, a, _ = at_random(robot)
    np.testing.assert_allclose(
        native.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12
    )


def test_names_of_files_beside_and_of_keywords_are_known():
    from importlib.resources import files

    for room in ("native", "fmi"):
        for file in (files(f"flexdyn_ros.export.{room}") / "sources").iterdir():
            assert c_name(file.name.partition(".")[0]).startswith("robot_")
    words = ("if", "register", "restrict", "inline", "volatile", "enum", "typedef", "energy", "arm")
    command = [COMPILERS[0], *STRICT, "-fsyntax-only", "-x", "c", "-"]
    for word in words:
        program = f"typedef int {word};\n"
        is_taken = subprocess.run(command, input=program, capture_output=True, text=True).returncode != 0
        assert c_name(word) == (f"robot_{word}" if is_taken else word)


# ---- choices of nothing ----


def test_a_choice_of_nothing_is_refused_before_anything_is_written(tmp_path):
    robot = arm_called("arm")
    path = tmp_path / "new" / "x.fmu"
    with pytest.raises(ExportError, match=r"kind: none is given, expected one or several of co-simulation"):
        export.fmu(robot, path, kind=())
    with pytest.raises(ExportError, match=r"platform: none is given, expected one or several of host, win64"):
        export.fmu(robot, path, platforms=())
    with pytest.raises(ExportError, match=r"platform: none is given"):
        export.controller_fmu(robot, path, frequency=8.0, platforms=[])
    with pytest.raises(
        ExportError, match=r"verb: none is given, expected one or several of inverse_dynamics"
    ):
        export.c(robot, tmp_path / "new", verbs=())
    assert not list(tmp_path.iterdir())


def test_one_verb_may_be_a_text(tmp_path):
    export.c(arm_called("arm"), tmp_path, "bias_forces")
    assert "int arm_bias_forces(" in (tmp_path / "arm.h").read_text()
