"""Parameters of a robot as inputs of exported functions.

The numbers that kernels read depend on each of `robot.parameters` along a straight line, so that their values
at two places give the line; at a third it is checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.tracing.graph import Graph, objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.parameters import Parameter, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: by how much of its size a parameter is moved to find what depends on it, and how well lines are met
_MOVE, _MEET = 0.5, 1e-9


class Parameters:
    """The chosen parameters of a robot.

    Attributes
    ----------
    chosen : tuple of Parameter
    """

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        self.robot = robot
        self.chosen: tuple[Parameter, ...] = ()
        if names:
            known = {p.name: p for p in robot.parameters}
            self.chosen = tuple(known[name] for name in names_that_fit(tuple(known), names))
        self._lines = self._find_lines()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.chosen)

    @property
    def values(self) -> np.ndarray:
        """Values (np,) of the robot as it is."""
        return np.array([p.value for p in self.chosen])

    def put(self, graph: Graph, memory: Memory) -> tuple[tuple[str, int], ...]:
        """Let kernels see numbers that depend on the input p; that input, if there is one."""
        if not self.chosen:
            return ()
        p = graph.inputs("p", len(self.chosen), constant=True)
        for address, numbers, slopes in self._lines:
            block: list[object] = numbers.tolist()
            for i, k in zip(*np.nonzero(slopes), strict=True):
                # a number that is the parameter itself stays so to the last digit
                if (
                    slopes[i, k] == 1.0
                    and numbers[i] == self.chosen[k].value
                    and np.count_nonzero(slopes[i]) == 1
                ):
                    block[i] = p[k]
                else:
                    block[i] = block[i] + slopes[i, k] * (p[k] - self.chosen[k].value)
            memory.put(address, objects(block))
        return (("p", len(self.chosen)),)

    def _find_lines(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Address, numbers (n,) and slopes (n, np) of every block of memory that depends on a parameter."""
        if not self.chosen:
            return []
        base = _blocks(self.robot)
        moved = [self._moved(p, 1.0, base) for p in self.chosen]
        twice = [self._moved(p, 2.0, base) for p in self.chosen]
        found = []
        for j, (address, numbers) in enumerate(base):
            slopes = np.zeros((numbers.size, len(self.chosen)))
            for k, p in enumerate(self.chosen):
                step = _step(p)
                slopes[:, k] = (moved[k][j] - numbers) / step
                slopes[:, k] = np.where(np.abs(slopes[:, k] - 1.0) < 1e-12, 1.0, slopes[:, k])
                error = np.abs(twice[k][j] - numbers - 2.0 * step * slopes[:, k])
                if (error > _MEET * np.maximum(np.abs(numbers), np.abs(twice[k][j]))).any():
                    raise UnsupportedError(
                        f"parameter {p.name!r} does not enter the equations along a straight line"
                    )
            if slopes.any():
                found.append((address, numbers, slopes))
        return found

    def _moved(self, p: Parameter, by: float, base: list[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        blocks = [
            numbers for _, numbers in _blocks(self.robot.with_parameters({p.name: p.value + by * _step(p)}))
        ]
        if [x.size for x in blocks] != [x.size for _, x in base]:
            raise UnsupportedError(f"parameter {p.name!r} changes the structure of the equations")
        return blocks


def _step(p: Parameter) -> float:
    return _MOVE * abs(p.value) if p.value else _MOVE


def _blocks(robot: Robot) -> list[tuple[int, np.ndarray]]:
    """Address and numbers of the float memory behind a robot's address."""
    return [(array.ctypes.data, array.copy()) for array in robot.functions.packed.floats]
