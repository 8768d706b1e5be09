"""Visits to a viewer: raw requests, and the messages that pages send through a web socket."""

import socket
import time
from contextlib import contextmanager

import numpy as np
import pytest

viser = pytest.importorskip("viser")
msgspec = pytest.importorskip("msgspec")
client_of_sockets = pytest.importorskip("websockets.sync.client")

#: host and port stand for those of the viewer
HERE, EVIL = "localhost:{port}", "evil.example:{port}"
PROTOCOL = f"viser-v{viser.__version__}"


def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answer(port, *headers, path="/", upgrade=False):
    """Status line and body of a request with these headers."""
    lines = [f"GET {path} HTTP/1.1", *(line.format(port=port) for line in headers)]
    if upgrade:
        lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: {PROTOCOL}"]
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as wire:
        wire.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        found = b""
        # an opened web socket says more and more; its first line is enough
        while not (b"\r\n\r\n" in found and upgrade) and (more := wire.recv(65536)):
            found += more
    head, _, body = found.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@contextmanager
def visit(viewer, *, camera=True):
    """A web socket to the viewer; yields what sends messages and reads what comes."""
    with client_of_sockets.connect(
        f"ws://127.0.0.1:{viewer.port}", subprotocols=[PROTOCOL], max_size=None, compression=None
    ) as wire:
        if camera:
            before = set(viewer.server.get_clients())
            wire.send(camera_message())
            until(lambda: set(viewer.server.get_clients()) - before)
        yield wire


def encoded(kind, **fields):
    return msgspec.msgpack.encode({"type": kind, **fields})


def camera_message(**changed):
    fields = {"wxyz": [1, 0, 0, 0], "position": [0, 0, 1], "fov": 1, "near": 0.1, "far": 100.0}
    fields |= {"image_height": 480, "image_width": 640, "look_at": [0, 0, 0], "up_direction": [0, 0, 1]}
    return encoded("ViewerCameraMessage", **(fields | changed))


def update(handle, value):
    return encoded("GuiUpdateMessage", uuid=handle._impl.uuid, updates={"value": value})


def is_answering(viewer):
    """Whether somebody else can still move the robot, and the picture is drawn."""
    viewer.pose(np.array([0.7, 0.0]))
    until(lambda: not viewer._dirty)
    slider = viewer.panels.pose.sliders[0]
    with visit(viewer) as wire:
        for value in (0.25, 0.5):
            wire.send(update(slider, value))
        until(lambda: abs(viewer.q[0] - 0.5) < 1e-12)
    return viewer._thread.is_alive()


def is_closed(wire, code=None):
    from websockets.exceptions import ConnectionClosed

    try:
        while True:
            wire.recv(timeout=20.0)
    except ConnectionClosed as error:
        return error.rcvd is not None and (code is None or error.rcvd.code == code)
