"""Files for users are written beside and take their place when they are complete (flexdyn_ros/writing.py)."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexdyn_ros"
WRITES = {
    "write_text",
    "write_bytes",
    "savefig",
    "savez",
    "savez_compressed",
    "savetxt",
    "to_csv",
    "to_parquet",
}
#: where what is written is no file of a user's: in folders that pass, caches with their own renaming,
#: streams, recordings of nodes, which stay readable as far as they went
ELSEWHERE = {
    "writing.py", "export/files.py", "cli/ros/up.py", "export/native/library.py", "export/fmi/archive.py",
    "export/fmi/robot.py",
    "view/panels/run.py", "identification/urdf.py", "simulation/recordings/bag.py",
    "view/kept.py", "description/urdf/xacro_process.py",
}  # fmt: skip
#: names of what `beside` gives, and of files opened from it
DRAFTS = {"draft", "file"}


def _writes(call):
    """Whether a call opens a file for writing, or writes one at once."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in WRITES:
        return True
    modes = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [x.value for x in modes if isinstance(x, ast.Constant) and isinstance(x.value, str)]
    return name == "open" and any(text and text[0] in "wax" and len(text) < 4 for text in texts)


def _of_draft(call):
    """Whether it writes to a draft, by a method or as its first argument; functions of ours do so within."""
    if isinstance(call.func, ast.Name):
        return True
    owner = getattr(call.func.value, "id", "")
    first = getattr(call.args[0], "id", "") if call.args else ""
    return owner in {*DRAFTS, "writing"} or first in DRAFTS


def test_files_are_written_beside_and_then_replaced():
    direct = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).as_posix() not in ELSEWHERE
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and _writes(call) and not _of_draft(call)
    ]
    assert not direct
