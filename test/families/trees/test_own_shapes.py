"""Shape functions of one's own on a beam."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError

PAGE = Path(__file__).parents[3] / "docs" / "description.md"
BOOM = """<robot name="boom"><link name="base"/><link name="boom"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
<flexdyn reference="boom"><beam length="2" mass_per_length="3" EA="1e7" EIy="400" EIz="500" GJ="300"/>
<modes %s/></flexdyn></robot>"""


def boom(folder, modes):
    """The boom with these attributes of <modes>, as a file beside its shapes."""
    path = folder / "boom.urdf"
    path.write_text(BOOM % modes)
    return flexdyn_ros.load(path)


def test_polynomials_of_ones_own_give_what_the_basis_of_them_gives(tmp_path):
    # the basis hermite begins with the tip's deflection and slope
    L = 2.0
    np.savez(tmp_path / "own.npz", bending_z=[[0, 0, 3, -2], [0, 0, -L, L], [0, 0, 1, 1]])
    own = boom(tmp_path, 'bending_z="2" shapes="own.npz"')
    ours = boom(tmp_path, 'bending_z="2" basis="hermite"')
    q = np.array([0.3, 0.01, 0.02])
    assert own.mass_matrix(q) == pytest.approx(ours.mass_matrix(q), rel=1e-12, abs=1e-14)
    assert own.bias_forces(q, q) == pytest.approx(ours.bias_forces(q, q), rel=1e-10, abs=1e-12)
    assert own.v_names == ("hinge", "boom/bending_z/1", "boom/bending_z/2")


def test_the_functions_of_the_page_bound_the_first_frequency_from_above(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text().partition("## Custom shape functions")[2]
    exec(re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1), {})
    own = boom(tmp_path, 'bending_z="2" shapes="boom_shapes.npz"')
    eigen = boom(tmp_path, 'bending_z="4"')
    (f, *_), (exact, *_) = (r.modes(r.neutral(), lock="joints").frequency for r in (own, eigen))
    assert exact <= f < 1.02 * exact
    # Ritz's quotient of the same two functions, integrated here
    x, w = np.polynomial.legendre.leggauss(40)
    s, w = 0.5 * (x + 1), 0.5 * w
    shapes = np.array([1 - np.cos(np.pi * s / 2), s * s * (3 - 2 * s)])
    bends = np.array([(np.pi / 2) ** 2 * np.cos(np.pi * s / 2), 6 - 12 * s])
    K, M = 400 / 8 * (bends * w) @ bends.T, 3 * 2 * (shapes * w) @ shapes.T
    assert f == pytest.approx(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).min()) / (2 * np.pi), rel=1e-6)
    tip = own.deflections(np.array([0.0, 0.01, 0.0]))["boom"].displacement[-1, 2]
    assert tip == pytest.approx(0.01, rel=1e-5)
    assert math.isclose(own.mass, 6.0)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"bending_z": [[0, 1.0, 2.0], [0, 0, 1.0]]}, "does not vanish at the root"),
        ({"bending_y": [[0, 0, 1.0]]}, "no shapes of bending_z"),
        ({"bending": [[0, 0, 1.0]]}, "array 'bending' is no field"),
        ({"bending_z": [0, 0, 1.0]}, "does not hold polynomials"),
        ({"bending_z": [[0, 0, 1.0]]}, "too few shapes for bending_z = 2"),
        ({"bending_z": [[0, 0, 1.0], [0, 0, 2.0]]}, "depend on each other"),
        ({"bending_z": [[0, 0, 1.0], [0, 0, np.nan]]}, "NaN"),
    ],
)
def test_functions_that_are_not_admissible_are_refused_with_file_and_array(tmp_path, arrays, words):
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(DescriptionError, match=words) as refused:
        boom(tmp_path, 'bending_z="2" shapes="own.npz"')
    assert refused.value.file.endswith("own.npz")
    assert refused.value.expected


def test_shapes_exclude_a_basis_and_a_file_that_is_not_there(tmp_path):
    np.savez(tmp_path / "own.npz", bending_z=[[0, 0, 1.0]])
    with pytest.raises(DescriptionError, match="exclude each other"):
        boom(tmp_path, 'bending_z="1" basis="eigen" shapes="own.npz"')
    with pytest.raises(DescriptionError, match="no such file"):
        boom(tmp_path, 'bending_z="1" shapes="none.npz"')
    (tmp_path / "text.npz").write_text("nothing")
    with pytest.raises(DescriptionError, match=r"numpy\.savez"):
        boom(tmp_path, 'bending_z="1" shapes="text.npz"')
