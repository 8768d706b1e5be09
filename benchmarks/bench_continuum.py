"""Forward dynamics of soft arms: against soromox's constant-strain rods, against each other's models, over
sections.

    python benchmarks/bench_continuum.py [--states 4096] [--json] [--quick]

soromox (`pip install soromox`, JAX) is optional. One arm is set up in both, the preset bai2022: bending
about two axes and stretch are free, shear and torsion locked, stiffness and damping 3/2 k r^2 and 3 k in
bending angle and length; its accelerations must be ours to 1e-6 before any time is compared. Times are
medians, in this process, processor time for ours and for theirs alike, one thread for ours.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads

ROUNDS = 15
L, R, MASS, K, D = 0.15, 0.0125, 0.15, 1700.0, 15.0


def arm_of(n: int, length: float = L, mass: float = MASS, k: float = K, d: float = D):
    """n sections in series, upright, without plates."""
    text = '<robot name="arm"><flexdyn><gravity>0 0 -9.81</gravity></flexdyn>'
    text += "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    for i in range(n):
        text += (
            f'<joint name="s{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<origin xyz="0 0 {length!r}"/></joint>'
            f'<flexdyn reference="s{i}"><section length="{length!r}" '
            f'radius="{R}" mass="{mass!r}" stiffness="{k!r}" damping="{d!r}" '
            'lower="0" upper="0.03"/></flexdyn>'
        )
    return flexdyn_ros.load(text + "</robot>")


def seconds(call: Callable[[], object], repeats: int, rounds: int | None = None) -> float:
    """Median processor time of one call."""
    call()
    found = []
    for _ in range(ROUNDS if rounds is None else min(rounds, ROUNDS)):
        begin = time.process_time()
        for _ in range(repeats):
            call()
        found.append((time.process_time() - begin) / repeats)
    return median(found)


def states(n: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = (count, 3 * n)
    return rng.uniform(0, 0.03, shape), rng.uniform(-0.1, 0.1, shape), rng.uniform(0, 30, shape)


def to_strains(n: int) -> np.ndarray:
    """Matrix from actuator rates to rates of (kappa_y, kappa_z, stretch) of soromox's rod, whose x is our
    z.
    """
    A = np.array(
        [
            [-2 / (3 * R), 1 / (3 * R), 1 / (3 * R)],
            [0, -1 / (np.sqrt(3) * R), 1 / (np.sqrt(3) * R)],
            [1 / 3, 1 / 3, 1 / 3],
        ]
    )
    # kappa about its y (our x) is -uy / L, about its z (our y) ux / L
    to_kappa = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) / L
    return np.kron(np.eye(n), to_kappa @ A)


def soromox_arm(n: int):
    """The same arm as a constant-strain rod."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from soromox.systems.components import LinkSpec
    from soromox.systems.pcs.pcs import PCS
    from soromox.systems.pcs.structures import PCSStructure

    def matrix(x: float):
        return jnp.diag(
            jnp.array([0.0, 1.5 * x * R**2 * L**2, 1.5 * x * R**2 * L**2, 3 * x * L**2, 0.0, 0.0])
        )

    link = LinkSpec.circular(
        length=L,
        radius=R,
        density=MASS / (np.pi * R**2 * L),
        reference_strain=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        stiffness=matrix(K),
        damping=matrix(D),
    )
    selector = jnp.array([False, True, True, True, False, False] * n)
    structure = PCSStructure(num_gauss_points=8, strain_selector=selector)
    # base: its x along our z, its y along our x; quaternion x y z w, then position
    pose = jnp.array([-0.5, -0.5, -0.5, 0.5, 0.0, 0.0, 0.0])
    robot = PCS.from_links(
        [link] * n, structure=structure, gravity=jnp.array([0.0, 0.0, -9.81]), base_pose=pose, backend="jax"
    )
    return robot, jax, jnp


def against_soromox(n: int, count: int) -> dict[str, float]:
    ours = arm_of(n)
    theirs, jax, jnp = soromox_arm(n)
    q, v, tau = states(n, count)
    T = to_strains(n)
    load = np.linalg.inv(T).T
    y = jnp.asarray(np.concatenate([q @ T.T, v @ T.T], axis=1))
    w = jnp.asarray(tau @ load.T)
    one = jax.jit(lambda y, w: theirs.forward_dynamics(0.0, y, (None, w))[3 * n :])
    begin = time.perf_counter()
    one(y[0], w[0]).block_until_ready()
    compile_time = time.perf_counter() - begin
    many = jax.jit(jax.vmap(one))
    found = np.asarray(many(y, w)) @ np.linalg.inv(T).T
    a = ours.forward_dynamics(q, v, tau)
    difference = float(np.abs(found - a).max() / np.abs(a).max())
    call = seconds(lambda: one(y[0], w[0]).block_until_ready(), 20)
    batch = seconds(lambda: many(y, w).block_until_ready(), 1, 7) / count
    q0, v0, tau0 = q[0].copy(), v[0].copy(), tau[0].copy()
    our_call = seconds(lambda: ours.forward_dynamics(q0, v0, tau0), 300)
    our_batch = seconds(lambda: ours.forward_dynamics(q, v, tau), 1) / count
    return {
        "sections": n,
        "difference": difference,
        "soromox_compile_s": compile_time,
        "soromox_call_us": 1e6 * call,
        "call_us": 1e6 * our_call,
        "call_ratio": call / our_call,
        "soromox_batch_us": 1e6 * batch,
        "batch_us": 1e6 * our_batch,
        "batch_ratio": batch / our_batch,
    }


