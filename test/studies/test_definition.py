"""What a study file may say, and what is refused before anything runs."""

import numpy as np
import pytest

from flexdyn_ros.errors import DescriptionError, UnknownNameError
from flexdyn_ros.studies import read_study, shipped_experiments
from flexdyn_ros.studies.bench import Bench
from flexdyn_ros.studies.definition import DESIGNS
from flexdyn_ros.studies.design import fixed_design
from flexdyn_ros.studies.distributions import KINDS, distribution_of
from flexdyn_ros.studies.engine import shipped_studies, unit_of_path

SHIPPED = (
    "boom_load_chart", "boom_thickness", "energy_ratio", "load_chart", "platform_workspace", "shaped_slew",
    "wheels_stay_down",
)  # fmt: skip
FILE = """\
study: example
robot: two_link
experiment: modes
design: {kind: random, samples: 4}
parameters:
  a: {uniform: [0, 1], sets: [payload.tip.mass]}
"""
SLEW = {
    "study": "canadarm2_slew",
    "robot": "canadarm2",
    "experiment": "slew",
    "design": {"kind": "sobol", "samples": 256, "seed": 1},
    "parameters": {"payload.tool0.mass": {"uniform": [0, 2000]}, "duration": {"grid": [20, 30, 40, 60]}},
    "objectives": {"residual_swing": "minimize"},
}


def with_parameters(design, **parameters):
    return read_study({"study": "s", "experiment": "modes", "design": design, "parameters": parameters})


def test_the_example_of_the_contract_is_read_and_its_design_is_fixed():
    study = read_study(SLEW)
    first, second = (list(fixed_design(study)) for _ in range(2))
    assert first == second
    assert len(first) == 256
    masses = np.array([point["payload.tool0.mass"] for point in first])
    assert 0.0 < masses.min() < 10.0
    assert 1990.0 < masses.max() < 2000.0
    # a Sobol sequence puts one point into each of 256 intervals, and as many on each value of a list
    assert sorted(np.floor(masses / 2000.0 * 256).astype(int)) == list(range(256))
    durations = [point["duration"] for point in first]
    assert [durations.count(x) for x in (20, 30, 40, 60)] == [64] * 4
    Bench(study).check(first[0])


