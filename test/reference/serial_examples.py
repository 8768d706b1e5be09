# ruff: noqa: E501
"""Arms in the `serial-model/1` format, as plain data: worked example, Canadarm2, beams, random chains and
trees.

Canadarm2: Nguyen & Hughes 1994 (Progress in Astronautics and Aeronautics 161) for masses, lengths, joints and
wrist inertias; the split of the booms into tube and housings, EI, GJ and the tube radius are assumptions
stated with the model.
"""

from __future__ import annotations

import numpy as np


def bending(n):
    return {"type": "bending", "n": n}


def torsion(n):
    return {"type": "torsion", "n": n}


def beam(mu, EI, GJ, Jyy=0.001, Jzz=0.001, Jx=0.002):
    return {"mu": [mu], "EIy": [EI], "EIz": [EI], "GJ": [GJ], "Jyy": [Jyy], "Jzz": [Jzz], "Jx": [Jx]}


def worked_example():
    """Two flexible links, tip masses, gravity along -y; the state is WORKED_STATE."""
    return {
        "gravity": [0, -9.81, 0],
        "links": [
            {
                "length": 1.0,
                "beam": beam(1.2, 40.0, 30.0),
                "modes": [{"field": "y", "shape": bending(1)}, {"field": "z", "shape": bending(1)}],
                "tip_bodies": [{"mass": 0.3}],
            },
            {
                "joint": {"pre": {"rpy": [0.5, 0, 0]}},
                "length": 0.8,
                "beam": beam(0.9, 25.0, 12.0),
                "modes": [{"field": "y", "shape": bending(1)}, {"field": "twist", "shape": torsion(1)}],
                "tip_bodies": [{"mass": 0.2, "com": [0, 0.1, 0]}],
            },
        ],
    }


WORKED_STATE = (np.array([0.4, 0.05, -0.03, -0.7, 0.04, 0.1]), np.array([0.9, 0.2, 0.1, -1.1, -0.3, 0.5]))


def flexible_tree():
    """Four links: a flexible root with two children on it (one prismatic), a fixed flexible link, skew axes,
    rotors."""
    axis = np.array([0.3, -0.5, 0.8])
    return {
        "gravity": [0.7, -1.1, -9.5],
        "links": [
            {
                "joint": {"axis": list(axis / np.linalg.norm(axis)), "pre": {"p": [0.1, 0.2, 0.3], "rpy": [0.4, -0.2, 0.9]}},
                "length": 1.1,
                "beam": {"mu": [1.3, -0.4], "EIy": [60.0], "EIz": [45.0], "GJ": [20.0], "Jyy": [0.002], "Jzz": [0.003]},
                "modes": [
                    {"field": "y", "shape": bending(1)},
                    {"field": "z", "shape": {"type": "poly", "coef": [0, 0, 1.5, -0.5]}},
                    {"field": "twist", "shape": torsion(1)},
                ],
                "rigid_bodies": [{"mass": 0.4, "com": [0.1, 0.02, -0.03], "inertia": [0.02, 0.03, 0.04, 0.001, -0.002, 0.003]}],
            },
            {
                "parent": 0,
                "joint": {"type": "prismatic", "axis": [0.0, 0.6, 0.8], "post": {"p": [0, 0.05, 0], "rpy": [0, 0.3, 0]},
                          "rotor_inertia": 0.6},
                "length": 0.5,
                "rigid_bodies": [{"mass": 0.7, "com": [0.2, -0.04, 0.05], "inertia": [0.02, 0.04, 0.03, 0.002, 0.001, -0.001]}],
            },
            {
                "parent": 0,
                "joint": {"type": "fixed", "pre": {"rpy": [0.2, 0.7, -0.4]}},
                "length": 0.7,
                "beam": beam(0.8, 30.0, 9.0),
                "modes": [{"field": "z", "shape": bending(1)}, {"field": "y", "shape": bending(2)}],
                "tip_bodies": [{"mass": 0.2, "com": [0.03, 0.1, 0], "inertia": [0.01, 0.01, 0.01, 0, 0, 0.002]}],
            },
            {
                "parent": 2,
                "joint": {"axis": [1.0, 0.0, 0.0], "rotor_inertia": 0.3},
                "length": 0.4,
                "rigid_bodies": [{"mass": 0.5, "com": [0.2, 0.05, 0], "inertia": [0.01, 0.02, 0.02, 0, 0, 0]}],
            },
        ],
    }  # fmt: skip


def cantilever(modes, *, length=1.3, mu=2.1, EIy=37.0, EIz=23.0, GJ=11.0, Jx=0.004, tip=None):
    """One flexible link on a hinge about z."""
    link = {
        "length": length,
        "beam": {
            "mu": [mu],
            "EIy": [EIy],
            "EIz": [EIz],
            "GJ": [GJ],
            "Jx": [Jx],
            "Jyy": [Jx / 2],
            "Jzz": [Jx / 2],
        },
        "modes": modes,
    }
    if tip:
        link["tip_bodies"] = [tip]
    return {"gravity": [0, 0, 0], "links": [link]}


