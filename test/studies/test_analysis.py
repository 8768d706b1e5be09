"""What is made of a table: Sobol indices, Pareto fronts, pictures that suit it, and the report."""

import warnings

import numpy as np
import pytest

for package in ("pyarrow", "pandas", "matplotlib"):
    pytest.importorskip(package, reason="the extra [studies] is not installed")

from flexdyn_ros.errors import DescriptionError, StateError, UnknownNameError  # noqa: E402
from flexdyn_ros.studies import StudyResult, read_study, run  # noqa: E402
from flexdyn_ros.studies.bench import Bench  # noqa: E402
from flexdyn_ros.studies.design import fixed_design  # noqa: E402
from flexdyn_ros.studies.distributions import COUNTS, distribution_of  # noqa: E402
from flexdyn_ros.studies.store import Store  # noqa: E402


@pytest.fixture
def computed(tmp_path):
    """A function that makes the result of a study in this process, without a cluster."""

    def compute(study, name="out"):
        told = read_study({"study": "s", **study})
        bench, design = Bench(told), fixed_design(told)
        store = Store(tmp_path / name, told, "", resume=False)
        bench.check(design.point(0))
        rows = []
        for i, point in enumerate(design):
            try:
                rows.append((i, bench.compute(point), None, {}))
            except ValueError as error:
                rows.append((i, None, ("ValueError", str(error)), {}))
        store.keep(rows)
        store.finish(design, {"y": "m", "a": "rad"})
        return StudyResult(told, store.folder)

    return compute


ANGLE = {"uniform": [-np.pi, np.pi]}
QUADRATIC = {
    "experiment": "study_experiments:quadratic",
    "design": {"kind": "grid"},
    "parameters": {"x": {"linspace": [-1, 1, 9]}, "y": {"linspace": [-1, 1, 7]}},
}


@pytest.mark.parametrize(
    "names",
    [
        {"objectives": {"ff": "minimize"}},
        {"feasible": {"ff": {"least": 0.0}}},
        {"plots": [{"kind": "scatter", "value": ["f", "ff"]}]},
    ],
)
def test_a_result_that_the_first_point_does_not_have_ends_the_study(computed, tmp_path, names):
    with pytest.raises(DescriptionError, match=r"no result 'ff' .*did you mean f\?.*expected one of f, g"):
        computed(QUADRATIC | names)
    assert not list((tmp_path / "out" / "parts").iterdir())
    # the folder is free for the study with the right name
    assert computed(QUADRATIC | {"objectives": {"f": "minimize"}}).results == ("f", "g")


MIXED = {"design": {"kind": "grid"}, "parameters": {"x": {"linspace": [0, 1, 4]}}}


@pytest.mark.parametrize("name", ["mixed", "mixed_and_said"])
def test_texts_group_a_picture_and_a_number_may_be_missing_at_the_first_point(computed, name):
    result = computed(MIXED | {
        "experiment": f"study_experiments:{name}", "feasible": {"late": {"most": 3}},
        "plots": [{"kind": "line", "x": "x", "value": "tip", "by": "kind"}],
    })  # fmt: skip
    assert result.feasible().tolist() == [False, False, True, True]
    (axes,) = result.plot(**result.study.plots[0]).axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["kind a", "kind b"]


def test_texts_are_coordinates_of_a_picture_where_the_experiment_does_not_say_its_results(computed):
    plots = [{"kind": "scatter", "x": "kind", "y": "x", "value": "tip"}]
    result = computed(MIXED | {"experiment": "study_experiments:mixed", "plots": plots})
    found = result.plot(**plots[0]).axes[0].collections[-1].get_offsets()
    np.testing.assert_allclose(found, [[0, 0], [0, 1 / 3], [1, 2 / 3], [1, 1]])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"objectives": {"kind": "minimize"}}, "the result 'kind' is a text, not a number"),
        ({"feasible": {"kind": {"most": 1}}}, "the result 'kind' is a text, not a number"),
        ({"feasible": {"list": {"most": 1}}}, "the result 'list' is a list, not a number"),
        ({"plots": [{"kind": "line", "by": "list"}]}, "the result 'list' is a list, not a number or a text"),
        ({"plots": [{"kind": "line", "by": "kin"}]}, "no result 'kin' .*did you mean kind"),
    ],
)
def test_results_of_another_kind_than_asked_for_are_refused(computed, names, words):
    with pytest.raises(DescriptionError, match=words):
        computed(MIXED | {"experiment": "study_experiments:mixed"} | names)


