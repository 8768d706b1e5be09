"""What ends a set-up: one line of cause, one of remedy."""

from __future__ import annotations


class SetupError(Exception):
    """A step that cannot be done: its cause, what helps, and the exit code of the command."""

    def __init__(self, cause: str, remedy: str, code: int = 1) -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
        self.code = code
