"""Steps that a request asks for: the paused simulation advances tick by tick, beside the executor where it
takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rclpy.node import Node
from rclpy.task import Future

from flexdyn_ros.nodes.ros.requests import RequestError
from flexdyn_ros.simulation.live.pace import Pace
from flexdyn_ros.simulation.live.simulation import Simulation

#: steps that one request may ask for, and steps between which others get their turn
LARGEST_STEP, STEPS_PER_TURN = 10_000_000, 200
#: seconds that a step in lockstep waits for forces before it gives up
LONGEST_WAIT = 10.0


class Steps:
    """Advances a simulation whose pace is paused.

    Parameters
    ----------
    simulation, pace :
        What advances, and whose turns it takes.
    tick : callable(int) -> bool
        Advances by that many steps and publishes what is due; False after a fault.
    publish : callable()
        Publishes everything, after the last step.
    """

    def __init__(
        self, simulation: Simulation, pace: Pace, tick: Callable[[int], bool], publish: Callable[[], None]
    ) -> None:
        self._simulation, self._pace = simulation, pace
        self._tick, self._publish = tick, publish
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="steps")
        self._stalled = False
        # how many times steps were ended, and why the last time
        self._ends, self._reason = 0, ""

    def close(self) -> None:
        """No more steps."""
        self.end("cleanup")
        self._pool.shutdown(wait=False)

    def end(self, reason: str) -> None:
        """End the steps that are under way or wait, soon; whichever thread asks."""
        self._reason = reason
        self._ends += 1

    async def advance(self, steps: int, node: Node) -> None:
        """Advance, at once or in a thread while the executor of `node` goes on.

        Raises
        ------
        RequestError
            If the steps ended early: by a fault, for want of the forces of another process, or by `end`.
        """
        ends = self._ends
        if steps <= STEPS_PER_TURN and not self._waits:
            self._advance(steps)
        else:
            left = await self._advance_in_pool(steps, node, ends)
            if left > 0 and self._ends != ends:
                raise RequestError(f"ended by {self._reason} after {steps - left} of {steps} steps")
        if self._simulation.fault:
            raise RequestError(self._simulation.fault)
        if self._stalled:
            raise RequestError(f"no leg forces within {LONGEST_WAIT:g} s: the simulation pauses")

    @property
    def _waits(self) -> bool:
        """Whether steps wait for the forces of another process."""
        drive = self._simulation.drive
        return drive is not None and drive.hydraulics == "external"

    def _advance(self, steps: int) -> None:
        """Advance tick by tick, so that commands and publications fall where they do in real time."""
        with self._pace.between_ticks():
            for _ in range(steps):
                if not self._tick(1):
                    return
            self._publish()

    def _take_turn(self, steps: int, ends: int) -> None:
        if self._waits:
            self._advance_with_others(steps, ends)
        else:
            self._advance(steps)

    def _advance_with_others(self, steps: int, ends: int) -> None:
        """Advance as leg forces come. The lock is given back between ticks: who waits for it may be the
        executor, which has to bring the forces."""
        stepper = self._simulation.stepper
        goal, deadline = stepper.steps + steps, time.monotonic() + LONGEST_WAIT
        while stepper.steps < goal and not self._stalled and self._ends == ends:
            before = stepper.steps
            with self._pace.between_ticks():
                if not self._tick(1):
                    return
            if stepper.steps > before:
                deadline = time.monotonic() + LONGEST_WAIT
            else:
                self._stalled = time.monotonic() > deadline
                time.sleep(2e-5)
        with self._pace.between_ticks():
            self._publish()

    def _advance_in_pool(self, steps: int, node: Node, ends: int) -> Future:
        """The steps that are left when it is over, in the future."""
        executor, context = node.executor, node.context
        done: Future = Future(executor=executor)

        def work() -> None:
            left, self._stalled = steps, False
            stepper = self._simulation.stepper
            while left > 0 and self._ends == ends and not (self._stalled or self._simulation.fault):
                if not context.ok():
                    break
                before = stepper.steps
                self._take_turn(min(left, STEPS_PER_TURN), ends)
                # a reset in between begins to count anew
                left -= max(0, stepper.steps - before)
                # a lock is not fair: let those in who wait for it
                time.sleep(2e-5)
            done.set_result(left)
            if executor is not None:
                executor.wake()

        self._pool.submit(work)
        return done
