"""Robots with closed loops against worked numbers, theorems, Pinocchio and published mechanisms."""

import machines
import numpy as np
import pytest
from machines import body, four_bar, joint, robot

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SingularityError, StateError
from flexdyn_ros.families.trees.loops.assembly import close_loops

#: W3 under a crank torque of 1 N m
A = np.array([24.022433731261, -30.772566003621, 4.853632817656])
PRISMATIC = '<limit lower="-9" upper="9" effort="0" velocity="9"/><axis'


def w3(**changes):
    r = four_bar(**changes)
    return (r, *r.project(machines.Q, machines.V))


def particle(mass, *loops, gravity="0 0 -9.81", start=""):
    """A point mass on three slides, whose carriages weigh nothing to speak of."""
    parts = []
    for name, parent, axis, m in (("x", "ground", (1, 0, 0), 1e-9), ("y", "cx", (0, 1, 0), 1e-9),
                                  ("z", "cy", (0, 0, 1), mass)):  # fmt: skip
        parts += [body(f"c{name}", m, (0, 0, 0), m * 1e-6 * np.eye(3))]
        slide = joint(name, parent, f"c{name}", axis=axis, type="prismatic")
        parts += [slide.replace("<axis", PRISMATIC)]
    return flexdyn_ros.load(
        robot("particle", *parts, flexdyn=f"<gravity>{gravity}</gravity>{''.join(loops)}{start}")
    )


def rod_loop(length):
    return f'<loop name="rod" type="distance" base="world" end="cz" length="{length}"/>'


def test_the_four_bar_has_the_worked_numbers():
    r, q, v = w3()
    np.testing.assert_allclose(q, machines.Q, atol=1e-12)
    np.testing.assert_allclose(r.neutral(), machines.Q, atol=1e-12)
    np.testing.assert_allclose(v, machines.V, atol=2e-12)
    (loop,) = r.loops
    assert (loop.name, loop.type, loop.rows, loop.redundant, r.mobility) == ("close", "revolute", 5, 3, 1)
    assert r.actuators == ("crank_joint",)
    np.testing.assert_allclose(r.forward_dynamics(q, v, [1.0, 0.0, 0.0]), A, rtol=1e-12)
    energy = r.energy(q, v)
    np.testing.assert_allclose(energy[:2], [0.3058491261706613, 14.010924373955657], rtol=1e-12)
    tau = r.inverse_dynamics(q, 0.0 * v, 0.0 * v)
    np.testing.assert_allclose(tau, [-2.300349069209468, 0.0, 0.0], rtol=1e-12)
    found = r.loop_reactions(q, v, tau=[1.0, 0.0, 0.0])
    # lam = -0.707533153626 along x, 5.668751007773 along -z of the coupler
    turn = q[0] + q[1]
    x, z = np.array([np.cos(turn), 0, -np.sin(turn)]), np.array([np.sin(turn), 0, np.cos(turn)])
    np.testing.assert_allclose(found.force[0], -0.707533153626 * x - 5.668751007773 * z, atol=2e-11)
    np.testing.assert_allclose(found.moment[0], 0.0, atol=1e-12)
    assert found.determinate.tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("type", ["revolute", "cylindrical", "universal", "spherical", "point_on_line"])
def test_joints_that_leave_the_same_plane_motion_give_the_same_accelerations(type):
    axes = {"universal": 'axis="0 1 0" end_axis="1 0 0"', "spherical": ""}.get(type, 'axis="0 1 0"')
    text = machines.FOUR_BAR_LOOP.replace("revolute", type).replace('axis="0 1 0"', axes)
    r, q, v = w3(loop=text)
    np.testing.assert_allclose(r.forward_dynamics(q, v, [1.0, 0.0, 0.0]), A, rtol=1e-10)


def test_a_row_that_is_there_twice_changes_no_acceleration():
    twice = machines.FOUR_BAR_LOOP + machines.FOUR_BAR_LOOP.replace('"close"', '"again"')
    r, q, v = w3(loop=twice)
    assert [loop.redundant for loop in r.loops] == [5, 5]
    np.testing.assert_allclose(r.forward_dynamics(q, v, [1.0, 0.0, 0.0]), A, rtol=1e-10)


