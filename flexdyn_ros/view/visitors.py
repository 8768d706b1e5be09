"""Who may visit the page of a viewer, and what visitors may send.

Hosts and origins keep pages of other servers out: a browser that shows one names that server as `Origin`,
and, if that name was made to point to this machine (DNS rebinding), as `Host`. Messages keep the program safe
from those who are in: only what the controls of the page send passes, in sizes and numbers that are bounded.
"""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address
from typing import Annotated, Any, Literal

import msgspec

from flexdyn_ros.errors import FlexdynError

#: pages that are open at once
MOST_VISITORS = 16
#: bytes of one message: a rendered picture, a part of an upload, all others
LARGEST_MESSAGE, LARGEST_PART, LARGEST_OTHER = 16 * 2**20, 2**20 + 4096, 2**16
#: bytes of recordings that are on their way at once, and parts over the life of a viewer, each of which viser
#: remembers with an acknowledgement
LARGEST_UPLOAD, MOST_PARTS = 256 * 2**20, 100_000
#: pixels of a rendered picture
MOST_PIXELS = 40_000_000
#: messages per second of one visitor, and so many more at once
PACE, BURST = 200.0, 400.0
#: characters of a value that a control sends
LONGEST_VALUE = 1000

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::([0-9]{1,5}))?")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Visitors:
    """Judges requests and messages.

    Parameters
    ----------
    host : str
        Address that the viewer listens on, as the user gave it.
    allowed : iterable of str
        Further names by which browsers reach it, through a tunnel or a proxy: `NAME` (any port) or
        `NAME:PORT`.
    report : callable
        Hears, in words, what was refused to a visitor who is in.

    Raises
    ------
    FlexdynError
        If a name is none.
    """

    def __init__(
        self, host: str, allowed: Iterable[str] = (), report: Callable[[str], None] = lambda text: None
    ) -> None:
        self.report = report
        self._names = {*_LOOPBACK, _plain(host)}
        self._allowed: set[tuple[str, int | None]] = set()
        for name in allowed:
            found = _authority(name)
            if found is None:
                raise FlexdynError(f"allowed host {name!r}; expected NAME or NAME:PORT, without http://")
            self._allowed.add(found)
        self._uploads: dict[str, _Upload] = {}
        self._parts = 0

    # ---- requests ----

    def refusal(
        self, hosts: list[str], origins: list[str], address: tuple[object, ...]
    ) -> tuple[HTTPStatus, str] | None:
        """Why a request is not answered: status and text; None if it is.

        Parameters
        ----------
        hosts, origins : list of str
            All values of the headers Host and Origin.
        address : tuple
            IP address and port that the request came to.

        A request without Origin passes: browsers always tell it when they open a web socket, and a program
        that is no browser may write what it likes.
        """
        host = _authority(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return HTTPStatus.BAD_REQUEST, "One valid Host header is needed.\n"
        if not self._is_own(host, address) and not self._is_allowed(host):
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                f"This viewer does not answer to the host {hosts[0]}; --allow-host adds one.\n",
            )
        if origins and not (len(origins) == 1 and self._is_home(origins[0], hosts[0])):
            return HTTPStatus.FORBIDDEN, "Pages of other servers may not use this viewer.\n"
        return None

    def _is_own(self, host: tuple[str, int | None], address: tuple[Any, ...]) -> bool:
        """Whether a host is a name of the address, with its port.

        The IP address itself is safe by any network: who visits by number asks no name server.
        """
        name, port = host
        return (80 if port is None else port) == address[1] and name in (*self._names, _plain(address[0]))

    def _is_allowed(self, host: tuple[str, int | None]) -> bool:
        return host in self._allowed or (host[0], None) in self._allowed

    def _is_home(self, origin: str, host: str) -> bool:
        """Whether an origin is the page that the host itself serves, or one of an allowed name."""
        scheme, _, place = origin.lower().partition("://")
        if scheme == "http" and place == host.lower():
            return True
        found = _authority(place)
        return scheme in ("http", "https") and found is not None and self._is_allowed(found)

    # ---- messages ----

    def accepts(self, visitor: object, raw: bytes) -> bool:
        """Whether a message is one that the page sends; the rest is to be ignored.

        Raises
        ------
        ValueError
            If it is no message at all, or larger than its kind may be.
        """
        try:
            kind = _ENVELOPE.decode(raw).type
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError("no message of the page") from error
        largest = {"GetRenderResponseMessage": LARGEST_MESSAGE, "FileTransferPart": LARGEST_PART}
        if len(raw) > largest.get(kind, LARGEST_OTHER):
            raise ValueError(f"a {kind} of {len(raw)} bytes; at most {largest.get(kind, LARGEST_OTHER)}")
        if kind not in _DECODERS:
            return False
        try:
            message = _DECODERS[kind].decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        if isinstance(message, _Start):
            return self._begin(visitor, message)
        if isinstance(message, _Part):
            return self._go_on(visitor, message)
        return bool(message.is_sane())

    def forget(self, visitor: object) -> None:
        """Free what a visitor who left had begun to send."""
        self._uploads = {name: u for name, u in self._uploads.items() if u.visitor is not visitor}

    def _begin(self, visitor: object, start: _Start) -> bool:
        """Whether a file fits beside those that are on their way."""
        waiting = sum(upload.size for upload in self._uploads.values())
        if start.size_bytes + waiting > LARGEST_UPLOAD:
            self.report(
                f"a file of {start.size_bytes / 2**20:.0f} MB is not taken; the page takes "
                f"{LARGEST_UPLOAD // 2**20} MB at once: use flexdyn view --recording FILE"
            )
            return False
        if self._parts + start.part_count > MOST_PARTS:
            self.report("this viewer has taken as many files as it can: begin it anew")
            return False
        if start.transfer_uuid in self._uploads:
            return False
        self._parts += start.part_count
        self._uploads[start.transfer_uuid] = _Upload(
            visitor, start.size_bytes, start.size_bytes, set(range(start.part_count))
        )
        return True

    def _go_on(self, visitor: object, part: _Part) -> bool:
        """Whether a part belongs to a file of this visitor that is not complete."""
        upload = self._uploads.get(part.transfer_uuid)
        if upload is None or upload.visitor is not visitor:
            return False
        if part.part_index not in upload.missing or len(part.content) > upload.left:
            return False
        upload.left -= len(part.content)
        upload.missing.remove(part.part_index)
        if not upload.missing:
            del self._uploads[part.transfer_uuid]
        return True


