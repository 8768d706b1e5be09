"""Large responses as the memory that ROS reads: numbers stay in arrays, and are sent without the interpreter.

rclpy makes a C structure of every entry of a response, one Python object after the other, and sends it, all
while no other thread of the process runs: for half a million vectors about a second. The structures of
rosidl's C messages are known from the fields of a type (a string is pointer, size, capacity, and so is a
sequence), so that arrays of numpy with the same layout serve as they are. `rcl_send_response` is then called
without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections
from flexdyn_ros.nodes.interfaces.deflections import bending_frames_of, deflection_message
from flexdyn_ros.nodes.ros.conversions import poses_from_matrices
from flexdyn_ros.numerics.algebra.placement import quaternions_of
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS

_SCALARS = {"boolean": "u1", "octet": "u1", "float": "f4", "double": "f8"} | {
    f"{kind}int{8 * size}": f"{kind or 'i'}{size}" for kind in ("", "u") for size in (1, 2, 4, 8)
}
#: rosidl_runtime_c__String and every sequence
_HEAD = np.dtype([("data", "u8"), ("size", "u8"), ("capacity", "u8")], align=True)
#: rmw_request_id_t: 16 bytes of the writer, 8 of the sequence number
_ID_SIZE = 24


@cache
def layout(kind: type) -> np.dtype:
    """The C structure of a message type.

    Raises
    ------
    TypeError
        If a field has a type that no response of ours has.
    """
    fields = kind.get_fields_and_field_types()  # type: ignore[attr-defined]
    return np.dtype([(name, _layout_of(text)) for name, text in fields.items()], align=True)


def _layout_of(text: str) -> Any:
    if text in _SCALARS:
        return _SCALARS[text]
    if text == "string" or text.startswith("sequence<"):
        return _HEAD
    package, _, name = text.partition("/")
    if not name or not name.isidentifier():
        raise TypeError(f"field of type {text}, expected numbers, strings, messages or sequences of them")
    return layout(getattr(import_module(f"{package}.msg"), name))


class Memory:
    """Keeps alive what pointers point to."""

    def __init__(self) -> None:
        self._kept: list[np.ndarray] = []

    def keep(self, array: np.ndarray) -> int:
        """Address of a contiguous array, which lives as long as this does."""
        self._kept.append(array)
        return array.ctypes.data

    def sequence(self, array: np.ndarray) -> np.ndarray:
        """Head of a sequence whose entries are the rows of an array."""
        return np.array((self.keep(array), len(array), len(array)), _HEAD)

    def sequences(self, array: np.ndarray, split: int) -> np.ndarray:
        """Heads of the sequences, along axis `split`, of an array whose leading axes they have."""
        size = array.shape[split]
        lead = array.shape[:split]
        heads = np.empty(lead, _HEAD)
        step = array.strides[split - 1] if split else 0
        count = int(np.prod(lead))
        heads["data"] = self.keep(array) + step * np.arange(count, dtype=np.uint64).reshape(lead)
        heads["size"] = heads["capacity"] = size
        return heads

    def text(self, text: str) -> np.ndarray:
        """Head of a string."""
        found = np.frombuffer(text.encode() + b"\0", np.uint8)
        return np.array((self.keep(found), len(found) - 1, len(found)), _HEAD)


class Rows(Protocol):
    """Entries of a response's field that are messages, kept as arrays."""

    def messages(self) -> list[Any]:
        """As messages."""

    def memory(self, memory: Memory) -> np.ndarray:
        """As an array of their C structures."""


class PoseRows:
    """Poses, row-major, from matrices (..., 4, 4)."""

    def __init__(self, T: np.ndarray) -> None:
        self._T = T.reshape(-1, 4, 4)

    def messages(self) -> list[Any]:
        """As messages."""
        return poses_from_matrices(self._T)

    def memory(self, memory: Memory) -> np.ndarray:
        """As an array of their C structures: position x y z, orientation x y z w."""
        return np.concatenate((self._T[:, :3, 3], quaternions_of(self._T[:, :3, :3])), axis=1)


class LargeResponse:
    """A response whose fields are set as those of a message are, but to arrays and `Rows`, not converted."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.success = False

    def message(self) -> Any:
        """As the message that it stands for."""
        message = self._kind()
        for name, value in self._values().items():
            setattr(message, name, _plain(value))
        return message

    def structure(self, memory: Memory) -> np.ndarray:
        """As one C structure (1,), whose pointers live as long as `memory`."""
        record = np.zeros(1, layout(self._kind))
        values = self._values()
        for name, text in self._kind.get_fields_and_field_types().items():
            value = values.get(name)
            if text.startswith("sequence<"):
                record[name] = memory.sequence(_entries(text[len("sequence<") : -1], value, memory))
            elif text == "string":
                record[name] = memory.text(value or "")
            elif value is not None:
                record[name] = value
        return record

    def _values(self) -> dict[str, Any]:
        fields = self._kind.get_fields_and_field_types()
        return {name: value for name, value in vars(self).items() if name in fields}


def _plain(value: Any) -> Any:
    """What a message's field takes."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == bool else doubles(value)
    return value.messages() if hasattr(value, "messages") else value