def look_at(path):
    study = read_study(path)
    Bench(study).check(fixed_design(study).point(0))


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("experiment: modes", "experiment: mode"), None, "did you mean modes"),
        (("experiment: modes", "experiment: nowhere:f"), None, "No module named 'nowhere'"),
        (("experiment: modes", "experiment: math:nothing"), None, "has no function 'nothing'"),
        (("[0, 1]", "[1, 0]"), 6, "lower bound that is not below the upper"),
        (("uniform", "unifrom"), 6, "there is no distribution 'unifrom'"),
        (("{uniform: [0, 1], ", "{normal: [0, -1], "), 6, "standard deviation that is not positive"),
        (("{uniform: [0, 1], ", "{triangular: [0, 2, 1], "), 6, "order lower, mode, upper"),
        (("{uniform: [0, 1], ", "{triangular: [1, 1, 1], "), 6, "order lower, mode, upper"),
        (("{uniform: [0, 1], ", "{uniform: [0, .inf], "), 6, "not finite"),
        (("{uniform: [0, 1], ", "{uniform: [0, 1, 2], "), 6, "another count"),
        (("{uniform: [0, 1], ", "{uniform: [a, b], "), 6, "no numbers"),
        (("kind: random", "kind: sobel"), 4, "there is no design 'sobel'"),
        (("kind: random", "kind: grid"), 4, "has no 'samples'"),
        (("samples: 4", "samples: 0"), 4, "'samples' is not a whole number"),
        (("samples: 4", "samples: 4, speed: 2"), 4, "has no 'speed'"),
        (("kind: random", "kind: optuna"), None, "has objectives"),
        (("payload.tip.mass", "payload.tup.mass"), 6, "tup"),
        (("payload.tip.mass", "gravty"), 6, "neither an argument of modes"),
        (("payload.tip.mass", "links.lower.modes.bending"), 6, "unknown key 'bending'"),
        (("payload.tip.mass", "urdf.joints.elbow.dynamics.slip"), 6, "neither"),
        (("payload.tip.mass", "urdf.links.lowr.inertial.mass.value"), 6, "did you mean lower"),
        (("study: example", "studdy: example"), 1, "did you mean study"),
        (("study: example", "study: a/b"), 1, "names its folder"),
        (("robot: two_link", "robot: three_link"), None, "three_link"),
        (("robot: two_link", "robot: two_link\narguments: {cuont: 3}"), 3, "no such argument"),
        (("robot: two_link", "robot: two_link\ntime_limit: -1"), 3, "time limit"),
        (("robot: two_link", "robot: two_link\ncorrelations: [[a, b, 0.5]]"), 3, "unknown parameter 'b'"),
        (("robot: two_link", "robot: two_link\nplots: [{kind: pie}]"), 3, "not a plot"),
        (("robot: two_link", "robot: two_link\nfeasible: {x: 3}"), 3, "not bounds"),
        (("robot: two_link", "robot: two_link\nfeasible: {mas: {most: 3}}"), 3, "did you mean mass"),
        (
            ("robot: two_link", "robot: two_link\nobjectives: {first_freqency: maximize}"),
            3,
            "one of first_frequency, stable, mass",
        ),
        (
            ("robot: two_link", "robot: two_link\nplots: [{kind: line, value: frequncy}]"),
            3,
            "has no result 'frequncy'",
        ),
        (("robot: two_link", "robot: two_link\nplots: [{kind: line, by: nobody}]"), 3, "'nobody'"),
        (
            ("robot: two_link", "robot: two_link\nobjectives: {frequency: maximize}"),
            3,
            "no result 'frequency'",
        ),
        (("study: example", "study: [example"), 2, "not well-formed YAML"),
    ],
)
def test_mistakes_are_told_with_their_line_before_anything_runs(change, line, words, tmp_path):
    path = tmp_path / "study.yaml"
    assert change[0] in FILE
    path.write_text(FILE.replace(*change, 1))
    with pytest.raises((DescriptionError, UnknownNameError)) as caught:
        look_at(path)
    assert words in str(caught.value)
    if line is not None:
        assert f"study.yaml:{line}" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            ("payload.tip.mass", "links.lowr.mass"), "neither an argument of modes", id="wrong path"
        ),
        pytest.param(("[0, 1]", "[1, 0]"), "lower bound", id="impossible distribution"),
        pytest.param(("modes", "moods"), "did you mean modes", id="unknown experiment"),
        pytest.param(
            ("modes", "modes\nobjectives: {sag: minimize}"), "has no result 'sag'", id="unknown result"
        ),
    ],
)
def test_the_command_refuses_a_study_in_a_line_and_leaves_finished_points(
    change, words, tmp_path, monkeypatch, capsys
):
    import sys

    from flexdyn_ros.cli.main import main

    part = tmp_path / "out" / "parts" / "0000000-1.parquet"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"finished before")
    (tmp_path / "s.yaml").write_text(FILE.replace(*change, 1))
    words_of = ["flexdyn", "study", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "out"), "--resume"]
    monkeypatch.setattr(sys, "argv", words_of)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code not in (0, None)
    said = " ".join(capsys.readouterr().err.split())
    assert words in said
    assert "Traceback" not in said
    assert part.read_bytes() == b"finished before"
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["parts", part.name]


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(DescriptionError, match="No such file"):
        read_study(tmp_path / "nothing.yaml")
    with pytest.raises(DescriptionError, match="not a study"):
        read_study(5)


