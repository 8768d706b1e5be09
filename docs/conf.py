"""Pages of the documentation: `scripts/docs` builds them with Sphinx from the Markdown of the repository.

The files stay where they are, so that their links work on both sides: as files and as pages.
"""

from __future__ import annotations

import gc
import itertools
import posixpath
import re
import sys
import tomllib
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

# pages are millions of objects, few of them in cycles: by the defaults, looking for those takes a quarter of
# the time of a build
gc.set_threshold(100_000, 50, 100)

project = "flexdyn_ros"
author = "flexdyn_ros maintainers"
copyright = author
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

# sphinx_api: beside this file
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon", "sphinx_api"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "CHANGELOG.rst",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "benchmarks/README.md",
]
# folders and files that are not even looked into
exclude_patterns = [".*", "build", "install", "log", "out", "test", "flexdyn_ros", "flexdyn_interfaces"]

myst_heading_anchors = 4
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]

# reference of the public names: docs/api/ names the packages, docstrings say the rest
autodoc_default_options = {"members": True}
autodoc_member_order = "groupwise"
autosummary_generate = False
autodoc_typehints_format = "short"
autodoc_mock_imports = [name for name in ("rclpy", "flexdyn_interfaces") if find_spec(name) is None]
napoleon_google_docstring = False
# "q, v : arrays" names two attributes in one line
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = napoleon_use_rtype = False
python_maximum_signature_line_length = 120
python_use_unqualified_type_names = True
default_role = "literal"

# notebooks run while the pages are built, and their figures are drawn from what they compute
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"

# MathJax in one file with its fonts, from a package of the extra [docs]: no page needs the internet
(mathjax,) = (file for file in files("django-static-mathjax") or () if file.match("es5/tex-svg-full.js"))
html_static_path = ["static", str(mathjax.locate())]
html_css_files = ["pages.css"]
mathjax_path = mathjax.name

#: letters of names in tables that stay in one line, and where longer ones go on in the next
LONG, SEAM = 12, re.compile(r"(?<=[_/.=])(?=\w)")

html_theme = "furo"
html_title = f"flexdyn_ros {version}"
# index.html at the root of the build leads to the front page; page.html: the end of every page
templates_path = ["templates"]
html_additional_pages = {"index": "front.html"}
html_show_copyright = False
html_show_sphinx = False
pygments_style = "friendly"


def link_pictures(app: Any, page: nodes.document, name: str) -> None:
    """A click opens a picture at full size: on a phone its letters are small."""
    if app.builder.format != "html":
        return
    for picture in list(page.findall(nodes.image)):
        known = app.env.images.get(picture["uri"])
        if known is None or isinstance(picture.parent, nodes.reference):
            continue
        place = posixpath.relpath(f"{app.builder.imagedir}/{known[1]}", posixpath.dirname(name) or ".")
        link = nodes.reference("", "", internal=True, refuri=place, classes=["picture"])
        picture.replace_self(link)
        link.append(picture)


def part_long_names(app: Any, page: nodes.document, name: str) -> None:
    """Let long names in tables go on in the next line after an underscore, a slash or a stop: no column is
    cut off."""
    if app.builder.format != "html":
        return
    for entry in page.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            if isinstance(text.parent, nodes.math) or max(map(len, text.split()), default=0) <= LONG:
                continue
            first, *others = SEAM.split(text)
            parts = [(nodes.raw("", "<wbr>", format="html"), nodes.Text(part)) for part in others]
            text.parent.replace(text, [nodes.Text(first), *itertools.chain.from_iterable(parts)])


def keep_titles(app: Any, env: Any) -> None:
    """Prepare what the menus are made of: the table of contents of every page without its headings."""
    env.titles_of_pages = {name: contents.deepcopy() for name, contents in env.tocs.items()}
    for contents in env.titles_of_pages.values():
        for item in contents.children:
            for headings in item.children[1:]:
                headings[:] = list(headings.findall(addnodes.toctree))


def make_menu_of_titles(app: Any, page: str, template: str, context: dict, doctree: Any) -> None:
    """Let the theme's menu, of titles only, not be cut for every page from all headings of all pages, which
    takes a fifth of the time of a build."""
    whole, contents = context["toctree"], app.env.tocs

    def toctree(**options: Any) -> str:
        app.env.tocs = app.env.titles_of_pages if options.get("titles_only") else contents
        try:
            return whole(**options)
        finally:
            app.env.tocs = contents

    context["toctree"] = toctree


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("env-updated", keep_titles)
    # before the theme, which makes the menu at the same event
    app.connect("html-page-context", make_menu_of_titles, priority=400)
    app.connect("doctree-resolved", link_pictures)
    app.connect("doctree-resolved", part_long_names)
