"""Extension of the site: summary tables and examples of the Python reference, names in the text as links.

`autodoc` gets a summary table for every module and every larger class, and the example of every function
from api/examples.txt; names of functions, classes, methods
and commands that pages write as code become links.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

#: public for other modules of the package, of no use to a reader
INTERNALS = frozenset(
    f"flexdyn_ros.Robot.{name}" for name in ("given_accelerations", "keep_urdf", "refuse_given_effort")
)
#: methods from which on a class has a table of them
MANY = 6
#: pages on which `simulate` and `check` are commands, not functions
OF_COMMANDS = ("docs/command", "docs/command_reference")
#: name of a function, then its example as an interactive session; `np` and `flexdyn_ros` are imported
EXAMPLES = Path(__file__).parent / "api" / "examples.txt"
LINKED = {"function", "class", "exception", "method"}


def skip_members(app: object, what: str, name: str, thing: Any, skip: bool, options: object) -> bool | None:
    """Fields of named tuples, of which the tuple's own docstring tells, and internals."""
    alias = str(getattr(thing, "__doc__", "")).startswith("Alias for field number")
    owner = getattr(thing, "__qualname__", "").rpartition(".")[0]
    return True if alias or f"flexdyn_ros.{owner}.{name}" in INTERNALS else None


def add_summary(app: object, what: str, name: str, thing: Any, options: object, lines: list[str]) -> None:
    """Append a table of the functions and classes of a module, or of the methods of a class."""
    if what == "module":
        members = [one for one in getattr(thing, "__all__", ()) if _is_described(getattr(thing, one, None))]
    elif what == "class":
        members = [one for one in vars(thing) if not one.startswith("_") and callable(getattr(thing, one))]
        members = [one for one in members if f"{name}.{one}" not in INTERNALS]
        members = members if len(members) >= MANY else []
    else:
        return
    if members:
        owner = "" if what == "module" else f"~{name.rpartition('.')[2]}."
        rows = [f"   {owner}{one}" for one in sorted(members, key=str.lower)]
        lines += ["", ".. autosummary::", "   :nosignatures:", "", *rows, ""]


def examples() -> dict[str, str]:
    """The example of every public function and method, by its full name."""
    parts = re.split(r"\n{2,}", EXAMPLES.read_text(encoding="utf-8").strip())
    return {name: session for name, _, session in (part.partition("\n") for part in parts)}


def add_example(app: Any, what: str, name: str, thing: Any, options: object, lines: list[str]) -> None:
    """Append the example of a function or method."""
    session = examples().get(name)
    if session is not None:
        app.env.note_dependency(str(EXAMPLES))
        lines += ["", ".. rubric:: Example", "", *session.splitlines(), ""]


def _is_described(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing)


def link_names(app: Any, page: nodes.document, name: str) -> None:
    """Let names of the reference and commands that are written as code lead to their descriptions."""
    if app.builder.format != "html":
        return
    known = _known(app.env)
    for literal in list(page.findall(nodes.literal)):
        if _is_inside(
            literal, (nodes.reference, nodes.title, addnodes.desc_signature, addnodes.pending_xref)
        ):
            continue
        text = literal.astext()
        command = re.match(r"flexdyn ([a-z-]+)", text)
        if command:
            target = ("docs/command_reference", f"flexdyn-{command[1]}")
            if command[1] not in _commands() or name == target[0]:
                continue
        else:
            word = re.sub(r"\(.*\)$", "", text, flags=re.DOTALL)
            word = re.sub(r"^(robot|arm|run|result|viewer)\.", "", word)
            target = known.get(word)
            if target is None or name in OF_COMMANDS or _describes(literal, target[1]):
                continue
        place = app.builder.get_relative_uri(name, target[0]) + f"#{target[1]}"
        link = nodes.reference("", "", internal=True, refuri=place, classes=["name"])
        literal.replace_self(link)
        link.append(literal)


def _known(env: Any) -> dict[str, tuple[str, str]]:
    """Page and anchor by name: in full, without the package, and by the last word where one thing has it."""
    found: dict[str, tuple[str, str]] = {}
    short: dict[str, dict[str, tuple[str, str]]] = {}
    for full, entry in env.domains["py"].objects.items():
        if entry.objtype not in LINKED or full in INTERNALS:
            continue
        place = (entry.docname, entry.node_id)
        found[full] = place
        parts = full.split(".")
        for word in {".".join(parts[-2:]), parts[-1]}:
            short.setdefault(word, {})[full] = place
    for word, places in short.items():
        first = [f"flexdyn_ros.Robot.{word}", f"flexdyn_ros.{word}"]
        best = next((places[full] for full in first if full in places), None)
        if best is None and len(set(places.values())) == 1:
            (best,) = set(places.values())
        # short words are symbols and everyday words
        if best is not None and len(word) > 3:
            found.setdefault(word, best)
    return found


def _commands() -> tuple[str, ...]:
    from flexdyn_ros.cli.commands import COMMANDS

    return COMMANDS


def _is_inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent is not None


def _describes(node: nodes.Node, anchor: str) -> bool:
    """Whether a node is in the description that an anchor leads to."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, addnodes.desc) and any(anchor in s.get("ids", ()) for s in parent.children[:1]):
            return True
        parent = parent.parent
    return False


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autosummary")
    app.connect("autodoc-skip-member", skip_members)
    # after napoleon, which reads sections of the docstring
    app.connect("autodoc-process-docstring", add_summary, priority=900)
    app.connect("autodoc-process-docstring", add_example, priority=900)
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
