"""Modules with other texts than those of their files, in this process and those of Python that it starts."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import marshal
import mmap
import os
import sys
from pathlib import Path
from types import CodeType

#: the variable that names the folder: of MODULE.code each, and of `marks`, a byte each
FOLDER = "FLEXDYN_OTHER_TEXTS"
#: these bytes, as marked modules call them
TOUCHED = "_touched_statements"


class Loader(importlib.machinery.SourceFileLoader):
    """Of one module, from compiled code."""

    def __init__(self, name: str, path: str, code: bytes):
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return marshal.loads(self.code)


class Finder:
    """Of the modules whose code is in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.names = {path.stem for path in folder.glob("*.code")}

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.names:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = Loader(fullname, spec.origin, (self.folder / f"{fullname}.code").read_bytes())
        return spec


def write(folder: Path, texts: dict[str, tuple[str, object]], marks: int = 0) -> None:
    """Fill an empty folder with modules, NAME: (file, text or syntax tree), and with so many marks."""
    for name, (file, text) in texts.items():
        code = compile(text, file, "exec", dont_inherit=True)
        (folder / f"{name}.code").write_bytes(marshal.dumps(code))
    if marks:
        (folder / "marks").write_bytes(bytes(marks))
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import other_texts\n"
        "del sys.path[0]\n"
        "other_texts.install()\n"
    )


def install() -> mmap.mmap | None:
    """Have the modules of the folder found first; its marks, which all processes share, if it has any."""
    folder = Path(os.environ[FOLDER])
    sys.meta_path.insert(0, Finder(folder))
    if not (folder / "marks").exists():
        return None
    with (folder / "marks").open("r+b") as file:
        marks = mmap.mmap(file.fileno(), 0)
    setattr(builtins, TOUCHED, marks)
    return marks


def hand_on(folder: Path) -> None:
    """Have processes that start from now on `install` it too."""
    os.environ[FOLDER] = str(folder)
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), path]))
