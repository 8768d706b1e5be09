"""docs/acceptance.md is what its table gives, names what exists, and takes its figures from what was run."""

import importlib.util
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

REPORT = """<testsuites><testsuite>
<testcase classname="test.numerics.test_alone" name="test_one[a]"/>
<testcase classname="test.numerics.test_alone" name="test_one[b]"><failure message="no"/></testcase>
<testcase classname="test.numerics.test_alone" name="test_other"><skipped message="no"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture(scope="module")
def acceptance():
    spec = importlib.util.spec_from_file_location("make_acceptance", ROOT / "docs" / "make_acceptance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(acceptance):
    return [row for part in yaml.safe_load(acceptance.TABLE.read_text()) for row in part["rows"]]


def test_the_page_is_what_the_table_gives(acceptance):
    assert acceptance.PAGE.read_text() == acceptance.page(yaml.safe_load(acceptance.TABLE.read_text()))


def test_rows_name_tests_and_programs_that_exist(rows):
    for row in rows:
        for test in row.get("tests", ()):
            assert (ROOT / test.partition("::")[0]).is_file(), test
        for word in row.get("command", "").split():
            assert "/" not in word or (ROOT / word).is_file(), row["command"]
        assert row["requirement"]
        assert row["figure"]
        assert row["date"]


def test_counts_come_from_a_report_of_the_tests(acceptance, tmp_path):
    report = tmp_path / "tests.xml"
    report.write_text(REPORT)
    cases = acceptance.outcomes(report)
    whole = {"tests": ["test/numerics/test_alone.py"]}
    assert acceptance.count(whole, cases) == "1 failed, 1 passed, 1 skipped"
    assert acceptance.count({"tests": ["test/numerics/test_alone.py::test_o*her"]}, cases) is None
    assert acceptance.count({"tests": ["test/numerics/test_none.py"]}, cases) is None
    with pytest.raises(acceptance.AcceptanceError, match=r"cannot be read as a JUnit file"):
        acceptance.outcomes(tmp_path / "missing.xml")


def test_figures_of_a_benchmark_are_read_from_what_it_prints(acceptance):
    row = {"command": f"{sys.executable} -c \"print('ratio 2.5 times, 7 us')\"", "show": "{0} times; {1} us"}
    assert acceptance.measure({**row, "read": [r"ratio (\S+)", r"(\d+) us"]}) == "2.5 times; 7 us"
    with pytest.raises(acceptance.AcceptanceError, match="printed nothing like"):
        acceptance.measure({**row, "read": [r"(\d+) ns"]})
