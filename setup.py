"""What pyproject.toml cannot say: the files that ROS looks for in share/flexdyn_ros.

Installable by pip (no ROS needed) and by colcon as ament_python.
"""

from pathlib import Path

from setuptools import setup

NAME = "flexdyn_ros"


def files_below(folder: str) -> list[tuple[str, list[str]]]:
    """What is installed to share/flexdyn_ros: every file below `folder`, in the folders that it has here."""
    installed: dict[str, list[str]] = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            installed.setdefault(f"share/{NAME}/{path.parent.as_posix()}", []).append(path.as_posix())
    return sorted(installed.items())


setup(
    license="Apache-2.0",
    python_requires=">=3.11",
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *(entry for folder in ("launch", "config", "rviz", "urdf") for entry in files_below(folder)),
    ],
)
