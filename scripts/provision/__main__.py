"""Makes what is missing in an environment; called by scripts/setup, with the Python that makes it."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from provision.environment import Environment
from provision.failing import SetupError
from provision.progress import Progress
from provision.running import Run
from provision.steps import GROUPS, steps


class Interrupted(BaseException):
    """A signal asks for an end."""


def main() -> int:
    """Run the steps that are not done; the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/setup")
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--home", type=int, required=True)
    parser.add_argument("--purpose", choices=GROUPS, default="use")
    parser.add_argument("--holder", default="scripts/setup")
    parser.add_argument("--quiet", action="store_true")
    asked = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    root, progress, began = Path(__file__).parents[2], Progress(asked.quiet), time.monotonic()
    try:
        environment = Environment(root, asked.venv, asked.home)
        Run(steps(environment, asked.purpose, asked.holder), root, environment.logs, progress)()
    except SetupError as error:
        progress.say(error.cause)
        progress.say(f"remedy: {error.remedy}")
        return 1
    except OSError as error:
        progress.say(f"{error.filename or root}: {error.strerror}")
        progress.say("remedy: make room there, or make it writable")
        return 1
    except Interrupted as signalled:
        progress.say("interrupted; what is done stays done, the same command goes on from here")
        return 128 + signalled.args[0]
    if progress.has_spoken or not asked.quiet:
        progress.say(f"ready ({time.monotonic() - began:.0f} s)")
    return 0


def interrupt(number: int, frame: object) -> None:
    """End the steps, not only this process."""
    signal.signal(number, signal.SIG_IGN)
    raise Interrupted(number)


if __name__ == "__main__":
    sys.exit(main())
