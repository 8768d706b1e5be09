"""Robots compiled by the machine's C compiler answer as the library does."""

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from exported import COMPILERS, at_random, residual

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import DimensionError, FlexdynWarning, StateError
from flexdyn_ros.simulation.steps.stepper import Stepper

LANES_PROGRAM = """#include "lanes.h"
#include <stdio.h>
int main(void)
{
    double worst[4] = {0.0, 0.0, 0.0, 0.0};
    int n, i;
    for (n = -20000; n < 20000; n++) {
        vec x, found[4];
        for (i = 0; i < LANES; i++) {
            x[i] = (n % 2 ? 1e-6 : 1e-3) * (n + 0.1 * i + 0.01);
        }
        found[0] = v_sin(x), found[1] = v_cos(x), found[2] = v_tanh(x), found[3] = v_expm1(x);
        for (i = 0; i < LANES; i++) {
            worst[0] = fmax(worst[0], fabs(found[0][i] - sin(x[i])));
            worst[1] = fmax(worst[1], fabs(found[1][i] - cos(x[i])));
            worst[2] = fmax(worst[2], fabs(found[2][i] / tanh(x[i]) - 1.0));
            worst[3] = fmax(worst[3], fabs(found[3][i] / expm1(x[i]) - 1.0));
        }
    }
    printf("%g %g %g %g\\n", worst[0], worst[1], worst[2], worst[3]);
    return 0;
}
"""
ROBOTS = ("two_link", "flexible_two_link", "mobile_arm", "soft_arm", "stewart_1t")
pytestmark = pytest.mark.usefixtures("own_compiler")
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler")


