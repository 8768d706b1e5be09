"""A compiler whose results are kept in build/compiled_c: `kept_compiler.py g++ -c core.cpp -o core.o`.

The same command over the same files makes the same result, and tests compile the same exported robots in
every run. What decides: the compiler's file, all words of its command (folders by what is in them), the
contents of sources, of objects, and of all C files beside them or in the folders of -I; for `-march=native`
the processor too. A compiler that fails or says anything runs again the next time. This file imports little:
it starts as often as the compiler would.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "compiled_c"
#: what compilers read of the environment
VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "SOURCE_DATE_EPOCH")
#: a compiler told so makes nothing: it says what is wrong
JUDGED = "-fsyntax-only"
#: of files that others may include
ENDINGS = {".c", ".cpp", ".h", ".hpp", ".inc"}
#: s after which a result that nobody asked for goes
AGE = 14 * 86400


def key_of(command, cwd):
    """What decides about the result, as a hash; None if that is not known of a command."""
    compiler = shutil.which(command[0])
    words = list(map(str, command[1:]))
    if compiler is None or ("-o" not in words[:-1] and JUDGED not in words):
        return None
    binary = os.stat(compiler)
    told = [os.path.realpath(compiler), str(binary.st_size), str(binary.st_mtime_ns)]
    told += [os.environ.get(name, "") for name in VARIABLES]
    if "-march=native" in words:
        told.append(processor())
    folders, output = set(), "" if JUDGED in words else words[words.index("-o") + 1]
    for word in words:
        path = cwd / word.removeprefix("-I")
        if word.startswith("-I"):
            folders.add(path)
            told.append("-I")
        elif word == output:
            told.append(path.suffix)
        elif not word.startswith("-") and path.is_file():
            folders.add(path.parent)
            told += [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
        else:
            told.append(word)
    for folder in sorted(folders):
        for file in sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS):
            told += [str(file.relative_to(folder)), hashlib.sha256(file.read_bytes()).hexdigest()]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()


def processor():
    """What this processor can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def run(command, cwd=".", *, check=False):
    """Run a compiler, or take what it made of the same files; its exit code."""
    cwd = Path(cwd).absolute()
    command = [str(word) for word in command]
    try:
        key = key_of(command, cwd)
        made = cwd / command[command.index("-o") + 1] if key and JUDGED not in command else None
        if key and (FOLDER / key).is_file():
            if made:
                shutil.copy(FOLDER / key, made)
            os.utime(FOLDER / key)
            return 0
    except OSError:
        key = None
    done = subprocess.run(command, cwd=cwd, stderr=subprocess.PIPE if key else None, check=False)
    if done.stderr:
        sys.stderr.write(done.stderr.decode(errors="replace"))
    elif key and done.returncode == 0:
        keep(made, key)
    if check:
        done.check_returncode()
    return done.returncode


def keep(made, key):
    """Keep a result, whole or not at all; an empty one where the compiler made none, and said nothing."""
    part = FOLDER / f"{key}.{os.getpid()}"
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        if made:
            shutil.copy(made, part)
        else:
            part.touch()
        part.replace(FOLDER / key)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()


def forget_old(now):
    """Remove what nobody asked for since long."""
    for path in FOLDER.glob("*"):
        try:
            if now - path.stat().st_mtime > AGE:
                path.unlink()
        except OSError:
            continue


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
