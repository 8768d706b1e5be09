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
    "index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST", "no-index": "UV_NO_INDEX", "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT", "default-timeout": "UV_HTTP_TIMEOUT",
}  # fmt: skip


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


def main(python: str, requirement: str, *arguments: str) -> int:
    """Install; the exit code."""
    pip, uv = [python, "-m", "pip"], Path(python).with_name("uv")
    if not uv.exists():
        subprocess.run([*pip, "install", "--quiet", "--retries", "1", requirement], check=False)
    if uv.exists():
        told = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
        command = [str(uv), "pip", "install", "--compile-bytecode", "--python", python, *arguments]
        if subprocess.run(command, env={**os.environ, **settings_of_uv(told)}, check=False).returncode == 0:
            return 0
        print("uv did not succeed; pip is tried", flush=True)
    return subprocess.run([*pip, "install", "--compile", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
