"""What ends a set-up: from the output of a step that failed to one line of cause and one of remedy."""

from __future__ import annotations

import re


class SetupError(Exception):
    """A step that cannot be done: its cause, and what helps."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.cause, self.remedy = cause, remedy


PACKAGES_OF_THE_SYSTEM = "Debian, Ubuntu: apt install {}; Fedora: dnf install {}"
COMPILER = PACKAGES_OF_THE_SYSTEM.format("g++", "gcc-c++") + " (or set CC and CXX)"
HEADERS = PACKAGES_OF_THE_SYSTEM.format("python3-dev", "python3-devel")
CMAKE = PACKAGES_OF_THE_SYSTEM.format("cmake ninja-build", "cmake ninja-build")
VENV = "Debian, Ubuntu: apt install python3-venv; or name another Python: FLEXDYN_PYTHON=/path/to/python"
WRITABLE = "make it writable; for compiled kernels NUMBA_CACHE_DIR=FOLDER names another place"
UNREACHABLE = (
    r"Temporary failure in name resolution|Name or service not known|Failed to establish a new connection"
    r"|ConnectionError|ReadTimeout|ConnectTimeout|Network is unreachable|Max retries exceeded"
    r"|Connection refused|dns error|error sending request|from versions: none"
)

#: (pattern in the output, cause, remedy); the first that is found counts, {} is the group of its pattern
KNOWN = (
    (r"No space left on device|Disk quota exceeded|os error 28",
     "the disk is full", "free some 3 GB where the repository and the cache lie"),
    (r"kernel (\S+ could not be compiled: .*)",
     "kernel {}",
     "NUMBA_CACHE_DIR=FOLDER starts an empty cache; if it fails there too, report it with the log"),
    (UNREACHABLE,
     "the package index cannot be reached",
     "check the connection, HTTPS_PROXY and `pip config`, then run the same command again"),
    (r"No matching distribution found for ([^\s(]+)",
     "the package index has no {} for this Python and machine",
     "ROS 2 wheels exist for x86-64 Linux, Python 3.11 to 3.13; elsewhere source a ROS 2 installation"),
    (r"(?:fatal error: |cannot find )Python\.h", "Python.h was not found", HEADERS),
    (r"No CMAKE_(?:C|CXX)_COMPILER could be found", "there is no C++ compiler", COMPILER),
    (r"(?:Read-only file system|Permission denied|os error 30|os error 13)[^'\n]*'?([^'\n]*)",
     "something cannot be written: {}", WRITABLE),
    (r"MemoryError|virtual memory exhausted|out of memory|Cannot allocate memory|terminated by signal 9\b",
     "memory ran out", "close other programs; 2 GB free are enough"),
    (r"No such file or directory: (cmake|ninja|colcon)\b", "{} was not found", CMAKE),
)  # fmt: skip


def explain(output: str, code: int, hint: str) -> SetupError:
    """The error that a step's output and exit code amount to; `hint` is the remedy where nothing is known."""
    if code in (-9, 137):
        output += "\nterminated by signal 9"
    for pattern, cause, remedy in KNOWN:
        if found := re.search(pattern, output):
            return SetupError(cause.format("".join(found.groups("")).strip()), remedy)
    # the last line that calls itself an error, else the last; without the colours of a terminal
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", output).splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b|Error:", line, re.IGNORECASE)]
    return SetupError((errors or lines or [f"exit code {code}"])[-1][:300], hint)