def test_a_grid_has_all_combinations_the_last_parameter_fastest():
    study = with_parameters(
        {"kind": "grid"}, a=[1, 2], b={"linspace": [0, 1, 3]}, c={"logspace": [1, 100, 3]}
    )
    points = [tuple(point.values()) for point in fixed_design(study)]
    assert points[:4] == [(1, 0.0, 1.0), (1, 0.0, 10.0), (1, 0.0, 100.0), (1, 0.5, 1.0)]
    assert len(points) == 18
    with pytest.raises(DescriptionError, match="a grid has no uniform"):
        with_parameters({"kind": "grid"}, a={"uniform": [0, 1]})


def test_samples_follow_their_distributions():
    from scipy import stats

    spreads = {
        "uniform": ({"uniform": [2, 5]}, stats.uniform(2, 3)),
        "log_uniform": ({"log_uniform": [1, 100]}, stats.loguniform(1, 100)),
        "normal": ({"normal": [3, 2]}, stats.norm(3, 2)),
        "truncated_normal": ({"truncated_normal": [0, 1, -1, 2]}, stats.truncnorm(-1, 2)),
        "lognormal": ({"lognormal": [2, 0.5]}, stats.lognorm(0.5, scale=2)),
        "triangular": ({"triangular": [0, 1, 4]}, stats.triang(0.25, 0, 4)),
    }
    for kind in ("random", "latin_hypercube", "sobol"):
        given = {name: spread for name, (spread, _) in spreads.items()}
        study = with_parameters({"kind": kind, "samples": 2048, "seed": 3}, **given)
        points = list(fixed_design(study))
        for name, (_, expected) in spreads.items():
            # 1e-3: one of a thousand correct samples would be further off
            assert stats.kstest([p[name] for p in points], expected.cdf).pvalue > 1e-3, (kind, name)
    whole = [distribution_of({"integer": [1, 3]}, {}).at(u) for u in np.linspace(0.001, 0.999, 999)]
    assert [whole.count(x) for x in (1, 2, 3)] == [333] * 3
    assert set(KINDS) == {*spreads, "integer", "grid", "choice", "linspace", "logspace"}


def test_correlated_parameters_are_and_keep_their_distributions():
    given = {
        "study": "s", "experiment": "modes", "design": {"kind": "latin_hypercube", "samples": 4000},
        "parameters": {"a": {"normal": [0, 1]}, "b": {"uniform": [0, 1]}, "c": {"normal": [5, 2]}},
        "correlations": [["a", "c", -0.8]],
    }  # fmt: skip
    points = list(fixed_design(read_study(given)))
    a, b, c = (np.array([p[name] for p in points]) for name in "abc")
    assert np.corrcoef(a, c)[0, 1] == pytest.approx(-0.8, abs=0.02)  # 1.2 standard errors of 4000 samples
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.06
    assert (c.mean(), c.std()) == (pytest.approx(5, abs=0.05), pytest.approx(2, abs=0.05))
    given["correlations"] = [["a", "b", 0.9], ["b", "c", 0.9], ["a", "c", -0.9]]
    with pytest.raises(DescriptionError, match="not positive definite"):
        fixed_design(read_study(given))
    given |= {"design": {"kind": "sobol", "samples": 100}, "correlations": []}
    with pytest.raises(DescriptionError, match="64 or 128"):
        fixed_design(read_study(given))


def test_a_list_may_name_what_its_values_set():
    points = [{"mass": 1.0, "n": 3}, {"mass": 2.0, "n": 5}]
    given = {
        "study": "s", "robot": "two_link", "experiment": "study_experiments:with_robot",
        "design": {"kind": "list", "points": points}, "parameters": {"mass": {"sets": ["payload.tip.mass"]}},
    }  # fmt: skip
    study = read_study(given)
    assert list(fixed_design(study)) == points
    given["design"] = {"kind": "list", "points": [*points, {"mass": 1.0}]}
    with pytest.raises(DescriptionError, match="point 2 of the list has other names"):
        read_study(given)