@pytest.mark.parametrize(
    "names",
    [
        {"objectives": {"tp": "minimize"}},
        {"feasible": {"tp": {"most": 1}}},
        {"plots": [{"kind": "line", "value": "tp"}]},
    ],
)
def test_a_result_that_an_experiment_says_but_does_not_give_ends_the_study(computed, tmp_path, names):
    words = r"no result 'tp' .*did you mean tip\?.* its first point gave tip, kind"
    with pytest.raises(DescriptionError, match=words):
        computed(MIXED | {"experiment": "study_experiments:said_wrongly"} | names)
    assert not list((tmp_path / "out" / "parts").iterdir())


def test_an_optimisation_ends_at_the_first_result_without_its_objective(tmp_path):
    study = read_study({
        "study": "s", "experiment": "study_experiments:said_wrongly",
        "design": {"kind": "optuna", "samples": 8}, "parameters": {"x": {"uniform": [0, 1]}},
        "objectives": {"tp": "minimize"},
    })  # fmt: skip
    bench, store = Bench(study), Store(tmp_path, study, "", resume=False)
    bench.check({"x": 0.5})
    store.keep([(0, None, ("ValueError", "a point that failed gives none"), {})])
    store.keep([(1, {"warnings": "nor does one that only warns"}, None, {})])
    with pytest.raises(DescriptionError, match=r"objectives/tp: .* its first point gave tip, kind"):
        store.keep([(2, bench.compute({"x": 0.5}), None, {})])
    assert store.done == {0, 1}


def test_sobol_indices_are_those_of_the_ishigami_function(computed):
    pytest.importorskip("SALib", reason="the extra [studies] is not installed")
    result = computed({
        "experiment": "study_experiments:ishigami",
        "design": {"kind": "sobol", "samples": 1024, "seed": 4, "indices": True},
        "parameters": {"a": ANGLE, "b": ANGLE, "c": ANGLE},
    })  # fmt: skip
    assert len(result.table) == 1024 * 5
    found = result.sobol_indices("y")
    # Ishigami & Homma (1990), for 7 and 0.1; 0.06: some three standard errors of 1024 samples
    np.testing.assert_allclose(found["first"], [0.3139, 0.4424, 0.0], atol=0.06)
    np.testing.assert_allclose(found["total"], [0.5576, 0.4424, 0.2437], atol=0.06)
    text = result.report("flexdyn study s.yaml").read_text()
    assert "## Sobol indices" in text
    assert "| b | 0." in text
    with pytest.raises(UnknownNameError):
        result.sobol_indices("z")


def test_the_report_says_how_to_repeat_the_study_and_what_failed(computed):
    points = [{"what": what, "x": float(n)} for n, what in enumerate(["fine", "raise", "fine", "raise"])]
    result = computed({
        "experiment": "study_experiments:failing", "design": {"kind": "list", "points": points},
        "title": "Trial",
    })  # fmt: skip
    text = result.report("flexdyn study trial.yaml").read_text()
    for words in (
        "# Trial", "`flexdyn study trial.yaml`", "version: flexdyn_ros ", "points: 4, failed: 2",
        "| ValueError | 2 | 1 | the experiment broke, so it says |", "| y | m | 1 | 2 | 3 |",
    ):  # fmt: skip
        assert words in text, words
    assert list(result.failures["point"]) == [1, 3]
    assert result.units == {"y": "m"}
    with pytest.raises(StateError, match="no design for Sobol indices"):
        result.sobol_indices("y")


