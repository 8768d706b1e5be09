"""Examples of the Python reference: one for each public function, run as they stand."""

import doctest
import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from sphinx_api import INTERNALS, examples  #

#: a second process answers them, or a browser draws; test/nodes and test/view run what they show
SKIPPED = {
    "flexdyn_ros.nodes.call",
    "flexdyn_ros.nodes.publish",
    "flexdyn_ros.view.picture",
    "flexdyn_ros.view.write_film",
}
#: packages that an example needs beside the base
NEEDS = {
    "bridges.jax_functions": "jax", "export.casadi": "casadi", "derivation": "sympy", "nodes": "rclpy",
    "view": "viser", "studies.run": "dask.distributed", "plot": "matplotlib", "figure_style": "matplotlib",
    "to_dataframe": "pandas", "to_xarray": "xarray", "identification": "pandas", "bag": "mcap",
    "recorded_robot": "mcap", "simulation.records": "mcap",
}  # fmt: skip
EXAMPLES = examples()


def public_functions():
    """Functions that the package and its rooms offer, and the methods of robots and trajectories."""
    rooms = {name.rpartition(".")[0] for name in EXAMPLES} - {"flexdyn_ros.Robot", "flexdyn_ros.Trajectory"}
    for room in rooms | {"flexdyn_ros"}:
        if room == "flexdyn_ros.nodes":
            pytest.importorskip("rclpy")
        module = importlib.import_module(room)
        yield from (f"{room}.{name}" for name in module.__all__ if inspect.isroutine(getattr(module, name)))
    for owner in (flexdyn_ros.Robot, flexdyn_ros.Trajectory):
        own = (name for name in vars(owner) if not name.startswith("_"))
        yield from (f"flexdyn_ros.{owner.__name__}.{n}" for n in own if callable(getattr(owner, n)))


def test_every_public_function_has_an_example():
    expected = set(public_functions()) - INTERNALS
    assert expected - set(EXAMPLES) == set()
    assert set(EXAMPLES) - expected == set()
    assert len(expected) > 90


def test_code_of_examples_fits_its_column():
    code = [line for session in EXAMPLES.values() for line in session.splitlines()]
    code = [line.partition("  # doctest")[0] for line in code if line[:3] in (">>>", "...")]
    assert [line for line in code if len(line) > 76] == []


def test_all_examples_but_four_are_run():
    assert {name for name, session in EXAMPLES.items() if "+SKIP" in session} == SKIPPED


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example_does_what_it_shows(name, tmp_path, monkeypatch):
    for word, package in NEEDS.items():
        if word in name:
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    scope = {"np": np, "flexdyn_ros": flexdyn_ros}
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name] + "\n", scope, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
