"""How `flexdyn up` ends: 130 after Ctrl-C, as other commands that are interrupted, 0 after SIGTERM."""

import os
import signal

import pytest

from flexdyn_ros.cli.ros import up

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")


@pytest.fixture
def ended_by(flexdyn, monkeypatch):
    """Exit code and messages of `flexdyn up`, which gets a signal when its programs, no nodes here, run."""

    def run(number):
        started = []

        def say(text, **_):
            started.append(text)
            os.kill(os.getpid(), number)

        monkeypatch.setattr(up, "_command", lambda *_: ["sleep", "60"])
        monkeypatch.setattr(up.messages, "print", say)
        code, _, said = flexdyn("up", "two_link")
        assert started == ["started dynamics_server, simulator, state_publisher; Ctrl-C ends them"]
        return code, said

    return run


def test_control_c_ends_it_with_the_code_of_an_interrupted_command(ended_by):
    before = signal.getsignal(signal.SIGINT)
    code, _ = ended_by(signal.SIGINT)
    assert code == 130
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_ends_it_with_code_zero(ended_by):
    code, _ = ended_by(signal.SIGTERM)
    assert code == 0