def test_pictures_suit_the_number_of_parameters(computed):
    one = computed({**QUADRATIC, "parameters": {"x": [0, 0.5, 1], "y": [0.0]}}, "one")
    line = one.plot(kind="line", x="x", value=["f", "g"])
    (axes,) = line.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["f", "g"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.09, 0.04, 0.49])
    two = computed(QUADRATIC, "two")
    heat = two.plot()
    assert heat.axes[0].get_xlabel() == "x"
    assert heat.axes[0].collections[0].get_array().size == 63
    bounded = computed({**QUADRATIC, "feasible": {"f": {"most": 0.5}}}, "bounded")
    assert bounded.feasible().sum() == (bounded.table["f"] <= 0.5).sum()
    contour = bounded.plot()
    assert contour.get_supxlabel() == "hatched: f > 0.5"
    assert bounded.plot(kind="parallel").get_supxlabel() == "grey: f > 0.5"
    assert "Feasible (f <= 0.5)" in bounded.report().read_text()
    grid = {"kind": "latin_hypercube", "samples": 40}
    spread = {"uniform": [-1, 1]}
    scatter = computed({**QUADRATIC, "design": grid, "parameters": {"x": spread, "y": spread}}, "scatter")
    assert scatter.plot().axes[0].get_ylabel() == "y [m]"
    with pytest.raises(StateError, match="no grid"):
        scatter.plot(kind="contour")
    front = computed({**QUADRATIC, "objectives": {"f": "minimize", "g": "minimize"}}, "front")
    drawn = front.plot()
    assert drawn.axes[0].get_xlabel() == "f"
    best = front.pareto_front()
    for _, row in best.iterrows():
        better = (front.table["f"] <= row["f"]) & (front.table["g"] <= row["g"])
        assert (front.table[better][["f", "g"]] == row[["f", "g"]].to_numpy()).all(axis=None)
    most = computed({**QUADRATIC, "objectives": {"f": "maximize"}}, "most")
    assert set(most.pareto_front()["f"]) == {most.table["f"].max()}
    three = computed({
        "experiment": "study_experiments:ishigami", "design": {"kind": "random", "samples": 30},
        "parameters": {"a": ANGLE, "b": ANGLE, "c": ANGLE},
    }, "three")  # fmt: skip
    parallel = three.plot()
    labels = [text.get_text() for text in parallel.axes[0].get_xticklabels()]
    assert labels == ["a [rad]", "b", "c", "y [m]"]
    for result in (one, two):
        with pytest.raises(UnknownNameError, match="column"):
            result.plot(value="h")
        with pytest.raises(UnknownNameError, match="kind of picture"):
            result.plot(kind="pie")


