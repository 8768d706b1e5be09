"""What moves the robot of a viewer: sliders, a mode of vibration, a trajectory, or what comes over topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.results import Modes
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.wording import percent

#: sliders of deformations reach so many times what `random` draws
BEYOND_RANDOM = 5.0
#: share of the size of the robot that a mode moves it at amplitude 1
AMPLITUDE = 0.06
#: deflections at rest are magnified to about this share of it; smaller moments are none [N m]
SHOWN, NOTHING = 0.04, 1e-9


class Reach:
    """How far the sliders of a robot go, one for each velocity coordinate, from its neutral position.

    Attributes
    ----------
    lower, upper : (nv,) arrays
        [rad, m]; position limits where there are some, a turn for joints without, else what `robot.random`
        draws.
    turns : int
        Of a tour: coordinates that it moves.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, self._neutral = robot, robot.neutral()
        rng = np.random.default_rng(0)
        drawn = np.array([robot.difference(self._neutral, robot.random(rng)) for _ in range(32)])
        extent = np.max(np.abs(drawn), axis=0)
        self.lower, self.upper = -extent, extent.copy()
        for c in robot.coordinates:
            i = c.v_index
            if c.kind in MODAL:
                self.lower[i], self.upper[i] = -BEYOND_RANDOM * extent[i], BEYOND_RANDOM * extent[i]
            elif np.isfinite(c.lower) and np.isfinite(c.upper) and c.q_index >= 0:
                middle = self._neutral[c.q_index]
                self.lower[i], self.upper[i] = min(c.lower - middle, 0.0), max(c.upper - middle, 0.0)
            elif c.unit == "rad" and c.kind == "joint":
                self.lower[i], self.upper[i] = -np.pi, np.pi
        # of a closed mechanism the others follow, and would turn it over
        is_led = robot.functions.is_constrained and robot.driven.any()
        self._toured = np.flatnonzero(robot.driven) if is_led else np.arange(robot.nv)
        self.turns = self._toured.size
        idle = self.upper - self.lower < 1e-9
        self.lower[idle], self.upper[idle] = -1.0, 1.0

    def configuration(self, x: np.ndarray, moved: int = 0) -> np.ndarray | None:
        """q (nq,) of slider values x (nv,), of which the one of that number was moved: the nearest pose of a
        closed mechanism, None where it has none there."""
        q, name = self._robot.integrate(self._neutral, x, 1.0), self._robot.v_names[moved]
        try:
            return self._robot.functions.closed(q, (name,))
        except ConvergenceError:
            return None

    def in_turn(self, phase: float) -> np.ndarray:
        """q (nq,) of a tour at a phase [rad]: each turn moves one coordinate, half its way and back; of
        closed mechanisms those that are driven."""
        number = int(self._toured[int(phase / (2.0 * np.pi)) % self.turns])
        share = 0.5 * np.sin(phase)
        x = np.zeros(self.lower.size)
        x[number] = share * self.upper[number] if share > 0.0 else -share * self.lower[number]
        q = self.configuration(x, number)
        return self._neutral if q is None else q

    def values(self, q: np.ndarray) -> np.ndarray:
        """Slider values (nv,) of q (nq,), within the sliders."""
        return np.asarray(np.clip(self._robot.difference(self._neutral, q), self.lower, self.upper))


def magnified(robot: Robot, q: np.ndarray, factor: float) -> np.ndarray:
    """q (nq,) with its deformations times a factor; 0 straightens the robot."""
    if factor == 1.0:
        return q
    shown = q.copy()
    for c in robot.coordinates:
        if c.kind in MODAL:
            shown[c.q_index] *= factor
    return shown


def rest_of(robot: Robot, q: np.ndarray, size: float) -> tuple[np.ndarray, float] | None:
    """How gravity bends a robot of a size [m], its joints held at q (nq,): the configuration (nq,), and a
    round factor that makes its deflection plain to see; None where nothing bends.

    Raises
    ------
    FlexdynError
        If there is no state of rest near q.
    """
    bent = robot.static_equilibrium(q, hold="joints").q
    found = robot.deflections(bent).values()
    if not any(np.max(np.abs(d.moment)) > NOTHING for d in found):
        return None
    far = max(float(np.max(np.linalg.norm(d.displacement, axis=-1))) for d in found)
    return bent, _round(SHOWN * size / far)


