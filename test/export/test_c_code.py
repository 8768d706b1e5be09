"""C source: strict C99, the library's numbers, steps, float, parameters, files all or none."""

import ctypes
import os
import re
import shutil
import subprocess
import time
from itertools import product
from xml.sax.saxutils import quoteattr

import kept_compiler
import numpy as np
import pytest
from exported import COMPILERS, STRICT, at_random, compiled, residual, run_example
from models import two_link_arm
from sampled import few

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import ExportError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation.steps.stepper import Stepper

SHIPPED = (
    "canadarm2", "canadarm2_7", "flexible_two_link", "kane_beam", "mobile_arm", "mobile_arm_spatial",
    "seven_joint_arm", "soft_arm", "soft_arm_3", "stewart_1t", "two_link",
)  # fmt: skip
#: as the page recommends
FAST = ("-O1", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
ALL = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "frames", "step")

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["flexible_two_link", "stewart_1t", "soft_arm", "mobile_arm"])
def test_the_example_prints_pythons_numbers(name, compiler, tmp_path):
    robot = flexdyn_ros.load(name)
    frames = robot.frame_names[:3]
    files = export.c(robot, tmp_path, ALL, frames=frames)
    assert [file.name for file in files] == [f"{name}.h", f"{name}.c", "README.md", "main.c"]
    assert re.findall(r"define \w+_FRAMES (\d+)", files[0].read_text()) == [str(len(frames))]
    # the one optimized, the other not
    done = run_example(tmp_path, "-O1" if compiler == "gcc" else "-O0", compiler=compiler)
    assert done.returncode == 0, done.stdout
    assert "step: v1" in done.stdout


def states(robot, name, count, tmp_path, dtype=np.float64, flags=FAST):
    """Compare every verb of a C library at random states, those of a float library at what it is given."""
    scalar, tolerance = ("float", 1e-4) if dtype is np.float32 else ("double", 1e-12)
    export.c(robot, tmp_path, ALL, scalar=scalar)
    arm, nv = compiled(tmp_path, name, *flags, dtype=dtype), robot.nv
    for seed in range(count):
        q, v, a, tau = (x.astype(dtype).astype(float) for x in at_random(robot, seed))
        expected = robot.inverse_dynamics(q, v, a)
        found = arm.call("inverse_dynamics", q, v, a, sizes=[robot.nu])
        assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
        M = arm.call("mass_matrix", q, sizes=[nv * nv]).reshape(nv, nv)
        assert np.abs(M - robot.mass_matrix(q)).max() <= tolerance * np.abs(M).max()
        expected = robot.energy(q, v)
        energy = arm.call("energy", q, v, sizes=[3])
        assert np.abs(energy - expected).max() <= tolerance * np.abs(expected).max()
        expected = robot.forward_dynamics(q, v, tau)
        found = arm.call("forward_dynamics", q, v, tau, sizes=[nv]).astype(float)
        assert residual(robot, q, v, tau, found, expected) <= tolerance


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_thousand_states_of_every_shipped_robot(name, dtype, tmp_path):
    states(flexdyn_ros.load(name), name, 1000, tmp_path, dtype)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "seven_joint_arm", "soft_arm_3"])
def test_float_computes_the_same_to_its_digits(name, tmp_path):
    robot = flexdyn_ros.load(name)
    states(robot, name, 20, tmp_path, np.float32, FAST if name == "mobile_arm" else ())
    source = (tmp_path / f"{name}.c").read_text()
    assert "double" not in source
    assert not re.search(r"\b\d+\.\d+(e[-+]?\d+)?(?![\dfe])", source)


def test_the_page_of_float_tells_the_condition_of_the_mass_matrix(tmp_path):
    robot = flexdyn_ros.load("flexible_two_link")
    export.c(robot, tmp_path, ["forward_dynamics"], scalar="float")
    told = re.search(r"between (\S+) and (\S+) at", (tmp_path / "README.md").read_text())
    least, largest = map(float, told.groups())
    condition = np.linalg.cond(robot.mass_matrix(at_random(robot)[0]))
    assert 0.5 * least <= condition <= 2.0 * largest
    export.c(robot, tmp_path, ["forward_dynamics"])
    assert "condition" not in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("name", ["seven_joint_arm", "mobile_arm", "soft_arm"])
def test_steps_are_those_of_simulate(name, tmp_path):
    robot = flexdyn_ros.load(name)
    export.c(robot, tmp_path, ["step"])
    arm = compiled(tmp_path, name)
    q, v, _, tau = at_random(robot)
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(200, tau) == 0
    for _ in range(200):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-9 * max(1.0, np.abs(v).max())


