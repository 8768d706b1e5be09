"""What counts as a line of code."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from code_size import lines_of_code

SOURCE = '''"""A module.

Of two paragraphs."""

# a comment

x = 1  # and one behind code
text = """two
lines"""


def double(y):
    """Twice."""
    return (
        2
        * y
    )
'''


def test_lines_of_code_are_those_without_comments_docstrings_and_blanks():
    assert lines_of_code(SOURCE) == 1 + 2 + 1 + 4
    assert lines_of_code("") == 0
    assert lines_of_code('def f():\n    "Says it."\n') == 1
