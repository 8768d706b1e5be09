"""Rooms import only from rooms below them, and only one room knows ROS, one plots."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import flexdyn_ros

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexdyn_ros"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

ROS = {
    "rclpy", "launch", "launch_ros", "tf2_ros", "flexdyn_interfaces", "action_msgs", "builtin_interfaces",
    "control_msgs", "diagnostic_msgs", "geometry_msgs", "lifecycle_msgs", "nav_msgs", "rcl_interfaces",
    "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs", "tf2_msgs", "trajectory_msgs",
    "visualization_msgs",
}  # fmt: skip
PICTURES = {"matplotlib", "mpl_toolkits", "viser", "plotly", "pyvista"}
#: modules that can listen on the network, and files of ours that use them: the server of the viewer, of which
#: SECURITY.md tells; names of HTTP answers; a pair of sockets within a process, which signals write to
LISTENERS = {
    "aiohttp", "asyncio", "dask", "distributed", "foxglove", "http", "socket", "socketserver", "viser",
    "websockets", "xmlrpc", "zmq",
}  # fmt: skip
#: the cluster of a study, on loopback, too
LISTENING = {
    "view/guard.py", "view/visitors.py", "nodes/foxglove.py", "nodes/ros/managed.py", "studies/engine.py",
    "studies/processes/computing.py",
}  # fmt: skip


def room_of(path):
    return path.relative_to(PACKAGE).parts[0]


def imports_of(path, for_types=True):
    """[(module, line, at the top of the file)] of a source file; relative imports as modules of ours. Without
    for_types: those only that run."""
    return [one for *one, runs in _every_import(path) if runs or for_types]


@cache
def _every_import(path):
    """[(module, line, at the top of the file, whether it runs)]."""
    found, folder = [], path.relative_to(ROOT).parent.parts

    def look(node, top, runs):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            place = ".".join(folder[: len(folder) + 1 - node.level])
            names = [".".join(filter(None, [place, node.module])) if node.level else node.module]
        found.extend((name, node.lineno, top, runs) for name in names)
        top = top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                look(child, top, runs and not (typing and child in node.body))

    look(ast.parse(path.read_text(), str(path)), True, True)
    return found


def offences(forbidden, allowed_room, *allowed_files):
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in MODULES
        if room_of(path) != allowed_room and path.relative_to(PACKAGE).as_posix() not in allowed_files
        for name, line, _ in imports_of(path)
        if name.split(".")[0] in forbidden
    ]


def test_only_nodes_import_ros():
    assert not offences(ROS, "nodes")


def test_only_view_and_the_plots_of_trajectories_studies_and_fits_import_plotting_libraries():
    files = (
        "simulation/plots/style.py",
        "simulation/plots/drawing.py",
        "studies/pictures/charts.py",
        "studies/pictures/columns.py",
        "studies/pictures/charts.py",
        "identification/identified.py",
        "export/fmi/robot.py",
    )
    assert not offences(PICTURES, "view", *files)


def test_only_the_viewer_and_clusters_of_studies_listen_on_the_network():
    """Another listener belongs into SECURITY.md first: where it listens, who may connect, what is bounded."""
    listening = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        for name, _, _ in imports_of(path, for_types=False)
        if name.split(".")[0] in LISTENERS
    }
    assert listening == LISTENING


def test_plotting_libraries_are_imported_where_they_are_used():
    """Inside the function: `import flexdyn_ros` must not pay for pictures."""
    at_top = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in MODULES
        for name, line, top in imports_of(path, for_types=False)
        if top and name.split(".")[0] in PICTURES
    ]
    assert not at_top


def packages_of_kernels():
    """Folders in which a kernel is decorated, or its decorator defined, wherever they lie."""
    decorated = re.compile(r"^@(?:kernel|inner|leaf|entry|callback|any_types)\b|^def kernel\(", re.MULTILINE)
    return {path.parent for path in MODULES if decorated.search(path.read_text())}


def test_kernels_import_numpy_numba_and_kernels_only():
    """Names of files may repeat in other packages; what is imported lies in a package of kernels too."""
    allowed = {"numpy", "numba", "llvmlite"} | sys.stdlib_module_names
    # where compiled kernels are kept, others must not have written, and files are whole
    allowed_modules = {"flexdyn_ros.ownership", "flexdyn_ros.writing"}
    folders = packages_of_kernels()
    assert PACKAGE / "families/trees/rigid/kernels" in folders
    packages = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    foreign = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in MODULES
        if path.parent in folders
        for name, line, _ in imports_of(path)
        if name.split(".")[0] not in allowed
        and name not in allowed_modules
        and not {name, name.rpartition(".")[0]} & packages
    ]
    assert not foreign


#: files that a folder holds at most, beside its `__init__.py`
MOST_FILES = 15


def test_no_folder_is_a_corridor():
    """A folder shows what it holds at a glance, and no name of a file repeats that of its folder."""
    folders = {path.parent for path in MODULES}
    files = {folder: [f.stem for f in folder.glob("*.py") if f.stem != "__init__"] for folder in folders}
    long = {folder.name: len(names) for folder, names in files.items() if len(names) > MOST_FILES}
    assert not long
    repeated = [
        f"{folder.relative_to(PACKAGE)}/{name}.py"
        for folder, names in files.items()
        for name in names
        if name.startswith((f"{folder.name}_", f"{folder.name.rstrip('s')}_"))
    ]
    assert not repeated


def graph_of_files():
    """{module: the modules and packages of ours that it imports}, those for type annotations too."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
             for path in MODULES}  # fmt: skip
    graph = {}
    for name, path in names.items():
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom):
                continue
            parts = path.relative_to(ROOT).parent.parts
            folder = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [folder, node.module]))
            for alias in node.names:
                full = f"{module}.{alias.name}"
                graph[name] |= {x for x in ((full,) if full in names else (module,)) if x in names}
    return graph