def over_sections(count: int) -> dict[str, object]:
    """Forward dynamics of 1 to 16 sections, per state of a batch, and the exponent of a power law."""
    numbers = [1, 2, 4, 8, 16]
    times = []
    for n in numbers:
        # by quadrature throughout: the closed form, that of a single section alone, is another algorithm
        arm = arm_of(n, length=L / n, mass=MASS / n, k=n * K, d=n * D)
        q, v, tau = states(n, count)
        q /= n
        times.append(seconds(partial(arm.with_quadrature().forward_dynamics, q, v, tau), 1) / count)
        if n == 1:
            closed = seconds(partial(arm.forward_dynamics, q, v, tau), 1) / count
    exponent = np.polyfit(np.log(numbers), np.log(times), 1)[0]
    mixed = np.polyfit(np.log(numbers), np.log([closed, *times[1:]]), 1)[0]
    return {
        "sections": numbers,
        "us": [1e6 * t for t in times],
        "exponent": float(exponent),
        "closed_us": 1e6 * closed,
        "exponent_with_closed_form": float(mixed),
    }


def of_models(count: int) -> dict[str, float]:
    """Forward dynamics of one section by its mass models [us per state of a batch]."""
    preset = '<section preset="bai2022"'
    text = (
        '<robot name="a"><link name="b"/><link name="t"/><joint name="s" type="fixed"><parent link="b"/>'
        '<child link="t"/><origin xyz="0 0 0.15"/></joint><flexdyn><gravity>0 0 -9.81</gravity></flexdyn>'
        f'<flexdyn reference="s">{preset}/></flexdyn></robot>'
    )
    fine = text.replace(preset, f'{preset} quadrature="24"')
    arms = {
        "24 Gauss nodes": flexdyn_ros.load(fine).with_quadrature(),
        "8 Gauss nodes": flexdyn_ros.load(text).with_quadrature(),
        "closed form": flexdyn_ros.load(text),
        "lumped": flexdyn_ros.load(text, options={"formulation.mass_model": "lumped"}),
        "lumped, two coefficients": flexdyn_ros.load(text, options={"formulation.mass_model": "lumped2"}),
        "modal kinematics, order 11": flexdyn_ros.load(text, options={"formulation.kinematics": "modal"}),
    }
    q, v, tau = states(1, count)
    return {
        name: 1e6 * seconds(lambda arm=arm: arm.forward_dynamics(q, v, tau), 1) / count
        for name, arm in arms.items()
    }


def main() -> int:
    global ROUNDS
    parser = program.parser(__doc__)
    parser.add_argument("--states", type=int, default=4096)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        ROUNDS, arguments.states = 1, 16
    set_batch_threads(1)
    result = {"growth": over_sections(arguments.states), "models": of_models(arguments.states)}
    try:
        result["soromox"] = [against_soromox(n, arguments.states) for n in (1, 3)]
    except ImportError:
        result["soromox"] = []
    if arguments.json:
        print(json.dumps(result))
        return 0
    growth = result["growth"]
    for n, us in zip(growth["sections"], growth["us"]):
        print(f"{n:3d} sections  {us:7.2f} us per state")
    print(
        f"time grows as n^{growth['exponent']:.2f}; must hold: at most n^1.3 (n^"
        f"{growth['exponent_with_closed_form']:.2f} with the closed form, {growth['closed_us']:.2f} us, "
        "for the single section)\n"
    )
    for name, us in result["models"].items():
        print(f"{name:28s} {us:6.2f} us per state")
    if not result["soromox"]:
        print("\nsoromox is not installed: pip install soromox")
    for r in result["soromox"]:
        print(
            f"\n{r['sections']} section(s), soromox: accelerations differ by {r['difference']:.1e} "
            "(at most 1e-6)"
            f"\n  per call {r['call_us']:.2f} us against {r['soromox_call_us']:.1f} us: "
            f"{r['call_ratio']:.0f} times"
            f"\n  per state of a batch {r['batch_us']:.2f} us against {r['soromox_batch_us']:.2f} us: "
            f"{r['batch_ratio']:.1f} times; its first call took {r['soromox_compile_s']:.1f} s"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
