"""Counting what compiled code asks of Numba's runtime: probes run in processes of their own."""

import os
import subprocess
import sys

from numba.core.runtime import rtsys


def run_probe(code: str) -> str:
    """What a program prints that counts allocations; it finds the modules that the tests find."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_NRT_STATS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def allocations(call) -> int:
    """How often a call asks for memory; it gives all of it back."""
    before = rtsys.get_allocation_stats()
    call()
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free, "memory is lost"
    return after.alloc - before.alloc


def refuse_growth(verbs, small, large) -> None:
    """AssertionError if a verb asks for memory more often for a large batch than for a small one."""
    for name, verb in verbs.items():
        verb(*small)
        few, many = allocations(lambda verb=verb: verb(*small)), allocations(lambda verb=verb: verb(*large))
        assert few > 0, name  # the counter counts
        assert few == many, (name, few, many)