def test_no_file_imports_itself_through_others():
    """Also within functions and under TYPE_CHECKING: an import that waits is a cycle all the same. Types that
    two files need lie below both."""
    graph = graph_of_files()
    assert len(graph["flexdyn_ros.loading"]) > 3

    @cache
    def reach(name):
        seen, waiting = set(), set(graph[name])
        while waiting:
            other = waiting.pop()
            seen.add(other)
            waiting |= graph[other] - seen
        return seen

    assert not [name for name in graph if name in reach(name)]


#: the package of each node; other files of nodes/ are shared, and know none of them
NODES = ("controllers", "dynamics_server", "hydraulic_actuators", "simulator", "state_publisher")
#: files of nodes/ that make a controller, and those that list all nodes
CONTROLLERS = (
    "computed_torque.py", "input_shaper.py", "pd_controller.py", "platform_controller.py",
    "soft_arm_controller.py",
)  # fmt: skip
LISTS = ("__init__.py", "parameters.py")


def test_no_node_imports_another_node():
    """What two nodes need lies below both: nodes/ros; without ROS in simulation/live."""
    others = []
    for path in MODULES:
        place = path.relative_to(PACKAGE).parts
        if place[0] != "nodes" or place[1] in LISTS:
            continue
        own = "controllers" if place[1] in CONTROLLERS else place[1]
        for name, line, _ in imports_of(path):
            node = name.removeprefix("flexdyn_ros.nodes.").split(".")[0]
            if name.startswith("flexdyn_ros.nodes.") and node in NODES and node != own:
                others.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not others


def test_a_live_simulation_imports_without_ros():
    """Commands, pace, policies and drives can be used and tested where there is no ROS."""
    live = [f"flexdyn_ros.simulation.live.{path.stem}" for path in (PACKAGE / "simulation/live").glob("*.py")]
    assert len(live) > 5
    code = f"import sys, {', '.join(live)}; print(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=550, check=True
    )
    assert not set(run.stdout.split()) & ROS


def test_nothing_of_ours_is_imported_by_a_string_that_names_another_room():
    """import_module takes parts of its own room, or of packages that are not ours."""
    by_string = re.compile(r'import_module\(\s*f?"flexdyn_ros\.(\w+)')
    up = [
        f"{path.relative_to(ROOT)} imports flexdyn_ros.{room} by string"
        for path in MODULES
        for room in by_string.findall(path.read_text())
        if room != room_of(path)
    ]
    assert not up


def test_the_library_imports_without_ros(tmp_path):
    """`import flexdyn_ros` leaves no ROS and no plotting module behind."""

    code = "import sys, flexdyn_ros; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=550, check=True
    )
    assert not set(run.stdout.split()) & (ROS | PICTURES)


def _asks_for_the_kind(node):
    """Whether an expression holds `robot.kind`, `x.robot.kind` or `description.kind`."""
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == "kind"
        and getattr(part.value, "id", getattr(part.value, "attr", "")).strip("_")
        in ("robot", "loaded", "description")
        for part in ast.walk(node)
    )


def test_nobody_but_the_families_asks_what_kind_a_robot_is():
    """What differs between families is in their records (families/record.py), or a fact of the robot; loading
    gives a description the name of its family."""
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if room_of(path) not in ("families", "loading.py") and ".kind" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare) and _asks_for_the_kind(node)
    ]
    assert not asked


def test_functions_of_a_robot_stand_on_two_classes_and_nothing_is_overridden_twice():
    """But for trees by Lagrange's equations, the second formulation, which are trees."""
    for name in (
        "seven_joint_arm",
        "canadarm2",
        "boom_on_cylinder",
        "boom",
        "excavator",
        "mobile_arm",
        "soft_arm",
        "stewart_1t",
    ):
        functions = type(flexdyn_ros.load(name).functions)
        classes = [c for c in functions.__mro__ if c.__module__.startswith("flexdyn_ros")]
        own = (
            {n for n, x in vars(c).items() if not getattr(x, "__isabstractmethod__", False)} for c in classes
        )
        places = Counter(n for names in own for n in names if not n.startswith(("__", "_abc")))
        assert [c.__name__ for c in classes[1:]] == ["EntryFunctions", "FamilyFunctions"]
        assert max(places.values()) < 3, [n for n, k in places.items() if k > 2]


def test_every_family_is_in_the_contract_that_keeps_families_apart():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = {name for layer in contracts[1]["layers"] for name in layer.split(" | ")}
    folders = {path.parent.name for path in (PACKAGE / "families").glob("*/__init__.py")}
    assert named == {f"flexdyn_ros.families.{name}" for name in folders}


#: commands and nodes are public by their entry points
ENTRY_POINTS = ("flexdyn_ros.cli.main", "flexdyn_ros.nodes.pd_controller")
#: these make pages and pictures from the package itself
GENERATORS = ("make_command_page.py", "make_pictures.py", "sphinx_api.py")


def test_examples_pages_and_tests_of_behaviour_import_public_names_only():
    """So that moving a file of the package breaks none of them."""
    folders = ("examples", "docs", "test/control", "test/derivation")
    deep = []
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        if path.name in GENERATORS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("flexdyn_ros"):
                continue
            if node.module in ("flexdyn_ros", "flexdyn_ros.errors", *ENTRY_POINTS):
                continue
            public = getattr(importlib.import_module(node.module), "__all__", ())
            if node.module.count(".") > 1 or not {name.name for name in node.names} <= set(public):
                deep.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.module}")
    assert not deep