def test_every_kind_of_path_reaches_the_robot():
    given = {
        "study": "s", "robot": "flexible_two_link", "experiment": "study_experiments:with_robot",
        "design": {"kind": "grid"},
        "parameters": {"payload.tool0.mass": [0.0, 2.0], "links.link_1.modes.bending_y": [3, 1]},
    }  # fmt: skip
    bench = Bench(read_study(given))
    first = bench.compute({"payload.tool0.mass": 0.0, "links.link_1.modes.bending_y": 3})
    second = bench.compute({"payload.tool0.mass": 2.0, "links.link_1.modes.bending_y": 1})
    assert second["mass"] == pytest.approx(first["mass"] + 2.0, rel=1e-12)
    assert second["nv"] == first["nv"] - 2
    sets = {"urdf.links.lower.inertial.mass.value": 3.0, "pose": 10.0}
    given |= {"robot": "two_link", "parameters": {"m": {"grid": [1.0], "sets": sets}}}
    scaled = Bench(read_study(given))
    before = scaled.base.mass
    found = scaled.compute({"m": 2.0})
    assert found["pose"] == 20.0
    assert found["mass"] == pytest.approx(before + 6.0 - 1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("payload.tip.com", "m"), ("links.link_1.beam.EIz", "N m2"), ("links.link_1.beam.poisson", ""),
        ("joints.elbow.rotor.gear_ratio", ""), ("gravity", "m/s2"), ("urdf.links.upper.mass", ""),
    ],
)  # fmt: skip
def test_what_a_path_sets_has_a_unit_or_is_a_plain_number(path, unit):
    assert unit_of_path(path) == unit


CHANGED = {
    "two_link": (
        {"joints.elbow.rotor.gear_ratio": 10, "joints.elbow.rotor.inertia": 0.01},
        {
            "urdf.links.lower.inertial.mass.value": {"uniform": [0.5, 3.0]},
            "urdf.links.upper.inertial.mass.value": {"uniform": [0.5, 3.0]},
            "x": {"uniform": [0.8, 1.2], "sets": {"urdf.links.lower.inertial.origin.xyz": [1.0, 0.1, -0.2]}},
            "i": {
                "uniform": [0.01, 0.1],
                "sets": [f"urdf.links.lower.inertial.inertia.{xx}" for xx in ("ixx", "iyy", "izz")],
            },
            "joints.elbow.rotor.inertia": {"uniform": [0.005, 0.02]},
            "payload.tip.mass": {"uniform": [0.0, 2.0]},
        },
    ),
    "canadarm2": (
        {"joints.elbow_pitch.rotor.inertia": 0.01},
        {
            "urdf.links.wrist_3.inertial.mass.value": {"uniform": [200.0, 300.0]},
            "joints.elbow_pitch.rotor.inertia": {"uniform": [0.005, 0.02]},
        },
    ),
}


@pytest.mark.parametrize("robot", CHANGED)
def test_parameters_of_the_robot_change_without_loading_and_give_the_same(robot, monkeypatch):
    from flexdyn_ros.studies import bench as place

    options, parameters = CHANGED[robot]
    study = read_study({
        "study": "s", "robot": robot, "options": options, "experiment": "study_experiments:state_of",
        "design": {"kind": "latin_hypercube", "samples": 12, "seed": 2}, "parameters": parameters,
    })  # fmt: skip
    loads, load = [], place.load
    monkeypatch.setattr(place, "load", lambda *given, **more: loads.append(given) or load(*given, **more))
    quick, slow = Bench(study), Bench(study)
    slow.__dict__["_quick"] = frozenset()
    points = list(fixed_design(study))
    quick.compute(points[0])  # tries each path
    loads.clear()
    found = [quick.compute(point) for point in points]
    assert not loads
    expected = [slow.compute(point) for point in points]
    assert len(loads) == len(points)
    for one, other in zip(found, expected, strict=True):
        for name, values in other.items():
            # 1e-12 of the largest: the matrix of Canadarm2 has both tons and millimetres
            size = np.abs(values).max()
            np.testing.assert_allclose(one[name], values, rtol=0.0, atol=1e-12 * size, err_msg=name)
    assert len({str(values) for values in found}) == len(points)


