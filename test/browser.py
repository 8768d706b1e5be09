"""The system's chromium, headless, rendering in software: for tests and benchmarks of the viewer."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: WebGL in software where there is no graphics processor, the page around it without WebGL, as a browser does
#: by itself; the last: fonts of other servers are not waited for
FLAGS = (
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
#: seconds that a page gets to do something on a machine that is busy
PATIENCE = 90.0
#: at most four frames a second: a page that is drawn in software takes all processors for sixty
CALM = """
const every = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => setTimeout(() => every(draw), 250);
window.cancelAnimationFrame = clearTimeout;
"""
#: what viser says where something is changed and removed between two frames: chance, at four a second
REMOVED = "Tried to update non-existent component"
#: no samples between pixels
ROUGH = """
const smooth = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function(kind, options) {
  return smooth.call(this, kind, kind.startsWith('webgl') ? {...options, antialias: false} : options);
};
"""
#: the scene in a quarter of the pixels of the page
COARSE = "/?fixedDpr=0.5"
#: counts the animation frames in which the canvas was drawn to
COUNTER = """
window.drawn = 0; let dirty = false;
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function(kind, ...rest) {
  const context = original.call(this, kind, ...rest);
  if (context && kind.startsWith('webgl') && !context.counted) {
    context.counted = true;
    for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced']) {
      const draw = context[name].bind(context);
      context[name] = (...a) => { dirty = true; return draw(...a); };
    }
  }
  return context;
};
const tick = () => { if (dirty) { window.drawn += 1; dirty = false; } requestAnimationFrame(tick); };
requestAnimationFrame(tick);
"""


def found_chromium() -> str | None:
    """Path of the browser, None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def chromium() -> str:
    """Path of the browser; skips the test where there is none."""
    path = found_chromium()
    if path is None:
        pytest.skip("no chromium on this machine; Debian, Ubuntu: apt install chromium")
    return path


@contextmanager
def browser() -> Iterator[Any]:
    """A headless browser."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        chrome = driver.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield chrome
        chrome.close()


class Page:
    """One page of the viewer; keeps the errors of its console."""

    def __init__(
        self,
        chrome: Any,
        port: int,
        width: int = 960,
        height: int = 540,
        *,
        path: str = COARSE,
        script: str = CALM + ROUGH,
    ) -> None:
        self.errors: list[str] = []
        self.page = chrome.new_page(viewport={"width": width, "height": height})
        self.page.set_default_timeout(1000.0 * PATIENCE)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.add_init_script(script + COUNTER)
        self.visit(port, width, height, path=path)

    def _said(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(REMOVED):
            self.errors.append(message.text)

    def visit(self, port: int, width: int, height: int, *, path: str = COARSE) -> None:
        """The page of another viewer in the same tab, in half the processor time of one in a new tab."""
        self.errors.clear()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"http://127.0.0.1:{port}{path}", wait_until="commit")
        self.page.get_by_role("tab", name="Look").wait_for()
        self.until(lambda: self.page.evaluate("window.drawn") > 2, "nothing was drawn")

    def tab(self, name: str) -> None:
        """Open a tab of the panel."""
        self.page.get_by_role("tab", name=name).click()

    def press(self, name: str) -> None:
        """Click a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def picture(self) -> Any:
        """Pixels (height, width, 3) of the canvas, without the panel."""
        return self.screenshot()[:, : self.page.viewport_size["width"] - 330].astype(int)

    def screenshot(self) -> Any:
        """Pixels (height, width, 3) of the whole page."""
        import imageio.v3 as imageio

        return imageio.imread(self.page.screenshot(animations="disabled"))[..., :3]

    def fill(self, label: str, value: float) -> None:
        """Type a number into the field of a slider."""
        field = self.page.locator(
            f"text={label} >> visible=true >> xpath=ancestor::*[.//input][1]//input"
        ).last
        field.fill(str(value))
        field.press("Enter")

    def rate(self, seconds: float) -> float:
        """Frames per second that the canvas was drawn."""
        before, began = self.page.evaluate("window.drawn"), time.monotonic()
        self.page.wait_for_timeout(1000.0 * seconds)
        return (self.page.evaluate("window.drawn") - before) / (time.monotonic() - began)

    def settle(self, patience: float = PATIENCE) -> None:
        """Wait until the page stands still, at least a second: five pictures in a row are equal."""
        shots = [self.page.screenshot(animations="disabled")]
        self.page.wait_for_timeout(1000)

        def still() -> bool:
            shots.append(self.page.screenshot(animations="disabled"))
            if shots[-1] != shots[0]:
                shots[:-1] = []
            self.page.wait_for_timeout(100)
            return len(shots) >= 5

        self.until(still, "the page does not come to rest", patience)

    def until(self, condition: Any, complaint: str, patience: float = PATIENCE) -> None:
        """Wait for the page."""
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, f"{complaint} within {patience:g} s; console: {self.errors}"
            self.page.wait_for_timeout(50)


def in_picture(camera: Any, points: Any, width: float = 1440, height: float = 900) -> Any:
    """Places (k, 2) of points (k, 3) in the picture, from -1 to 1, rightwards and upwards."""
    import numpy as np

    eye, at, up = (np.asarray(x) for x in (camera.position, camera.look_at, (0.0, 0.0, 1.0)))
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, up) / np.linalg.norm(np.cross(forward, up))
    above = np.cross(right, forward)
    depth = (points - eye) @ forward
    half = np.tan(0.5 * camera.fov)
    return np.stack(
        (((points - eye) @ right) / depth / half * height / width, (points - eye) @ above / depth / half), -1
    )