def test_assembly_finds_the_nearest_pose_in_the_metric_of_the_mass():
    """W16: pose, distance, iterations, projected velocities; M d is in the range of J'."""
    r = four_bar()
    start = machines.Q + [0.1, -0.05, 0.08]
    q = r.assemble(start)
    np.testing.assert_allclose(q, [-0.8357371465324, 0.344424685081, -1.5598613534155], atol=1e-12)
    M, d = r.mass_matrix(start), r.difference(start, q)
    np.testing.assert_allclose(0.5 * d @ M @ d, 0.0011470675960073065, rtol=1e-10)
    geometry = r.functions.layers[-1].closing.geometry
    assert close_loops(geometry, start, np.ones(3, dtype=bool)).iterations == 14
    J = r.loop_jacobian(q)
    left = M @ d - J.T @ np.linalg.lstsq(J.T, M @ d, rcond=1e-10)[0]
    assert np.abs(left).max() < 1e-10
    v = r.project(q, np.ones(3))[1]
    np.testing.assert_allclose(v, [3.1781955182917, -4.079001132096, 0.6121681413641], atol=2e-12)


@pytest.mark.parametrize("limit", [1.0, 1e8])
def test_efforts_of_two_actuators_are_those_of_least_weighted_square(limit):
    """W14: limits 1 and 1/2 give the weights 1 and 4, as any others of that ratio."""
    text = machines.four_bar_urdf(more='<actuation active="crank_joint rocker_joint"/>')
    for name, effort in (("crank_joint", limit), ("rocker_joint", 0.5 * limit)):
        at = text.index("<axis", text.index(f'<joint name="{name}"'))
        text = text[:at] + f'<limit effort="{effort}" velocity="9"/>' + text[at:]
    r = flexdyn_ros.load(text)
    q, v = r.project(machines.Q, machines.V)
    a = np.array([0.0, -1.1824556730413, -2.0334382083554])
    tau = r.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(tau, [-2.6197880869055, 0.0, -0.1877689291337], atol=1e-10)
    np.testing.assert_allclose(r.forward_dynamics(q, v, tau), a, atol=1e-10)
    with pytest.warns(FlexdynWarning, match="open loop 'close' at"):
        r.inverse_dynamics(q, v, a + [0.0, 1.0, 0.0])


def test_a_mechanism_without_an_actuator_has_no_inverse_dynamics():
    r, q, v = w3(more="")
    assert r.actuators == ()
    with pytest.raises(SingularityError, match="no chosen actuator moves the mechanism"):
        r.inverse_dynamics(q, v, A)
    with pytest.warns(FlexdynWarning, match="2 of 2 motions are not possible"):
        tau = r.inverse_dynamics(*(np.array([x, x]) for x in (q, v, A)))
    assert np.isnan(tau).all()


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_derivatives_of_inverse_dynamics_undo_those_of_forward_dynamics(name):
    """tau(q, v, a(q, v, u)) = u: chain rule, with the derivatives of `forward_dynamics` by tangents."""
    r = machines.four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    driven = np.array([c.actuated for c in r.coordinates])
    rng = np.random.default_rng(4)
    frame = "rocker" if name == "four_bar" else r.frame_names[-1]
    q, v = r.project(r.integrate(r.neutral(), rng.uniform(-0.1, 0.1, r.nv), 1.0), rng.uniform(-1, 1, r.nv))
    tau = np.where(driven, rng.uniform(-1.0, 1.0, r.nv), 0.0)
    for wrenches in (None, {frame: np.array([0.3, 0.2, -0.4, 1.0, 2.0, -3.0])}):
        a = r.forward_dynamics(q, v, tau, wrenches)
        A, B = r.linearize(q, v, tau, wrenches)
        by_q, by_v, by_a = r.inverse_dynamics_derivatives(q, v, a, wrenches)
        size = np.abs(by_a @ A[r.nv :]).max()
        np.testing.assert_allclose(by_q, -by_a @ A[r.nv :, : r.nv], atol=1e-9 * size)
        np.testing.assert_allclose(by_v, -by_a @ A[r.nv :, r.nv :], atol=1e-9 * size)
        np.testing.assert_allclose((by_a @ B[r.nv :])[:, driven], np.eye(r.nv)[:, driven], atol=1e-9)
    # a batch, and a wrench for each of its states
    both = r.inverse_dynamics_derivatives(
        *(np.stack([x, x]) for x in (q, v, a)), {frame: np.stack([*wrenches.values()] * 2)}
    )
    np.testing.assert_allclose(both[0], [by_q, by_q], atol=1e-9 * size)


