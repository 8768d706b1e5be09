"""From the output of a step that failed to one line of cause and one of remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from provision.errors import SetupError


@dataclass(frozen=True)
class Cause:
    """A failure known by its output: pattern, cause and remedy; `{0}` is the first group of the pattern."""

    pattern: str
    cause: str
    remedy: str


PACKAGES_OF_THE_SYSTEM = "Debian, Ubuntu: apt install {}; Fedora: dnf install {}"
COMPILER = PACKAGES_OF_THE_SYSTEM.format("g++", "gcc-c++") + " (or set CC and CXX)"
HEADERS = PACKAGES_OF_THE_SYSTEM.format("python3-dev", "python3-devel")
VENV = "Debian, Ubuntu: apt install python3-venv; or name another Python: FLEXDYN_PYTHON=/path/to/python"
UNREACHABLE = (
    r"Temporary failure in name resolution|Name or service not known|Failed to establish a new connection"
    r"|ConnectionError|ReadTimeout|ConnectTimeout|Network is unreachable|Max retries exceeded"
    r"|Connection refused|dns error|error sending request|from versions: none"
)

#: the first that is found counts
KNOWN = (
    Cause(
        r"No space left on device|Disk quota exceeded|os error 28",
        "the disk is full",
        "free some 3 GB where the repository and the cache lie",
    ),
    Cause(
        r"kernel (\S+ could not be compiled: .*)",
        "kernel {0}",
        "NUMBA_CACHE_DIR=FOLDER starts an empty cache; if it fails there too, report it with the log",
    ),
    Cause(
        UNREACHABLE,
        "the package index cannot be reached",
        "check the connection, HTTPS_PROXY and `pip config`, then run the same command again",
    ),
    Cause(
        r"No matching distribution found for ([^\s(]+)",
        "the package index has no {0} for this Python and machine",
        "ROS 2 wheels exist for x86-64 Linux, Python 3.11 to 3.13; elsewhere source a ROS 2 installation",
    ),
    Cause(r"(?:fatal error: |cannot find )Python\.h", "Python.h was not found", HEADERS),
    Cause(r"No CMAKE_(?:C|CXX)_COMPILER could be found", "there is no C++ compiler", COMPILER),
    Cause(r"No module named '?(?:ensurepip|venv)\b|ensurepip is not", "this Python has no venv module", VENV),
    Cause(
        r"(?:Read-only file system|Permission denied|os error 30|os error 13)[^'\n]*'?([^'\n]*)",
        "something cannot be written: {0}",
        "make it writable; for compiled kernels NUMBA_CACHE_DIR=FOLDER names another place",
    ),
    Cause(
        r"MemoryError|virtual memory exhausted|out of memory|Cannot allocate memory|terminated by signal 9\b",
        "memory ran out",
        "close other programs; 2 GB free are enough",
    ),
    Cause(
        r"No such file or directory: (cmake|ninja|colcon)\b",
        "{0} was not found",
        PACKAGES_OF_THE_SYSTEM.format("cmake ninja-build", "cmake ninja-build"),
    ),
)


def explain(output: str, code: int, hint: str) -> SetupError:
    """The error that a step's output and exit code amount to; `hint` is the remedy where nothing is known."""
    if code in (-9, 137):
        output += "\nterminated by signal 9"
    for known in KNOWN:
        found = re.search(known.pattern, output)
        if found:
            group = next((group for group in found.groups() if group), "").strip()
            return SetupError(known.cause.format(group), known.remedy)
    return SetupError(last_complaint(output) or f"exit code {code}", hint)


def last_complaint(output: str) -> str:
    """The last line that calls itself an error, else the last line; without the colours of a terminal."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", output).splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b|Error:", line, re.IGNORECASE)]
    return (errors or lines or [""])[-1][:300]
