"""Size of a request, known before any work on it: samples, and entries of its lists for every sample."""

from __future__ import annotations

from flexdyn_ros.nodes.dynamics_server.requests import RequestError
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.robot.verbs import Robot

#: most entries of a list that says what is computed for every sample
MOST_ENTRIES = 1000
#: numbers in one response: rclpy converts it in one go, for 15 to 20 ms if it is as large as this (30 ms is
#: what may be), and no other thread has the interpreter meanwhile
LARGEST_ANSWER = 3_000_000
#: one geometry_msgs/Pose, or one station of a bent link, takes as long as so many numbers
POSE = STATION = 500
#: these lists; others have as many entries as samples or coordinates
LISTS = ("stations", "wrenches", "frames", "locked", "held")


def samples_of(request: Message) -> int:
    """Samples that a request asks for, whatever the field is called."""
    if hasattr(request, "samples"):
        return int(request.samples)
    if hasattr(request, "lengths"):
        return max(1, len(request.lengths) // 6)
    return max(1, len(getattr(request, "poses", ())))


def size_of(request: Message) -> int:
    """Samples times entries of lists: the measure of the work on a request."""
    return samples_of(request) * (1 + sum(len(getattr(request, field, ())) for field in LISTS))


def check_answer(samples: int, width: int) -> None:
    """Refuse a request whose response would hold `width` numbers for each sample, if they are too many.

    Raises
    ------
    RequestError
    """
    if samples * width > LARGEST_ANSWER:
        raise RequestError(
            f"samples is {samples}, whose answer would hold {samples * width} numbers, expected at most"
            f" {LARGEST_ANSWER}, thus {LARGEST_ANSWER // width} samples: ask for fewer samples, frames or"
            " stations at a time, or call the library"
        )


def check_lists(robot: Robot, request: Message) -> None:
    """Refuse lists that are longer than any use of them.

    Raises
    ------
    RequestError
    """
    bounds = dict.fromkeys(LISTS, MOST_ENTRIES)
    bounds["frames"] = max(MOST_ENTRIES, len(robot.frame_names))
    bounds |= {"names": robot.nq, "effort_names": len(robot.coordinates) + len(robot.actuators)}
    for field, most in bounds.items():
        count = len(getattr(request, field, ()))
        if count > most:
            raise RequestError(f"{field} has {count} entries, expected at most {most}")
