"""`flexdyn derive`: the equations of motion of a small arm in closed form, by both methods."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from flexdyn_ros.cli import terminal
from flexdyn_ros.derivation import Derivation
from flexdyn_ros.derivation import derive as derivation_of
from flexdyn_ros.description import read


class Form(StrEnum):
    """How equations are printed."""

    text = "text"
    latex = "latex"
    python = "python"


class Method(StrEnum):
    """Which derivation."""

    both = "both"
    newton_euler = "newton_euler"
    lagrange = "lagrange"


def derive(
    robot: terminal.RobotName,
    method: Annotated[
        Method, typer.Option("--method", help="one of newton_euler, lagrange, both")
    ] = Method.both,
    form: Annotated[Form, typer.Option("--as", help="text, latex or python")] = Form.text,
    symbols: Annotated[
        bool, typer.Option("--symbols/--numbers", help="parameters as symbols or as their numbers")
    ] = True,
    steps: Annotated[
        bool,
        typer.Option("--steps", help="what the methods compute on the way: omega, v', F, N, f, n; K, U, L"),
    ] = False,
    config: terminal.Config = None,
    settings: terminal.Settings = None,
    xacro: terminal.Xacro = None,
    rigid: terminal.Rigid = False,
    as_json: terminal.Json = False,
) -> None:
    """Print tau = M a + c + g of an arm of up to three coordinates, with operation counts."""
    if steps and form is Form.python:
        raise typer.BadParameter("steps are printed as text or latex", param_hint="--steps")
    options = terminal.options_of(settings, rigid) or None
    description = read(robot, config=config or None, options=options, xacro=terminal.xacro_of(xacro))
    methods = [m for m in Method if m is not Method.both] if method is Method.both else [method]
    derivations = {
        m.value: derivation_of(description, m.value, symbolic=symbols, steps=steps) for m in methods
    }
    if as_json:
        terminal.print_json({name: _plain(d) for name, d in derivations.items()})
        return
    for d in derivations.values():
        terminal.say({Form.text: d.text, Form.latex: d.latex, Form.python: d.python}[form]())
    if form is Form.text and len(derivations) > 1:
        _compare(derivations)


def _plain(d: Derivation) -> dict[str, object]:
    return {
        "robot": d.robot,
        "coordinates": d.coordinates,
        "M": [[str(d.M[i, j]) for j in range(d.M.shape[1])] for i in range(d.M.shape[0])],
        "c": [str(x) for x in d.c],
        "g": [str(x) for x in d.g],
        "parameters": {name: p.value for name, p in d.parameters.items()},
        "counts": {name: count._asdict() for name, count in d.counts._asdict().items()},
        "notes": d.notes,
        "steps": {step.name: [str(x) for x in step.value] for step in d.steps},
    }


def _compare(derivations: dict[str, Derivation]) -> None:
    """Print operation counts of the methods side by side."""
    labels = {
        "method": "the method's own recursion",
        "expanded": "its result written out",
        "shared": "... common subexpressions shared",
        "closed": "collected M, c, g",
        "closed_shared": "... common subexpressions shared",
    }
    rows = [(label, *(getattr(d.counts, key) for d in derivations.values())) for key, label in labels.items()]
    terminal.print_table("Cost of the derivations", " | ".join(("operations for tau", *derivations)), rows)
