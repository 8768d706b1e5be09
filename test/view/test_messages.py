"""What visitors can do to a viewer: hostile messages, files, pictures, values of controls."""

import io
import os
import random
import re
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from pendulums import double_pendulum
from visits import (
    HERE,
    PROTOCOL,
    answer,
    camera_message,
    client_of_sockets,
    encoded,
    is_answering,
    is_closed,
    until,
    update,
    visit,
)

import flexdyn_ros
from flexdyn_ros.view import Viewer
from flexdyn_ros.view.panels.run import literal
from flexdyn_ros.view.visitors import (
    LARGEST_MESSAGE,
    LARGEST_OTHER,
    LARGEST_UPLOAD,
    MOST_PARTS,
    MOST_VISITORS,
    Pace,
    Visitors,
)


@pytest.fixture(scope="module")
def viewer():
    made = Viewer(double_pendulum(), port=8430, allow_hosts=["robot.example", "tunnel.example:9000"])
    yield made
    made.close()


def test_what_a_visitor_sends_stays_until_it_is_taken(viewer, monkeypatch):
    """Sliders follow the robot ten times a second; the thread that takes what was sent may come later."""
    panel = viewer.panels.pose
    slid, slider = panel._slid, panel.sliders[0]

    def late(event, index):
        if event.client is not None:
            time.sleep(0.6)
        slid(event, index)

    viewer.pose(np.array([0.7, 0.0]))
    with visit(viewer) as wire:
        until(lambda: abs(slider.value - 0.7) < slider.step)
        time.sleep(0.5)  # the sliders are left alone for a while after a visitor
        monkeypatch.setattr(panel, "_slid", late)
        wire.send(update(slider, 0.5))
        until(lambda: viewer.q[0] != 0.7, 5.0)
    assert viewer.q[0] == 0.5


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\xc1", b"\x00" * 1000, random.Random(0).randbytes(5000), b"\x91" * 60_000, b"\x91" * 5_000_000,
     b"{}", b"\x80", b"\xdd\xff\xff\xff\xff", b"\x81\xa4type\xc4\x01a", "text", "{" * 100_000],
    ids=lambda g: f"{len(g)} of {g[:1]!r}",
)  # fmt: skip
def test_garbage_ends_the_visit_and_nothing_else(viewer, garbage):
    with visit(viewer) as other, visit(viewer) as wire:
        wire.send(garbage)
        assert is_closed(wire, 1008)
        other.send(camera_message(fov=0.5))
        assert other.ping().wait(20.0)
    assert is_answering(viewer)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_huge_messages_are_not_even_read(viewer):
    """One that tells a huge size is refused by its head; lists of millions in a small one are not built."""
    from websockets.exceptions import ConnectionClosed

    before = resident()
    with visit(viewer) as wire:
        with suppress(ConnectionClosed):
            wire.send(b"\xc4" * (LARGEST_MESSAGE + 1))
        assert is_closed(wire, 1009)
    # 15 million empty lists would take a gigabyte
    lists = b"\xdd" + (15_000_000).to_bytes(4, "big") + b"\x90" * 15_000_000
    hostile = b"\x82\xa4type\xb0GuiUpdateMessage\xa7updates" + lists
    with visit(viewer) as wire:
        wire.send(hostile)
        assert is_closed(wire, 1008)
    assert resident() - before < 200.0
    assert is_answering(viewer)


def test_a_visitor_cannot_open_the_viewer_to_the_internet(viewer, monkeypatch):
    """The library's page has a button for it, which is hidden; its message would be obeyed all the same."""
    asked = []
    monkeypatch.setattr(viewer.server, "request_share_url", lambda: asked.append("to be shared"))
    with visit(viewer) as wire:
        wire.send(encoded("ShareUrlRequest"))
        wire.send(update(viewer.panels.pose.sliders[1], 0.3))
        until(lambda: abs(viewer.q[1] - 0.3) < 1e-12)
    time.sleep(0.2)
    assert not asked


def test_a_visitor_sets_values_and_no_other_attribute_of_a_control(viewer):
    slider = viewer.panels.pose.sliders[0]
    before = {name: getattr(slider._impl, name) for name in ("update_cb", "sync_cb", "removed", "props")}
    with visit(viewer) as wire:
        for updates in (
            {"update_cb": []}, {"sync_cb": "x"}, {"removed": True}, {"props": {}}, {"__class__": "x"}, {},
            {"value": 0.1, "removed": True}, {"value": {"a": 1}}, {"value": [1.0] * 9}, {"value": None},
            {"value": "x" * 1001}, {"value": float("nan")}, {"value": float("inf")},
        ):  # fmt: skip
            wire.send(encoded("GuiUpdateMessage", uuid=slider._impl.uuid, updates=updates))
    assert is_answering(viewer)
    assert {name: getattr(slider._impl, name) for name in before} == before


