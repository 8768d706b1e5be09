"""Install packages into an environment, by uv where it can be had and works, else by pip.

    install_packages.py PYTHON UV_REQUIREMENT PIP_ARGUMENT...

uv takes a fifth of pip's time. It gets the settings that pip has; where it fails with them, pip is tried.
Both write bytecode, also where Python does not (PYTHONDONTWRITEBYTECODE, as in containers): without it every
command compiles what it imports anew.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

#: pip's settings, and the variables by which uv is given the same
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}


def settings_of_uv(pip_config: str) -> dict[str, str]:
    """Environment variables for uv from what `pip config list` prints; those that are set already stay."""
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # pip takes the best of all indexes
    for line in pip_config.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        if section in ("global", "install", ":env:") and option in SETTINGS and value[:1] in "'\"":
            words = ast.literal_eval(value).split()
            found[SETTINGS[option]] = ("," if option == "find-links" else " ").join(words)
    return {variable: value for variable, value in found.items() if variable not in os.environ}


def has_uv(python: str, requirement: str) -> str | None:
    """Path of uv in the environment, installed if need be."""
    uv = Path(python).with_name("uv")
    if not uv.exists():
        command = [python, "-m", "pip", "install", "--quiet", "--retries", "1", requirement]
        subprocess.run(command, check=False)
    return str(uv) if uv.exists() else None


def main(python: str, requirement: str, *arguments: str) -> int:
    """Install; the exit code."""
    uv = has_uv(python, requirement)
    if uv is not None:
        listed = subprocess.run(
            [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
        ).stdout
        command = [uv, "pip", "install", "--compile-bytecode", "--python", python, *arguments]
        if subprocess.run(command, env={**os.environ, **settings_of_uv(listed)}, check=False).returncode == 0:
            return 0
        print("uv did not succeed; pip is tried", flush=True)
    command = [python, "-m", "pip", "install", "--compile", *arguments]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