def test_quaternions_of_free_bodies_turn_as_in_simulate(tmp_path):
    from random_robots import random_robot

    robot = flexdyn_ros.load(random_robot("rigid", 2))
    assert any(name.endswith("/qx") for name in robot.q_names)
    export.c(robot, tmp_path, ["step"])
    arm = compiled(tmp_path, next(tmp_path.glob("*.h")).stem)
    q, v, _, tau = at_random(robot)
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    stepper.advance(50, tau)
    for _ in range(50):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-10


def test_parameters_are_an_argument(tmp_path):
    robot = flexdyn_ros.load("two_link")
    export.c(robot, tmp_path, ["inverse_dynamics", "step"], parameters=["*/mass"])
    arm = compiled(tmp_path, "two_link")
    names = [p.name for p in robot.parameters if p.name.endswith("/mass")]
    q, v, a, _ = at_random(robot)
    assert arm.call("inverse_dynamics", q, v, a, sizes=[2]) == pytest.approx(robot.inverse_dynamics(q, v, a))
    changed = robot.with_parameters(dict.fromkeys(names, 3.0))
    found = arm.call("inverse_dynamics", q, v, a, p=np.full(len(names), 3.0), sizes=[2])
    assert found == pytest.approx(changed.inverse_dynamics(q, v, a), rel=1e-12)


