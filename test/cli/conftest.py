"""The command `flexdyn` for its tests."""

import sys

import pytest

from flexdyn_ros.cli.main import main


@pytest.fixture
def flexdyn(monkeypatch, capsys):
    """The command in this process: exit code, stdout, stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["flexdyn", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return run
