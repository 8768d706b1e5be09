"""The longest ways through the code stay short, and the page that walks them tells the truth."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = {path.relative_to(ROOT / "flexdyn_ros").as_posix() for path in (ROOT / "flexdyn_ros").rglob("*.py")}
#: how many files each walk had before families were folders
BEFORE = (30, 15, 9, 14)


def walks():
    """[(number of files as the page says, files that it names)] of the four walks."""
    page = (ROOT / "docs/architecture.md").read_text()
    section = page.split("## Four walks")[1].split("\n## ")[0]
    parts = re.split(r"^\* ", section, flags=re.MULTILINE)[1:]
    return [
        (int(re.search(r"\((\d+) files\)", part)[1]), re.findall(r"`([\w/]+\.py)`", part)) for part in parts
    ]


def test_each_walk_names_files_that_are_there():
    assert not [
        name
        for _, names in walks()
        for name in names
        if not any(f"/{path}".endswith(f"/{name}") for path in FILES)
    ]


def test_the_walks_are_as_long_as_the_page_says_and_shorter_than_before():
    found = walks()
    assert [count for count, _ in found] == [len(names) for _, names in found]
    assert all(count < before for (count, _), before in zip(found, BEFORE, strict=True))