@pytest.mark.parametrize("name", ["kane_beam", "soft_arm"])
def test_no_undefined_behaviour(name, tmp_path):
    export.c(flexdyn_ros.load(name), tmp_path)
    done = run_example(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    assert done.returncode == 0, done.stdout + done.stderr


def tool(name):
    """A program of cross compilers or emulators; skips the test where it is not installed."""
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


def test_a_microcontroller_has_room_for_it(tmp_path):
    compiler, size = tool("arm-none-eabi-gcc"), tool("arm-none-eabi-size")
    export.c(flexdyn_ros.load("seven_joint_arm"), tmp_path)
    flags = ["-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-O2", "-c"]
    command = [compiler, *STRICT, *flags, "seven_joint_arm.c", "-o", "made.o"]
    kept_compiler.run(command, tmp_path, check=True)
    told = subprocess.run([size, "made.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    code, data, zeros = map(int, told.stdout.splitlines()[1].split()[:3])
    assert code + data + zeros <= 96 * 1024
    assert data == zeros == 0


def test_the_numbers_of_another_processor(tmp_path):
    compiler, emulator = tool("aarch64-linux-gnu-gcc"), tool("qemu-aarch64")
    export.c(flexdyn_ros.load("kane_beam"), tmp_path)
    command = [compiler, *STRICT, "-O1", "-static", "kane_beam.c", "main.c", "-o", "try", "-lm"]
    kept_compiler.run(command, tmp_path, check=True)
    done = subprocess.run([emulator, "./try"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_forty_flexible_links(tmp_path):
    parts = ['<robot name="chain"><link name="l0"/>']
    for i in range(1, 41):
        parts.append(
            f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
            f'<child link="l{i}"/><origin xyz="{0.3 * (i > 1)} 0 0"/>'
            f'<axis xyz="0 {i % 2} {1 - i % 2}"/></joint>'
            f'<flexdyn reference="l{i}"><beam length="0.3" mass_per_length="1" EIy="50" EIz="50" GJ="30" '
            'polar_inertia="1e-4"/><modes bending_y="1" bending_z="1" torsion="1"/></flexdyn>'
        )
    robot = flexdyn_ros.load("".join([*parts, "</robot>"]))
    assert robot.nv == 160
    start = time.perf_counter()
    export.c(robot, tmp_path)
    assert time.perf_counter() - start < 60.0
    assert run_example(tmp_path).returncode == 0


def test_equal_robots_give_equal_bytes(tmp_path):
    texts = []
    for k in range(2):
        files = export.c(flexdyn_ros.load("mobile_arm"), tmp_path / str(k))
        texts.append([file.read_bytes() for file in files])
        assert str(tmp_path).encode() not in b"".join(texts[-1])
    assert texts[0] == texts[1]


def test_names_are_data(tmp_path):
    """What ends comments and strings in a description ends nothing in C."""
    hostile = 'x */ int evil(void); /* "\\' + "\u00e9"
    text = two_link_arm().replace('name="two_link"', f"name={quoteattr(hostile)}")
    text = text.replace('"shoulder"', quoteattr('a"; int evil; "??/'))
    robot = flexdyn_ros.load(text)
    assert robot.name == hostile
    name = export.c(robot, tmp_path)[0].stem
    assert name.isidentifier()
    assert run_example(tmp_path).returncode == 0
    arm = compiled(tmp_path, name)
    names = (ctypes.c_char_p * 2).in_dll(arm.library, f"{name}_v_names")
    assert [x.decode() for x in names] == list(robot.v_names)


def test_the_source_allocates_nothing_and_includes_math_only(tmp_path):
    export.c(flexdyn_ros.load("canadarm2"), tmp_path)
    source = (tmp_path / "canadarm2.c").read_text()
    assert set(re.findall(r"#include [<\"]([^>\"]+)", source)) == {"canadarm2.h", "math.h", "stddef.h"}
    assert "alloc" not in source
    # static is said of functions only
    assert all("(" in line for line in source.splitlines() if line.startswith("static"))


def test_what_is_not_finite_is_told(tmp_path):
    robot = flexdyn_ros.load("two_link")
    export.c(robot, tmp_path)
    arm = compiled(tmp_path, "two_link")
    with pytest.raises(AssertionError, match="forward_dynamics"):
        arm.call("forward_dynamics", [np.nan, 0.0], [0.0, 0.0], [0.0, 0.0], sizes=[2])


# ---- refusals ----


def test_frames_have_to_be_named(tmp_path):
    with pytest.raises(UnsupportedError, match="frame"):
        export.c(flexdyn_ros.load("two_link"), tmp_path, ["frames"], frames=[])


def test_unknown_verbs_scalars_and_methods_are_refused(tmp_path):
    robot = flexdyn_ros.load("two_link")
    with pytest.raises(UnknownNameError, match="verb"):
        export.c(robot, tmp_path, ["jump"])
    with pytest.raises(UnknownNameError, match="scalar"):
        export.c(robot, tmp_path, scalar="half")
    with pytest.raises(UnknownNameError, match="method"):
        export.c(robot, tmp_path, method="bdf")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ExportError, match="cannot be written"):
        export.c(flexdyn_ros.load("two_link"), tmp_path)


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(ExportError, match="cannot be written"):
        export.c(flexdyn_ros.load("two_link"), tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"


def test_steps_that_need_more_than_a_state_are_refused(tmp_path):
    profile = {"drive.type": "profile", "drive.points": "0 0 1 0.3 2 1", "drive.speed": None}
    with pytest.raises(UnsupportedError, match="profile"):
        export.c(flexdyn_ros.load("mobile_arm", options=profile), tmp_path, ["step"])
    lagging = '<pressure area="1e-4" time_constant="0.02"/>'
    text = flexdyn_ros.load("soft_arm_3").description.text
    soft = flexdyn_ros.load(text.replace('preset="bai2022"/>', f'preset="bai2022">{lagging}</section>'))
    with pytest.raises(UnsupportedError, match="lag"):
        export.c(soft, tmp_path, ["step"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "centre", "gravity"),
    # a slider does not feel where its centre is, nor a joint in its centre the weight
    few(list(product(("revolute", "prismatic"), ("0 0 0", "0.5 0 0"), ("0 0 -9.81", "0 0 0"))), [
        ("revolute", "0 0 0", "0 0 -9.81"), ("revolute", "0.5 0 0", "0 0 -9.81"),
        ("revolute", "0.5 0 0", "0 0 0"), ("prismatic", "0.5 0 0", "0 0 -9.81"),
        ("prismatic", "0 0 0", "0 0 0"),
    ]),
)  # fmt: skip
def test_small_arms_compile_where_warnings_are_errors(kind, centre, gravity, tmp_path):
    """What one joint does depends on no angle, on no speed, or on neither: arguments that are not read."""
    text = f"""<robot name="one"><link name="base"/><link name="arm">
    <inertial><origin xyz="{centre}"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="joint" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <flexdyn><gravity>{gravity}</gravity></flexdyn></robot>"""
    robot = flexdyn_ros.load(text)
    strict = (*STRICT, "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wmissing-prototypes")
    for scalar in ("double", "float"):
        for parameters in ((), "*"):
            export.c(robot, tmp_path, scalar=scalar, parameters=parameters)
            for compiler in COMPILERS:
                kept_compiler.run(
                    [compiler, *strict, "-fsyntax-only", "one.c", "main.c"], tmp_path, check=True
                )
    # the last, by what the optimizer finds
    for compiler in COMPILERS:
        command = [compiler, *strict, "-O1", "one.c", "main.c", "-o", "try", "-lm"]
        kept_compiler.run(command, tmp_path, check=True)
