"""Foreign text in what is written: one function for each language that would take parts of it for its own.

Names of robots, links, joints and files come from descriptions and logs of others. HTML and XML have
`html.escape` and `xml.sax.saxutils`, command lines `shlex`, JSON and YAML their own writers.
"""

from __future__ import annotations

import re
import sys
import unicodedata

__all__ = [
    "csv_text",
    "file_name",
    "from_csv_text",
    "markdown",
    "markdown_code",
    "mathtext",
    "printable",
    "python_docstring",
    "xml_references",
]

#: characters that change nothing but the place on the line
LINES = "\n\t"
#: characters of a name that are kept in one of a file
LONGEST_NAME = 60
#: cells that begin so are computed by spreadsheets; apostrophes before it are ours, or the text's own
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
#: what Markdown takes for markup: signs of code, emphasis, cells and formulas; what begins struck text, a tag
#: of HTML, a character reference, a link, and a line of another kind; underscores that are not within words
_MARKDOWN = re.compile(
    r"[\\`*|$]|~(?=~)|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\[(?=[^\]]*\][(\[:])|^[#>]|^[+-](?=\s)"
    r"|(?<![^\W_])_|_(?![^\W_])"
)


def printable(text: str, keep: str = "") -> str:
    r"""The text with everything that is not shown as a character written as Python does: \x1b, \u202e.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay, such as LINES.
    """
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) or c in keep else c.encode("unicode_escape").decode() for c in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def python_docstring(text: str) -> str:
    """The text within a triple-quoted string of Python, or after #: on one line, nothing ends the string."""
    return printable(text.replace("\\", "\\\\")).replace('"', '\\"')


def mathtext(text: str) -> str:
    """The text in labels of matplotlib, which takes what is between dollars for a formula and leaves out of
    legends what begins with an underscore."""
    shown = printable(text, LINES).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def markdown(text: str) -> str:
    """The text in a line or a cell of Markdown, without markup and HTML."""
    return _MARKDOWN.sub(lambda found: "\\" + found[0], printable(" ".join(text.split())))


def markdown_code(text: str) -> str:
    """The text as code in a line of Markdown, with as many backticks around it as it needs."""
    plain = printable(" ".join(text.split()))
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    if not longest:
        return f"`{plain}`"
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}"


def file_name(text: str) -> str:
    """The text as part of a file's name: it names nothing elsewhere and is no option of a command."""
    encoding = sys.getfilesystemencoding()
    plain = "".join(c if c.isalnum() or c in "._-+ " else "_" for c in text)
    plain = plain.encode(encoding, "replace").decode(encoding).replace("?", "_")[:LONGEST_NAME]
    return f"_{plain}" if plain.startswith(("-", " ")) or not plain.strip(".") else plain


def csv_text(text: str) -> str:
    """The text as a cell that spreadsheets show and do not compute: an apostrophe before = + - and @."""
    return f"'{text}" if _FORMULA.match(text) else text


def from_csv_text(cell: str) -> str:
    """The text that `csv_text` made this cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def xml_references(text: str) -> str:
    """XML with references (&#x9b;) in place of characters that a terminal would obey; lines stay."""
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) or c in LINES else f"&#x{ord(c):x};" for c in text)
