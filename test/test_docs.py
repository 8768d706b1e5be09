"""The pages of the documentation build without a warning and fit phones; their generated parts are there."""

import importlib.util
import io
import pkgutil
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from browser import browser
from PIL import Image, ImageStat

import flexdyn_ros

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from sphinx_api import INTERNALS, examples  # noqa: E402

FAMILIES = ("rigid", "flexible", "mobile", "soft", "platform")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Folder of the built pages. Notebooks stay as they are: they run in a test of their own."""
    for package in ("sphinx", "myst_nb", "furo", "mathjax"):  # mathjax: files of django-static-mathjax
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("pages")
    options = ["-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "trees")]
    options += ["-D", "nb_execution_mode=off"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "pages")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr
    return folder / "pages"


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


def test_pages_build_without_warnings(pages):
    front = (pages / "docs" / "index.html").read_text()
    for name in FAMILIES:
        assert f"families/{name}.html" in front
    # both references that are made from the code
    assert "parameters.html" in front
    assert "schema.html" in front
    assert "api/index.html" in front
    pages_carry_their_mathjax(pages)
    described = documented_names(pages)
    assert sorted(public_names() - described) == []
    assert sorted(described & INTERNALS) == []
    assert public_names() | INTERNALS > INTERNALS > set()
    assert all(hasattr(flexdyn_ros.Robot, name.rpartition(".")[2]) for name in INTERNALS)


def test_the_reference_has_summary_tables_and_names_lead_to_it(pages):
    package = (pages / "docs" / "api" / "flexdyn_ros.html").read_text()
    tables = re.findall(r'<table class="autosummary.*?</table>', package, flags=re.DOTALL)
    assert len(tables) >= 3
    assert 'href="#flexdyn_ros.load"' in tables[0]
    (methods,) = (table for table in tables if "Robot.mass_matrix" in table)
    assert "Robot.inverse_dynamics" in methods
    assert (
        package.count(">Example</p>")
        >= len([n for n in examples() if n.startswith("flexdyn_ros.Robot.")])
        > 30
    )
    assert "keep_urdf" not in package
    guide = (pages / "docs" / "dynamics.html").read_text()
    assert re.search(r'href="api/flexdyn_ros.html#flexdyn_ros.Robot.inverse_dynamics"><code', guide)
    robots = (pages / "docs" / "families" / "flexible.html").read_text()
    questions = (pages / "docs" / "faq.html").read_text()
    assert 'href="api/flexdyn_ros.html#flexdyn_ros.Robot.linearize"' in questions
    assert 'href="command_reference.html#flexdyn-expand"' in questions
    assert "../api/flexdyn_ros.html#flexdyn_ros.Robot.deflections" in robots
    # every link leads to an anchor that is there
    for page in written(pages):
        for place, anchor in re.findall(
            r'class="name reference internal" href="([^"#]*)#([^"]+)"', page.read_text()
        ):
            target = (page.parent / place).resolve() if place else page
            assert f'id="{anchor}"' in target.read_text(), f"{page}: {place}#{anchor}"


def test_every_picture_of_the_gallery_is_followed_by_its_code():
    parts = re.split(r"^!\[", (ROOT / "docs" / "gallery.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) > 15
    for part in parts:
        after = part.split("\n\n", 1)[1]
        assert re.match(r"```(bash|python)\n|.*\]\(tutorials/", after), part.splitlines()[0]


def written(pages):
    """The pages that are written from a source, in order."""
    made = {"genindex", "py-modindex", "search", "index"}
    every = (p for p in pages.rglob("*.html") if "_static" not in p.parts)
    return sorted(p for p in every if p.parent != pages or p.stem not in made)


def test_the_root_of_the_build_leads_to_the_front_page(pages):
    (target,) = re.findall(
        r'http-equiv="refresh" content="0; url=([^"]+)"', (pages / "index.html").read_text()
    )
    assert (pages / target).is_file()


def test_the_menu_has_at_most_eight_folded_groups(pages):
    front = (pages / "docs" / "index.html").read_text()
    menu = front[front.index('class="sidebar-tree"') : front.index('<div class="main">')]
    assert 4 <= len(re.findall(r'class="toctree-l1\b', menu)) <= 8
    assert len(re.findall(r'class="toctree-checkbox"', menu)) >= 4
    assert "checked" not in menu
    assert 'class="caption"' not in menu


def test_every_page_has_a_title_of_its_own_version_changelog_and_source(pages):
    titles = {}
    for path in written(pages):
        text = path.read_text()
        (title,) = re.findall(r"<title>(.*?)</title>", text[: text.index("</head>")], flags=re.DOTALL)
        assert titles.setdefault(title, path) == path, f"{path} and {titles[title]}: {title}"
        end = text[text.index('class="about-page"') :]
        assert f"flexdyn_ros {flexdyn_ros.__version__}" in end
        links = re.findall(r'href="([^"]+)"', end[: end.index("</p>")])
        assert Path(links[0]).name in ("CHANGELOG.html", "#")
        assert links[-1].endswith(".txt")
        assert (path.parent / links[-1]).is_file()


#: of equations with a number: whether it is beside the equation, at its right
NUMBERS = """() => [...document.querySelectorAll('div.math > span.eqno')].map((number) => {
  const box = number.getBoundingClientRect();
  const equation = number.parentElement.querySelector('mjx-container').getBoundingClientRect();
  const middle = (box.top + box.bottom) / 2;
  return equation.right <= box.left && equation.top < middle && middle < equation.bottom;
})"""


def test_numbers_of_equations_stand_beside_them(chrome, pages):
    with chrome.new_page(viewport={"width": 390, "height": 900}) as sheet:
        sheet.goto((pages / "docs" / "theory" / "flexible_links.html").as_uri())
        sheet.evaluate(TYPESET)
        narrow = sheet.evaluate(NUMBERS)
        sheet.set_viewport_size({"width": 1440, "height": 900})
        wide = sheet.evaluate(NUMBERS)
    for beside in (narrow, wide):
        assert len(beside) > 4
        assert all(beside)


@pytest.mark.parametrize(
    "name", ["index", "theory/modes", "theory/mobile", "viewer", "tutorials/bending_arm"]
)
def test_dark_pages_have_no_white_boxes(chrome, pages, name):
    with chrome.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark") as sheet:
        # equations are no pictures
        sheet.route("**/tex-svg*", lambda route: route.abort())
        sheet.goto((pages / "docs" / f"{name}.html").as_uri())
        pictures = sheet.locator("article img")
        assert pictures.count() > 0
        for number in range(pictures.count()):
            drawn = Image.open(io.BytesIO(pictures.nth(number).screenshot())).convert("L")
            assert ImageStat.Stat(drawn).median[0] < 205, f"{name}: picture {number}"


def public_names():
    """All that the package, its rooms and its errors offer, and the verbs of robots and trajectories."""
    rooms = [info.name for info in pkgutil.iter_modules(flexdyn_ros.__path__, "flexdyn_ros.") if info.ispkg]
    if importlib.util.find_spec("rclpy") is None:
        rooms.remove("flexdyn_ros.nodes")
    modules = [importlib.import_module(name) for name in ("flexdyn_ros", "flexdyn_ros.errors", *rooms)]
    found = {f"{m.__name__}.{name}" for m in modules for name in getattr(m, "__all__", ())}
    for owner in (flexdyn_ros.Robot, flexdyn_ros.Trajectory):
        own = (name for name in vars(owner) if not name.startswith("_"))
        found |= {f"flexdyn_ros.{owner.__name__}.{name}" for name in own if callable(getattr(owner, name))}
    return found - INTERNALS - {"flexdyn_ros.errors"}  # a page of its own


def documented_names(folder):
    """Python names that pages describe, from the index that Sphinx writes for other sites."""
    head = (folder / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(head[4]).decode().splitlines()
    return {line.split()[0] for line in lines if line.split()[1].startswith("py:")}


def pages_carry_their_mathjax(folder):
    """AssertionError if a page loads a program from elsewhere, or equations need the internet."""
    scripts = {
        (page.parent / name).resolve() if "//" not in name else name
        for page in folder.rglob("*.html")
        for name in re.findall(r'<script[^>]*\bsrc="([^"?]+)', page.read_text())
    }
    assert not [name for name in scripts if isinstance(name, str)]
    assert all(path.is_file() for path in scripts)
    (program,) = [path for path in scripts if path.name.startswith("tex-svg")]
    assert program.stat().st_size > 2e6  # with its fonts: a loader would be small


#: what sticks out of a page to the right without a box to scroll it in, tags that no browser knows, and
#: pictures: shown and natural width, and whether they open at full size
LOOK = """() => {
  const width = document.documentElement.clientWidth;
  const all = [...document.querySelectorAll('article *')];
  const scrolls = (e) => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX);
  const boxed = (e) => e.tagName !== 'ARTICLE' && (scrolls(e) || boxed(e.parentElement));
  const wide = all.filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right > width + 1 && !boxed(e);
  });
  const names = (found) => found.slice(0, 3).map((e) => e.tagName + ': ' + e.textContent.slice(0, 60));
  return {
    width, scrolled: document.scrollingElement.scrollWidth,
    wide: names(wide),
    unknown: names(all.filter((e) => e instanceof HTMLUnknownElement)),
    cut: names(all.filter((e) => e.matches('.table-wrapper') && e.scrollWidth > e.clientWidth + 1)),
    pictures: all.filter((e) => e.tagName === 'IMG').map((e) => ({
      source: e.src, shown: e.getBoundingClientRect().width, natural: e.naturalWidth, opens: !!e.closest('a'),
    })),
  };
}"""
TYPESET = "() => window.MathJax?.startup ? MathJax.startup.promise.then(() => true) : true"
#: a window without a picture, in two thirds of the processor time of one that is drawn at every width
WINDOW = '<iframe name="window" style="border: 0; visibility: hidden; width: 390px; height: 844px"></iframe>'
SIZE = """([width, height]) => {
  const { style } = document.querySelector('iframe');
  style.width = `${width}px`, style.height = `${height}px`;
}"""


def test_pages_fit_phones_and_desks(chrome, pages):
    counted = 0
    around = pages.parent / "window.html"
    around.write_text(WINDOW)
    sheet = chrome.new_page(viewport={"width": 1400, "height": 900})
    sheet.goto(around.as_uri())
    window = sheet.frame("window")
    for path in [*written(pages), pages / "search.html", pages / "genindex.html"]:
        window.goto(path.as_uri(), wait_until="commit")
        sheet.evaluate(SIZE, [390, 844])
        window.wait_for_load_state()
        window.evaluate(TYPESET)
        for width, height in ((390, 844), (1280, 800)):
            sheet.evaluate(SIZE, [width, height])
            seen = window.evaluate(LOOK)
            where = f"{path.relative_to(pages)} at {width} px"
            assert seen["scrolled"] <= seen["width"] == width, where
            assert seen["wide"] == [], where
            assert seen["unknown"] == [], where
            # phones scroll wide tables
            assert seen["cut"] == [] or width < 1000, where
            for picture in seen["pictures"]:
                assert 0 < picture["shown"] <= seen["width"], f"{where}: {picture}"
                assert picture["opens"] or picture["shown"] >= picture["natural"], f"{where}: {picture}"
            counted += len(seen["pictures"])
    sheet.close()
    assert counted > 80


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.png")), ids=lambda path: path.stem)
def test_letters_of_plots_are_readable_beside_text(path):
    with Image.open(path) as picture:
        dots = picture.info.get("dpi", (0.0, 0.0))[0]
        lowest, _ = picture.convert("RGBA").getchannel("A").getextrema()
    assert lowest == 255  # no ground of its own: black letters on a dark page
    # in a column of 736 px, 9 pt of a plot that is 11 inches wide are 8.4 px
    assert picture.width <= 11.05 * dots or not dots


THEORY = sorted((ROOT / "docs" / "theory").glob("*.md"))


@pytest.mark.parametrize("page", THEORY, ids=lambda page: page.stem)
def test_equations_of_theory_are_typeset_and_numbered(page):
    text = page.read_text()
    # an indented block: an equation in ASCII
    ascii_blocks = re.findall(
        r"(?:^|[^-*].*)\n\n {4}\S.*=.*", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    )
    assert not ascii_blocks
    fences = re.findall(r"^\$\$(.*)$", text, re.MULTILINE)
    opening, closing = fences[::2], fences[1::2]
    assert opening
    assert set(opening) == {""}
    labels = [re.fullmatch(r" \((eq-[a-z-]+)\)", end) for end in closing]
    assert all(labels)
    names = [found.group(1) for found in labels if found]
    assert len(set(names)) == len(names)
    assert set(re.findall(r"\{eq\}`([^`]+)`", text)) <= set(names)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_commands_a_picture_and_theory(name):
    text = (ROOT / "docs" / "families" / f"{name}.md").read_text()
    for command in ("check", "simulate", "view"):
        assert re.search(rf"^flexdyn {command} \w+", text, re.MULTILINE)
    assert "../images/" in text
    assert "../theory/" in text
    (configuration,) = re.findall(r"`rviz/(\w+)\.rviz`", text)
    assert (ROOT / "rviz" / f"{configuration}.rviz").is_file()


#: of a new user: words of the link and the page, with the heading, that it leads to
TASKS = {
    "make a link of your URDF flexible": "tutorials/bending_arm.html",
    "compute gravity-compensation torques": "dynamics.html#static-equilibrium-and-gravity-compensation",
    "run a robot in ROS 2": "ros.html",
    "export C code": "how-to/export_c.html",
    "make a figure for a paper": "viewer.html#publication-figures",
}


@pytest.mark.parametrize("task", TASKS)
def test_tasks_of_a_new_user_are_two_clicks_from_the_front_page(pages, task):
    front, start = ((pages / "docs" / f"{name}.html").read_text() for name in ("index", "getting_started"))
    article = front[front.index('<article role="main"') : front.index("</article>")]
    assert 'href="getting_started.html"' in article
    row = next(row for row in re.findall(r"<tr.*?</tr>", start, flags=re.DOTALL) if task in row)
    place, _, anchor = TASKS[task].partition("#")
    assert f'href="{TASKS[task]}"' in row
    page = (pages / "docs" / place).read_text()
    # there is something to type
    part = page[page.index(f'id="{anchor}"') :] if anchor else page
    assert 'class="highlight-' in part
