"""Count the operations of a platform's inverse dynamics: the kernel's source runs over numbers that count.

What is counted is what the source says, the 6 x 6 system included; divisions and square roots are counted
apart. Run from the repository root: python benchmarks/count_platform.py [--json] [--quick], where --quick
counts no less.
"""

import json

import program
from count_operations import Counting, counting  # switches Numba off

import flexdyn_ros
from flexdyn_ros.families.stewart.kernels import views
from flexdyn_ros.families.stewart.kernels.dynamics import drive_forces

#: (path, universal, axisymmetric) and what may not be exceeded: products, sums
PATHS = {
    "axisymmetric legs, no spin": (0, 1, 800, 700),
    "axisymmetric legs, exact universal joints": (1, 1, None, None),
    "any inertia, masses off the axes": (1, 0, 1700, 1300),
}


def count(universal: int, axisymmetric: int) -> tuple[int, int, int, int]:
    """Products, sums, divisions and square roots of tau(q, v, a) with an external wrench."""
    robot = flexdyn_ros.load("stewart_1t")
    model = views.PlatformModel(universal, axisymmetric, counting(robot.functions.tables.numbers))
    data = views.carve_platform(counting([0.0] * views.WORK_NUMBERS))
    q, v, a = counting(robot.neutral()), counting([0.1] * 6), counting([0.2] * 6)
    load, tau = counting([3.0] * 6), counting([0.0] * 6)
    Counting.take()
    Counting.divisions = Counting.roots = 0
    drive_forces(model, data, q, v, a, load, tau)
    products, sums, _ = Counting.take()
    return products - Counting.divisions, sums, Counting.divisions, Counting.roots


def main() -> None:
    """Print a table of counts, or JSON."""
    parser = program.parser(__doc__)
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    found = {name: count(*flags[:2]) for name, flags in PATHS.items()}
    if as_json:
        print(json.dumps(found))
        return
    print(f"{'inverse dynamics of a platform':44} {'products':>9} {'sums':>6} {'divisions':>10} {'roots':>6}")
    for name, (products, sums, divisions, roots) in found.items():
        print(f"{name:44} {products:9} {sums:6} {divisions:10} {roots:6}")


if __name__ == "__main__":
    main()