def caching_in(folder, monkeypatch):
    """Let libraries be kept in a folder, which is returned; the kernels' cache stays where it is."""
    from flexdyn_ros.numerics.compiling.cache import cache_folder

    kernels = cache_folder()
    monkeypatch.setattr("flexdyn_ros.export.native.library.cache_folder", lambda: folder / kernels.name)
    return folder / "native"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of its own for libraries."""
    return caching_in(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def specialized(tmp_path_factory):
    """Of a name: the robot and its specialized one, compiled once for the tests that only ask them."""
    found, folder = {}, tmp_path_factory.mktemp("libraries")

    def of(name):
        if name not in found:
            robot = flexdyn_ros.load(name)
            with pytest.MonkeyPatch.context() as monkeypatch:
                libraries = caching_in(folder / name, monkeypatch)
                found[name] = robot, export.specialized(robot)
            assert found[name][1] is not robot
            assert len(list(libraries.glob("*.so"))) == 1
        return found[name]

    return of


@needs_compiler
@pytest.mark.parametrize("name", ROBOTS)
def test_verbs_are_the_same(name, specialized):
    robot, native = specialized(name)
    q, v, a, tau = at_random(robot)
    assert native.inverse_dynamics(q, v, a) == pytest.approx(
        robot.inverse_dynamics(q, v, a), rel=1e-12, abs=1e-12
    )
    assert native.mass_matrix(q) == pytest.approx(robot.mass_matrix(q), rel=1e-12, abs=1e-12)
    found = native.forward_dynamics(q, v, tau)
    assert residual(robot, q, v, tau, found, robot.forward_dynamics(q, v, tau)) <= 1e-12
    rows = np.array([q, q]), np.array([v, 2.0 * v]), np.array([a, a])
    assert native.inverse_dynamics(*rows) == pytest.approx(
        robot.inverse_dynamics(*rows), rel=1e-12, abs=1e-12
    )
    wrench = {robot.frame_names[-1]: np.arange(6.0)}
    assert native.inverse_dynamics(q, v, a, wrench) == pytest.approx(robot.inverse_dynamics(q, v, a, wrench))
    assert native.energy(q, v) == pytest.approx(robot.energy(q, v))
    assert native.name == robot.name


@needs_compiler
@pytest.mark.parametrize(
    "name",
    ["two_link", "flexible_two_link", "boom_on_cylinder", "mobile_arm", "mobile_arm_spatial", "stewart_1t"],
)
def test_wrenches_are_for_the_general_robot(name, request, specialized):
    """Some of these families have no forward dynamics by a recursion."""
    if name not in ROBOTS:
        request.getfixturevalue("quick_compiler_here")
    robot, native = specialized(name)
    q, v, a, _ = at_random(robot)
    tau, wrench = np.zeros(robot.nu), {robot.frame_names[-1]: np.arange(6.0)}
    for rows in (q, np.array([q, q, q])):
        found, expected = (r.forward_dynamics(rows, v, tau, wrench) for r in (native, robot))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
        found, expected = (r.inverse_dynamics(rows, v, a, wrench) for r in (native, robot))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@needs_compiler
@pytest.mark.parametrize("name", ["seven_joint_arm", "flexible_two_link", "soft_arm", "stewart_1t"])
def test_batches_of_any_length(name, request, specialized):
    if name not in ROBOTS:
        request.getfixturevalue("quick_compiler_here")
    robot, native = specialized(name)
    for count in (1, 7, 8, 21):
        q, v, a, tau = (
            np.array(x) for x in zip(*(at_random(robot, seed) for seed in range(count)), strict=True)
        )
        near = {"rel": 1e-11, "abs": 1e-11}
        assert native.inverse_dynamics(q, v, a) == pytest.approx(robot.inverse_dynamics(q, v, a), **near)
        found, expected = native.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau)
        for k in range(count):
            assert residual(robot, q[k], v[k], tau[k], found[k], expected[k]) <= 1e-12
    q[3, 0] = np.nan
    with pytest.raises(StateError, match="finite"):
        native.inverse_dynamics(q, v, a)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_functions_of_lanes(compiler, tmp_path):
    """Sine, cosine, expm1 and tanh of eight numbers to the last digits."""
    sources = Path(flexdyn_ros.__file__).parent / "export" / "native" / "sources"
    (tmp_path / "try.c").write_text(LANES_PROGRAM)
    command = [
        compiler,
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-psabi",
        f"-I{sources}",
        "try.c",
        "-o",
        "try",
    ]
    subprocess.run([*command, "-lm"], cwd=tmp_path, check=True, timeout=60)
    told = subprocess.run(
        ["./try"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
    ).stdout
    assert all(float(worst) < 1e-15 for worst in told.split())


@needs_compiler
def test_bad_states_are_refused_as_before(specialized):
    _, native = specialized("stewart_1t")
    q, v, a, tau = at_random(native)
    with pytest.raises(DimensionError):
        native.inverse_dynamics(q[:3], v, a)
    with pytest.raises(StateError, match="finite"):
        native.forward_dynamics(q, np.nan * v, tau)
    with pytest.raises(StateError, match="unit"):
        native.inverse_dynamics(2.0 * q, v, a)


@needs_compiler
def test_it_pickles_and_simulates(specialized):
    robot, native = specialized("two_link")
    native = pickle.loads(pickle.dumps(native))
    assert native.functions.origin is not None
    found = flexdyn_ros.simulate(native, 0.1, dt=1e-3)
    assert found.q == pytest.approx(flexdyn_ros.simulate(robot, 0.1, dt=1e-3).q, rel=1e-9, abs=1e-12)
    assert export.specialized(native) is native


@needs_compiler
@pytest.mark.parametrize("name", ["flexible_two_link", "soft_arm"])
def test_steps_are_the_same(name, specialized):
    robot, native = specialized(name)
    q, v, _, tau = at_random(robot)
    plain, fast = (Stepper(r, 1e-3, q0=q, v0=v) for r in (robot, native))
    for stepper in (plain, fast):
        stepper.set_servo(5.0, 0.1)
        assert stepper.advance(200, 0.1 * tau) == 0
    assert fast.q == pytest.approx(plain.q, rel=1e-9, abs=1e-12)
    assert fast.dissipated == pytest.approx(plain.dissipated, rel=1e-9)
    # a wrench takes the general steps, and goes on from where they are
    for stepper in (plain, fast):
        stepper.set_wrenches({robot.frame_names[-1]: np.ones(6)})
        assert stepper.advance(20) == 0
        stepper.set_wrenches(None)
        assert stepper.advance(20) == 0
    assert fast.q == pytest.approx(plain.q, rel=1e-9, abs=1e-12)


@needs_compiler
def test_it_is_exported_as_the_robot_that_it_was(tmp_path, specialized):
    for k, one in enumerate(specialized("flexible_two_link")):
        export.c(one, tmp_path / str(k))
    name = "flexible_two_link.c"
    assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


@needs_compiler
def test_robots_made_from_it_are_ordinary_ones(specialized):
    _, native = specialized("two_link")
    loaded = native.with_payload("tool0" if "tool0" in native.frame_names else native.frame_names[-1], 1.0)
    assert loaded.functions.origin is None
    assert loaded.mass == pytest.approx(native.mass + 1.0)


@needs_compiler
def test_a_library_is_compiled_once(cache, monkeypatch):
    export.specialized(flexdyn_ros.load("two_link"))
    monkeypatch.setattr(
        "flexdyn_ros.export.native.library.Compiler.shared_library",
        lambda *arguments: pytest.fail("compiled again"),
    )
    again = export.specialized(flexdyn_ros.load("two_link"))
    assert again.functions.origin is not None


@needs_compiler
def test_two_processes_may_compile_at_a_time(tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)  # both compile, and take nothing that is kept
    program = (
        "import flexdyn_ros, numpy as np\n"
        "import flexdyn_ros.export.native.library as library\n"
        "from pathlib import Path\n"
        f"library.cache_folder = lambda: Path({str(tmp_path)!r}) / 'kernels'\n"
        "robot = flexdyn_ros.export.specialized(flexdyn_ros.load('two_link'))\n"
        "print(robot.functions.origin is not None)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["True"] * 2


@pytest.mark.parametrize("folder", [None, Path("include")])
def test_functions_that_python_calls_are_compiled_only_with_its_headers(folder, monkeypatch):
    from flexdyn_ros.export.native import library

    monkeypatch.setattr(library, "headers", lambda: folder)
    made = SimpleNamespace(name="of_arm", work=0)
    sources = library.call_sources(flexdyn_ros.load("two_link"), made)
    assert sorted(sources) == ([] if folder is None else ["call.c", "calls.h"])
    assert folder is None or "#define NQ 2\n" in sources["calls.h"]


def test_without_a_compiler_the_robot_itself(monkeypatch):
    from flexdyn_ros.export.native import library

    library.find_compiler.cache_clear()
    monkeypatch.setenv("CC", "no-such-compiler")
    robot = flexdyn_ros.load("two_link")
    with pytest.warns(FlexdynWarning, match="no-such-compiler"):
        assert export.specialized(robot) is robot
    library.find_compiler.cache_clear()


@needs_compiler
def test_a_compiler_that_fails(monkeypatch, tmp_path):
    from flexdyn_ros.export.native import library

    fake = tmp_path / "cc"
    fake.write_text('#!/bin/sh\n[ "$1" = --version ] && echo fake 1 && exit 0\necho sorry >&2\nexit 1\n')
    fake.chmod(0o755)
    library.find_compiler.cache_clear()
    monkeypatch.setenv("CC", str(fake))
    robot = flexdyn_ros.load("two_link")
    with pytest.warns(FlexdynWarning, match="sorry"):
        assert export.specialized(robot) is robot
    library.find_compiler.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.delenv("CC")
        assert os.environ.get("CC") is None
        export.specialized(robot)