def test_values_that_a_changed_robot_would_not_take_as_a_loaded_one_does_are_loaded(monkeypatch):
    from flexdyn_ros.studies.parameters import parameter_values

    given = {
        "study": "s", "robot": "flexible_two_link", "experiment": "study_experiments:with_robot",
        "design": {"kind": "random", "samples": 4}, "parameters": {"pose": {"uniform": [0, 1]}},
    }  # fmt: skip
    mass = "urdf.links.lower.inertial.mass.value"
    robot = Bench(read_study(given | {"robot": "two_link"})).base
    assert parameter_values(robot, {mass: 2.0})["lower/mass"] == 2.0
    for path, value in (
        (mass, 0.0), (mass, -1.0), (mass, float("nan")), (mass, 1e-9),
        ("urdf.links.lower.inertial.inertia.izz", 5.0), ("urdf.links.tip.inertial.mass.value", 1.0),
        ("joints.elbow.spring.stiffness", 3.0), ("joints.elbow.rotor.inertia", 3.0),
    ):  # fmt: skip
        assert parameter_values(robot, {path: value}) is None, path
    beam = "urdf.links.link_1.inertial.mass.value"
    given["parameters"] = {beam: {"uniform": [0.01, 5.0]}}
    assert not Bench(read_study(given))._quick
    given["parameters"] = {"links.link_1.modes.bending_y": {"integer": [1, 3]}}
    assert not Bench(read_study(given))._quick
    given |= {"robot": "two_link", "parameters": {mass: {"uniform": [-2, 1]}}}
    bench = Bench(read_study(given))
    with pytest.raises(DescriptionError, match="mass"):
        bench.compute({mass: -1.0})


def test_designs_experiments_and_shipped_studies_are_told_on_the_page():
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()
    for name in (*DESIGNS, *KINDS, *shipped_experiments(), *shipped_studies()):
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_studies_are_right(name):
    assert tuple(shipped_studies()) == SHIPPED
    study = read_study(shipped_studies()[name])
    bench = Bench(study)
    middle = {p.name: p.spread.at(0.5) for p in study.parameters}
    bench.check(middle)
    wanted = {n for plot in study.plots for key in ("value", "x", "y", "by") if (n := plot.get(key))}
    if name in ("energy_ratio", "load_chart", "boom_load_chart", "platform_workspace", "boom_thickness"):
        found = bench.compute(middle)
        assert wanted <= {*found, *study.names}
        assert {*study.feasible, *study.objectives} <= {*found, *study.names}


@pytest.mark.parametrize(
    "name", ["..", ".", "...", ".hidden", "-rf", "a/b", "/tmp/a", "a\\b", "a b", "x" * 101]
)
def test_a_study_names_a_folder_of_its_own(name, tmp_path):
    """Else it is written over the files of the present folder, or elsewhere."""
    import yaml

    text = yaml.safe_load(shipped_studies()["boom_thickness"].read_text())
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({**text, "study": name}))
    with pytest.raises(DescriptionError, match="names its folder"):
        read_study(tmp_path / "s.yaml")


@pytest.mark.parametrize("file", ["../../a.png", "/tmp/a.png", "..", ".a.png", "sub/a.png", 3, "-a.png"])
def test_a_picture_of_a_study_lies_among_its_pictures(file, tmp_path):
    import yaml

    text = yaml.safe_load(shipped_studies()["boom_thickness"].read_text())
    plots = [{**text["plots"][0], "file": file}]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({**text, "plots": plots}))
    with pytest.raises(DescriptionError, match="pictures"):
        read_study(tmp_path / "s.yaml")
