"""Closed mechanisms of bench_loops.py in MuJoCo, by `connect` equalities as hard as it lets them be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from closed_mechanisms import Body, G, Mechanism, places_of, rotation, words


def mujoco_side(
    mujoco: Any, m: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[Callable, Callable]:
    """A call of `mj_forward`, and the accelerations of the motors."""

    def body(b: Body) -> str:
        kind = {
            "revolute": f'<joint name="{b.name}_joint" type="hinge" axis="0 1 0"/>',
            "floating": f'<freejoint name="{b.name}_joint"/>',
            "ball": f'<joint name="{b.name}_joint" type="ball"/>',
        }[b.joint]
        below = "".join(body(c) for c in m.bodies if c.parent == b.name)
        turn = np.cos(0.5 * b.turn), 0.0, 0.0, np.sin(0.5 * b.turn)
        return (
            f'<body name="{b.name}" pos="{words(b.at)}" quat="{words(turn)}">{kind}'
            f'<inertial pos="{words(b.com)}" mass="{b.mass}" diaginertia="{words(b.inertia)}"/>{below}</body>'
        )

    welds = "".join(
        f'<connect body1="{c.base}" body2="{c.end}" anchor="{words(c.base_at)}" '
        'solimp="0.9999 0.9999 0.001"/>'
        for c in m.loops
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 {-G}"><flag contact="disable" limit="disable"/></option><worldbody>'
        f"{''.join(body(b) for b in m.bodies if b.parent == 'ground')}</worldbody>"
        f"<equality>{welds}</equality></mujoco>"
    )
    # the second anchors are those of the open pose otherwise
    for i, c in enumerate(m.loops):
        model.eq_data[i, 3:6] = c.end_at
    data, motors = mujoco.MjData(model), []
    for b, (iq, iv) in zip(m.bodies, places_of(m), strict=True):
        joint = model.joint(f"{b.name}_joint")
        jq, jv = int(joint.qposadr[0]), int(joint.dofadr[0])
        if b.joint == "revolute":
            data.qpos[jq], data.qvel[jv], data.qfrc_applied[jv] = q[iq], v[iv], tau[iv]
            motors.append((iv, jv))
        elif b.joint == "ball":
            data.qpos[jq : jq + 4] = np.roll(q[iq : iq + 4], 1)
            data.qvel[jv : jv + 3] = rotation(q[iq : iq + 4]).T @ v[iv : iv + 3]
        else:
            data.qpos[jq : jq + 3], data.qpos[jq + 3 : jq + 7] = (
                q[iq : iq + 3],
                np.roll(q[iq + 3 : iq + 7], 1),
            )
            data.qvel[jv : jv + 3] = v[iv + 3 : iv + 6]
            data.qvel[jv + 3 : jv + 6] = rotation(q[iq + 3 : iq + 7]).T @ v[iv : iv + 3]

    def accelerations() -> np.ndarray:
        found = np.full_like(v, np.nan)
        for iv, jv in motors:
            found[iv] = data.qacc[jv]
        return found

    return lambda: mujoco.mj_forward(model, data), accelerations
