"""Pages of the documentation as programs: their blocks in order, commands told apart.

`python test/pages.py PAGE FOLDER` runs a page and leaves what its blocks write, pictures above all, in a
folder.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

#: languages of blocks that hold commands
SHELL = {"", "bash", "sh", "console"}


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, or the directive that it is, and text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def file(self) -> str:
        """The file that the block is, by its first line: `file: NAME` in a comment."""
        found = re.match(r"\s*(?:<!--|#)\s*file:\s*(\S+)", self.text)
        return found[1] if found else ""


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\{[\w-]+\})? ?(\w*)\n(.*?)^```", text, flags=re.M | re.S)
    return [Block(page, text[: m.start()].count("\n") + 1, m[2] or m[1] or "", m[3]) for m in found]


def commands(block: Block) -> list[list[str]]:
    """Commands of a block of the shell, as words; without comments, `scripts/run` and `$PWD/`."""
    if block.language not in SHELL or block.file:
        return []
    lines = block.text.replace("\\\n", " ").replace("$PWD/", "").splitlines()
    split = [shlex.split(re.sub(r"^\$ ", "", line), comments=True) for line in lines]
    return [words[1:] if words[0] == "scripts/run" else words for words in split if words]


def run_python(page: Path, scope: dict, block: Block) -> None:
    """A block of Python, in the scope of its page; errors tell their line on the page."""
    source = "\n" * block.line + block.text
    exec(compile(source, str(page), "exec"), scope)


def run(page: Path, flexdyn) -> None:
    """Every block in order, in the present folder: files are written, Python and `flexdyn` commands run."""
    scope: dict = {"__name__": page.stem}
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(page, scope, block)
        for words in commands(block):
            if words[0] == "flexdyn" and words[1] not in ("up", "view"):
                flexdyn(words[1:], block.where)


def main() -> None:
    import os

    import matplotlib
    from typer.testing import CliRunner

    from flexdyn_ros.cli import app

    matplotlib.use("Agg")
    page, folder = (Path(name).resolve() for name in sys.argv[1:3])
    os.chdir(folder)
    run(page, lambda words, where: CliRunner().invoke(app, words, catch_exceptions=False))


if __name__ == "__main__":
    main()
