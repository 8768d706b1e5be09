"""How `flexdyn view` ends, and what it refuses."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

pytest.importorskip("viser", reason="the extra [view] is not installed")

from flexdyn_ros.cli import app


@pytest.fixture
def handlers():
    """Handlers of signals are afterwards as they were."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_an_interrupted_viewer_closes_and_ends_with_130(number, code, monkeypatch, handlers):
    closed, before = [], signal.getsignal(number)

    def interrupt():
        while signal.getsignal(number) is before:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    def viewer(*arguments, **options):
        threading.Thread(target=interrupt, daemon=True).start()
        return SimpleNamespace(address="http://localhost", close=lambda: closed.append(True))

    monkeypatch.setattr("flexdyn_ros.view.viewer.Viewer", viewer)
    done = CliRunner().invoke(app, ["view", "two_link", "--still"])
    assert done.exit_code == code
    assert closed
    assert not re.search("Traceback|Error", done.output), done.output


@pytest.mark.slow
def test_control_c_ends_the_process_without_a_traceback():
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "view", "two_link", "--still", "--port", "8380"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    assert "Ctrl-C ends" in said
    assert process.returncode == 130
    assert not re.search("Traceback|Error", rest), rest


@pytest.mark.parametrize("option", [("--rigid",), ("--set", "gravity=[0, 0, 0]"), ("--config", "x.yaml")])
def test_a_recording_keeps_its_robot(option):
    done = CliRunner().invoke(app, ["view", "run.mcap", *option])
    assert done.exit_code == 2
    assert option[0] in done.output
    assert "is a recording" in " ".join(done.output.split())
