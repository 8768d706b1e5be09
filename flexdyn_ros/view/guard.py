"""The web server of viser behind a guard: the one place that reaches into viser.

viser has no public way to judge requests. It calls `websockets.asyncio.server.serve` by its full name, so for
the moment in which a server is made, the name `websockets` in its module leads to ours, which asks `Visitors`
first; all that is given on to websockets is public there (`process_request`, `create_connection`, `max_size`,
`max_queue`, `logger`). If a version of viser calls something else, no server is begun: an error says so, and
`test/view/test_visitors.py` fails.
"""

from __future__ import annotations

import asyncio
import io
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from http import HTTPStatus
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import websockets.asyncio.server
import websockets.exceptions
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.view.page import completed
from flexdyn_ros.view.visitors import LARGEST_MESSAGE, MOST_VISITORS, Pace, Visitors

if TYPE_CHECKING:
    from viser import ClientHandle, ViserServer

#: frames of one visitor that wait to be read
MOST_FRAMES = 4
#: messages that go to a browser at once: a picture of the robot must fit, else it is shown in halves
WINDOW = 1 << 14
#: seconds that a browser gets to take what it is sent, and between two looks whether it has
PATIENCE, POLL = 60.0, 2e-3

_logger = logging.getLogger(__name__)
# whoever knocks without speaking the protocol would fill the terminal
_logger.addFilter(lambda record: record.getMessage() != "opening handshake failed")

#: one server is made at a time
_making = threading.Lock()


def guarded_server(visitors: Visitors, host: str, port: int, title: Callable[[], str]) -> Any:
    """A viser.ViserServer whose requests and messages are judged by visitors; pages get the title of the
    moment at which they are asked for.

    Raises
    ------
    FlexdynError
        If this version of viser does not let itself be guarded; nothing listens then.
    """
    import viser

    inside: Any = import_module("viser.infra._infra")
    called: list[str] = []

    def serve(handler: Callable[..., Awaitable[None]], *place: Any, **options: Any) -> Any:
        called.append("serve")
        return _guarded(visitors, title, handler, *place, **options)

    with _making:
        true = getattr(inside, "websockets", None)
        if true is not websockets:
            raise FlexdynError(_unguarded())
        server_module = _Overlay(websockets.asyncio.server, serve=serve)
        inside.websockets = _Overlay(websockets, asyncio=_Overlay(websockets.asyncio, server=server_module))
        try:
            # the address is told once, by the viewer
            with redirect_stdout(io.StringIO()):
                server = viser.ViserServer(host=host, port=port, label=title(), verbose=False)
        finally:
            inside.websockets = true
    if not called:
        server.stop()
        raise FlexdynError(_unguarded())
    server._websock_server._broadcast_buffer.max_window_size = WINDOW
    return server


def wait_until_sent(server: ViserServer, client: ClientHandle) -> None:
    """Wait until a browser was sent all that was changed in the scene.

    What is asked of a single browser goes another way and would overtake it: it would draw what was there
    before.

    Raises
    ------
    TimeoutError
        If it takes longer than PATIENCE.
    """
    buffer = server._websock_server._broadcast_buffer
    last, deadline = buffer.message_counter - 1, time.monotonic() + PATIENCE
    while buffer.generator_cursors.get(client.client_id, last) < last:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the browser takes no pictures for {PATIENCE:g} s")
        server.flush()
        time.sleep(POLL)


def _unguarded() -> str:
    return (
        f"viser {version('viser')} does not let the viewer check who visits it: "
        "pip install --upgrade 'flexdyn_ros[view]' brings one that does"
    )


def _guarded(
    visitors: Visitors,
    title: Callable[[], str],
    handler: Callable[..., Awaitable[None]],
    *place: Any,
    **options: Any,
) -> websockets.asyncio.server.serve:
    """What viser would serve, behind the guard."""
    answer = options.pop("process_request", None)

    def judge(connection: ServerConnection, request: Request) -> Response | None:
        refusal = visitors.refusal(
            request.headers.get_all("Host"), request.headers.get_all("Origin"), connection.local_address
        )
        if refusal is None and len(connection.server.connections) >= MOST_VISITORS:
            refusal = HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_VISITORS} pages are open: close one.\n"
        if refusal is not None:
            return connection.respond(*refusal)
        response: Response | None = None if answer is None else answer(connection, request)
        return None if response is None else completed(response, title())

    async def receive(connection: _Visit) -> None:
        try:
            await handler(connection)
        finally:
            visitors.forget(connection)

    def connect(*arguments: Any, **more: Any) -> _Visit:
        visit = _Visit(*arguments, **more)
        visit.visitors = visitors
        return visit

    options |= {"max_size": LARGEST_MESSAGE, "max_queue": MOST_FRAMES, "logger": _logger}
    return websockets.asyncio.server.serve(
        receive,  # type: ignore[arg-type]
        *place,
        process_request=judge,
        create_connection=connect,  # type: ignore[arg-type]
        **options,
    )


class _Visit(ServerConnection):
    """The connection of one visitor: viser reads from it only what visitors may send."""

    visitors: Visitors

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pace = Pace()

    async def recv(self, decode: bool | None = None) -> Any:
        """The next message that is accepted; others are skipped, and what is none ends the visit."""
        while True:
            raw = await super().recv(decode)
            await asyncio.sleep(self._pace.wait())
            try:
                if not isinstance(raw, bytes):
                    raise ValueError("text instead of bytes")
                if self.visitors.accepts(self, raw):
                    return raw
            except ValueError as error:
                await self.close(1008, str(error))


class _Overlay(ModuleType):
    """A module with some of its names replaced."""

    def __init__(self, below: ModuleType, **own: Any) -> None:
        super().__init__(below.__name__)
        self.__dict__.update(own)
        self._below = below

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)
