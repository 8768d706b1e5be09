"""Experiments of tests: functions without robots that log what they compute, fail, or never end."""

import ctypes
import os
import time

from flexdyn_ros.studies import experiment


def logged(robot, x, log, seconds=0.0, count=1):
    """x squared after some seconds; a line of the log says that it was computed."""
    time.sleep(seconds)
    with open(log, "a") as file:
        file.write(f"{int(x)}\n")
    return {"square": x * x, "half": x / 2, "name": f"p{x:g}", "even": x % 2 == 0, "list": [x] * count}


def numbers_in(log):
    return [int(line) for line in open(log).read().split()]


def failing(robot, what, x=0):
    """Fails in the way that it is told to."""
    if what == "raise":
        raise ValueError("the experiment broke, so it says")
    if what == "loop":
        while True:
            pass
    if what == "c loop":
        ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock
    if what == "exit":
        os._exit(3)
    if what == "crash":
        ctypes.string_at(0)
    if what == "no mapping":
        return 5
    if what == "no number":
        return {"y": object()}
    if what == "sleep":
        time.sleep(0.001)
    if what == "missing":
        return {}
    return {"y": 1.0 + x}


def compiling_once(robot, x, cache):
    """Each point takes long over a kernel, and writes it, the first time."""
    kernel = f"{cache}/kernel-{x:g}"
    if not os.path.exists(kernel):
        time.sleep(0.05)  # times of files are those of a coarser clock
        os.mkdir(kernel)
        time.sleep(5.0)
    return {"y": x + 1.0}


def until_now_failing(robot, x, flag):
    """Three points end, take long and raise as long as there is a file."""
    if os.path.exists(flag):
        if x == 3:
            os._exit(3)
        if x == 4:
            time.sleep(2.0)
        if x == 17:
            raise ValueError("not yet")
    return {"y": x + 1.0}


def quadratic(robot, x, y):
    return {"f": (x - 0.3) ** 2 + y * y, "g": (x + 0.2) ** 2 + (y - 0.5) ** 2}


def settling(robot, x, y, unit):
    """Time constants, infinite where nothing decays."""
    return {"f": float("inf") if x <= 0.0 else 0.1 / x * unit, "g": x + y}


def mixed(robot, x):
    """Numbers, a text and a list; one number is there at later points only."""
    return {"tip": x, "kind": "a" if x < 0.5 else "b", "late": None if x < 0.5 else 2.0, "list": [x, x]}


mixed_and_said = experiment("tip", "late")(lambda robot, x: mixed(robot, x))
said_wrongly = experiment("tp", tip="m")(lambda robot, x: {"tip": x, "kind": "a"})


def ishigami(robot, a, b, c):
    from math import sin

    return {"y": sin(a) + 7.0 * sin(b) ** 2 + 0.1 * c**4 * sin(a)}


def with_robot(robot, pose=0.0):
    return {"mass": robot.mass, "nv": robot.nv, "pose": pose}


def burning(robot, x, seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return {"square": x * x}


def state_of(robot):
    import numpy as np

    q = robot.random(np.random.default_rng(3))
    v, a = np.random.default_rng(4).uniform(-1.0, 1.0, (2, robot.nv))
    tau, matrix = robot.inverse_dynamics(q, v, a), robot.mass_matrix(q).ravel()
    found = {"mass": robot.mass, "tau": tau, "matrix": matrix}
    # modes make the matrix so badly conditioned that accelerations amplify the last digit
    return found if robot.bends else found | {"a": robot.forward_dynamics(q, v, np.zeros(robot.nu))}
