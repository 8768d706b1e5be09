"""The Lagrangian path on published arms: spin-up of Kane, rotating beam, Canadarm2."""

import numpy as np
import pytest
from reference.serial_examples import bending, canadarm2
from scipy.integrate import solve_ivp
from serial_format import read_serial

from flexdyn_ros.families.trees.lagrange.model import equations


def spinning_beam(modes, field, *, length=10.0, mu=1.2, EI=1.4e4):
    link = {
        "length": length,
        "beam": {"mu": [mu], "EIy": [EI], "EIz": [EI], "GJ": [1.0]},
        "modes": [{"field": field, "shape": bending(n)} for n in range(1, modes + 1)],
    }
    return read_serial({"gravity": [0, 0, 0], "links": [link]}, rotary="paper", foreshortening=True).model


def spin_up(t, final=6.0, rise=15.0):
    """Rate and acceleration of Kane, Ryan & Banerjee 1987 (J. Guidance 10(2))."""
    if t >= rise:
        return final, 0.0
    x = 2 * np.pi * t / rise
    return final / rise * (t - rise / (2 * np.pi) * np.sin(x)), final / rise * (1 - np.cos(x))


def test_spin_up_of_kane():
    """Largest lag of the tip, three modes, full foreshortening; joint motion prescribed, modal rows
    solved."""
    model = spinning_beam(3, "y")

    def rate(t, y):
        w, wd = spin_up(t)
        e = equations(model, np.array([0.0, *y[:3]]), np.array([w, *y[3:]]))
        return np.concatenate([y[3:], np.linalg.solve(e.M[1:, 1:], -e.h[1:] - e.M[1:, 0] * wd)])

    t = np.arange(0.0, 20.0, 0.01)
    run = solve_ivp(rate, (0, 20), np.zeros(6), method="LSODA", rtol=1e-9, atol=1e-12, t_eval=t)
    tip = run.y[:3].sum(axis=0)
    assert tip.min() == pytest.approx(-0.5759, abs=1e-3)
    assert t[tip.argmin()] == pytest.approx(6.75, abs=0.1)
    assert np.abs(tip[t > 16]).max() < 4e-3


@pytest.mark.parametrize(("field", "exact"), [("z", 7.3604), ("y", np.sqrt(7.3604**2 - 36.0))])
def test_rotating_beam_has_the_published_first_frequency(field, exact):
    """Uniform cantilever, hub radius 0, gamma = 6 (Wright, Smith, Thresher & Wang 1982); frequencies times
    time scale."""
    scale = np.sqrt(1.2 * 10.0**4 / 1.4e4)
    model = spinning_beam(6, field)
    q, v = np.zeros(7), np.zeros(7)
    v[0] = 6.0 / scale
    M = equations(model, q, v).M[1:, 1:]
    K = np.array([equations(model, q + 1e-30j * e, v).h.imag[1:] / 1e-30 for e in np.eye(7)[1:]]).T
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min()) * scale
    assert omega == pytest.approx(exact, abs=1e-3)


# omega_1..5 of the flexible and of the rigid arm, and y, z, twist of the tip of boom 2
CANADARM2 = {
    0.5: (
        [0.46694, -0.14222, -0.08111, 0.21752, -0.08044],
        [0.4977, -0.1707, -0.0930, 0.1184, -0.0764],
        [-0.0041, 0.0014, 0.0000],
    ),
    1.0: (
        [1.33331, -1.33002, 0.10839, -0.16112, -0.05590],
        [1.3478, -1.3048, 0.0902, 0.0109, -0.0502],
        [-0.0024, -0.0037, 0.0007],
    ),
    1.2: (
        [2.02631, -2.52531, -0.41034, -1.18198, 0.23792],
        [2.0281, -2.5755, -0.5118, -0.5633, 0.3603],
        [0.0057, -0.0115, 0.0014],
    ),
}
RELEASE = np.array([-0.6, 1.0, -0.4, 0.3, 0.0])


def release(arm):
    model = arm.model
    n = model.nv
    joints = list(arm.joint_v)
    q = np.zeros(n)
    q[joints] = RELEASE

    def rate(_, y):
        e = equations(model, y[:n], y[n:])
        return np.concatenate([y[n:], np.linalg.solve(e.M, -e.h)])

    start = np.concatenate([q, np.zeros(n)])
    run = solve_ivp(rate, (0, 1.2), start, method="DOP853", rtol=1e-7, atol=1e-9, t_eval=sorted(CANADARM2))
    return rate(0.0, start)[n:][joints], run.y[:n].T, run.y[n:][joints].T


def test_canadarm2_in_free_fall():
    """Five joints, 1 y + 1 z + 1 torsion mode per boom, option paper (model:
    test/reference/serial_examples.py)."""
    flexible, rigid = (
        read_serial(canadarm2(flexible=f), rotary="paper", frame="affine") for f in (True, False)
    )
    e = equations(flexible.model, np.insert(np.zeros(6), [0, 3, 6, 6, 6], RELEASE), np.zeros(11))
    assert e.M[0, 0] == pytest.approx(1.0797e5, rel=5e-5)
    start, q, rates = release(flexible)
    assert start == pytest.approx([6.70, 5.93, 1.06, 0.37, -0.38], abs=5.1e-3)
    for i, (flexing, _, tip) in enumerate(CANADARM2.values()):
        assert rates[i] == pytest.approx(flexing, abs=1e-3)  # check 22
        assert q[i, list(flexible.mode_v[1])] == pytest.approx(tip, abs=1e-4)
    start, _, rates = release(rigid)
    assert start == pytest.approx([0.887, -0.086, -0.220, 0.286, -0.172], abs=5.1e-4)
    for i, (_, stiff, _) in enumerate(CANADARM2.values()):
        assert rates[i] == pytest.approx(stiff, abs=1e-3)
