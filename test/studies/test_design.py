"""Points of a study where samplers answer the ends of the unit interval."""

import numpy as np
import pytest
from scipy.stats import qmc

from flexdyn_ros.studies import read_study
from flexdyn_ros.studies.design import fixed_design


@pytest.mark.parametrize(
    ("design", "correlation"),
    [
        ({"kind": "latin_hypercube"}, 0.0),
        ({"kind": "latin_hypercube"}, -0.8),
        ({"kind": "sobol"}, 0.0),
        ({"kind": "sobol", "indices": True}, 0.0),
    ],
)
def test_samples_at_the_ends_of_the_unit_interval_have_finite_values(design, correlation, monkeypatch):
    """Samplers may answer 0 and 1, where a normal distribution is infinite."""

    class Ends:
        def __init__(self, d, seed=None):
            self.d = d

        def random(self, n):
            return np.indices((n, self.d)).sum(axis=0) % 2 * 1.0

    monkeypatch.setattr(qmc, "LatinHypercube", Ends)
    monkeypatch.setattr(qmc, "Sobol", Ends)
    given = {
        "study": "s", "experiment": "modes", "design": design | {"samples": 4},
        "parameters": {"a": {"normal": [0, 1]}, "b": {"lognormal": [2, 0.5]}, "c": {"uniform": [3, 5]}},
    }  # fmt: skip
    if correlation:
        given["correlations"] = [["a", "c", correlation]]
    points = [tuple(point.values()) for point in fixed_design(read_study(given))]
    a, b, c = np.sort(np.array(points), axis=0).T
    # 1e-12 of a normal distribution lies beyond 7.034 deviations
    assert (a[0], a[-1]) == pytest.approx((-7.034, 7.034), abs=1e-3)
    assert (np.log(b[0] / 2.0), np.log(b[-1] / 2.0)) == pytest.approx((-3.517, 3.517), abs=1e-3)
    # with the correlation: of (-0.8 + 0.6) 7.034 deviations
    ends = (3.1594, 4.8406) if correlation else (3.0, 5.0)
    assert (c[0], c[-1]) == pytest.approx(ends, abs=1e-3)
    assert 3.0 < c[0] < c[-1] < 5.0