def _round(factor: float) -> float:
    """A factor of 1, 2, 5, 10 ... that is not larger; at least 1."""
    if factor < 2.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(factor))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= factor))


@dataclass
class ModeMotion:
    """A robot that vibrates in one of its modes about a configuration.

    Attributes
    ----------
    q : (nq,) array
    modes : Modes
        Those with a frequency, at q.
    scale : (m,) array
        Factors that make the largest motion of each mode a share of the size of the robot.
    """

    robot: Robot
    q: np.ndarray
    modes: Modes
    scale: np.ndarray

    @classmethod
    def about(cls, robot: Robot, q: np.ndarray, size: float, points: object, *, locked: bool) -> ModeMotion:
        """Modes about q, with the joints locked or free; points(q) -> (k, 3) are watched for the scale."""
        found = robot.modes(q, lock="joints" if locked else ())
        keep = found.frequency > 1e-6
        modes = Modes(found.frequency[keep], found.damping_ratio[keep], found.shape[:, keep], found.unstable)
        before = points(q)  # type: ignore[operator]
        scale = np.ones(modes.frequency.size)
        for i, shape in enumerate(modes.shape.T):
            step = 1e-4 / max(np.max(np.abs(shape)), 1e-12)
            moved = points(robot.integrate(q, shape * step, 1.0)) - before  # type: ignore[operator]
            far = float(np.max(np.linalg.norm(moved, axis=1))) / step
            scale[i] = AMPLITUDE * size / far if far > 0.0 else step
        return cls(robot, q, modes, scale)

    def labels(self) -> list[str]:
        """One line per mode: number, frequency, damping."""
        return [
            f"{i + 1}: {f:.4g} Hz, {percent(d)}"
            for i, (f, d) in enumerate(zip(self.modes.frequency, self.modes.damping_ratio, strict=True))
        ]

    def at(self, number: int, phase: float, amplitude: float) -> np.ndarray:
        """q (nq,) of a mode (from 0) at a phase [rad]."""
        shift = self.modes.shape[:, number] * (self.scale[number] * amplitude * np.sin(phase))
        return self.robot.integrate(self.q, shift, 1.0)

    def rate(self, number: int, phase: float, amplitude: float) -> np.ndarray:
        """v (nv,) of a mode (from 0) at a phase [rad], as it swings at its undamped frequency."""
        turning = 2.0 * np.pi * self.modes.frequency[number] * np.cos(phase)
        rate: np.ndarray = self.modes.shape[:, number] * (self.scale[number] * amplitude * turning)
        return rate


class Sample(NamedTuple):
    """One moment of a trajectory: q (nq,), v (nv,), tau (nu,), and states of elements by name."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    states: dict[str, float]


@dataclass
class Playback:
    """A trajectory that is played, paused, scrubbed; times run from its first to its last."""

    trajectory: Trajectory
    time: float = field(init=False)
    playing: bool = True
    speed: float = 1.0
    loop: bool = True

    def __post_init__(self) -> None:
        self.time = self.start

    @property
    def start(self) -> float:
        """First time [s]."""
        return float(self.trajectory.t[0])

    @property
    def end(self) -> float:
        """Last time [s]."""
        return float(self.trajectory.t[-1])

    @property
    def index(self) -> int:
        """Sample at or before the present time."""
        return max(int(np.searchsorted(self.trajectory.t, self.time + 1e-12, side="right")) - 1, 0)

    def advance(self, seconds: float) -> None:
        """Go on by wall seconds; begins anew at the end, or stays there."""
        if self.playing:
            self.time += seconds * self.speed
            if self.time > self.end:
                self.time, self.playing = (self.start, True) if self.loop else (self.end, False)

    def state(self) -> Sample:
        """What is recorded for the present time."""
        return self._sample(self.index)

    def sample_at(self, seconds: float) -> Sample:
        """The first sample at or after a time [s]; the present time stays."""
        t = self.trajectory.t
        return self._sample(int(np.clip(np.searchsorted(t, seconds), 0, len(t) - 1)))

    def _sample(self, i: int) -> Sample:
        t = self.trajectory
        return Sample(t.q[i], t.v[i], t.tau[i], dict(zip(t.state_names, t.states[i].tolist(), strict=True)))
