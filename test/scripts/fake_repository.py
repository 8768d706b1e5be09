"""A repository with the scripts, and an environment whose commands only write down how they are called."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: stands for python, uv, cmake and the compiler of the environment. FAKE_FAILS: words of the call that fails,
#: with the output FAKE_OUTPUT; FAKE_WAITS: words of the call that waits until the file FAKE_GATE is there
COMMAND = """#!/usr/bin/env bash
call="${0##*/} $*"
case $call in
  *"import control_msgs"* | *"import tf2_msgs"* | *"pip config"*) exit 0 ;;
  *"get_paths"*) exit 1 ;;
esac
echo "$call" >>"$FAKE_CALLS"
echo "[1/2] first_kernel      1.0 s"
if [[ -n ${FAKE_WAITS:-} && $call == *$FAKE_WAITS* ]]; then
  echo "$$" >"$FAKE_GATE.waiting"
  until [ -e "$FAKE_GATE" ]; do sleep 0.05; done
fi
if [[ -n ${FAKE_FAILS:-} && $call == *$FAKE_FAILS* ]]; then
  printf '%s\\n' "$FAKE_OUTPUT"
  exit "${FAKE_CODE:-1}"
fi
"""


class FakeRepository:
    """The scripts in `folder`; of the environment nothing is made but the virtual environment itself."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.calls_file = home / "calls"
        self.gate = home / "gate"
        shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for name in (
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "flexdyn_interfaces/a.msg",
            "fallback/b",
            "flexdyn_ros/numerics/c.py",
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
        commands = folder / ".venv" / "bin"
        commands.mkdir(parents=True)
        for name in ("python", "uv", "cmake", "c++"):
            (commands / name).write_text(COMMAND)
            (commands / name).chmod(0o755)
        (folder / ".venv" / "pyvenv.cfg").write_text(f"version = {sys.version.split()[0]}\n")
        stamps = folder / ".venv" / "flexdyn"
        stamps.mkdir()
        (stamps / "venv").write_text(f"{folder / '.venv'} of {(commands / 'python').resolve()}, home 2\n")
        base = Path(getattr(sys, "_base_executable", sys.executable)).resolve().parent
        self.environment = {
            "HOME": str(home),
            "PATH": f"{base}:/usr/bin:/bin",
            "FAKE_CALLS": str(self.calls_file),
            "FAKE_GATE": str(self.gate),
        }

    def start(self, script: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """A script under way, in a session of its own."""
        return subprocess.Popen(
            [str(self.folder / "scripts" / script), *arguments],
            cwd=self.folder,
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """A script that has ended."""
        with self.start(script, *arguments, **variables) as process:
            output, errors = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def shell(self, code: str, **variables: str) -> str:
        """What bash prints."""
        run = subprocess.run(
            ["bash", "-euc", code],
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return run.stdout.strip()

    def calls(self, words: str = "") -> list[str]:
        """The calls so far that hold these words; they are forgotten then."""
        found = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [call for call in found if words in call]

    def waiting(self) -> int | None:
        """Process that waits at the gate; None as long as there is none."""
        file = Path(f"{self.gate}.waiting")
        text = file.read_text().strip() if file.exists() else ""
        return int(text) if text else None

    def open_gate(self) -> None:
        self.gate.touch()


def is_alive(process: int) -> bool:
    """Whether a process is there, and more than a record of its end."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, patience=30.0):
    """Wait for a condition; AssertionError if it never holds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def at_the_gate(repository, script, *arguments, **variables):
    """A script that has come to the command which waits."""
    process = repository.start(script, *arguments, **variables)
    until(lambda: repository.waiting() is not None)
    return process
