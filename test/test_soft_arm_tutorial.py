"""The page about soft arms is true: its URDF is accepted, and its Python runs as printed."""

import re
from pathlib import Path

import numpy as np

import flexdyn_ros

PAGE = (Path(__file__).parents[1] / "docs" / "tutorials" / "soft_arm.md").read_text()


def test_the_urdf_and_the_python_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    (urdf,) = re.findall(r"```xml\n(.*?)```", PAGE, flags=re.S)
    Path("hanging.urdf").write_text(urdf)
    assert flexdyn_ros.load("hanging.urdf").kind == "continuum"
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    assert len(blocks) == 2
    names: dict = {}
    exec("\n".join(blocks), names)
    assert names["reached"].converged
    assert (tmp_path / "hanging.png").stat().st_size > 5000
    arm, run = names["arm"], names["run"]
    assert not run.tau[0].any() or np.abs(run.tau[0]).max() < np.abs(names["tau"]).max()
    expected = np.array([3.0, 1.0, 1.0, 1.0, 2.5, 1.0]) * 1e5
    assert np.allclose(arm.pressures(run.q[-1], run.tau[-1]), expected, rtol=1e-9)
