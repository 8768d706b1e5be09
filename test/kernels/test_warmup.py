"""The warm-up finds every entry of the kernels."""

import re
from pathlib import Path

from flexdyn_ros.kernels import warmup


def test_every_decorated_entry_is_found():
    names = [name for name, _ in warmup.entries()]
    assert len(set(names)) == len(names)
    folder = Path(warmup.__file__).parent
    for path in folder.glob("*.py"):
        for name in re.findall(r"^@entry\((?:.|\n)*?\n(?=def )def (\w+)\(", path.read_text(), re.MULTILINE):
            assert f"{path.stem}.{name}" in names
    assert "rigid.inverse_dynamics_one" in names
    assert "coriolis.coriolis_many" in names
