"""Links of the pages lead to files and headings that exist; addresses of the web are well formed.

Nothing is asked of the network. It takes a second, where Sphinx takes minutes, and follows the pages that
Sphinx leaves out.
"""

import re
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")})

INLINE = re.compile(r"\[(?:[^]\[]|\[[^]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
DEFINED = re.compile(r"^\[[^]]+\]:\s*<?([^\s>]+)>?", re.MULTILINE)
HTML = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
BARE = re.compile(r"<(https?://[^>\s]+)>")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page):
    return str(page.relative_to(ROOT))


def prose(text):
    """A page without fenced blocks and code in its lines."""
    text = re.sub(r"^( *)(```+|~~~+).*?^\1\2`*\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "code", text)


def links(text):
    """Targets of all links and pictures, in no order."""
    plain = prose(text)
    return [target for form in (INLINE, DEFINED, HTML, BARE) for target in form.findall(plain)]


@cache
def anchors(page):
    """Names by which headings and labels of a page can be reached, as MyST and GitHub make them."""
    text = re.sub(r"^ *(```+).*?^ *\1\s*$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = set(re.findall(r"^\(([\w-]+)\)=$|<a id=\"([\w-]+)\"", text, flags=re.MULTILINE))
    names = {name for pair in found for name in pair if name}
    for title in re.findall(r"^#{1,4} +(.+?) *#*$", text, flags=re.MULTILINE):
        slug = slug_of(title)
        free = (f"{slug}-{n}" if n else slug for n in count())
        names.add(next(name for name in free if name not in names))
    return names


def slug_of(title):
    title = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def fault(page, target):
    """What is wrong with a link of a page; None if nothing is."""
    if re.match(r"[a-z][a-z+.-]*:", target):
        return web_fault(target)
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return "no such file"
    if not file.is_relative_to(ROOT):
        return "outside the repository"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    return None


def web_fault(target):
    if target.startswith("mailto:"):
        return None if re.fullmatch(r"mailto:[^@\s]+@[\w-]+(\.[\w-]+)+", target) else "no address of mail"
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https"):
        return "neither http nor https"
    host = re.fullmatch(r"localhost|[\d.]+|[\w-]+(\.[\w-]+)*\.[a-z]{2,}", parts.hostname or "")
    return None if host else "no name of a host"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_exist(page):
    found = {target: fault(page, target) for target in links(page.read_text())}
    assert {target: what for target, what in found.items() if what} == {}


def test_contents_list_pages_that_exist_and_every_page_is_listed():
    listed = {ROOT / "docs" / "index.md"}
    for page in (ROOT / "docs").rglob("*.md"):
        for entry in contents(page.read_text()):
            pages = [*page.parent.glob(f"{entry}.md"), *page.parent.glob(f"{entry}.rst")]
            assert pages, f"{name_of(page)}: {entry}"
            listed |= {one.resolve() for one in pages}
    assert set((ROOT / "docs").rglob("*.md")) <= listed


def contents(text):
    """Entries of the tables of contents of a page."""
    rows = [line.strip() for block in TOCTREE.findall(text) for line in block.splitlines()]
    return [re.sub(r"^.*<(.+)>$", r"\1", row) for row in rows if row and not row.startswith(":")]


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("other.md", None),
        ("other.md#two-words-and-code", None),
        ("other.md#two-words-and-code-1", None),
        ("#own", None),
        ("https://example.org/a#b", None),
        ("missing.md", "no such file"),
        ("other.md#in-a-block", "no such heading"),
        ("#two-words-and-code", "no such heading"),
        ("https:/example.org", "no name of a host"),
        ("ftp://example.org", "neither http nor https"),
        ("../../elsewhere.md", "outside the repository"),
    ],
)
def test_a_link_that_is_wrong_is_found(target, what, tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path / "docs")
    folder = tmp_path / "docs" / "part"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere.md").write_text("")
    (folder / "other.md").write_text(
        "# Two words, and `code`\n\n```bash\n# In a block\n```\n\n## Two words and code\n"
    )
    page = folder / "page.md"
    page.write_text(f"# Own\n\n`[no](link.md)` and a\n[link]({target})\n\n```text\n[no](link.md)\n```\n")
    assert links(page.read_text()) == [target]
    assert fault(page, target) == what