def test_a_picture_is_written_and_no_warning_with_it(computed, tmp_path):
    result = computed({**QUADRATIC, "feasible": {"f": {"most": 0.5}, "g": {"least": 0.1}}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("contour", "heat_map", "scatter", "parallel", "line"):
            path = tmp_path / f"{kind}.png"
            result.plot(path, kind, dpi=30)
            assert path.read_bytes()[:4] == b"\x89PNG"
        result.plot(tmp_path / "log.svg", "contour", log=True, by=None)
        assert "<svg" in (tmp_path / "log.svg").read_text()


def test_a_folder_without_a_complete_study_is_told(tmp_path):
    with pytest.raises(StateError, match="no complete study"):
        StudyResult.load(tmp_path)


def test_pictures_say_what_is_hatched(computed):
    feasible = {"f": {"most": 0.5, "label": "it costs too much"}, "g": {"least": 0.1}}
    result = computed({**QUADRATIC, "feasible": feasible})
    figure = result.plot(kind="contour")
    assert figure.legends[0].get_title().get_text() == "hatched: it costs too much or g < 0.1"
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["it costs too much", "g < 0.1"]
    both = {"f": {"least": 0.2, "most": 0.5}, "g": {"least": 0.1, "most": 0.6}}
    lines = computed({**QUADRATIC, "feasible": both}, "four").plot(kind="contour").legends[0].get_lines()
    assert len({line.get_color() for line in lines}) == 4
    unlabelled = computed({**QUADRATIC, "feasible": {"f": {"most": 0.5}}}, "unlabelled")
    assert unlabelled.plot(kind="contour").get_supxlabel() == "hatched: f > 0.5"
    with pytest.raises(DescriptionError, match="not bounds of a result"):
        read_study({"study": "s", **QUADRATIC, "feasible": {"f": {"label": "no bound"}}})


@pytest.mark.parametrize("unit", [1.0, 1e-15])
@pytest.mark.parametrize("end", ["least", "most"])
def test_pictures_hatch_what_is_not_feasible_beside_infinite_results_in_any_unit(computed, end, unit):
    parameters = QUADRATIC["parameters"] | {"unit": [unit]}
    study = {**QUADRATIC, "experiment": "study_experiments:settling", "parameters": parameters}
    # f is 0.2 and 0.4 where x is 0.5 and 0.25
    result = computed({**study, "feasible": {"f": {end: 0.3 * unit}}})
    hatched = result.plot(kind="contour", value="g").axes[0].collections[-1]
    assert hatched.hatches
    inside = result.table[["x", "y"]].abs().max(axis=1) < 0.9
    (path,) = hatched.get_paths()
    marked = path.contains_points(result.table.loc[inside, ["x", "y"]].to_numpy())
    assert 0 < marked.sum() < len(marked)
    np.testing.assert_array_equal(marked, ~result.feasible()[inside])


def test_the_report_tells_values_and_bounds_in_words(computed):
    parameters = {"x": {"linspace": [-1, 1, 3]}, "y": {"grid": [0, 0.5]}}
    study = {**QUADRATIC, "parameters": parameters, "feasible": {"f": {"most": 0.5}, "g": {"least": 0.1}}}
    result = computed(study)
    text = result.report().read_text()
    assert "](pictures/s.png)" in text
    assert (result.folder / "pictures" / "s.png").read_bytes()[:4] == b"\x89PNG"
    assert "* design: grid\n" in text
    assert "| x |  | 3 values from -1 to 1 in equal steps |" in text
    assert "| y | m | 0, 0.5 |" in text
    assert "Feasible (f <= 0.5; g >= 0.1): " in text
    assert distribution_of({"normal": [0, 2]}, {}).text == "normal: mean 0, standard deviation 2"
    for kind, count in COUNTS.items():
        numbers = (
            [1, 1.5, 2, 3][:count] if kind not in ("integer", "linspace", "logspace") else [1, 2, 3][:count]
        )
        told = distribution_of({kind: numbers if kind != "truncated_normal" else [1, 2, 0, 3]}, {}).text
        assert "{" not in told


def test_parameters_that_are_lists_are_drawn(tmp_path):
    """Forces, say: lines by them, and parallel coordinates."""
    pytest.importorskip("matplotlib")
    study = {
        "study": "lists",
        "robot": "two_link",
        "experiment": "static",
        "design": {"kind": "grid"},
        "parameters": {
            "force": {"grid": [[0, 0, 0], [0, 0, 1]]},
            "m": {"grid": [1.0, 2.0], "sets": ["urdf.links.upper.inertial.mass.value"]},
        },
    }
    result = run(study, workers=1, folder=tmp_path / "lists")
    by_force = result.plot(tmp_path / "a.png", "line", x="m", by="force", value="mass")
    assert len(by_force.axes[0].lines) == 2
    result.plot(tmp_path / "b.png", "parallel", value="mass")
    assert (tmp_path / "b.png").read_bytes()[:4] == b"\x89PNG"


def test_signed_values_have_colours_about_zero_and_words_colours_of_their_own(computed):
    result = computed(QUADRATIC)
    (cells,) = [c for c in result.plot(kind="heat_map", value="x").axes[0].collections if c.norm is not None]
    assert cells.get_cmap().name == "RdBu"
    assert cells.norm.vmin == -cells.norm.vmax == -1.0
    (cells,) = [c for c in result.plot(kind="heat_map", value="f").axes[0].collections if c.norm is not None]
    assert cells.get_cmap().name == "viridis"
    mixed = computed(MIXED | {"experiment": "study_experiments:mixed"}, "mixed")
    figure = mixed.plot(kind="scatter", x="x", y="tip", value="kind")
    assert [text.get_text() for text in figure.axes[-1].get_legend().get_texts()] == ["a", "b"]
    assert len(figure.axes) == 1  # and no colour bar
