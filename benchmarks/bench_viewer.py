"""Frames per second of the viewer in a headless chromium that renders in software, and what a frame costs.

    python benchmarks/bench_viewer.py [--robot canadarm2] [--seconds 10] [--picture FILE.png] [--quick]

The page is 1280 x 720 and shows the first mode; of a robot that does not bend one coordinate after the other.
Two figures: frames that the browser draws, and the processor time of the server per frame, which says what
the library and viser take, whatever the machine renders with.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "test")]

import program  # noqa: E402
from browser import Page, browser, found_chromium  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.view import Viewer  # noqa: E402
from flexdyn_ros.view.viewer import QUALITIES  # noqa: E402


def drawing_time(viewer: Viewer, frames: int = 100) -> float:
    """Processor time [s] of one frame: configuration, frames, tubes, colours, messages."""
    began = time.process_time()
    for phase in np.linspace(0.0, 6.28, frames):
        viewer.show_moment(lambda phase=phase: viewer.show_mode_at(phase))
    return (time.process_time() - began) / frames


def watch_memory(page: Page, minutes: float) -> None:
    """Print what server and page hold, every half minute: resident memory, and the heap of the page's program
    after its garbage is collected [MB]."""
    heap = page.page.context.new_cdp_session(page.page)
    ending = time.monotonic() + 60.0 * minutes
    while time.monotonic() < ending:
        page.page.wait_for_timeout(30_000)
        heap.send("HeapProfiler.collectGarbage")
        used = page.page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        at = minutes - (ending - time.monotonic()) / 60.0
        print(f"{at:5.1f} min: server {resident():.1f}, page {used:.1f} MB", flush=True)


def resident() -> float:
    """Memory of this process [MB]."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="canadarm2")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--random", type=int, help="seed of a configuration to show instead of the mode")
    parser.add_argument("--minutes", type=float, default=0.0, help="watch the memory for so long")
    parser.add_argument("--quality", choices=tuple(QUALITIES), default="high")
    arguments = parser.parse_args()
    size = 1280, 720
    if arguments.quick:
        arguments.seconds, size = 0.2, (400, 300)
    viewer = Viewer(flexdyn_ros.load(arguments.robot), port=8600, quality=arguments.quality)
    if viewer.bends:
        viewer.play_mode(0)
        spent = drawing_time(viewer, 5 if arguments.quick else 100)
        print(f"a frame costs the server {1e3 * spent:.2f} ms of processor time")
    else:
        viewer.tour()
    if found_chromium() is None or program.peer("playwright", "playwright") is None:
        print("frames of a browser are not counted: that needs chromium and playwright", file=sys.stderr)
        viewer.close()
        return
    with browser() as chrome:
        page = Page(chrome, viewer.port, *size, path=QUALITIES[arguments.quality], script="")
        # the page says that it is rendered in software; that would be in the picture
        page.page.add_style_tag(content=".mantine-Notifications-root { display: none }")
        load = os.getloadavg()[0]
        rate = page.rate(arguments.seconds)
        print(
            f"{arguments.robot}: {rate:.1f} frames/s at {size[0]} x {size[1]}, quality {arguments.quality}, "
            f"load of the machine {load:.1f}"
        )
        watch_memory(page, arguments.minutes)
        if arguments.random is not None:
            viewer.pose(viewer.robot.random(np.random.default_rng(arguments.random)))
        else:
            viewer.pose(viewer.q)
        if arguments.picture:
            viewer.panels.look.colouring.value = "moment" if viewer.bends else "none"
            viewer.restart_colours()
        page.page.wait_for_timeout(0 if arguments.quick else 1500)
        if arguments.picture:
            page.page.screenshot(path=str(arguments.picture), animations="disabled")
        print("errors in the console:", page.errors or "none")
    viewer.close()


if __name__ == "__main__":
    main()
