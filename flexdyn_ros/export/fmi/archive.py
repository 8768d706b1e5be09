"""Functional mock-up units as archives: description, source and binaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from flexdyn_ros.errors import UnknownNameError, UnsupportedError, needs
from flexdyn_ros.export.files import chosen_names, replacing
from flexdyn_ros.export.fmi.description import model_description, terminals_and_icons, token_of
from flexdyn_ros.export.fmi.variables import Variable
from flexdyn_ros.export.native.library import Compiler, find_compiler

VERSIONS = ("2.0", "3.0")
PLATFORMS = ("host", "win64")
#: folders of binaries in both versions of the standard, and how libraries end
_FOLDERS = {
    ("Linux", "x86_64"): ("linux64", "x86_64-linux", ".so"),
    ("Linux", "aarch64"): ("aarch64-linux", "aarch64-linux", ".so"),
    ("Darwin", "x86_64"): ("darwin64", "x86_64-darwin", ".dylib"),
    ("Darwin", "arm64"): ("aarch64-darwin", "aarch64-darwin", ".dylib"),
    ("Windows", "AMD64"): ("win64", "x86_64-windows", ".dll"),
}
_WINDOWS = _FOLDERS["Windows", "AMD64"]


def chosen_platforms(fmi: str, platforms: Sequence[str] | str) -> tuple[str, ...]:
    """The platforms; UnknownNameError for another version or platform, ExportError for none."""
    UnknownNameError.check("version of FMI", fmi, VERSIONS)
    return chosen_names("platform", platforms, PLATFORMS)


class Unit(NamedTuple):
    """What an archive is made of.

    name: of the model; identifier: of its library; fmi: version; kinds, variables, step: of the description;
    texts: C source by file names; header: token -> text of robot.h.
    """

    name: str
    identifier: str
    fmi: str
    kinds: Sequence[str]
    variables: Sequence[Variable]
    step: float
    texts: Mapping[str, str]
    header: Callable[[str], str]

    def write(
        self,
        path: Path,
        platforms: Sequence[str],
        groups: Mapping[str, Mapping[str, str]],
        picture: bytes | None = None,
    ) -> Path:
        """Write the archive; groups: variables by terminals and members."""
        self._refuse_twins()
        texts, folder = dict(self.texts), files("flexdyn_ros.export.fmi") / "sources"
        for name in ("model.h", "model.c", "fmi.c"):
            texts[name] = (folder / name).read_text(encoding="utf-8")
        texts["fmi.c"] = f"#define FMI {self.fmi[0]}\n{texts['fmi.c']}"
        variables = (repr(x) for x in self.variables)
        token = token_of(self.fmi, *texts.values(), self.header(""), *variables)
        texts["robot.h"] = self.header(token)
        described = model_description(
            self.name, self.identifier, token, self.fmi, self.kinds, self.variables, self.step
        )
        contents = {"modelDescription.xml": described.encode()}
        for name in platforms:
            place, binary = _binary(texts, self.identifier, self.fmi, name)
            contents[place] = binary
        if picture is not None:
            contents["model.png" if self.fmi == "2.0" else "terminalsAndIcons/icon.png"] = picture
        if self.fmi == "3.0":
            contents["terminalsAndIcons/terminalsAndIcons.xml"] = terminals_and_icons(groups).encode()
        contents |= {f"sources/{name}": text.encode() for name, text in texts.items()}
        return _write(path, contents)

    def _refuse_twins(self) -> None:
        """UnsupportedError if two variables have one name: an actuator called time, say."""
        seen: set[str] = set()
        for x in self.variables:
            if x.name in seen:
                raise UnsupportedError(
                    f"robot {self.name!r} cannot be an FMU: two of its variables have the name {x.name!r}; "
                    "expected other names of joints, links or frames"
                )
            seen.add(x.name)


def _binary(texts: dict[str, str], name: str, fmi: str, platform: str) -> tuple[str, bytes]:
    """Where the library of a platform lies in the archive, and its bytes."""
    if platform == "win64":
        with needs("ziglang", "cross"):
            import ziglang  # noqa: F401
        compiler, folder = Compiler.of_zig("x86_64-windows-gnu"), _WINDOWS
    else:
        compiler = find_compiler()
        folder = _FOLDERS.get((system(), machine()), (machine(), f"{machine()}-{system().lower()}", ".so"))
    with TemporaryDirectory(prefix="flexdyn-") as room:
        for file, text in texts.items():
            (Path(room) / file).write_text(text, encoding="utf-8")
        sources = [file for file in texts if file.endswith(".c")]
        file, flags = f"{name}{folder[2]}", ("-O2", "-fvisibility=hidden")
        library = compiler.shared_library(Path(room), sources, file, flags)
        return f"binaries/{folder[0 if fmi == '2.0' else 1]}/{file}", library.read_bytes()


def _write(path: Path, contents: dict[str, bytes]) -> Path:
    """The archive; equal contents give equal bytes."""
    with replacing(path) as (draft,), ZipFile(draft, "w", ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return path
