"""What pyproject.toml cannot say: the files that ROS looks for in share/flexdyn_ros.

Installable by pip (no ROS needed) and by colcon as ament_python.
"""

import os
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).parent / "scripts"))
from wheel_kernels import compile_into

#: a group of kernels that are compiled into the wheel
KERNELS = os.environ.get("FLEXDYN_KERNELS", "")
NAME = "flexdyn_ros"


def files_below(folder: str) -> list[tuple[str, list[str]]]:
    """What is installed to share/flexdyn_ros: every file below `folder`, in the folders that it has here."""
    installed: dict[str, list[str]] = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            installed.setdefault(f"share/{NAME}/{path.parent.as_posix()}", []).append(path.as_posix())
    return sorted(installed.items())


class BuildWithKernels(build_py):
    """Copies the package, and compiles kernels into it if there are to be any."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            compile_into(Path(self.build_lib), KERNELS)


class ForThisPlatform(Distribution):
    """What has compiled kernels is for this Python and this kind of machine."""

    def has_ext_modules(self) -> bool:
        return bool(KERNELS) or super().has_ext_modules()


setup(
    cmdclass={"build_py": BuildWithKernels},
    distclass=ForThisPlatform,
    license="Apache-2.0",
    python_requires=">=3.11",
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *(entry for folder in ("launch", "config", "rviz", "urdf") for entry in files_below(folder)),
    ],
)
