"""Foreign text in what is written: no language takes it for its own."""

import ast
import csv
import io
from xml.etree import ElementTree

import pytest

from flexdyn_ros.escaping import (
    csv_text,
    from_csv_text,
    markdown,
    markdown_code,
    mathtext,
    printable,
    python_docstring,
    xml_references,
)

HOSTILE = (
    '"""+print()+"""', "\\", 'a\\"', "''' '''", "\n\nimport os", "\r# -*- coding: utf-7 -*-", "{x}",
    "\x1b[31m", "\u009b2J", "\u202eevil", "\u2028", "=1+1", "$x$", "|a|b|", "</script><script>", "`code`",
    "ä", "\0", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_in_a_printable_text_moves_the_cursor_or_turns_the_line(name):
    shown = printable(name)
    assert shown.isprintable()
    assert printable(shown) == shown


def test_letters_of_all_languages_and_wide_spaces_stay():
    assert printable("Gelenk äöü 関節\u00a0\u3000μ") == "Gelenk äöü 関節\u00a0\u3000μ"
    assert printable("a\nb\tc", "\n\t") == "a\nb\tc"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_a_docstring_is_read_back_as_it_is_shown(name):
    source = f'"""Equations of {python_docstring(name)}."""\n#: {python_docstring(name)}\nx = 1\n'
    tree = ast.parse(source)
    assert ast.get_docstring(tree, clean=False) == f"Equations of {name}."
    assert [type(node) for node in tree.body] == [ast.Expr, ast.Assign]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-1", "＝1+1"])
def test_a_cell_of_a_spreadsheet_is_not_computed_and_comes_back(name):
    cell = csv_text(name)
    assert cell[0] == "'"
    assert from_csv_text(cell) == name
    text = io.StringIO()
    csv.writer(text).writerow([cell])
    (row,) = csv.reader(io.StringIO(text.getvalue(), newline=""))
    assert from_csv_text(row[0]) == name


@pytest.mark.parametrize("name", ["shoulder", "a-b", "'quoted'", "", "'", "1=2"])
def test_other_cells_stay_as_they_are(name):
    assert csv_text(name) == name
    assert from_csv_text(name) == name


def test_markup_in_markdown_is_text():
    assert markdown("a|b") == "a\\|b"
    assert markdown("<script>") == "\\<script>"
    assert markdown("[x](http://y)") == "\\[x](http://y)"
    assert markdown("joint_1") == "joint_1"
    assert markdown("_joint_") == "\\_joint\\_"
    assert markdown("two\n# lines") == "two # lines"
    assert markdown("# heading") == "\\# heading"
    assert markdown("- item") == "\\- item"
    assert markdown("-0.5") == "-0.5"
    assert markdown("&lt;b&gt;") == "\\&lt;b\\&gt;"
    assert markdown("0 < x [m], [1, 2] & more") == "0 < x [m], [1, 2] & more"


def test_code_in_markdown_ends_where_the_text_ends():
    assert markdown_code("robot") == "`robot`"
    assert markdown_code("a`b") == "`` a`b ``"
    assert markdown_code("a\n\nb") == "`a b`"


def test_dollars_in_labels_are_no_formula():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure()
    for name in (r"$\frac{$", "$x$", r"\$x$", "$", "$$"):
        label = figure.text(0, 0, mathtext(name))
        shown, is_math = label._preprocess_math(label.get_text())
        assert not is_math
        assert shown.replace("\\", "") == name.replace("\\", "")


@pytest.mark.parametrize("name", ["a\u009bb", "\u202ea", "a\u0085b"])
def test_references_in_xml_are_the_same_characters(name):
    text = xml_references(f'<robot name="{name}"/>')
    assert text.isprintable()
    assert ElementTree.fromstring(text).get("name") == name