class Pace:
    """How fast one visitor may send: `wait` is 0 until a burst is spent, then what keeps to the pace."""

    def __init__(self) -> None:
        self._left, self._at = BURST, time.monotonic()

    def wait(self) -> float:
        """Seconds to wait before the next message is read."""
        now = time.monotonic()
        self._left = min(BURST, self._left + PACE * (now - self._at)) - 1.0
        self._at = now
        return max(0.0, -self._left / PACE)


def _plain(host: str) -> str:
    """A host in one spelling: lower case, IP addresses in their shortest form and without brackets."""
    host = host.strip("[]").lower()
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address)


def _authority(text: str) -> tuple[str, int | None] | None:
    """Host and port of `HOST` or `HOST:PORT`; None if it is neither."""
    found = _AUTHORITY.fullmatch(text.lower())
    if found is None:
        return None
    return _plain(found[1]), None if found[2] is None else int(found[2])


# ---- what the page sends ----


class _Upload(msgspec.Struct):
    """A file on its way: whose it is, its size, bytes and parts that are still to come."""

    visitor: Any
    size: int
    left: int
    missing: set[int]


class _Envelope(msgspec.Struct):
    type: str


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    type: str

    def is_sane(self) -> bool:
        """Whether values are such as the page makes."""
        return True


_Name = Annotated[str, msgspec.Meta(max_length=255)]
_Three = tuple[float, float, float]


class _Camera(_Message):
    wxyz: tuple[float, float, float, float]
    position: _Three
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: _Three
    up_direction: _Three

    def is_sane(self) -> bool:
        numbers = (*self.wxyz, *self.position, self.fov, self.near, *self.look_at, *self.up_direction)
        pixels = self.image_height * self.image_width
        return all(map(math.isfinite, numbers)) and self.image_height >= 0 <= pixels <= MOST_PIXELS


class _Update(_Message):
    uuid: _Name
    updates: dict[str, Any]

    def is_sane(self) -> bool:
        # the server would set whatever attribute a visitor names
        if set(self.updates) != {"value"}:
            return False
        value = self.updates["value"]
        if isinstance(value, str):
            return len(value) <= LONGEST_VALUE
        return isinstance(value, (bool, int, float)) and math.isfinite(value)


class _Command(_Message):
    uuid: _Name


class _Click(_Message):
    name: _Name
    instance_index: int | None
    ray_origin: _Three
    ray_direction: _Three
    screen_pos: tuple[float, float]
    modifier: _Name | None
    owner: _Name = ""

    def is_sane(self) -> bool:
        return all(map(math.isfinite, (*self.ray_origin, *self.ray_direction, *self.screen_pos)))


class _Drag(_Message):
    phase: Literal["start", "update", "end"]
    name: _Name
    instance_index: int | None
    start_position: _Three
    start_screen_pos: tuple[float, float]
    end_position: _Three
    end_screen_pos: tuple[float, float]
    button: Literal["left", "middle", "right"]
    modifier: _Name | None
    owner: _Name = ""

    def is_sane(self) -> bool:
        places = (*self.start_position, *self.end_position, *self.start_screen_pos, *self.end_screen_pos)
        return all(map(math.isfinite, places))


class _Start(_Message):
    source_component_uuid: _Name
    transfer_uuid: _Name
    filename: _Name
    mime_type: _Name
    part_count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]
    size_bytes: Annotated[int, msgspec.Meta(ge=1)]


class _Part(_Message):
    source_component_uuid: _Name | None
    transfer_uuid: _Name
    part_index: Annotated[int, msgspec.Meta(ge=0)]
    content: bytes


class _Render(_Message):
    payload: bytes
    render_uuid: _Name

    def is_sane(self) -> bool:
        # empty: the browser could not render. Else a picture, of which only the head is read here: the
        # decoder knows formats that start programs, and small files of huge pictures
        if not self.payload:
            return True
        from PIL import Image

        try:
            width, height = Image.open(io.BytesIO(self.payload), formats=("PNG", "JPEG")).size
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return False
        return width * height <= MOST_PIXELS


_ENVELOPE = msgspec.msgpack.Decoder(_Envelope)
_DECODERS: dict[str, msgspec.msgpack.Decoder[Any]] = {
    "ViewerCameraMessage": msgspec.msgpack.Decoder(_Camera),
    "GuiUpdateMessage": msgspec.msgpack.Decoder(_Update),
    "CommandTriggerMessage": msgspec.msgpack.Decoder(_Command),
    "SceneNodeClickMessage": msgspec.msgpack.Decoder(_Click),
    "SceneNodeDragMessage": msgspec.msgpack.Decoder(_Drag),
    "FileTransferStartUpload": msgspec.msgpack.Decoder(_Start),
    "FileTransferPart": msgspec.msgpack.Decoder(_Part),
    "GetRenderResponseMessage": msgspec.msgpack.Decoder(_Render),
}
