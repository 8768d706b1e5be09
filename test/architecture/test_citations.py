"""What docstrings and comments cite can be read: pages of docs/theory, with those headings, or literature."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexdyn_ros"
#: docs/theory/PAGE.md, and after a comma the headings that are meant
CITED = re.compile(r'docs/theory/(\w+\.md)((?:(?:,| and)\s+(?:#:?\s+)?"[^"]+")*)')


def headings_of(page: Path) -> set[str]:
    return set(re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE))


def test_cited_sections_of_the_theory_exist():
    missing = []
    count = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, sections in CITED.findall(path.read_text()):
            count += 1
            page = ROOT / "docs" / "theory" / name
            known = headings_of(page) if page.is_file() else None
            wanted = [re.sub(r"\s+", " ", text) for text in re.findall(r'"([^"]+)"', sections)]
            if known is None or not set(wanted) <= known:
                missing.append(f"{path.relative_to(ROOT)}: {name} {wanted}")
    assert not missing
    assert count > 30


#: words for texts that users do not have
UNSEEN = re.compile(
    r"\b(serial|parallel|mobile|continuum) specification|specification (serial|parallel|mobile|continuum)"
    r"|the specification|specification,? (section )?\d",
    re.IGNORECASE,
)


def test_no_text_cites_a_specification_that_users_do_not_have():
    pages = [*PACKAGE.rglob("*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted(pages)
        for line in path.read_text().splitlines()
        if UNSEEN.search(line)
    ]
    assert not found


def test_the_walks_are_short_and_lead_along_files_that_exist():
    """docs/architecture.md: files from attributes, a command, a request, a valve to what they become."""
    text = (ROOT / "docs" / "architecture.md").read_text().split("## Five walks")[1].split("\n## ")[0]
    walks = [re.findall(r"`([\w/]+\.py)`", walk) for walk in text.split("\n* ")[1:]]
    files = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    for walk in walks:
        for name in walk:
            assert any(f"/{file}".endswith(f"/{name}") for file in files), name
    assert [len(walk) < most for walk, most in zip(walks, (30, 15, 9, 14, 11), strict=True)] == [True] * 5


#: "Book 1984", "Luh, Walker & Paul (1980)", "Han et al. 2000" in the text of a page
_NAME = r"[A-Z][A-Za-zØøäöüéč'’-]+"
AUTHORS = re.compile(rf"\b({_NAME})(?:(?:, | & | and )(?:de )?{_NAME})*(?: et al\.)?,? \(?((?:19|20)\d\d)\)?")
NO_AUTHORS = {"December", "July", "January", "ESPRIT", "Table", "Simulink", "MATLAB"}


def test_literature_that_pages_cite_is_among_the_references():
    known = (ROOT / "docs" / "references.md").read_text()
    entries = re.split(r"^\* ", known, flags=re.MULTILINE)
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    cited = {
        (author, year): page.name
        for page in pages
        if page.name != "references.md"
        for author, year in AUTHORS.findall(page.read_text())
        if author not in NO_AUTHORS
    }
    missing = [
        f"{page}: {author} {year}"
        for (author, year), page in cited.items()
        if not any(author in entry and f"({year})" in entry for entry in entries)
    ]
    assert sorted(missing) == []
    assert len(cited) > 40
