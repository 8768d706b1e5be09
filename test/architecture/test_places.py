"""The table of docs/architecture.md that says where a joint, an element, a method and a step go is true."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexdyn_ros"


def rows_of_the_page() -> dict[str, tuple[list[str], list[str], list[str]]]:
    """What is added: names of the example, files of the package that have them, tests."""
    page = (ROOT / "docs/architecture.md").read_text()
    table = page.split("## A joint, an element, a link, a method, a step")[1].split("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| a")]
    return {cells[0].strip(): tuple(re.findall(r"`([^`]+)`", cell) for cell in cells[1:]) for cells in rows}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Identifiers of a module, and words of its strings that are no docstrings."""
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Constant(value=str(text)) if node not in told:
                yield from text.split()


@pytest.fixture(scope="module")
def names() -> dict[str, set[str]]:
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    return {name: set(names_in(ast.parse(path.read_text()))) for name, path in files.items()}


@pytest.mark.parametrize("what", ["a joint type", "an element", "a method", "a step in time"])
def test_the_example_of_each_row_stands_in_the_files_of_the_row_and_in_no_others(what, names):
    example, files, tests = rows_of_the_page()[what]
    assert {name for name, own in names.items() if own & set(example)} == set(files)
    assert all(any(word in names[file] for file in files) for word in example)
    for place in tests:
        path, _, function = place.partition("::")
        assert f"def {function}(" in (ROOT / path).read_text(), place


def test_the_row_of_a_link_names_tests_whose_modules_are_all_that_a_link_takes():
    """No module of the package belongs to one kind: examples are those of the tests, one module each."""
    modules = (ROOT / "test" / "toy_links.py").read_text()
    example, _, tests = rows_of_the_page()["a link"]
    for place in tests:
        path, _, function = place.partition("::")
        text = (ROOT / path).read_text()
        assert f"def {function}(" in text, place
        assert "from toy_links import" in text
    assert all(f'@element("{word}"' in modules for word in example)
