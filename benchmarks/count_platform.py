"""Count the operations of a platform's inverse dynamics: the kernel's source runs over numbers that count.

What is counted is what the source says, the 6 x 6 system included; divisions and square roots are counted
apart. Run from the repository root: python benchmarks/count_platform.py [--json] [--quick], where --quick
counts no less.
"""

import json
from dataclasses import replace

import program
from count_operations import Counting, counting  # switches Numba off

import flexdyn_ros
from flexdyn_ros.loading import from_description
from flexdyn_ros.numerics.tracing.interpreting import Memory

#: leg_spin, whether legs are taken as axisymmetric, and what may not be exceeded: products, sums
PATHS = {
    "axisymmetric legs, no spin": ("none", True, 800, 700),
    "axisymmetric legs, exact universal joints": ("universal", True, None, None),
    "any inertia, masses off the axes": ("universal", False, 1700, 1300),
}


def count(spin: str, axisymmetric: bool) -> tuple[int, int, int, int]:
    """Products, sums, divisions and square roots of tau(q, v, a)."""
    description = flexdyn_ros.description.read("stewart_1t")
    formulation = replace(description.formulation, leg_spin=spin)
    robot = from_description(replace(description, formulation=formulation))
    functions = robot.functions if axisymmetric else robot.functions.open_to_parameters().functions
    head, memory = functions.heads.new("inverse", "ready"), Memory()
    for numbers in functions.packed.floats:
        memory.put(numbers.ctypes.data, counting(numbers))
    work = memory.room(counting(functions.work()))
    motion = [memory.room(counting(x)) for x in (robot.neutral(), [0.1] * 6, [0.2] * 6, [0.0] * 6)]
    Counting.take()
    Counting.divisions = Counting.roots = 0
    with memory.in_use():
        functions.table["inverse"].function(head.address, work.ctypes.data, *(x.ctypes.data for x in motion))
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
