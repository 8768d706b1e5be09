"""TFMessage as bytes: written once by ROS, then only its numbers are exchanged (see marker_bytes.py)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from flexdyn_ros.nodes.state_publisher.marker_bytes import HEADER, aligned

__all__ = ["TransformMessage"]

#: marks that no message holds by chance: the n-th has n added
STAMP, PLACE = 0x5EED0000, 3.5e301


class TransformMessage:
    """A TFMessage of transforms between given frames.

    Parameters
    ----------
    frames : sequence of (parent, child)
    """

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        transforms = [_marked(n, parent, child) for n, (parent, child) in enumerate(frames)]
        text = bytes(serialize_message(TFMessage(transforms=transforms)))
        self._data = aligned(text)
        stamps, numbers, start = [], [], 0
        for n in range(len(frames)):
            stamps.append(text.index(struct.pack("<i", STAMP + n), start) - HEADER)
            numbers.append(text.index(struct.pack("<d", PLACE * (n + 1)), stamps[-1]) - HEADER)
            start = stamps[-1]
        fields = self._data[HEADER:]
        self._words = fields[: len(fields) // 4 * 4].view("<u4")
        self._doubles = fields[: len(fields) // 8 * 8].view("<f8")
        # seconds and nanoseconds; three numbers of the translation and four of the rotation
        self._stamps = np.array(stamps, dtype=np.intp)[:, None] // 4 + np.arange(2)
        self._numbers = np.array(numbers, dtype=np.intp)[:, None] // 8 + np.arange(7)

    def filled(self, stamp: Any, position: np.ndarray, quaternion: np.ndarray) -> bytes:
        """The message with one stamp, positions (k, 3) [m] and quaternions x y z w (k, 4)."""
        self._words[self._stamps] = stamp.sec, stamp.nanosec
        self._doubles[self._numbers[:, :3]] = position
        self._doubles[self._numbers[:, 3:]] = quaternion
        return self._data.tobytes()


def _marked(number: int, parent: str, child: str) -> TransformStamped:
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    transform.header.stamp = Time(sec=STAMP + number)
    transform.transform.translation.x = PLACE * (number + 1)
    return transform