def test_linear_equations_under_wrenches_are_slopes_along_closed_motions():
    """Differences of forward dynamics over states on the loops, which know nothing of multipliers."""
    r, q, v = w3()
    wrenches = {"rocker": np.array([0.3, 2.0, -0.4, 7.0, 1.0, -9.0])}
    tau, rng, h = np.array([1.0, 0.0, 0.0]), np.random.default_rng(5), 1e-5
    A, B = r.linearize(q, v, tau, wrenches)
    assert np.abs(A - r.linearize(q, v, tau).A).max() > 1.0
    for dq, dv in rng.uniform(-1.0, 1.0, (4, 2, 3)):
        ends = [r.project(q + s * h * dq, v + s * h * dv) for s in (1.0, -1.0)]
        move = (np.concatenate(ends[0]) - np.concatenate(ends[1])) / (2.0 * h)
        slope = np.subtract(*(r.forward_dynamics(*end, tau, wrenches) for end in ends)) / (2.0 * h)
        np.testing.assert_allclose(A[3:] @ move, slope, atol=1e-6 * np.abs(A).max())
    slopes = [
        r.forward_dynamics(q, v, tau + e, wrenches) - r.forward_dynamics(q, v, tau, wrenches)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(B[3:], np.transpose(slopes), atol=1e-9)
    # batches: a wrench for each state
    many = {"rocker": np.stack([wrenches["rocker"], np.zeros(6)])}
    both = r.linearize(np.tile(q, (2, 1)), np.tile(v, (2, 1)), np.tile(tau, (2, 1)), many)
    np.testing.assert_allclose(both.A, [A, r.linearize(q, v, tau).A], rtol=1e-12, atol=1e-12)


def test_the_linear_equations_are_those_of_the_worked_example():
    """W9, and B by differences, in which forward dynamics is linear."""
    loop = machines.FOUR_BAR_LOOP.replace("revolute", "point_on_line")
    r, q, v = w3(loop=loop)
    by_q = [
        [38.361775872394, -13.756257193996, 10.691411601303],
        [-56.282019996334, 16.944543282327, -3.636647347897],
        [-5.101812444909, -3.943826899764, 9.327269673391],
    ]
    by_v = [
        [1.929713343889, -0.761626909349, -1.489321359854],
        [-4.047860442647, 0.938149087245, 3.538210273329],
        [-1.745971221335, -0.218353339162, 0.500036249843],
    ]
    tau = np.array([1.0, 0.0, 0.0])
    found = r.forward_dynamics_derivatives(q, v, tau)
    np.testing.assert_allclose(found.dq, by_q, atol=1e-9)
    np.testing.assert_allclose(found.dv, by_v, atol=1e-9)
    slopes = [r.forward_dynamics(q, v, tau + e) - r.forward_dynamics(q, v, tau) for e in np.eye(3)]
    np.testing.assert_allclose(found.dtau, np.transpose(slopes), atol=1e-9)
    # stage of a linearly implicit step: k' = a + b (da/dq (v + b k') + da/dv k')
    b = 0.01 * (1.0 - 1.0 / np.sqrt(2.0))
    a = r.forward_dynamics(q, v, tau)
    stage = np.linalg.solve(np.eye(3) - b * found.dv - b * b * found.dq, a + b * found.dq @ v)
    np.testing.assert_allclose(stage, [24.565087074330, -31.575803552117, 4.769801135270], atol=1e-9)


def test_derivatives_by_parameters_are_differences_of_robots():
    r, q, v = w3()
    tau, h = np.array([1.0, 0.0, 0.0]), 1e-4
    names = ("coupler/mass", "rocker/mx", "coupler/iyy", "crank_joint/damping")
    found = r.forward_dynamics_parameter_derivatives(q, v, tau, parameters=names)
    values = {p.name: p.value for p in r.parameters}
    order = [p.name for p in r.parameters if p.name in names]
    for column, name in zip(found.T, order, strict=True):
        # one-sided, since damping is not negative, and of second order
        a = [r.with_parameters({name: values[name] + k * h}).forward_dynamics(q, v, tau) for k in range(3)]
        np.testing.assert_allclose(column, (4.0 * a[1] - 3.0 * a[0] - a[2]) / (2.0 * h), rtol=1e-5, atol=1e-5)


def test_accelerations_without_gravity_grow_with_the_square_of_the_speed_and_so_do_contradictions():
    """Of a mechanism with a redundant row, closed, and nearly so."""
    r = flexdyn_ros.load(machines.bricard().description.text, options={"gravity": [0.0, 0.0, 0.0]})
    q, v = r.project(r.neutral(), np.array([1.0, -1.0, 1.0, -1.0, 1.0]))
    off = q + [0.0, 6e-7, 0.0, 0.0, 0.0]
    assert 1e-7 < np.abs(r.loop_residual(off)).max() < 1e-6
    a = r.forward_dynamics(q, v)
    for share in (1.0, 0.1, 0.05):
        np.testing.assert_allclose(r.forward_dynamics(q, share * v), share**2 * a, rtol=1e-9)
        with pytest.raises(SingularityError, match="contradict"):
            r.forward_dynamics(off, share * v)


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_the_size_of_a_parallelogram_with_a_rod_too_many_does_not_matter_to_what_contradicts(size):
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    parts = [machines.rod("crank", size, 1.0, along=z), machines.joint("foot", "ground", "crank")]
    parts += [machines.rod("bar", 2 * size, 1.0, along=x), machines.joint("top", "crank", "bar", at=size * z)]
    loops = "<gravity>0 0 -9.81</gravity>"
    for k, at in enumerate((f"{size} 0 0", f"{size} 0 {0.5 * size}")):
        ends = f'base="world" base_xyz="{at}" end="bar" end_xyz="{at}"'
        loops += f'<loop name="rod_{k}" type="distance" {ends} length="{size}"/>'
    r = flexdyn_ros.load(machines.robot("parallelogram", *parts, flexdyn=loops))
    q, still = np.array([0.5, -0.5]), np.zeros(2)
    # the crank is a rod, the bar on it a particle: 4/3 m l a = 3/2 m g sin(q)
    a = 9.0 / 8.0 * 9.81 / size * np.sin(0.5)
    np.testing.assert_allclose(r.forward_dynamics(q, still), [a, -a], rtol=1e-9)
    with pytest.raises(SingularityError, match="contradict"):
        r.forward_dynamics(q + [0.0, 5e-7], still)


def test_a_particle_on_a_rod_has_the_force_of_a_pendulum():
    """W2: lam = -(m L w^2 + m g cos), along the rod."""
    angle, rate, m, length = 0.6, 1.7, 2.5, 1.3
    r = particle(m, rod_loop(length), start='<assembly start="z -1.3"/>')
    n = np.array([np.sin(angle), 0.0, -np.cos(angle)])
    along = np.array([np.cos(angle), 0.0, np.sin(angle)])
    q, v = length * n, length * rate * along
    a = r.forward_dynamics(q, v)
    np.testing.assert_allclose(a, [-6.6930134892144, 0.0, -0.0268493090763], atol=1e-8)
    force = r.loop_reactions(q, v, tau=np.zeros(3)).force[0]
    np.testing.assert_allclose(force, -29.63385595565986 * n, atol=1e-7)


def test_the_pendulum_on_a_rod_swings_by_the_curvature_of_the_rod_alone():
    """W5: omega^2 = g / L, twice."""
    r = particle(2.0, rod_loop(1.7), start='<assembly start="z -1.7"/>')
    modes = r.modes(r.neutral())
    np.testing.assert_allclose((2.0 * np.pi * modes.frequency) ** 2, [5.770588235294] * 2, rtol=1e-8)


def test_andrews_squeezer_starts_with_the_published_accelerations():
    r = machines.squeezer()
    assert r.mobility == 1
    a = r.forward_dynamics(r.neutral(), np.zeros(7), r.efforts({"K1_joint": 0.033}))
    np.testing.assert_allclose(a[:2], [14222.4439199541, -10666.8329399656], rtol=1e-12)


def test_andrews_squeezer_is_where_it_is_published_to_be():
    r = machines.squeezer()
    run = flexdyn_ros.simulate(r, 0.03, control={"K1_joint": 0.033}, rtol=1e-8, sample=0.03, record=())
    found = [run.q[-1][r.v_names.index(f"{name}_joint")] for name in ("K1", "K2", "K3")]
    np.testing.assert_allclose(found, [15.81077119629904, -15.75637105984298, 0.04082224013073101], atol=1e-7)


def test_bricards_mechanism_moves_although_rows_and_joints_are_equally_many():
    """W13: rank 4 of 5 rows, and its corner after a second."""
    r = machines.bricard()
    (loop,) = r.loops
    assert (r.nv, loop.rows, loop.redundant, r.mobility) == (5, 5, 1, 1)
    run = flexdyn_ros.simulate(r, 1.0, rtol=1e-8, sample=1.0, record=())
    corner = r.frames(run.q[-1], "bar_3")[:3, 3]
    np.testing.assert_allclose(corner, [0.51050146, -1.64916760, 0.14012311], atol=1e-7)


def test_two_four_bars_are_a_pendulum():
    """W17: 3 t'' = 3.5 g sin t; and the loops stay closed at every sample."""
    r = machines.four_bars(2)
    v = np.where([name.startswith("foot") for name in r.v_names], -1.0, 1.0)
    run = flexdyn_ros.simulate(r, 0.5, r.neutral(), v, rtol=1e-9, sample=0.05, record=())
    found = -run.q[-1][0], -run.v[-1][0]
    np.testing.assert_allclose(found, [0.7688186275555, 2.727308494278], atol=1e-8)
    assert np.abs(r.loop_residual(run.q)).max() < 1e-10
    speeds = np.einsum("nij,nj->ni", r.loop_jacobian(run.q), run.v)
    assert np.abs(speeds).max() < 1e-9


def test_fixed_steps_keep_loops_closed_and_the_energy():
    r, q, v = w3()
    run = flexdyn_ros.simulate(r, 0.1, q, v, dt=2e-3, record=("energy",))
    assert np.abs(r.loop_residual(run.q)).max() < 1e-10
    assert np.ptp(run.energy.total) < 1e-7 * np.ptp(run.energy.kinetic)


def test_a_start_off_the_loops_is_moved_onto_them_and_it_is_said_by_how_much():
    r = four_bar()
    with pytest.warns(FlexdynWarning, match="moved onto the constraints.*coordinates by up to 0.156"):
        run = flexdyn_ros.simulate(r, 0.002, machines.Q + [0.1, -0.05, 0.08], dt=1e-3, record=())
    assert np.abs(r.loop_residual(run.q[0])).max() < 1e-12


def test_states_off_the_loops_have_no_forward_dynamics():
    r, q, v = w3()
    with pytest.raises(StateError, match=r"loop 'close' is open by 0.0105 m.*assemble"):
        r.forward_dynamics(q + [0.01, 0.0, 0.0], v)
    with pytest.raises(StateError, match="loop 'close' opens at"):
        r.forward_dynamics(q, v + [0.01, 0.0, 0.0])
    with pytest.warns(FlexdynWarning, match="1 of 2 states are off the loops"):
        a = r.forward_dynamics(np.array([q, q + 0.01]), v, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(a[0], A, rtol=1e-12)
    assert np.isnan(a[1]).all()


def test_a_singular_pose_gives_least_squares_and_says_so():
    """The parallelogram that lies flat."""
    r = machines.four_bars(1)
    q = np.zeros(r.nv)
    for name, angle in (("foot_0", -0.5 * np.pi), ("foot_1", -0.5 * np.pi), ("top_0", 0.5 * np.pi)):
        q[r.v_names.index(name)] = angle
    assert np.abs(r.loop_residual(q)).max() < 1e-15
    with pytest.warns(FlexdynWarning, match="loop 'close_0' is in a singular pose"):
        a = r.forward_dynamics(q, np.zeros(r.nv))
    assert np.isfinite(a).all()


def test_accelerations_that_are_given_move_the_rest():
    r, q, v = w3()
    a = r.forward_dynamics(q, v, [0.0, 0.0, 0.0], prescribed={"crank_joint": A[0]})
    np.testing.assert_allclose(a, A, rtol=1e-10)
    with pytest.raises(SingularityError, match="contradict"):
        r.forward_dynamics(q, v, prescribed={"crank_joint": 0.0, "rocker_joint": 0.0})


def test_a_batch_is_its_calls():
    r = four_bar()
    rng = np.random.default_rng(4)
    poses = [r.assemble(machines.Q + rng.uniform(-0.2, 0.2, 3)) for _ in range(17)]
    states = [r.project(pose, rng.uniform(-1.0, 1.0, 3)) for pose in poses]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    tau, a = rng.uniform(-1.0, 1.0, (17, 3)) * [1, 0, 0], np.empty((17, 3))
    for i in range(17):
        a[i] = r.forward_dynamics(q[i], v[i], tau[i])
    np.testing.assert_allclose(r.forward_dynamics(q, v, tau), a, rtol=1e-12)
    np.testing.assert_allclose(r.inverse_dynamics(q, v, a), tau, atol=1e-10)
    A = np.array(next(r.linearize(*state) for state in zip(q[:3], v[:3], tau[:3], strict=True)).A)
    np.testing.assert_allclose(r.linearize(q, v, tau).A[0], A, atol=1e-10)


def test_static_equilibrium_holds_and_lets_go():
    r, q, _ = w3()
    held = r.static_equilibrium(q, hold=["crank_joint"])
    np.testing.assert_allclose(held.q, q, atol=1e-11)
    np.testing.assert_allclose(held.tau, [-2.300349069209468, 0.0, 0.0], atol=1e-10)
    free = r.static_equilibrium(q)
    np.testing.assert_allclose(r.forward_dynamics(free.q, np.zeros(3)), 0.0, atol=1e-9)
    modes = r.modes(free.q)
    assert bool(modes.unstable) != free.stable
    assert modes.frequency.shape == (1,)


def test_the_mode_of_a_four_bar_is_the_second_difference_of_its_energy():
    """With one coordinate left, omega^2 = V''/T'' along the closed poses, by five points."""
    spring = (
        '<spring name="s" base="ground" base_xyz="1.2 0 0.3" end="rocker" end_xyz="0.5 0 0" stiffness="300"/>'
    )
    r = four_bar(more=spring)
    q = r.static_equilibrium(r.neutral()).q
    h, V = 1e-3, []
    lock = ("crank_joint",)
    for k in (-2, -1, 0, 1, 2):
        at = r.assemble(q + np.array([k * h, 0.0, 0.0]), lock=lock)
        V.append(sum(r.energy(at, np.zeros(3))[1:]))
    second = (-V[0] + 16 * V[1] - 30 * V[2] + 16 * V[3] - V[4]) / (12 * h * h)
    J = r.loop_jacobian(q)
    N = np.linalg.svd(J)[2][2]
    N = N / N[0]
    mass = N @ r.mass_matrix(q) @ N
    found = (2 * np.pi * r.modes(q).frequency[0]) ** 2
    np.testing.assert_allclose(found, second / mass, rtol=1e-6)


def test_a_cylinder_drives_a_closed_mechanism():
    """Efforts of the cylinder hold it; power of the cylinder is the rate of the energy."""
    cylinder = (
        '<cylinder name="c" base="ground" base_xyz="0 0 -0.5" end="rocker" end_xyz="0.3 0 0"'
        ' minimum_length="0.3" stroke="1.5"/>'
    )
    r = four_bar(more=cylinder)
    assert r.actuators == ("c",)
    q, v = r.project(machines.Q, machines.V)
    tau = r.inverse_dynamics(q, v, A)
    np.testing.assert_allclose(r.forward_dynamics(q, v, tau), A, rtol=1e-9)
    a = r.forward_dynamics(q, v, tau)
    h, rates = 1e-5, r.cylinder_states(q, v).rate
    ahead = [sum(r.energy(q + s * h * v + 0.5 * h * h * a, v + s * h * a)) for s in (1, -1)]
    np.testing.assert_allclose((ahead[0] - ahead[1]) / (2 * h), tau[3] * rates[0], rtol=1e-6)


def test_the_accelerations_are_those_of_pinocchio():
    """Closed by a spherical joint, as CONTACT_3D has it."""
    pin = pytest.importorskip("pinocchio")
    spherical = machines.FOUR_BAR_LOOP.replace("revolute", "spherical").replace('axis="0 1 0"', "")
    text = machines.four_bar_urdf(loop=spherical)
    r = flexdyn_ros.load(text)
    model = pin.buildModelFromXML(text[: text.index("<flexdyn>")] + "</robot>")
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    ends = [
        (model.getJointId(f"{name}_joint"), pin.SE3(np.eye(3), np.array([x, 0.0, 0.0])))
        for name, x in (("coupler", 0.8), ("rocker", 0.6))
    ]
    contact = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL
    )
    contacts, contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    contacts.append(contact)
    contact_data.append(contact.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, contacts, contact_data)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, v = r.project(r.assemble(machines.Q + rng.uniform(-0.2, 0.2, 3)), rng.uniform(-2, 2, 3))
        tau = rng.uniform(-1.0, 1.0, 3)
        at = np.array([x for angle in q for x in (np.cos(angle), np.sin(angle))])
        order = [model.idx_vs[model.getJointId(name)] for name in r.v_names]
        places = [model.idx_qs[model.getJointId(name)] for name in r.v_names]
        qp, vp, tp = np.zeros(6), np.zeros(3), np.zeros(3)
        for i in range(3):
            qp[places[i] : places[i] + 2], vp[order[i]], tp[order[i]] = at[2 * i : 2 * i + 2], v[i], tau[i]
        settings = pin.ProximalSettings(1e-14, 1e-14, 10)
        a = pin.constraintDynamics(model, data, qp, vp, tp, contacts, contact_data, settings)
        np.testing.assert_allclose(r.forward_dynamics(q, v, tau), np.array(a)[order], rtol=1e-9, atol=1e-9)


BEAM = """<robot name="beam"><link name="ground"/><link name="b"/>
<joint name="hinge" type="{type}"><parent link="ground"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="100" velocity="9"/></joint>
<flexdyn><gravity>0 0 {g}</gravity><formulation stiffening="{stiffening}"/>
<actuation active="hinge"/>
<loop name="tip" type="point_on_plane" base="world" end="b@tip" axis="0 0 1"/></flexdyn>
<flexdyn reference="b"><beam length="1.2" mass_per_length="2" EIy="50" EIz="50" GJ="1e4" EA="1e7"
 polar_inertia="0"/><modes bending_z="{modes}"/></flexdyn></robot>"""


def propped_beam(modes, gravity=0.0, stiffening="full"):
    text = BEAM.format(type="revolute", modes=modes, g=gravity, stiffening=stiffening)
    return flexdyn_ros.load(text, options={"formulation.rotary_inertia": "none"})


def test_a_propped_beam_vibrates_as_its_shapes_allow():
    """W7: two clamped-free modes under the condition that the tip stays: 3.97213434789, above the exact
    3.92660231."""
    r = propped_beam(2)
    assert (r.nv, r.mobility) == (3, 2)
    q = r.neutral()
    np.testing.assert_allclose(q, 0.0, atol=1e-15)
    held = 2.0 * np.pi * r.modes(q, lock=("hinge",)).frequency
    np.testing.assert_allclose(held, [54.784205825306], rtol=1e-9)
    free = 2.0 * np.pi * r.modes(q).frequency
    np.testing.assert_allclose(free, [34.701814057519, 226.023609781044], rtol=1e-9)
    tau = np.array([1.0, 0.0, 0.0])
    a = r.forward_dynamics(q, np.zeros(3), tau)
    np.testing.assert_allclose(a, [163.226475066148, 227.131441538722, -31.259671459344], rtol=1e-9)
    force = r.loop_reactions(q, np.zeros(3), tau=tau).force[0]
    np.testing.assert_allclose(force, [0.0, 0.0, 2.578578578619], rtol=1e-9, atol=1e-12)


def test_a_propped_beam_rests_on_three_eighths_of_its_weight():
    """W8."""
    r = propped_beam(3, gravity=-9.81, stiffening="none")
    found = r.static_equilibrium(hold=["hinge"])
    np.testing.assert_allclose(found.q[1:], [-0.004184724502, 0.003972344184, 0.000212380318], atol=1e-11)
    np.testing.assert_allclose(found.tau[0], -3.514617174924, rtol=1e-9)
    force = r.loop_reactions(found.q, np.zeros(4), tau=found.tau).force[0]
    np.testing.assert_allclose(force[2], 8.84315235423, rtol=1e-8)
    assert found.stable


def test_batches_of_nothing_give_nothing():
    r, none = four_bar(), np.zeros((0, 3))
    assert r.forward_dynamics(none, none, none).shape == (0, 3)
    assert r.forward_dynamics(none, none, none, wrenches={"rocker": np.zeros((0, 6))}).shape == (0, 3)
    assert r.inverse_dynamics(none, none, none).shape == (0, 3)
    assert r.loop_residual(none).shape == (0, 5)
    assert r.loop_jacobian(none).shape == (0, 5, 3)
    for given in ({"tau": none}, {"a": none}):
        found = r.loop_reactions(none, none, **given)
        assert [part.shape for part in found] == [(0, 1, 3), (0, 1, 3), (0, 5)]
    A, B, *_ = r.linearize(none, none)
    assert (A.shape, B.shape) == ((0, 6, 6), (0, 6, 3))
    modes = r.modes(none)
    assert modes.frequency.shape == (0, 1)
    assert modes.shape.shape == (0, 3, 1)
