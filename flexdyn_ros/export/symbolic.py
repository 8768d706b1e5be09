"""A robot's verbs as CasADi functions (Andersson et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from flexdyn_ros.errors import needs
from flexdyn_ros.export.tracing.equations import Equations, Function
from flexdyn_ros.export.tracing.steps import NOMINAL_STEP, hydraulic_step_functions, step_functions
from flexdyn_ros.numerics.tracing.graph import CALL, CONSTANT, FUNCTIONS, INPUT, RESULT
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from casadi import Function as CasadiFunction

#: rounds of loops
_ROUNDS = 16


def casadi(
    robot: Robot,
    verb: str,
    parameters: Sequence[str] = (),
    *,
    frames: Sequence[str] | None = None,
    method: str = "auto",
    dt: float = NOMINAL_STEP,
) -> CasadiFunction:
    """Return a method as a CasADi function of symbols (SX), for derivatives and optimization.

    Parameters
    ----------
    robot : Robot
    verb : {"inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "energy", "frames", "step",
            "cylinder_forces", "oil_rates", "hydraulic_step"}
    parameters : sequence of str
        Names of `robot.parameters`, wildcards allowed: values of the last input, p.
    frames : sequence of str, optional
        Whose positions (k, 3) and rotations (3, 3 k), side by side, the verb "frames" answers; all by
        default.
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        Of the step; "auto" is what `simulate` takes for steps of dt [s].

    Returns
    -------
    casadi.Function
        Inputs q (nq), v (nv), a (nv) or tau (nu) as the verb takes them, then p; outputs tau, acceleration,
        M, h, energy (kinetic, gravity, elastic), or positions and rotations. "step": inputs q, v, tau, dt [,
        p], outputs q1, v1. "hydraulic_step" with cylinders: inputs q, v, oil, tau (of trees), valves,
        dt, outputs q1, v1, oil1 (how the numbers of the oil are called and begin: `flexdyn_ros.export.c`);
        NaN where pressures of platforms take more than 16 sub-steps. Derivatives by q are by its numbers;
        quaternions are not normalised.

    Raises
    ------
    MissingExtraError
        Without CasADi: extra [symbolic].
    UnknownNameError, UnsupportedError
        If a name is unknown, or the equations of this robot cannot be written down.
    """
    with needs("casadi", "symbolic"):
        import casadi as ca
    equations = Equations(robot, parameters)
    names = robot.frame_names if frames is None else tuple(frames)
    if verb == "step":
        functions = step_functions(equations, method, dt)[1]
    elif verb == "hydraulic_step":
        functions = hydraulic_step_functions(equations, method, dt)
    else:
        functions = (equations.function(verb, names),)
    made: dict[str, Any] = {}
    for function in functions:
        made[function.name] = _function(ca, function, made)
        if function.repeats:
            made[function.name] = _repeated(ca, made[function.name], function)
    return made[functions[-1].name]


def _function(ca: Any, function: Function, inner: dict[str, object]) -> Any:
    inputs = {name: ca.SX.sym(name, n) for name, n in function.inputs}
    values = _evaluate(ca, function, inputs, inner)
    outputs, k = [], 0
    for _, shape in function.outputs:
        size = prod(shape)
        outputs.append(_shaped(ca, [values[i] for i in function.results[k : k + size]], shape))
        k += size
    names = [name for name, _ in function.outputs]
    return ca.Function(function.name, list(inputs.values()), outputs, list(inputs), names)


def _repeated(ca: Any, once: Any, function: Function) -> Any:
    """A loop with a fixed number of rounds; NaN where another one would be needed."""
    n, size = function.outputs[0][1][0], function.inputs[0][1]
    start = ca.SX.sym("x", size)
    y, read = start[:n], start[n:]
    for _ in range(_ROUNDS):
        y = ca.if_else(y[0], once(ca.vertcat(y, read)), y)
    end = ca.if_else(y[0], ca.SX(float("nan")), y[1:])
    return ca.Function(function.name, [start], [end], ["x"], ["y"])


def _shaped(ca: Any, values: list[object], shape: tuple[int, ...]) -> Any:
    """A vector, a matrix, or matrices side by side, of values row by row."""
    if len(shape) == 1:
        return ca.vertcat(*values)
    rows, columns = shape[-2:]
    size = rows * columns
    # CasADi counts along columns
    blocks = [
        ca.reshape(ca.vertcat(*values[k : k + size]), columns, rows).T for k in range(0, len(values), size)
    ]
    return ca.horzcat(*blocks)


def _evaluate(ca: Any, function: Function, inputs: dict[str, Any], inner: dict[str, Any]) -> dict[int, Any]:
    """The symbol of every node that is needed."""
    operations = _operations(ca)
    graph, values = function.graph, {}
    for i in graph.needed(function.results):
        operation, *rest = graph.nodes[i]
        if operation == CONSTANT:
            values[i] = ca.SX(float(rest[0]))
        elif operation == INPUT:
            values[i] = inputs[rest[0]][rest[1]]
        elif operation == CALL:
            x = ca.vertcat(*(values[j] for j in rest[1:]))
            values[i] = inner[rest[0]](x, inputs["p"]) if "p" in inputs else inner[rest[0]](x)
        elif operation == RESULT:
            values[i] = values[rest[0]][rest[1]]
        else:
            values[i] = operations[operation](*(values[j] for j in rest))
    return values


def _operations(ca: Any) -> dict[str, Callable[..., Any]]:
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "pow": ca.power,
        "atan2": ca.atan2,
        "copysign": ca.copysign,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "eq": lambda a, b: a == b,
        "and": ca.logic_and,
        "or": ca.logic_or,
        "not": ca.logic_not,
        "select": ca.if_else,
        **{name: getattr(ca, name) for name in FUNCTIONS},
    }  # fmt: skip
