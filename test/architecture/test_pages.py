"""What the pages tell is true: their programs and commands run, and what needs a ROS 2 installation names
launch files, executables, arguments, types and fields that exist."""

import importlib
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from pages import Block, blocks, commands, run
from typer.testing import CliRunner

import flexdyn_ros
from flexdyn_ros.cli import app

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "test" / "launch"))

from launch_recorder import of_kind, recorded  # noqa: E402

EXECUTED_FOLDERS = ("tutorials", "how-to", "coming_from")
#: pages that are executed; on all others commands are parsed
EXECUTED = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "getting_started.md",
    *(page for folder in EXECUTED_FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
PAGES = sorted({*EXECUTED, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md")})
#: commands of others, of which nothing is known here
FOREIGN = {
    "rosdep",
    "colcon",
    "ln",
    "pip",
    "apt",
    "source",
    "cd",
    "git",
    "mcap",
    "dask",
    "ros2 bag",
    "ros2 control",
}


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (tmp_path / "build").mkdir()
    return tmp_path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", EXECUTED, ids=name_of)
@pytest.mark.usefixtures("quick_compiler")
def test_programs_and_commands_of_the_page_run(page, folder):
    def flexdyn(words, where):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{where}: flexdyn {' '.join(words)}\n{done.output}\n{done.exception}"

    run(page, flexdyn)
    # what a page shows as made by it, it has made
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text()):
        assert (page.parent / picture).resolve().is_file(), picture


#: columns of a block of code on a page of the site
COLUMNS = 76
#: all pages of the site; the Python reference is text in blocks
NARROW = [
    *(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "api"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md", "benchmarks/README.md")),
]


@pytest.mark.parametrize("page", NARROW, ids=name_of)
def test_code_fits_its_column(page):
    wide = [line for block in blocks(page) for line in block.text.splitlines() if len(line) > COLUMNS]
    assert wide == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=name_of)
def test_comments_of_code_have_lines_of_their_own(page):
    lines = [line for block in blocks(page) if block.language for line in block.text.splitlines()]
    assert [line for line in lines if re.match(r"[^#'\"]*\S\s+# \w|.*[\w)\]'\"]\s{2,}# \w", line)] == []


#: pages for users: what was measured when is told in docs/acceptance.md
OF_USERS = [
    *EXECUTED,
    *(ROOT / "docs" / "families").glob("*.md"),
    *(
        ROOT / "docs" / f"{n}.md"
        for n in ("viewer", "command", "simulation", "limitations", "install", "faq")
    ),
]


@pytest.mark.parametrize("page", OF_USERS, ids=name_of)
def test_pages_for_users_tell_no_history_and_no_riddles(page):
    text = page.read_text()
    told = re.findall(r"\b20\d\d-\d\d-\d\d\b|\bmended\b|\b(?:was|were|not) tried\b", text)
    assert told == []
    headings = re.findall(r"^#+ (?:What|Where|Of|Which|Who)\b(?! each).*", text, flags=re.MULTILINE)
    assert headings == []


def test_the_oil_of_where_things_go_fits_its_hexapod(folder):
    texts = [block.text for block in blocks(ROOT / "docs/how-to/where_things_go.md")]
    (hexapod,) = (text for text in texts if '<robot name="hexapod"' in text)
    (oil,) = (text for text in texts if text.startswith("<hydraulics>"))
    Path("hexapod.urdf.xacro").write_text(hexapod.replace("</platform>", oil + "</platform>"))
    robot = flexdyn_ros.load("hexapod.urdf.xacro")
    assert robot.hydraulics is not None
    assert flexdyn_ros.simulate(robot, 0.01).status == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_the_page_name_what_exists(page, monkeypatch):
    files = {block.file for block in blocks(page)}
    for block in blocks(page):
        for words in commands(block):
            judge(words, block, files, monkeypatch)


def test_tests_and_files_that_pages_name_exist():
    source = "".join(path.read_text() for path in (ROOT / "test").rglob("*.py"))
    known = set(re.findall(r"\bdef (test_\w+)", source)) | {
        path.stem for path in (ROOT / "test").rglob("*.py")
    }
    wrong = []
    for page in (
        *PAGES,
        *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")),
    ):
        text = page.read_text()
        files = re.findall(r"\b(?:test|benchmarks|examples|flexdyn_ros|scripts|urdf)/[a-z_0-9/]+\.py\b", text)
        wrong += [f"{name_of(page)}: {file}" for file in files if not (ROOT / file).is_file()]
        for name, star in re.findall(r"\b(test_\w+)(\*?)", text):
            if not any(test == name or (star and test.startswith(name)) for test in known):
                wrong.append(f"{name_of(page)}: {name}{star}")
    assert not wrong


# ---- one command ----


def judge(words: list[str], block: Block, files: set[str], monkeypatch) -> None:
    """AssertionError if a command cannot be right."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    about = f"{block.where}: {' '.join(words)}"
    first, pair = words[0], " ".join(words[:2])
    if first.startswith(("scripts/", "./scripts/", "benchmarks/")):
        assert os.access(ROOT / first, os.X_OK), about
    elif first in ("python", "python3"):
        judge_python(words[1:], about)
    elif first == "flexdyn":
        judge_flexdyn(words[1:], files, about)
    elif first in executables():
        judge_node(first, words[1:], about)
    elif pair == "ros2 run":
        assert words[2] != "flexdyn_ros" or words[3] in executables(), about
        judge_node(words[3], words[4:], about)
    elif pair == "ros2 param":
        judge_node(words[3].split("/")[-1], ["-p", words[4]], about)
    elif pair == "ros2 launch":
        judge_launch(words[2:], files, about, monkeypatch)
    elif pair in ("ros2 service", "ros2 topic", "ros2 action"):
        judge_interface(words[1:], about)
    else:
        assert first.isupper() or first in FOREIGN or pair in FOREIGN, f"{about}: no such command is known"


def executables() -> set[str]:
    """Console scripts of ours that are nodes."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return {name for name, place in scripts.items() if place.startswith("flexdyn_ros.nodes")}


def judge_python(words: list[str], about: str) -> None:
    if words and words[0] == "-m":
        if words[1].startswith("flexdyn_ros"):
            path = ROOT / words[1].replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), about
        if words[1].startswith("flexdyn_ros.nodes."):
            judge_node(words[1].split(".")[-1], words[2:], about)
    elif words and words[0].endswith(".py") and words[0].isupper() is False and "NAME" not in words[0]:
        assert (ROOT / words[0]).is_file(), about


#: these commands take files, services and topics
NO_ROBOT = ("compare", "from-dh", "call", "pub")


def judge_flexdyn(words: list[str], files: set[str], about: str) -> None:
    """Options are those of the command, and a robot that is named comes with us or stands on the page."""
    import typer

    command = typer.main.get_command(app)
    assert words[0] in command.commands, about
    if "--help" in words or any(word.isupper() for word in words):
        return
    sub = command.commands[words[0]]
    robot = words[1] if len(words) > 1 else ""
    if words[0] == "study":
        assert (ROOT / "config" / "studies" / f"{robot}.yaml").is_file(), f"{about}: no study {robot}"
    elif robot and not robot.startswith("-") and words[0] not in NO_ROBOT:
        judge_robot(robot, files, about)
    # files that a click option wants to exist are not there yet
    given = [word for word in words[1:] if word.startswith("--")]
    known = {option for one in sub.params for option in (*one.opts, *one.secondary_opts)}
    assert {word.split("=")[0] for word in given} <= known, about


def judge_robot(robot: str, files: set[str], about: str) -> None:
    if "." in robot or "/" in robot or ":" in robot:
        own = robot in files or robot.endswith(".mcap") or robot.startswith("package://")
        assert own or robot in ("arm.urdf", "my_arm.urdf", "robot.urdf"), f"{about}: no file {robot}"
    elif robot != "panda":  # of a package of descriptions
        assert list((ROOT / "urdf").glob(f"{robot}.urdf*")), f"{about}: no robot {robot}"


def judge_node(node: str, words: list[str], about: str) -> None:
    """Parameters that are set are declared."""
    parameters = pytest.importorskip("flexdyn_ros.nodes.parameters")
    if node not in parameters.NODES:
        return
    names = [name for name, _ in parameters.declared_names(parameters.NODES[node])]
    patterns = [re.escape(name).replace("NAME", r"[\w/]+") for name in (*names, "use_sim_time")]
    for flag, word in zip(words, words[1:], strict=False):
        if flag == "-p":
            name = word.split(":=")[0]
            assert any(re.fullmatch(p, name) for p in patterns), f"{about}: parameter {name}"


def judge_launch(words: list[str], files: set[str], about: str, monkeypatch) -> None:
    """Launch file, arguments and their choices exist."""
    if words[0] != "flexdyn_ros":
        return
    file = ROOT / "launch" / words[1]
    assert file.is_file(), about
    declared = {
        record.args[0]: record.kwargs
        for record in of_kind(recorded(file, monkeypatch), "DeclareLaunchArgument")
    }
    for word in words[2:]:
        name, value = word.split(":=", 1)
        assert name in declared, f"{about}: argument {name}"
        choices = declared[name].get("choices")
        assert not choices or value in choices, f"{about}: {name}"
        if name == "robot":
            judge_robot(value, files, about)


def judge_interface(words: list[str], about: str) -> None:
    """Types exist where a command names one, and the fields of the message that it sends."""
    types = [word for word in words if re.fullmatch(r"\w+/(msg|srv|action)/\w+", word)]
    for name in types:
        package, kind, interface = name.split("/")
        if package == "flexdyn_interfaces":
            assert (ROOT / package / kind / f"{interface}.{kind}").is_file(), f"{about}: {name}"
    if words[-1].startswith("{"):
        (name,) = types
        package, kind, interface = name.split("/")
        pytest.importorskip("rclpy")
        cls = getattr(importlib.import_module(f"{package}.{kind}"), interface)
        judge_fields(cls.Request if kind == "srv" else cls, yaml.safe_load(words[-1]), about)


def judge_fields(cls, given: dict, about: str) -> None:
    fields = cls.get_fields_and_field_types()
    for name, value in given.items():
        assert name in fields, f"{about}: {name} is none of {', '.join(fields)}"
        inner = re.sub(r"sequence<([^,>]*).*|(.*)\[\d*\]$", r"\1\2", fields[name])
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                package, interface = inner.split("/")
                module = importlib.import_module(f"{package}.msg")
                judge_fields(getattr(module, interface), part, about)


# ---- the judge ----


@pytest.mark.parametrize(
    "line",
    [
        "flexdyn check canadarm3",
        "flexdyn chekc canadarm2",
        "flexdyn check canadarm2 --mode 3",
        "ros2 launch flexdyn_ros brinup.launch.py",
        "ros2 launch flexdyn_ros bringup.launch.py robott:=canadarm2",
        "ros2 launch flexdyn_ros controllers.launch.py controller:=pid",
        "ros2 run flexdyn_ros simulater",
        "ros2 run flexdyn_ros simulator --ros-args -p stepp:=0.1",
        "ros2 param set /state_publisher color moment",
        "ros2 service call /x flexdyn_interfaces/srv/NoSuchService",
        "ros2 topic pub /x sensor_msgs/msg/JointState '{nam: [a]}'",
        "scripts/demonstrate",
        "python examples/99_nothing.py",
        "flexydin check canadarm2",
        "flexdyn study load_chert",
    ],
)
def test_a_command_that_is_wrong_is_found(line, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"```bash\n{line}\n```\n")
    (block,) = blocks(page)
    (words,) = commands(block)
    with pytest.raises(AssertionError):
        judge(words, block, set(), monkeypatch)


def test_every_shipped_robot_that_pages_name_loads():
    named = set(re.findall(r"`(\w+)`", (ROOT / "README.md").read_text()))
    shipped = {path.name.split(".")[0] for path in (ROOT / "urdf").glob("*.urdf*")}
    assert len(named & shipped) >= 8
    for robot in named & shipped:
        assert flexdyn_ros.load(robot).nv > 0
