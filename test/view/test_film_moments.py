"""What a film shows: once around what moves the robot, in equal steps, as browsers take it."""

from types import SimpleNamespace

import machines
import numpy as np
import pytest

import flexdyn_ros

pytest.importorskip("viser")
pytest.importorskip("trimesh")

from flexdyn_ros.view import Viewer, guard
from flexdyn_ros.view.film import moments_of


@pytest.fixture(scope="module")
def viewer():
    viewer = Viewer(flexdyn_ros.load("flexible_two_link"), port=8393)
    yield viewer
    viewer.close()


@pytest.fixture
def bent(viewer):
    """A pose."""
    q = viewer.robot.neutral()
    q[[viewer.robot.q_names.index(name) for name in ("shoulder", "elbow")]] = 0.3, -0.2
    viewer.pose(q)
    return q


def shown(viewer, rate, most=1000):
    """q (n, nq) and v (n, nv) of the moments of a film, and their rate."""
    moments, found = moments_of(viewer, rate, most)
    states = []
    with viewer.standing_still():
        for move in moments:
            move()
            states.append((viewer.q.copy(), viewer.v.copy()))
    q, v = map(np.array, zip(*states, strict=True))
    return q, v, found


def test_a_film_of_a_mode_shows_one_swing(viewer, bent):
    viewer.play_mode(1)
    q, v, rate = shown(viewer, 5.0)
    assert (len(q), rate) == (8, pytest.approx(5.0))
    off = q - bent
    # of all harmonics of its period the first, the shape of the mode, from the middle
    assert np.abs(off[2]).max() > 1e-3
    turn = 2.0 * np.pi * np.arange(8) / 8
    np.testing.assert_allclose(off, np.outer(np.sin(turn), off[2]), atol=1e-12)
    np.testing.assert_allclose(v, np.outer(np.cos(turn), v[0]), atol=1e-12 * np.abs(v).max())
    assert off[2] @ v[0] > 0.0


def test_a_film_of_a_tour_moves_one_coordinate_after_the_other(viewer):
    nv = viewer.robot.nv
    viewer.tour()
    q, v, _ = shown(viewer, 5.0)
    off = (q - viewer.robot.neutral()).reshape(nv, 8, nv)
    for number, turn in enumerate(off):
        others = np.delete(turn, number, axis=1)
        assert not others.any()
        # up and down, with the ends in the middle of each half
        assert np.argmax(turn[:, number]) == 2
        assert np.argmin(turn[:, number]) == 6
    assert not v.any()


def test_a_film_of_a_closed_mechanism_is_one_tour_of_what_is_driven():
    viewer = Viewer(machines.four_bar(more='<actuation active="crank_joint"/>'), port=8394)
    try:
        viewer.tour()
        q, _, _ = shown(viewer, 10.0)
    finally:
        viewer.close()
    assert len(q) == 16
    crank = q[:, viewer.robot.q_names.index("crank_joint")]
    off = crank - viewer.robot.neutral()[viewer.robot.q_names.index("crank_joint")]
    assert (np.argmax(off), np.argmin(off)) == (4, 12)
    assert np.abs(viewer.robot.loop_residual(q)).max() < 1e-9


def test_a_film_of_a_run_goes_from_its_begin_to_its_end(viewer):
    start = viewer.robot.neutral()
    run = flexdyn_ros.simulate(viewer.robot, 0.25, start, t0=1.0, dt=1.0 / 1024, sample=1.0 / 64)
    viewer.play(run)
    q, v, rate = shown(viewer, 32.0)
    assert (len(q), rate) == (8, 32.0)
    np.testing.assert_array_equal(q, run.q[:-1:2])
    np.testing.assert_array_equal(v, run.v[:-1:2])
    # no more than so many, in the same time; at half the speed twice as many
    q, _, rate = shown(viewer, 32.0, most=4)
    assert (len(q), rate) == (4, 16.0)
    np.testing.assert_array_equal(q, run.q[:-1:4])
    viewer.playback.speed = 0.5
    q, _, rate = shown(viewer, 32.0)
    assert (len(q), rate) == (16, 32.0)
    np.testing.assert_array_equal(q, run.q[:-1])


def test_a_film_of_a_pose_is_one_moment(viewer, bent):
    q, _, rate = shown(viewer, 7.0)
    assert (len(q), rate) == (1, 7.0)
    np.testing.assert_array_equal(q[0], bent)


def test_a_browser_gets_a_picture_of_many_parts_at_once():
    """Not in halves, which it would draw one after the other."""
    import viser
    import zstandard
    from websockets.sync.client import connect

    viewer = Viewer(flexdyn_ros.load("two_link"), port=8398)
    protocol = f"viser-v{viser.__version__}"
    try:
        for i in range(400):
            viewer.server.scene.add_frame(f"/part_{i}/")
        with connect(f"ws://127.0.0.1:{viewer.port}", subprotocols=[protocol], max_size=None) as page:
            told = page.recv(timeout=20.0)
    finally:
        viewer.close()
    # lengths of the text, and of what it is packed into
    length, packed = np.frombuffer(told[:16], "<u8").astype(int)
    text = zstandard.ZstdDecompressor().decompress(told[16 : 16 + packed], max_output_size=length)
    assert all(f"/part_{i}/".encode() in text for i in range(400))


def test_a_browser_is_waited_for_without_keeping_the_processor_busy(monkeypatch):
    """Until it was sent the newest message, but not for ever; whoever has left is not waited for."""

    def waited(cursors):
        sent, buffer = [], SimpleNamespace(message_counter=9, generator_cursors=dict(cursors))

        def flush():
            sent.append(1)
            if 2 in cursors:
                buffer.generator_cursors[2] += 1

        server = SimpleNamespace(_websock_server=SimpleNamespace(_broadcast_buffer=buffer), flush=flush)
        guard.wait_until_sent(server, SimpleNamespace(client_id=2))
        return len(sent)

    assert waited({1: 3}) == 0
    assert waited({1: 3, 2: 8}) == 0
    assert waited({1: 3, 2: 5}) == 3
    slept = []
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append))
    assert waited({1: 3, 2: 4}) == len(slept) == 4
    assert min(slept) > 0.0
