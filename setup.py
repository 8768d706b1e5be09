"""Package flexdyn_ros: installable by pip (no ROS needed) and by colcon as ament_python."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "flexdyn_ros"
# viser: view/guarded_server.py reaches into it; msgspec and websockets come with it
VIEW = ["matplotlib>=3.8", "msgspec>=0.18.6", "viser>=1.1,<1.2", "websockets>=13.1"]
RECORD = ["mcap>=1.3", "rosbags>=0.11"]
DISTRIBUTED = ["distributed>=2024.1"]
DERIVE = ["sympy>=1.12"]
DOCS = ["furo>=2024.8", "myst-parser>=4", "sphinx>=8"]
TEST = [
    "pytest>=8",
    "pytest-timeout>=2.2",
    "pytest-xdist>=3.5",
    "hypothesis>=6.100",
    "import-linter>=2.0",
    "matplotlib>=3.8",
    "mcap>=1.3",
    "mcap-ros2-support>=0.5",
    "mypy>=1.10",
    "playwright>=1.40",
    "rosbags>=0.11",
    "ruff>=0.6",
    "sympy>=1.12",
    *DOCS,
    "types-PyYAML",
    "viser>=1.1,<1.2",
]
BENCHMARK = ["pin>=3", "mujoco>=3", "exudyn>=1.9", "soromox>=0.5"]


def files_below(folder: str) -> list[tuple[str, list[str]]]:
    """What is installed to share/flexdyn_ros: every file below `folder`, in the folders that it has here."""
    installed: dict[str, list[str]] = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            installed.setdefault(f"share/{NAME}/{path.parent.as_posix()}", []).append(path.as_posix())
    return sorted(installed.items())


setup(
    name=NAME,
    version="0.1.0",
    description="Dynamics and real-time simulation of robots that bend, from a URDF with a few more tags",
    maintainer="flexdyn_ros maintainers",
    maintainer_email="flexdyn@example.org",
    license="Apache-2.0",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed", "**/*.xsd", "**/*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *(entry for folder in ("launch", "config", "rviz", "urdf") for entry in files_below(folder)),
    ],
    python_requires=">=3.11",
    install_requires=[
        "numpy>=1.26",
        "scipy>=1.11",
        "numba>=0.60",
        "lxml>=5",
        "PyYAML>=6",
        "urchin>=0.0.29",
        "xacro>=2.0",
        "typer>=0.9",
        "rich>=13",
    ],
    extras_require={
        "view": VIEW,
        "record": RECORD,
        "distributed": DISTRIBUTED,
        "derive": DERIVE,
        "docs": DOCS,
        "test": TEST,
        "benchmark": BENCHMARK,
    },
    entry_points={
        "console_scripts": [
            "flexdyn = flexdyn_ros.cli.main:main",
            "dynamics_server = flexdyn_ros.nodes.starting:dynamics_server",
            "simulator = flexdyn_ros.nodes.starting:simulator",
            "hydraulic_actuators = flexdyn_ros.nodes.starting:hydraulic_actuators",
            "state_publisher = flexdyn_ros.nodes.starting:state_publisher",
            "pd_controller = flexdyn_ros.nodes.starting:pd_controller",
            "computed_torque = flexdyn_ros.nodes.starting:computed_torque",
            "input_shaper = flexdyn_ros.nodes.starting:input_shaper",
            "platform_controller = flexdyn_ros.nodes.starting:platform_controller",
            "soft_arm_controller = flexdyn_ros.nodes.starting:soft_arm_controller",
        ],
    },
    zip_safe=True,
)
