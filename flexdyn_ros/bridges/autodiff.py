"""Verbs as JAX functions: values and derivatives are computed here, on the CPU, and enter JAX by callbacks.

Reverse mode only: `jax.grad`, `jax.vjp`, `jax.jacrev`, `jax.jit`, `jax.vmap`; neither forward mode nor second
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnknownNameError, needs
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import ArrayLike

#: a function that JAX differentiates: arrays in, one array out
JaxFunction = Callable[..., object]
#: values of a verb from (batch, n) arrays, and its derivatives by each argument, (batch, out, n)
Slopes = Callable[..., Sequence[np.ndarray]]


class JaxFunctions(NamedTuple):
    """Functions of JAX arrays with leading batch dimensions, differentiable in reverse mode.

    inverse_dynamics(q, v, a) -> tau (..., nu); forward_dynamics(q, v, tau) -> a (..., nv);
    position(q) -> (..., 3) of the origin of the frame that was asked for [m], None without one.
    """

    inverse_dynamics: JaxFunction
    forward_dynamics: JaxFunction
    position: JaxFunction | None


def jax_functions(robot: Robot, frame: str | None = None) -> JaxFunctions:
    """The robot's dynamics as JAX functions (extra [jax]).

    Numbers have the type of JAX's arrays: call `jax.config.update("jax_enable_x64", True)` first, or results
    are rounded to float32. Gradients by q have its shape (..., nq); that of a quaternion lies along the
    sphere of unit quaternions.

    Parameters
    ----------
    robot : Robot
    frame : str, optional
        Of `position`.

    Raises
    ------
    MissingExtraError
        Without JAX.
    UnknownNameError
        If the robot has no such frame.

    Notes
    -----
    Derivatives are those of `inverse_dynamics_derivatives`, `forward_dynamics_derivatives` and `jacobian`,
    exact to rounding: vector-Jacobian products of them (Griewank & Walther 2008, section 3.2).
    """
    if frame is not None:
        UnknownNameError.check("frame", frame, robot.frame_names)
    inverse = _differentiable(
        robot, robot.inverse_dynamics, lambda *at: robot.inverse_dynamics_derivatives(*at), robot.nu
    )
    forward = _differentiable(
        robot, robot.forward_dynamics, lambda *at: robot.forward_dynamics_derivatives(*at), robot.nv
    )
    return JaxFunctions(inverse, forward, None if frame is None else _position(robot, frame))


def _position(robot: Robot, frame: str) -> JaxFunction:
    return _differentiable(
        robot,
        lambda q: robot.frames(q, frame)[..., :3, 3],
        lambda q: (robot.jacobian(q, frame)[..., 3:, :],),
        3,
    )


def _differentiable(robot: Robot, value: Callable[..., np.ndarray], slopes: Slopes, size: int) -> JaxFunction:
    """A JAX function of q and others whose results have `size` numbers; slopes by q are in its tangent
    space."""
    with needs("jax", "jax"):
        import jax
        import jax.numpy as jnp

    def computed(*arguments: np.ndarray) -> np.ndarray:
        kind = np.asarray(arguments[0]).dtype
        return value(*_unit(robot, arguments)).astype(kind)

    def pulled_back(bar: np.ndarray, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
        given = _unit(robot, arguments)
        bar = np.asarray(bar, dtype=np.float64)
        by_q, *others = (np.einsum("...i,...ij->...j", bar, slope) for slope in slopes(*given))
        found = _by_coordinates(robot, given[0], by_q), *others
        return tuple(g.astype(np.asarray(x).dtype) for g, x in zip(found, arguments, strict=True))

    def call(*arguments: ArrayLike) -> Array:
        kind = jnp.result_type(*arguments, float)
        arrays = [jnp.asarray(x, kind) for x in arguments]
        shape = jnp.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        return function(*(jnp.broadcast_to(x, (*shape, x.shape[-1])) for x in arrays))

    @jax.custom_vjp
    def function(*arguments: Array) -> Array:
        result = jax.ShapeDtypeStruct((*arguments[0].shape[:-1], size), arguments[0].dtype)
        return jax.pure_callback(computed, result, *arguments, vmap_method="broadcast_all")

    def forward(*arguments: Array) -> tuple[Array, tuple[Array, ...]]:
        return function(*arguments), arguments

    def backward(arguments: tuple[Array, ...], bar: Array) -> tuple[Array, ...]:
        results = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arguments)
        return jax.pure_callback(pulled_back, results, bar, *arguments, vmap_method="broadcast_all")

    function.defvjp(forward, backward)
    return call


def _unit(robot: Robot, arguments: Sequence[object]) -> list[np.ndarray]:
    """float64 arguments; quaternions of float32 are of unit length to float64 again."""
    q, *others = (np.array(x, dtype=np.float64) for x in arguments)
    for first, _ in quaternions_of(robot.coordinates):
        part = q[..., first : first + 4]
        length = np.linalg.norm(part, axis=-1, keepdims=True)
        part /= np.where(abs(length - 1.0) < 1e-5, length, 1.0)  # others are refused by the verb
    return [q, *others]


def _by_coordinates(robot: Robot, q: np.ndarray, by_tangent: np.ndarray) -> np.ndarray:
    """Gradient (..., nq) from one in the tangent space (..., nv).

    A small turn w in world axes moves a quaternion by dp = 1/2 w p, so that w = 2 dp p* (Diebel 2006,
    section 6): the rows of its three parts, along the sphere.
    """
    gradient = np.zeros(q.shape)
    for c in robot.coordinates:
        if c.q_index >= 0:
            gradient[..., c.q_index] = by_tangent[..., c.v_index]
    for first, turns in quaternions_of(robot.coordinates):
        vector, scalar = q[..., first : first + 3], q[..., first + 3, None]
        turn = by_tangent[..., turns : turns + 3]
        gradient[..., first : first + 3] = 2.0 * (scalar * turn + np.cross(turn, vector))
        gradient[..., first + 3] = -2.0 * (turn * vector).sum(-1)
    return gradient