def test_values_that_no_control_offers_do_no_harm(viewer):
    panels = viewer.panels
    viewer.find_modes()
    viewer.play_mode(0)
    with visit(viewer) as wire:
        for handle, value in (
            (panels.pose.sliders[0], 1e308), (panels.pose.sliders[1], "nan"),
            (panels.look.colouring, "__class__"),
            (panels.modes.list, "99: nothing"), (panels.modes.amplitude, 1e300), (panels.modes.speed, -1e300),
            (panels.time_line.speed, "1e999"), (panels.time_line.time, "-inf"), (panels.run.duration, 1e12),
        ):  # fmt: skip
            wire.send(update(handle, value))
        until(lambda: panels.run.duration.value == 1e12)
        until(lambda: np.all(np.isfinite(viewer.q)))
        reach = viewer.reach
        assert np.all(np.abs(viewer.q) <= np.abs(reach.upper) + 1e-9)
        assert panels.colouring == "none"
        assert panels.modes.number == 0
        assert panels.modes.amplitude_now() == 3.0
        assert panels.modes.speed_now() == 0.1
        assert panels.time_line.chosen_speed == 1.0
        viewer.play_mode(0)
    panels.run.duration.value = 4.0
    assert is_answering(viewer)


def test_one_run_at_a_time_is_simulated_however_often_the_button_is_pressed(viewer):
    begun, go_on = [], threading.Event()

    def work():
        begun.append(1)
        go_on.wait(20.0)

    for _ in range(50):
        viewer.panels.jobs.in_background(work)
    until(lambda: viewer.message.startswith("busy"))
    before = threading.active_count()
    assert len(begun) == 1
    go_on.set()
    until(lambda: threading.active_count() < before)
    viewer.panels.jobs.in_background(work)
    until(lambda: len(begun) == 2)


def start(name, size, parts, source):
    return encoded(
        "FileTransferStartUpload", source_component_uuid=source, transfer_uuid=name, filename="../../x.npz",
        mime_type="", part_count=parts, size_bytes=size,
    )  # fmt: skip


def part(name, index, content, source=None):
    return encoded(
        "FileTransferPart",
        source_component_uuid=source,
        transfer_uuid=name,
        part_index=index,
        content=content,
    )


def test_files_on_their_way_are_bounded_together():
    told = []
    visitors, one, two = Visitors("127.0.0.1", report=told.append), object(), object()
    half = LARGEST_UPLOAD // 2
    assert visitors.accepts(one, start("a", half, 3, "button"))
    assert visitors.accepts(two, start("b", half, 3, "button"))
    assert not visitors.accepts(two, start("c", 1, 1, "button"))
    assert "--recording" in told[-1]
    # not more than said, no part twice, none of somebody else
    assert visitors.accepts(one, part("a", 0, b"x" * 1000))
    assert not visitors.accepts(one, part("a", 0, b""))
    assert not visitors.accepts(one, part("a", 3, b""))
    assert not visitors.accepts(two, part("a", 1, b""))
    assert not visitors.accepts(one, start("a", 1, 1, "button"))
    with pytest.raises(ValueError, match="at most"):
        visitors.accepts(one, part("a", 1, b"x" * 2**21))
    visitors.forget(two)
    assert visitors.accepts(two, start("c", 10, 1, "button"))
    assert not visitors.accepts(two, part("c", 0, b"x" * 11))
    assert visitors.accepts(two, part("c", 0, b"x" * 10))
    assert not visitors.accepts(two, start("empty", 0, 0, "button"))
    assert not visitors.accepts(two, start("many", 1, MOST_PARTS, "button"))
    assert "anew" in told[-1]
    # a viewer takes so many parts and no more, whether they were sent or not
    visitors = Visitors("127.0.0.1", report=told.append)
    assert visitors.accepts(one, start("few", 1, MOST_PARTS - 2, "button"))
    assert visitors.accepts(one, start("all", 1, 2, "button"))
    visitors.forget(one)
    told.clear()
    assert not visitors.accepts(two, start("more", 1, 1, "button"))
    assert "anew" in told[-1]


