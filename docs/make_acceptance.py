"""Make docs/acceptance.md from docs/acceptance.yaml and docs/acceptance_notes.txt.

    python docs/make_acceptance.py                    write the page
    python docs/make_acceptance.py --tests FILE       take the counts of tests from a JUnit file first
    python docs/make_acceptance.py --run PATTERN ...  run the benchmarks of these names first

The JUnit file comes from `scripts/test --junitxml=FILE`. A row of acceptance.yaml has a requirement and
either `tests` (files, or FILE::NAME with wildcards in NAME) or a benchmark: `command`, `name`, `read`
(regular expressions of what it prints, each with one group) and `show` (the sentence that the groups are put
into). `figure` and `date` are written by this program; a benchmark without `read`
keeps what was written by hand.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
TABLE, NOTES, PAGE = HERE / "acceptance.yaml", HERE / "acceptance_notes.txt", HERE / "acceptance.md"

HEAD = """# Validation and benchmarks

This page lists requirements with the command that checks each, the result and its date, then tested
environments and comparisons of methods. `docs/make_acceptance.py` makes it from `docs/acceptance.yaml` and
`docs/acceptance_notes.txt`. Times are medians of one run on two shared cores; only ratios within one run are
meaningful.
"""
COLUMNS = ["| requirement | command | figure | date |", "| --- | --- | --- | --- |"]


class AcceptanceError(Exception):
    """A row, a report or a benchmark that cannot be read."""


def page(parts: list[dict[str, Any]]) -> str:
    """The Markdown page of the table."""
    lines = [HEAD]
    for part in parts:
        lines += [
            f"## {part['part']}\n",
            "| requirement | command | figure | date |",
            "| --- | --- | --- | --- |",
        ]
        for row in part["rows"]:
            cells = (row["requirement"], f"`{command_of(row)}`", row["figure"], row["date"])
            lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
        if part.get("limits"):
            lines.append(f"Limits: {part['limits']}\n")
    return "\n".join([*lines, NOTES.read_text()])


def command_of(row: dict[str, Any]) -> str:
    """What shows a row's requirement."""
    if "tests" not in row:
        return row["command"]
    slow = "--slow " if row.get("slow") else ""
    files: dict[str, list[str]] = {}
    for test in row["tests"]:
        file, _, name = test.partition("::")
        files.setdefault(file, []).extend([name.strip("*")] if name else [])
    names = [name for chosen in files.values() for name in chosen]
    chosen = f" -k '{' or '.join(names)}'" if names else ""
    return f"scripts/test {slow}{' '.join(files)}{chosen}"


# ---- figures ----


def outcomes(report: Path) -> list[tuple[str, str, str]]:
    """(file, name, outcome) of every test in a JUnit file; outcome: passed, failed, or skipped."""
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise AcceptanceError(f"{report}: cannot be read as a JUnit file: {error}") from None
    found = []
    for case in root.iter("testcase"):
        outcome = "passed"
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = "failed"
        elif case.find("skipped") is not None:
            outcome = "skipped"
        found.append((case.get("classname", "").replace(".", "/") + ".py", case.get("name", ""), outcome))
    return found


def count(row: dict[str, Any], cases: Iterable[tuple[str, str, str]]) -> str | None:
    """ "42 passed, 1 skipped" of the tests of a row; None if none of them ran."""
    counts: dict[str, int] = {}
    for file, name, outcome in cases:
        for test in row["tests"]:
            wanted, _, pattern = test.partition("::")
            if file == wanted and fnmatchcase(name.partition("[")[0], pattern or "*"):
                counts[outcome] = counts.get(outcome, 0) + 1
                break
    if set(counts) <= {"skipped"}:
        return None
    return ", ".join(
        f"{counts[outcome]} {outcome}" for outcome in ("failed", "passed", "skipped") if outcome in counts
    )


def measure(row: dict[str, Any]) -> str:
    """Run a benchmark and put what it prints into the sentence of its row."""
    words = shlex.split(row["command"])
    if words[0] == "python":
        words[0] = sys.executable
    print(f"running {row['command']}", flush=True)
    run = subprocess.run(words, cwd=HERE.parent, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise AcceptanceError(f"{row['command']} ended with {run.returncode}: {run.stderr[-1000:]}")
    values = []
    for pattern in row["read"]:
        found = re.search(pattern, run.stdout + run.stderr)
        if found is None:
            raise AcceptanceError(f"{row['command']} printed nothing like {pattern!r}:\n{run.stdout[-2000:]}")
        values.append(found[1])
    return row["show"].format(*values)


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=Path, metavar="FILE", help="JUnit file of a run of the tests")
    parser.add_argument("--run", nargs="+", default=[], metavar="PATTERN", help="names of benchmarks to run")
    options = parser.parse_args(arguments)
    parts = yaml.safe_load(TABLE.read_text())
    rows = [row for part in parts for row in part["rows"]]
    today = date.today().isoformat()
    try:
        cases = outcomes(options.tests) if options.tests else []
        for row in rows:
            figure = None
            if "tests" in row and cases:
                figure = count(row, cases)
            elif "read" in row and any(fnmatchcase(row["name"], pattern) for pattern in options.run):
                figure = measure(row)
            if figure is not None:
                row["figure"] = figure + (f"; {row['note']}" if row.get("note") else "")
                row["date"] = today
    except AcceptanceError as error:
        print(error, file=sys.stderr)
        return 1
    TABLE.write_text(yaml.safe_dump(parts, sort_keys=False, allow_unicode=True, width=140))
    PAGE.write_text(page(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
