"""Derivatives by the complex step (Squire & Trapp 1998) through interpreted kernels, without a compiler."""

import numpy as np

from flexdyn_ros.families.continuum.kernels import entries as continuum
from flexdyn_ros.families.platform.kernels import entries as platform
from flexdyn_ros.families.trees.flexible.kernels import entries as flexible
from flexdyn_ros.families.trees.flexible.kernels.rnea import flexible_newton_euler
from flexdyn_ros.families.trees.rigid.kernels import entries as rigid
from flexdyn_ros.families.wheeled.kernels import entries as wheeled
from flexdyn_ros.numerics.tracing.interpreting import Memory

STEP = 1e-40


def kernels_of(robot):
    """(prepare, inverse, load, displace) of the robot's family."""
    if robot.kind == "continuum":
        return continuum.ready, continuum.inverse, continuum.load, continuum.displace
    if robot.kind == "mobile":
        return wheeled.ready, wheeled.inverse, wheeled.load_wrenches, rigid.displace
    if robot.functions.bends:
        return flexible.ready, flexible_newton_euler, flexible.load_wrenches, rigid.displace
    return rigid.ready, rigid.inverse, rigid.load, rigid.displace


def balance_of(robot, wrenches):
    """The balance of forces as a function of complex q and v."""
    functions = robot.functions.seeing(wrenches) if wrenches else robot.functions
    work = np.zeros(functions.packed.numbers, dtype=complex)
    loads = np.array(list(wrenches.values())) if wrenches else np.zeros((0, 6))
    prepare, inverse, load, displace = kernels_of(robot)
    prepare(functions.address, work)

    def balance(q, v, a):
        out, force = np.zeros(robot.nv, dtype=complex), np.zeros(robot.nv, dtype=complex)
        if wrenches:
            load(functions.address, work, q, *functions.points(tuple(wrenches)), loads, force)
        inverse(functions.address, work, q, v, a, out)
        return out - force

    return balance, lambda q, r, out: displace(functions.address, q, r, out)


def balance_of_platform(robot, wrenches, tau):
    memory, points = Memory(), robot.functions.points(wrenches)
    work = memory.room([0j] * robot.functions.packed.numbers)
    loads = np.array(list(wrenches.values())) if wrenches else np.zeros((0, 6))

    def balance(q, v, a):
        out = memory.room([0j] * 6)
        with memory.in_use():
            platform.balance(robot.functions.address, work, q, v, a, tau, *points, loads, out)
        return out.astype(complex)

    return balance, lambda q, r, out: platform.displace(robot.functions.address, q, r, out)


def slopes(robot, q, v, a, wrenches=None, tau=None):
    """Derivatives (nv, nv) of M a + h - B tau - sum J^T w by q (tangent) and by v."""
    if robot.kind == "platform":
        balance, displace = balance_of_platform(robot, wrenches or {}, tau)
    else:
        balance, displace = balance_of(robot, wrenches or {})
    dq, dv = np.empty((2, robot.nv, robot.nv))
    x, xd = np.zeros(robot.nq, dtype=complex), v.astype(complex)
    for i in range(robot.nv):
        step = np.zeros(robot.nv, dtype=complex)
        step[i] = 1j * STEP
        x[:] = q
        displace(q.astype(complex), step, x)
        dq[:, i] = balance(x, xd, a).imag / STEP
        dv[:, i] = balance(q.astype(complex), v + step, a).imag / STEP
    return dq, dv