def test_a_recording_can_be_sent_and_anything_else_cannot(viewer, tmp_path):
    run = flexdyn_ros.simulate(viewer.robot, 0.1, [0.2, 0.0], dt=1e-3)
    run.save(tmp_path / "run.npz")
    content = (tmp_path / "run.npz").read_bytes()
    button = next(
        h for h in viewer.server.gui._gui_input_handle_from_uuid.values() if "Upload" in type(h).__name__
    )
    source = button._impl.uuid
    with visit(viewer) as wire:
        # what a visitor who leaves has begun keeps nobody else from sending
        for name, size in (("begun", LARGEST_UPLOAD), ("more", 1)):
            wire.send(start(name, size, 1, source))
        until(lambda: "--recording" in viewer.message)
    with visit(viewer) as wire:
        wire.send(start("good", len(content), 1, source))
        wire.send(part("good", 0, content, source))
        until(lambda: viewer.source == "run" and len(viewer.playback.trajectory) == len(run))
    viewer.pose(viewer.robot.neutral())
    for name, text in (("/etc/passwd", b"x"), ("x.npz", b"PK\x03\x04 no"), ("x.mcap", b"\x89MCAP0\r\nno")):
        viewer.message = ""
        viewer.panels.jobs.attempt(
            lambda n=name, t=text: viewer.panels.run.open(SimpleNamespace(name=n, content=t))
        )
        assert viewer.message
        assert viewer.source == "pose"
    assert is_answering(viewer)


@pytest.mark.filterwarnings("ignore:Image size")
def test_a_picture_of_a_visitor_is_png_or_jpeg_of_bounded_size():
    from PIL import Image

    visitors = Visitors("127.0.0.1")

    def taken(payload):
        return visitors.accepts(
            object(), encoded("GetRenderResponseMessage", payload=payload, render_uuid="1")
        )

    def picture(kind, size):
        file = io.BytesIO()
        Image.new("1" if kind == "PNG" else "L", size).save(file, kind)
        return file.getvalue()

    assert taken(picture("PNG", (640, 480)))
    assert taken(picture("JPEG", (640, 480)))
    assert taken(b"")
    assert not taken(picture("GIF", (64, 48)))
    assert not taken(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    assert not taken(picture("PNG", (10_000, 10_000)))
    assert not taken(picture("PNG", (20_000, 20_000)))


def test_messages_of_other_kinds_are_ignored_and_large_ones_end_the_visit():
    visitors = Visitors("127.0.0.1")
    assert visitors.accepts(object(), camera_message())
    assert not visitors.accepts(object(), camera_message(fov=float("nan")))
    assert not visitors.accepts(object(), camera_message(image_height=1e9))
    assert not visitors.accepts(object(), camera_message(position=["a", 0, 0]))
    assert not visitors.accepts(object(), camera_message(extra=1))
    assert not visitors.accepts(object(), encoded("ShareUrlDisconnect"))
    assert not visitors.accepts(object(), encoded("GuiFormDirtyMessage", uuid="1"))
    with pytest.raises(ValueError, match="at most"):
        visitors.accepts(
            object(), encoded("GuiUpdateMessage", uuid="x" * LARGEST_OTHER, updates={"value": 1})
        )


def test_whoever_sends_fast_is_read_slowly(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pace, spent = Pace(), 0.0
    for _ in range(2000):
        wait = pace.wait()
        now[0] += wait
        spent += wait
    assert spent == pytest.approx((2000 - 400) / 200, rel=0.01)
    now[0] += 10.0
    assert pace.wait() == 0.0


def test_no_more_than_some_visitors_come_in_and_a_place_becomes_free(viewer):
    until(lambda: not viewer.server.get_clients())
    wires = []
    try:
        for _ in range(MOST_VISITORS):
            wires.append(
                client_of_sockets.connect(
                    f"ws://127.0.0.1:{viewer.port}", subprotocols=[PROTOCOL], max_size=None
                )
            )
        assert answer(viewer.port, f"Host: {HERE}", upgrade=True)[0] == 503
    finally:
        for wire in wires:
            wire.close()
    until(lambda: answer(viewer.port, f"Host: {HERE}", upgrade=True)[0] == 101)


def test_names_of_robots_and_errors_are_text_on_the_page_and_no_html(viewer):
    script = "<img src=x onerror=alert(1)> [a](javascript:b) `c` & {d}\n# e"
    viewer.panels.tell(script)
    shown = viewer.panels.status.content
    assert not re.search(r"(?<!\\)[<>&`\[\]{}]", shown)
    assert literal(script) in shown
    assert literal("a_b") == r"a\_b"
    assert viewer.message == script
