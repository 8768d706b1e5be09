"""Count the operations of inverse dynamics by Newton-Euler and by Lagrange, for arms of 2, 6 and 7 joints.

The kernels run as plain Python (NUMBA_DISABLE_JIT) over numbers that count. What is counted is what the
source says, products with stored zeros and ones included: the kernels do not look at values. A sine-cosine
pair counts as one function. Arms of example-robot-data, and one that comes with flexdyn_ros; --quick counts
the smallest only. Run from the repository root: python benchmarks/count_operations.py [--quick]
"""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"

import sys
import sysconfig
from pathlib import Path

import numpy as np
import program

from flexdyn_ros import load
from flexdyn_ros.families.trees.lagrange.kernels import equations as lagrange
from flexdyn_ros.families.trees.lagrange.model import build_lagrange
from flexdyn_ros.families.trees.rigid.kernels import joints, rnea
from flexdyn_ros.families.trees.rigid.kernels import views as tree
from flexdyn_ros.families.trees.rigid.model import build_tree

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
ARMS = {
    "2 joints (double pendulum)": "double_pendulum_description/urdf/double_pendulum.urdf",
    "6 joints (UR5)": "ur_description/urdf/ur5_robot.urdf",
    "7 joints (Panda, fingers fixed)": "panda_description/urdf/panda.urdf",
}
SHIPPED = {"7 joints (seven_joint_arm)": "seven_joint_arm"}


class Counting:
    """A float that counts the operations it takes part in."""

    __slots__ = ("x",)
    additions = multiplications = functions = 0
    # divisions are among the multiplications too
    divisions = roots = 0

    def __init__(self, x):
        self.x = float(x)

    @property
    def real(self):
        return self

    def _add(self, other):
        Counting.additions += 1
        return Counting(self.x + float(other))

    def _subtract(self, other):
        Counting.additions += 1
        return Counting(self.x - float(other))

    def _subtract_from(self, other):
        Counting.additions += 1
        return Counting(float(other) - self.x)

    def _multiply(self, other):
        Counting.multiplications += 1
        return Counting(self.x * float(other))

    def _divide(self, other):
        Counting.multiplications += 1
        Counting.divisions += 1
        return Counting(self.x / float(other))

    def _divide_into(self, other):
        Counting.multiplications += 1
        Counting.divisions += 1
        return Counting(float(other) / self.x)

    def sqrt(self):
        Counting.roots += 1
        return Counting(np.sqrt(self.x))

    def sin(self):
        Counting.functions += 1
        return Counting(np.sin(self.x))

    def tanh(self):
        Counting.functions += 1
        return Counting(np.tanh(self.x))

    def exp(self):
        Counting.functions += 1
        return Counting(np.exp(self.x))

    def cos(self):
        return Counting(np.cos(self.x))

    def __neg__(self):
        return Counting(-self.x)

    def __float__(self):
        return self.x

    def __int__(self):
        return int(self.x)

    def __eq__(self, other):
        return self.x == float(other)

    def __lt__(self, other):
        return self.x < float(other)

    def __gt__(self, other):
        return self.x > float(other)

    def __abs__(self):
        return Counting(abs(self.x))

    def __hash__(self):
        return hash(self.x)

    __add__ = __radd__ = _add
    __sub__, __rsub__ = _subtract, _subtract_from
    __mul__ = __rmul__ = _multiply
    __truediv__, __rtruediv__ = _divide, _divide_into

    @classmethod
    def take(cls):
        """Counts since the last call."""
        counts = cls.multiplications, cls.additions, cls.functions
        cls.additions = cls.multiplications = cls.functions = 0
        return counts


def counting(values):
    """An array of counting numbers."""
    out = np.empty(np.shape(values), dtype=object)
    for index, x in np.ndenumerate(np.asarray(values, dtype=float)):
        out[index] = Counting(x)
    return out


def locked(path):
    """Description text with the fingers of the hand fixed: they are not joints of the arm."""
    text = Path(path).read_text()
    for finger in ("panda_finger_joint1", "panda_finger_joint2"):
        text = text.replace(f'name="{finger}" type="prismatic"', f'name="{finger}" type="fixed"')
    return text


def count_newton_euler(model, q, v, a):
    """tau by the recursive Newton-Euler kernel, no joint resistance."""
    joints.sincos = lambda x: (x.sin(), x.cos())
    zeros = counting(np.zeros(tree.work_size(model.nb, model.nq, model.nv)))
    data = tree.carve_data(zeros, model.nb, model.nq, model.nv)
    tree.prepare(model, data, 1.0)
    zeros[:] = counting(zeros.astype(float))
    tau = counting(np.zeros(model.nv))
    Counting.take()
    rnea.outward(model, data, counting(q), counting(v), counting(a))
    rnea.inward(model, data, counting(a), tau)
    return Counting.take(), tau.astype(float)


def count_lagrange(model, q, v, a):
    """tau = M a + h by the recursive Lagrangian kernel."""
    packed = build_lagrange(model)
    n = model.nv
    M, h, energy = (counting(np.zeros(shape)) for shape in ((1, n, n), (1, 4, n), (1, 3)))
    work = counting(np.zeros((packed.work_size, 4, 4)))
    Counting.take()
    lagrange.lagrange_equations(packed.ints, packed.floats, counting([q]), counting([v]), work, M, h, energy)
    tau = M[0] @ counting(a) + h[0, lagrange.VELOCITY] + h[0, lagrange.GRAVITY]
    return Counting.take(), tau.astype(float)


def main():
    """Print a table of counts."""
    quick = program.parser(__doc__).parse_args().quick
    arms = {label: ROBOTS / path for label, path in ARMS.items()} if ROBOTS.is_dir() else {}
    if not arms:
        print("example-robot-data is not installed: its arms are left out", file=sys.stderr)
    sources = {label: locked(path) for label, path in arms.items()} | SHIPPED
    if quick:
        sources = dict(list(sources.items())[:1])
    print(f"{'arm':32} {'method':14} {'products':>9} {'sums':>7} {'sin-cos':>8} {'total':>7}")
    rng = np.random.default_rng(1)
    for label, source in sources.items():
        model = build_tree(load(source).description).model
        q, v, a = rng.uniform(-1, 1, (3, model.nv))
        results = {}
        for method, count in (("Newton-Euler", count_newton_euler), ("Lagrange", count_lagrange)):
            (products, sums, functions), results[method] = count(model, q, v, a)
            print(f"{label:32} {method:14} {products:9} {sums:7} {functions:8} {products + sums:7}")
        difference = np.abs(results["Newton-Euler"] - results["Lagrange"]).max()
        print(f"{'':32} largest difference of the efforts: {difference:.1e}\n")


if __name__ == "__main__":
    main()
