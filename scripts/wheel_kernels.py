"""Kernels that are compiled into a wheel: FLEXDYN_KERNELS=start pip install .

FLEXDYN_KERNELS is a group of kernels or a pattern, as `flexdyn warm` takes it. They are compiled for this
processor, and on x86-64 for every processor with AVX2 (x86-64-v3), in processes that find nothing else.
Where a processor has neither, and where other versions of Python, NumPy or Numba are installed, what the
wheel has is not taken: kernels compile there as usual.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: as Numba is told of a processor: nothing of this one; the levels of numerics/compiling/objects.py
TARGETS: tuple[dict[str, str], ...] = (
    {},
    {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"},
)


def compile_into(library: Path, group: str) -> None:
    """Compile a group of kernels of the package in `library` into its folder `compiled`.

    What an earlier build left there goes, also where there is no group.
    """
    compiled = library / "flexdyn_ros" / "compiled"
    shutil.rmtree(compiled, ignore_errors=True)
    if not group:
        return
    is_x86 = os.uname().machine == "x86_64"
    with tempfile.TemporaryDirectory(prefix="flexdyn-wheel-") as folder:
        for number, target in enumerate(TARGETS if is_x86 else TARGETS[:1]):
            cache = Path(folder) / str(number)
            path = os.pathsep.join([str(library.resolve()), *sys.path])
            environment = {**os.environ, **target, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path}
            command = [sys.executable, "-m", "flexdyn_ros.numerics.compiling.warmup", *group.split()]
            subprocess.run(command, env=environment, cwd=folder, check=True)
            for file in cache.glob("flexdyn_ros/*/*.o"):
                place = compiled / file.parent.name / file.name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
