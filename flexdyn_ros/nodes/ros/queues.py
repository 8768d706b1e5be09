"""How many messages and requests wait for the thread that spins.

Queues of ROS 2 belong to the topic, not to the publisher: where several publish, what one sends pushes out
what another sent before. rclpy's default is 10, for requests as well, and what comes beyond is lost without a
word.
"""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

#: states at high rate: any publisher satisfies it, the newest counts
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
#: commands at high rate, which several may send, each for joints of its own: any publisher satisfies it
COMMANDS = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
#: requests to a service: many clients may ask at once
REQUESTS = QoSProfile(depth=1000)
#: what is published once and kept for whoever comes later
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
