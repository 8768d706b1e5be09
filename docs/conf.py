"""Pages of the documentation: `scripts/docs` builds them with Sphinx from the Markdown of the repository.

The files stay where they are, so that their links work on both sides: as files and as pages.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

project = "flexdyn_ros"
author = "flexdyn_ros maintainers"
copyright = author
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.mathjax"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "benchmarks/README.md",
]
# folders that are not even looked into
exclude_patterns = [".*", "build", "install", "log", "out", "test", "flexdyn_ros", "flexdyn_interfaces"]

myst_heading_anchors = 4
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]

# MathJax in one file with its fonts, from a package of the extra [docs]: no page needs the internet
(mathjax,) = (file for file in files("django-static-mathjax") or () if file.match("es5/tex-svg-full.js"))
html_static_path = ["static", str(mathjax.locate())]
html_css_files = ["equations.css"]
mathjax_path = mathjax.name

html_theme = "furo"
html_title = "flexdyn_ros"
html_show_copyright = False
html_show_sphinx = False
pygments_style = "friendly"
