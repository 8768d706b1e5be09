"""What exported C loses in single precision: every shipped robot beside the library, and the condition of M.

    python benchmarks/float_targets.py [--quick] [--write]

The largest differences over a thousand random states, rounded to single precision for both: efforts, M and
energies by their largest term, accelerations by the forces that they balance, |M (a_C - a)| by the largest of
|M||a| + |h| + |tau|, and by the largest acceleration. --write puts the table into docs/how-to/export_c.md.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import program

import flexdyn_ros
from flexdyn_ros import export

ROBOTS = (
    "two_link", "seven_joint_arm", "flexible_two_link", "kane_beam", "canadarm2", "canadarm2_7",
    "mobile_arm", "mobile_arm_spatial", "soft_arm", "soft_arm_3", "stewart_1t",
)  # fmt: skip
VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy")
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "export_c.md"
BEGIN, END = "<!-- float: benchmarks/float_targets.py --write -->", "<!-- float ends -->"
HEAD = [
    "| robot | efforts | M | energies | accelerations, by forces | accelerations | condition of M |",
    "|---|---|---|---|---|---|---|",
]


class Arm:
    """A robot's functions in single precision, compiled into a folder."""

    def __init__(self, robot, folder: Path) -> None:
        self.name = export.c(robot, folder, VERBS, scalar="float")[0].stem
        flags = ["-std=c99", "-O1", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, f"{self.name}.c", "-o", "arm.so", "-lm"], cwd=folder, check=True)
        self.library, self.work = ctypes.CDLL(str(folder / "arm.so")), np.zeros(100_000, np.float32)

    def __call__(self, verb: str, size: int, *arguments: np.ndarray) -> np.ndarray:
        given = [np.ascontiguousarray(x, np.float32) for x in arguments]
        result = np.zeros(size, np.float32)
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*given, result, self.work)]
        status = getattr(self.library, f"{self.name}_{verb}")(*pointers[:-2], None, *pointers[-2:])
        if status:
            raise SystemExit(f"{verb} of {self.name} is not finite")
        return result.astype(float)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference by the largest number."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def errors(robot, arm: Arm, rng: np.random.Generator) -> list[float]:
    """Errors of the verbs at a random state, and the condition of M."""
    v, a = 0.3 * rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    tau = rng.standard_normal(robot.nu)
    prescribed = np.array([c.prescribed for c in robot.coordinates], dtype=bool)
    if prescribed.size == tau.size:
        tau[prescribed] = 0.0
    q, v, a, tau = (x.astype(np.float32).astype(float) for x in (robot.random(rng), v, a, tau))
    M, n = robot.mass_matrix(q), robot.nv
    b = robot.forward_dynamics(q, v, tau)
    found = arm("forward_dynamics", n, q, v, tau)
    scale = np.abs(M) @ np.abs(b) + np.abs(robot.bias_forces(q, v))
    scale += np.abs(robot.actuation_matrix(q)) @ np.abs(tau)
    return [
        relative(arm("inverse_dynamics", robot.nu, q, v, a), robot.inverse_dynamics(q, v, a)),
        relative(arm("mass_matrix", n * n, q), M.ravel()),
        relative(arm("energy", 3, q, v), np.array(robot.energy(q, v))),
        float(np.abs(M @ (found - b)).max() / scale.max()),
        relative(found, b),
        float(np.linalg.cond(M)),
    ]


def row(name: str, states: int) -> str:
    """A line of the table."""
    robot, rng = flexdyn_ros.load(name), np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        arm = Arm(robot, Path(folder))
        found = np.array([errors(robot, arm, rng) for _ in range(states)])
    worst = " | ".join(f"{x:.1e}" for x in found[:, :5].max(axis=0))
    return f"| {name} | {worst} | {found[:, 5].min():.1e} to {found[:, 5].max():.1e} |"


def main() -> None:
    """Print the table."""
    parser = program.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the page of C")
    options = parser.parse_args()
    print("\n".join(HEAD), flush=True)
    rows = []
    for name in ROBOTS[:1] if options.quick else ROBOTS:
        rows.append(row(name, 3 if options.quick else 1000))
        print(rows[-1], flush=True)
    if options.write and not options.quick:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        told = "*Largest of a thousand random states; `python benchmarks/float_targets.py`.*"
        table = "\n".join([BEGIN, *HEAD, *rows, "", told, END])
        PAGE.write_text(before + table + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