def _entries(text: str, value: Any, memory: Memory) -> np.ndarray:
    """Entries of a sequence as an array of their C structures."""
    if hasattr(value, "memory"):
        return np.ascontiguousarray(value.memory(memory))
    if text == "string":
        return np.array([memory.text(entry).item() for entry in value or ()], _HEAD)
    if text not in _SCALARS:
        if value:
            raise TypeError(f"entries of type {text} in a list, expected Rows")
        return np.zeros(0, np.uint8)
    return np.ascontiguousarray(() if value is None else value, _SCALARS[text]).ravel()


# ---- sending ----


#: builds of rclpy whose request headers are known to lie in memory as `request_id` reads them
_KNOWN_RCLPY = ("9.1.2",)


@cache
def _rcl() -> Any:
    """The library that rclpy itself has loaded; None where it is not one of the builds that were tried.

    Without it large responses go through rclpy, which holds up other requests while it converts them.
    """
    if sys.implementation.name != "cpython" or np.dtype(np.uintp).itemsize != 8:
        return None
    try:
        if version("ros-rclpy") not in _KNOWN_RCLPY:
            return None
    except PackageNotFoundError:
        return None
    try:
        library = ctypes.CDLL("librcl.so")
        library.rcl_send_response.argtypes = [ctypes.c_void_p] * 3
    except (OSError, AttributeError):
        return None
    return library


def request_id(header: Any) -> bytes | None:
    """rmw_request_id_t of the header that rclpy passes with a request; None where it cannot be read.

    rclpy shows its sequence number alone. An object of pybind11 begins with the pointer to what it holds; the
    sequence number that is found there must be the one that is shown.
    """
    if _rcl() is None:
        return None
    found = getattr(header, "request_id", header)
    if type(found).__basicsize__ < object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p):
        return None
    address = ctypes.c_void_p.from_address(id(found) + object.__basicsize__).value
    if not address:
        return None
    held = ctypes.string_at(address, _ID_SIZE)
    is_it = int.from_bytes(held[16:], sys.byteorder, signed=True) == found.sequence_number
    return held if is_it else None


def send(service: Any, response: LargeResponse, to: bytes) -> None:
    """Send a response from any thread; the interpreter's lock is not held meanwhile.

    Parameters
    ----------
    service : rclpy.service.Service
    to : bytes
        `request_id` of the request.

    Raises
    ------
    OSError
        If rcl refuses to send.
    """
    memory = Memory()
    record = response.structure(memory)
    identity = ctypes.create_string_buffer(to, _ID_SIZE)
    with service.handle:
        code = _rcl().rcl_send_response(
            service.handle.pointer, ctypes.addressof(identity), memory.keep(record)
        )
    if code:
        raise OSError(f"rcl_send_response ended with {code}, expected 0")


class DeflectionRows:
    """LinkDeflections of n samples, from what `robot.deflections` answered."""

    def __init__(self, robot: Any, bent: dict[str, Any], samples: int) -> None:
        self._robot, self._bent, self._samples = robot, bent, samples

    def messages(self) -> list[LinkDeflections]:
        """As messages."""
        return [deflection_message(self._robot, self._bent, (i,)) for i in range(self._samples)]

    def memory(self, memory: Memory) -> np.ndarray:
        """As an array (samples,) of their C structures."""
        frames = bending_frames_of(self._robot)
        links = np.zeros((self._samples, len(self._bent)), layout(LinkDeflection))
        for column, (name, d) in zip(links.T, self._bent.items(), strict=True):
            frame, length = frames[name]
            column["link"], column["frame_id"] = memory.text(name), memory.text(frame)
            column["length"] = length
            column["stations"] = memory.sequence(np.ascontiguousarray(d.station, np.float64))
            for source, field, _ in DEFLECTION_PARTS:
                values = np.ascontiguousarray(getattr(d, source), np.float64)
                column[field] = memory.sequences(values, 1)
        found = np.zeros(self._samples, layout(LinkDeflections))
        found["header"]["frame_id"] = memory.text("")
        found["robot"] = memory.text(self._robot.name)
        found["links"] = memory.sequences(links, 1)
        return found
