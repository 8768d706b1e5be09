"""The report of a fit, read back: what is doubtful, and how well each channel is predicted."""

import re
import warnings

import numpy as np
import pytest
from identification.motions import measured, other_numbers

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, fit_linear

pytest.importorskip("pandas")


def reported(folder, hum):
    """A fit of an arm and its report; an effort of `hum` at its elbow is what no number explains."""
    robot = load("two_link")
    data = measured(other_numbers(robot), noise=0.01)
    columns = dict(data.columns)
    columns["elbow.effort"] = columns["elbow.effort"] + hum * np.sin(2.0 * np.pi * 9.0 * data.t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit_linear(robot, Measurement.of(data.t, columns))
    return found, found.report(folder / "report").read_text()


@pytest.mark.parametrize("hum", [0.0, 3.0])
def test_a_report_tells_what_is_doubtful_or_that_nothing_is(tmp_path, hum):
    found, text = reported(tmp_path, hum)
    listed = re.findall(r"^\* (.*)$", text.partition("## Warnings")[2].partition("\n## ")[0], re.MULTILINE)
    assert len(listed) == len(found.warnings)
    assert bool(listed) == (hum > 0.0)
    assert ("Nothing is doubtful" in text) == (hum == 0.0)
    assert ("## Warnings" in text) == (hum > 0.0)
    for told, warning in zip(listed, found.warnings, strict=True):
        assert told.replace("\\", "") == warning


@pytest.mark.parametrize("hum", [0.0, 3.0])
def test_a_report_tells_how_well_each_channel_is_predicted(tmp_path, hum):
    found, text = reported(tmp_path, hum)
    rows = re.findall(
        r"^\| (\S+\.effort) \| N m \| (\S+) \| (\S+) % \| (\S+) % \| (\S+) ", text, re.MULTILINE
    )
    samples = found.samples
    assert [row[0] for row in rows] == ["shoulder.effort", "elbow.effort"]
    assert [row[4] for row in rows] == ["yes", "yes" if hum == 0.0 else "**no**"]
    for (_, *numbers, _), y, predicted in zip(rows, samples.measured.T, samples.predicted.T, strict=True):
        rest = np.linalg.norm(y - predicted)
        rms = rest / np.sqrt(y.size)
        shares = rest / np.linalg.norm(y), rest / np.linalg.norm(y - y.mean())
        assert float(numbers[0]) == pytest.approx(rms, rel=1e-3)
        assert [float(x) for x in numbers[1:]] == pytest.approx(100.0 * np.array(shares), rel=0.06)