def two_point_masses(m1=1.7, m2=0.9, L1=0.8, L2=0.6, g=9.81):
    """Planar two-link arm with point masses at the link ends, gravity along -y."""
    return {
        "gravity": [0, -g, 0],
        "links": [
            {"length": L1, "rigid_bodies": [{"mass": m1, "com": [L1, 0, 0]}]},
            {"length": L2, "rigid_bodies": [{"mass": m2, "com": [L2, 0, 0]}]},
        ],
    }


def random_rigid(rng, n, *, branches=False):
    """Random rigid chain or tree: skew axes, revolute, prismatic and some fixed joints, full inertias,
    rotors."""
    links = []
    for i in range(n):
        axis = rng.normal(size=3)
        box = rng.uniform(0.05, 0.4, 3)
        mass = rng.uniform(0.3, 3.0)
        inertia = [
            mass / 12 * (box[1] ** 2 + box[2] ** 2),
            mass / 12 * (box[0] ** 2 + box[2] ** 2),
            mass / 12 * (box[0] ** 2 + box[1] ** 2),
        ]
        kind = rng.choice(["revolute", "revolute", "prismatic", "fixed"]) if i else "revolute"
        links.append(
            {
                "parent": int(rng.integers(-1, i)) if branches else i - 1,
                "joint": {
                    "type": str(kind),
                    "axis": list(axis / np.linalg.norm(axis)),
                    "pre": {"p": list(rng.uniform(-0.5, 0.5, 3)), "rpy": list(rng.uniform(-3, 3, 3))},
                    "post": {"p": list(rng.uniform(-0.2, 0.2, 3)), "rpy": list(rng.uniform(-3, 3, 3))},
                    "rotor_inertia": float(rng.uniform(0, 0.2)),
                },
                "length": float(rng.uniform(0, 0.5)),
                "rigid_bodies": [
                    {
                        "mass": mass,
                        "com": list(rng.uniform(-0.3, 0.3, 3)),
                        "inertia": [*inertia, 0.1 * inertia[0], 0.0, -0.1 * inertia[0]],
                    }
                ],
            }
        )
    return {"gravity": list(rng.uniform(-10, 10, 3)), "links": links}


def canadarm2(bending_modes=1, torsion_modes=1, *, flexible=True):
    """Five-joint Canadarm2: two flexible booms, three rigid wrist bodies."""
    modes = [{"field": f, "shape": bending(k)} for f in "yz" for k in range(1, bending_modes + 1)]
    modes += [{"field": "twist", "shape": torsion(k)} for k in range(1, torsion_modes + 1)]
    modes = modes if flexible else []
    housing = [2.0, 2.0, 2.0, 0, 0, 0]

    def boom(mu, Jx, root, tip, joint):
        return {
            "joint": joint,
            "length": 7.11,
            "beam": {
                "mu": [mu],
                "EIy": [3.7e6],
                "EIz": [3.7e6],
                "GJ": [1.6e6],
                "Jx": [Jx],
                "Jyy": [Jx / 2],
                "Jzz": [Jx / 2],
            },
            "modes": modes,
            "rigid_bodies": [{"mass": root[0], "com": root[1], "inertia": housing}],
            "tip_bodies": [{"mass": tip[0], "com": tip[1], "inertia": housing}],
        }

    def wrist(joint, mass, com, inertia):
        return {"joint": joint, "rigid_bodies": [{"mass": mass, "com": com, "inertia": [*inertia, 0, 0, 0]}]}

    y, z, x = [0, 1, 0], [0, 0, 1], [1, 0, 0]
    return {
        "gravity": [0, 0, -9.81],
        "links": [
            boom(31.3, 31.3 * 0.1738**2, (46.1, [0, 0, 0]), (46.1, [0, -0.30, 0]), {"axis": y}),
            boom(
                26.1,
                26.1 * 0.1738**2,
                (46.8, [0, -0.24, 0]),
                (46.8, [0, 0, 0]),
                {"axis": y, "pre": {"p": [0, -0.475, 0]}},
            ),
            wrist({"axis": y}, 105.98, [0, -0.2846, 0], [8.305, 3.061, 8.0386]),
            wrist({"axis": z, "pre": {"p": [0, -0.5692, 0]}}, 105.98, [0, 0, -0.3513], [12.13, 12.13, 3.061]),
            wrist({"axis": x, "pre": {"p": [0, 0, -0.7026]}}, 243.66, [0.67945, 0, 0], [9.336, 44.41, 44.41]),
        ],
    }
