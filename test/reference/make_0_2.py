"""What version 0.2 makes of the shipped robots, kept in test/reference/0_2: run once, on that version.

    python test/reference/make_0_2.py

Of each robot: its description after xacro (NAME.urdf), the names of its coordinates, frames, parameters and
their values (NAME.json), what the verbs answer at eight states (NAME.npz), and a short run (NAME.run.npz,
NAME.mcap). Beside them robots of settings in YAML.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import flexdyn_ros
from flexdyn_ros.errors import UnsupportedError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "0_2"
STATES = 8
#: settings of YAML: the name of the kept files, the robot, the text
WITH_SETTINGS = {
    "canadarm2.settings": ("canadarm2", """flexdyn:
  gravity: [0.0, 0.0, -1.62]
  links:
    boom_1:
      modes: {bending_y: 2, bending_z: 2, torsion: 1}
      damping: {ratio: 0.01}
  joints: {wrist_pitch: {rotor: {inertia: 1.0e-4, gear_ratio: 100}}}
"""),
    "mobile_arm.settings": ("mobile_arm", """flexdyn:
  formulation: {method: articulated}
  road: null
"""),
}  # fmt: skip


def names_of(robot: Any) -> dict[str, Any]:
    """What others know a robot by."""
    try:
        parameters = {p.name: p.value for p in robot.parameters}
    except UnsupportedError:
        parameters = {}
    lists = ("q_names", "v_names", "effort_names", "frame_names", "actuators")
    facts = {"kind": robot.kind, "mass": robot.mass, "parameters": parameters}
    return facts | {name: list(getattr(robot, name)) for name in lists}


def answers_of(robot: Any) -> dict[str, np.ndarray]:
    """What the verbs answer at states near the neutral one, and these states."""
    rng = np.random.default_rng(2)
    reach = np.array([robot.difference(robot.neutral(), robot.random(rng)) for _ in range(STATES)])
    q = np.array([robot.integrate(robot.neutral(), 0.3 * row, 1.0) for row in reach])
    v, a = 0.3 * rng.standard_normal((2, STATES, robot.nv))
    given = [c.v_index for c in robot.coordinates if c.prescribed]
    a[:, given] = 0.0
    tau = robot.inverse_dynamics(q, v, a)
    if given:
        tau[:, given] = 0.0
    energy = robot.energy(q, v)
    bent = robot.deflections(q, [0.0, 0.5, 1.0])
    found = {
        "q": q, "v": v, "a": a, "tau": tau, "M": robot.mass_matrix(q), "h": robot.bias_forces(q, v),
        "fd": robot.forward_dynamics(q, v, tau), "energy": np.stack(energy, axis=-1),
        "frames": robot.frames(q), "jacobian": robot.jacobian(q, robot.frame_names[-1]),
    }  # fmt: skip
    return found | {f"deflection/{name}": d.displacement for name, d in bent.items()}


def run_of(robot: Any) -> Any:
    """A tenth of a second from the neutral position."""
    record = ("energy", "hydraulics") if robot.hydraulics is not None else ("energy",)
    return flexdyn_ros.simulate(robot, 0.1, sample=5e-3, record=record)


def keep(name: str, shipped: str, settings: Path | None = None) -> None:
    """Write the files of a robot, in which no path of this machine stands."""
    text = flexdyn_ros.load(shipped).description.text
    (FOLDER / f"{name}.urdf").write_text(text.replace(f"{ROOT}/", ""))
    robot = flexdyn_ros.load(str(FOLDER / f"{name}.urdf"), config=None if settings is None else str(settings))
    (FOLDER / f"{name}.json").write_text(json.dumps(names_of(robot), indent=1) + "\n")
    np.savez_compressed(FOLDER / f"{name}.npz", **answers_of(robot))
    run = run_of(robot)
    run.save(FOLDER / f"{name}.run.npz")
    run.to_bag(FOLDER / f"{name}.mcap")


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for path in sorted((ROOT / "urdf").glob("*.urdf*")):
        name = path.name.partition(".")[0]
        if "ros2_control" not in name:
            keep(name, name)
    for name, (robot, settings) in WITH_SETTINGS.items():
        (FOLDER / f"{name}.yaml").write_text(settings)
        keep(name, robot, FOLDER / f"{name}.yaml")


if __name__ == "__main__":
    main()
