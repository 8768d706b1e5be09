"""JAX functions of the verbs: gradients against finite differences, batches, precision."""

import numpy as np
import pytest
from machines import Q, V, four_bar

import flexdyn_ros
from flexdyn_ros.bridges import jax_functions
from flexdyn_ros.errors import UnknownNameError

ROBOTS = ("seven_joint_arm", "flexible_two_link", "soft_arm", "stewart_electric")

FLOATING = """<robot name="satellite">
  <link name="hull"><inertial><mass value="40"/>
    <inertia ixx="3" ixy="0.1" ixz="0" iyy="4" iyz="0.2" izz="5"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.4 0 0.1"/><mass value="6"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.4"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="hull"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <flexdyn version="1"><base type="floating"/></flexdyn>
</robot>
"""


@pytest.fixture(scope="module", autouse=True)
def with_jax():
    """JAX, in the process that runs these tests: it takes a second to import, and looks in at each collection
    of garbage."""
    global jax, jnp
    jax = pytest.importorskip("jax")
    jnp = jax.numpy


@pytest.fixture(autouse=True)
def double_precision(with_jax):
    """Doubles for these tests only: the switch belongs to the whole process."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def state(robot, rng, batch=()):
    way = 0.05 * rng.standard_normal((*batch, robot.nv))
    q = robot.integrate(np.broadcast_to(robot.neutral(), (*batch, robot.nq)), way, 1.0)
    return q, 0.1 * rng.standard_normal((*batch, robot.nv)), rng.standard_normal((*batch, robot.nv))


def slope(function, x, direction, step=1e-5):
    """Central difference, of fourth order."""
    at = [function(x + k * step * direction) for k in (-2, -1, 1, 2)]
    return (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * step)


@pytest.mark.parametrize("name", [*ROBOTS, FLOATING], ids=[*ROBOTS, "floating"])
def test_gradients_are_those_of_finite_differences(name):
    """The differences are taken on the manifold of q, by `integrate`, and know nothing of derivatives."""
    robot, rng = flexdyn_ros.load(name), np.random.default_rng(3)
    q, v, a = state(robot, rng)
    tau = rng.standard_normal(robot.nu)
    functions = jax_functions(robot, robot.frame_names[-1])
    for function, arguments in (
        (functions.inverse_dynamics, (q, v, a)),
        (functions.forward_dynamics, (q, v, tau)),
        (functions.position, (q,)),
    ):
        size = np.abs(function(*arguments)).max()
        weight = rng.standard_normal(np.shape(function(*arguments)))

        def loss(*given, function=function, weight=weight, size=size):
            return jnp.sum(weight * jnp.sin(function(*given) / size))

        gradients = jax.grad(loss, argnums=tuple(range(len(arguments))))(*arguments)
        for i, gradient in enumerate(gradients):
            way = rng.standard_normal(robot.nv if i == 0 else len(arguments[i]))

            def along(s, i=i, way=way, arguments=arguments, loss=loss):
                moved = list(arguments)
                moved[i] = robot.integrate(q, way, s) if i == 0 else arguments[i] + s * way
                return float(loss(*moved))

            expected = slope(along, 0.0, 1.0)
            tangent = slope(lambda s, way=way: robot.integrate(q, way, s), 0.0, 1.0) if i == 0 else way
            found = float(np.asarray(gradient) @ tangent)
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-7), (function, i)


def test_batches_and_compiled_functions_give_what_single_calls_give():
    robot, rng = flexdyn_ros.load("flexible_two_link"), np.random.default_rng(5)
    inverse = jax_functions(robot).inverse_dynamics
    q, v, a = state(robot, rng, (6,))
    expected = robot.inverse_dynamics(q, v, a)
    for many in (inverse, jax.vmap(inverse), jax.jit(jax.vmap(inverse))):
        assert np.array_equal(many(q, v, a), expected)
    by_q = jax.vmap(jax.jacrev(inverse))(q, v, a)
    assert np.allclose(by_q, robot.inverse_dynamics_derivatives(q, v, a)[0], rtol=1e-12, atol=1e-12)
    assert np.array_equal(inverse(q, v[0], a[0]), robot.inverse_dynamics(q, v[0], a[0]))


def test_a_descent_through_the_dynamics_finds_the_efforts_of_rest():
    """An optimisation with JAX's gradients ends where the static equations say."""
    robot = flexdyn_ros.load("seven_joint_arm")
    q, still = np.full(robot.nv, 0.3), np.zeros(robot.nv)
    forward = jax_functions(robot).forward_dynamics
    slope = jax.jit(jax.jacrev(lambda tau: forward(q, still, tau)))
    tau = jnp.zeros(robot.nu)
    tau = tau - jnp.linalg.solve(
        slope(tau), forward(q, still, tau)
    )  # linear in tau: one step of Newton's method
    assert np.allclose(tau, robot.inverse_dynamics(q, still, still), rtol=1e-9, atol=1e-9)


def test_single_precision_stays_single():
    jax.config.update("jax_enable_x64", False)
    robot = flexdyn_ros.load(FLOATING)
    q, v, a = state(robot, np.random.default_rng(2))
    inverse = jax_functions(robot).inverse_dynamics
    tau = inverse(q, v, a)
    assert tau.dtype == jnp.float32
    assert np.allclose(tau, robot.inverse_dynamics(q, v, a), rtol=1e-4, atol=1e-4)
    assert jax.grad(lambda q: inverse(q, v, a).sum())(q).dtype == jnp.float32


def test_a_frame_that_is_none_is_refused():
    with pytest.raises(UnknownNameError, match="tip"):
        jax_functions(flexdyn_ros.load("soft_arm"), "tp")


def test_gradients_of_a_closed_mechanism():
    """Of accelerations in all coordinates; of efforts along the motion that the loop leaves."""
    robot = four_bar()
    functions, tau = jax_functions(robot), np.array([3.0, 0.0, 0.0])
    q, v = robot.project(Q, V)
    a = robot.forward_dynamics(q, v, tau)
    slopes = jax.jacrev(functions.forward_dynamics, argnums=(0, 1, 2))(q, v, tau)
    for k, found in enumerate(slopes):
        for i, direction in enumerate(np.eye(3)):

            def moved(x, k=k):
                given = [q, v, tau]
                given[k] = x
                return robot.forward_dynamics(*given)

            # no further from the loops than they may be open
            expected = slope(moved, (q, v, tau)[k], direction, step=1e-7)
            assert np.abs(found[:, i] - expected).max() <= 1e-6 * np.abs(found).max()

    def along(s):
        there = robot.assemble(q + s * np.array([1.0, 0.0, 0.0]), lock=("crank_joint",))
        N = robot.functions.motions(there)[:, 0]
        speed = N * (v[0] / N[0])
        return there, speed, robot.forward_dynamics(there, speed, prescribed={"crank_joint": a[0]})

    ways = [slope(lambda s, k=k: along(s)[k], 0.0, 1.0) for k in range(3)]
    pulled = jax.jacrev(functions.inverse_dynamics, argnums=(0, 1, 2))(q, v, a)
    found = sum(one @ way for one, way in zip(pulled, ways, strict=True))
    expected = slope(lambda s: robot.inverse_dynamics(*along(s)), 0.0, 1.0)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
