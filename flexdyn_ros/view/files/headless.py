"""A browser without a window, where a film is to be made and nobody looks at the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from flexdyn_ros.errors import FlexdynError

#: programs that may be the browser
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: the page itself may be small: films have sizes of their own
FLAGS = ("--headless=new", "--window-size=320,240", "--no-first-run", "--enable-unsafe-swiftshader")
#: seconds that the browser gets to open the page, and to draw it
PATIENCE, SETTLE = 60.0, 1.5


def browser_program() -> str:
    """Path of the browser; FlexdynError if there is none."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise FlexdynError("films need a browser that draws without a window; install chromium")
    return program


@contextmanager
def headless(viewer: Any) -> Iterator[Any]:
    """A browser that shows the page of a viewer, as viser's client.

    Raises
    ------
    FlexdynError
        If there is no browser, or it does not open the page.
    """
    program = browser_program()
    address = viewer.address.partition("/?")[0] + "/?fixedDpr=1"
    # the sandbox of the browser does not start for the administrator
    more = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, *more, f"--user-data-dir={profile}", address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                yield _visitor(viewer, browser)
            finally:
                browser.terminate()


def _visitor(viewer: Any, browser: Any) -> Any:
    """The client that comes, when it has drawn."""
    before = set(viewer.server.get_clients())
    deadline = time.monotonic() + PATIENCE
    while not (new := set(viewer.server.get_clients()) - before):
        if browser.poll() is not None or time.monotonic() > deadline:
            raise FlexdynError(f"{browser.args[0]} does not open the page of the viewer")
        time.sleep(0.1)
    client = viewer.server.get_clients()[new.pop()]
    time.sleep(SETTLE)
    return client
