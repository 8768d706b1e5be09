"""How links bend, in messages: the answer of a service and the topic of the simulator."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections
from flexdyn_ros.expanding import bending_frames
from flexdyn_ros.nodes.dynamics_server.response_memory import Memory, layout
from flexdyn_ros.nodes.ros.conversions import vector_message
from flexdyn_ros.nodes.ros.patched_message import PatchedMessage
from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Setting
from flexdyn_ros.simulation.live.message_fields import doubles
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS

_KNOWN: WeakKeyDictionary[Any, dict[str, tuple[str, float]]] = WeakKeyDictionary()


def deflection_message(robot: Any, bent: dict[str, Any], row: tuple[int, ...] = ()) -> LinkDeflections:
    """LinkDeflections of one sample, the one at `row` of what `robot.deflections` answered; frames
    LINK/beam, SECTION/base of soft sections."""
    frames = bending_frames_of(robot)
    return LinkDeflections(
        robot=robot.name, links=[_link(name, *frames[name], d, row) for name, d in bent.items()]
    )


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


class DeflectionMessage:
    """LinkDeflections of a robot as bytes, at the default stations; for a topic that is published often."""

    def __init__(self, robot: Any) -> None:
        bent = robot.deflections(robot.neutral())
        message = deflection_message(robot, bent)
        message.header.frame_id = robot.description.root
        self._links = tuple(bent)
        fields = [
            (link, name, len(link.stations)) for link in message.links for _, name, _ in DEFLECTION_PARTS
        ]
        self._message = PatchedMessage(message, [message.header], fields)

    def filled(self, stamp: Any, bent: dict[str, Any]) -> bytes:
        """The message of `robot.deflections(q)` for one q, with a stamp."""
        numbers = iter(self._message.numbers)
        for link in self._links:
            for name, _, _ in DEFLECTION_PARTS:
                next(numbers)[:] = getattr(bent[link], name)
        return self._message.stamped(stamp)


class Deflections(Extra):
    """`deflections`: how every flexible link bends, with strains and section forces."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self._publisher = setting.make(LinkDeflections, "deflections", 10)
        self._message = DeflectionMessage(setting.simulation.robot)

    def publish_slow(self, stamp: Any) -> None:
        """The present deflections."""
        bent = self._simulation.robot.deflections(self._simulation.stepper.q)
        self._publisher.publish(self._message.filled(stamp, bent))


def bending_frames_of(robot: Any) -> dict[str, tuple[str, float]]:
    """`bending_frames`, once for every robot."""
    if robot not in _KNOWN:
        _KNOWN[robot] = bending_frames(robot.description)
    return _KNOWN[robot]


def _link(name: str, frame: str, length: float, d: Any, row: tuple[int, ...]) -> LinkDeflection:
    values = {field: (getattr(d, part)[row], width) for part, field, width in DEFLECTION_PARTS}
    return LinkDeflection(
        link=name,
        frame_id=frame,
        length=length,
        stations=doubles(d.station),
        **{field: _vectors(x) if width == 3 else doubles(x) for field, (x, width) in values.items()},
    )


def _vectors(rows: np.ndarray) -> list[Any]:
    return [vector_message(x) for x in rows.tolist()]
