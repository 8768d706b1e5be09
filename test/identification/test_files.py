"""CSV, npz and MAT files of others: separators, units, structs, lengths, and what they may cost."""

import io
import os
import warnings

import numpy as np
import pytest
from scipy.io import savemat

from flexdyn_ros.errors import FlexdynWarning, StateError, UnknownNameError
from flexdyn_ros.identification import Measurement
from flexdyn_ros.identification.files import arrays, csv_file, mat_child, readers

T = 0.01 * np.arange(30)
X = 0.5 * np.arange(30) + 0.25


def table(path, between=",", comma=False, units=None, end="\n", encoding="utf-8", names=("time", "j")):
    lines = [between.join(names)]
    if units is not None:
        lines.append(between.join(units))
    for t, x in zip(T, X, strict=True):
        line = between.join((f"{t:.2f}", f"{x:.2f}"))
        lines.append(line.replace(".", ",") if comma else line)
    path.write_text(end.join(lines) + end, encoding=encoding, newline="")
    return path


# ---- CSV ----

FORMS = {
    "commas": {},
    "semicolons": {"between": ";"},
    "semicolons and decimal commas": {"between": ";", "comma": True},
    "tabs": {"between": "\t"},
    "tabs and decimal commas": {"between": "\t", "comma": True},
    "lines of another system": {"end": "\r\n"},
    "a mark of UTF-8": {"encoding": "utf-8-sig"},
    "UTF-16": {"encoding": "utf-16"},
    "units": {"units": ("s", "rad")},
    "units in brackets": {"units": ("[s]", "[rad]")},
    "units in parentheses, tabs": {"units": ("(s)", "(m)"), "between": "\t"},
    "a unit left open": {"units": ("s", "")},
    "semicolons, decimal commas and units": {"between": ";", "comma": True, "units": ("s", "rad")},
    "a line as numpy writes it": {"names": ("# time", "j")},
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_csv_are_read(tmp_path, name):
    found = Measurement.read(table(tmp_path / "a.csv", **FORMS[name]))
    np.testing.assert_allclose(found.t, T, rtol=1e-12)
    np.testing.assert_allclose(found["j"], X, rtol=1e-12)


@pytest.mark.parametrize(("unit", "factor"), [("deg", np.pi / 180), ("mm", 1e-3), ("[deg/s]", np.pi / 180)])
def test_a_line_of_units_scales_columns(tmp_path, unit, factor):
    path = table(tmp_path / "a.csv", units=("ms", unit))
    found = Measurement.read(path)
    np.testing.assert_allclose(found.t, 1e-3 * T, rtol=1e-12)
    np.testing.assert_allclose(found["j"], factor * X, rtol=1e-12)
    # what the caller says of a column counts instead
    np.testing.assert_allclose(Measurement.read(path, units={"j": "cm"})["j"], 1e-2 * X, rtol=1e-12)
    renamed = Measurement.read(path, names={"j": "elbow"}, units={"elbow": "rad"})
    np.testing.assert_allclose(renamed["elbow"], X, rtol=1e-12)


SI = (
    "rad", "m", "rad/s", "m/s", "rad/s2", "m/s2", "rad/s^2", "m/s^2", "N m", "Nm", "N", "Pa", "A", "V", "-",
    "1",
)  # fmt: skip
#: what is the same, in two units
ALIKE = (
    (360, "deg", 2 * np.pi, "rad"), (90, "°", 0.25, "rev"), (1, "turn", 1, "rev"), (1, "rev", 360, "deg"),
    (2.5, "cm", 25, "mm"), (100, "cm", 1, "m"),
    (90, "deg/s", 15, "rpm"), (60, "rpm", 1, "rev/s"), (1, "rev/s", 2 * np.pi, "rad/s"),
    (3500, "mm/s", 3.5, "m/s"),
    (180, "deg/s2", np.pi, "rad/s2"), (180, "deg/s^2", np.pi, "rad/s^2"), (1, "g", 9.80665, "m/s2"),
    (1, "kN m", 1e6, "mN m"), (1000, "mN m", 1, "Nm"), (2, "kN", 2000, "N"),
    (1, "bar", 100, "kPa"), (10, "bar", 1, "MPa"), (1, "kPa", 1000, "Pa"),
    (1000, "mA", 1, "A"), (1000, "mV", 1, "V"), (1e6, "microstrain", 1, "-"),
)  # fmt: skip


def test_units_of_si_leave_numbers_as_they_are_and_others_tell_the_same(tmp_path):
    path = table(tmp_path / "a.csv")
    for unit in SI:
        np.testing.assert_array_equal(Measurement.read(path, units={"j": unit})["j"], X, unit)
    for many, unit, others, other in ALIKE:
        one, two = (Measurement.read(path, units={"j": name})["j"] for name in (unit, other))
        np.testing.assert_allclose(many * one, others * two, rtol=1e-12, err_msg=f"{unit}, {other}")


def test_a_unit_that_is_not_known_names_line_and_column(tmp_path):
    with pytest.raises(StateError, match=r"a\.csv:2: column 'j' has '\[furlong\]', expected .* units s?"):
        Measurement.read(table(tmp_path / "a.csv", units=("[s]", "[furlong]")))


def test_cells_with_two_marks_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("time;j\n" + "\n".join(f"{k},5;1.{k:03},5" for k in range(30)))
    with pytest.raises(
        StateError, match=r"a\.csv:2: column 2 is '1\.000,5', expected decimal commas or points"
    ):
        Measurement.read(tmp_path / "a.csv")


def test_decimal_commas_may_come_late_and_not_beside_points(tmp_path):
    whole = "time;j\n" + "\n".join(f"{k};{k}" for k in range(50))
    (tmp_path / "a.csv").write_text(f"{whole}\n50;3,5\n")
    assert Measurement.read(tmp_path / "a.csv")["j"][-1] == 3.5
    (tmp_path / "a.csv").write_text(f"{whole}\n50;1.234\n51;3,5\n")
    with pytest.raises(
        StateError, match=r"a\.csv:53: column 2 is '3,5', expected decimal commas or points all"
    ):
        Measurement.read(tmp_path / "a.csv")


def test_comments_are_passed_over(tmp_path):
    path = table(tmp_path / "a.csv", units=("s", "deg"))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "# by hand", *lines[1:5], "# a pause", *lines[5:]]))
    np.testing.assert_allclose(Measurement.read(path)["j"], np.deg2rad(X))


def test_a_line_of_names_may_be_long(tmp_path):
    names = ["time", *(f"column_{i}" for i in range(20_000))]
    rows = [",".join(["1"] * len(names)), ",".join(["2"] * len(names))]
    (tmp_path / "a.csv").write_text("\n".join([",".join(names), *rows]))
    assert len(Measurement.read(tmp_path / "a.csv").columns) == 20_000


def test_empty_cells_are_missing_and_empty_last_columns_are_none(tmp_path):
    (tmp_path / "a.csv").write_text("time;j;\n" + "\n".join(f"{k};{'' if k == 3 else k};" for k in range(30)))
    found = Measurement.read(tmp_path / "a.csv")
    assert found.columns.keys() == {"j"}
    assert np.flatnonzero(np.isnan(found["j"])).tolist() == [3]


def test_a_word_among_numbers_names_its_place(tmp_path):
    path = table(tmp_path / "a.csv", between=";")
    path.write_text(path.read_text().replace("2.75", "off"))
    with pytest.raises(StateError, match=r"a\.csv:7: column 2 is 'off', expected a number"):
        Measurement.read(path)


def test_a_column_called_time_beside_another_of_times_stays(tmp_path):
    found = Measurement.read(table(tmp_path / "a.csv", names=("t", "time")))
    np.testing.assert_allclose(found["time"], X)


def test_checks_of_columns_are_linear(tmp_path, monkeypatch):
    """Counted are the comparisons of names."""

    class Name(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    counts = []
    inner = readers.csv_table
    monkeypatch.setitem(
        readers._READERS,
        ".csv",
        lambda path, time: (found := inner(path))._replace(
            columns={Name(k): x for k, x in found.columns.items()}
        ),
    )
    for columns in (200, 400, 800):
        names = ["time", *(f"j{i}" for i in range(columns))]
        path = tmp_path / f"{columns}.csv"
        path.write_text("\n".join([",".join(names), *(",".join(["1"] * (columns + 1)) for _ in range(3))]))
        Name.compared = 0
        new = {f"j{i}": f"k{i}" for i in range(columns)}
        Measurement.read(path, names=new, units=dict.fromkeys(new.values(), "deg"))
        counts.append(Name.compared)
    assert counts[2] < 3 * counts[1] < 9 * counts[0]


def test_a_table_larger_than_the_limit_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr("flexdyn_ros.budget.Budget.__init__.__defaults__", (1000,), raising=False)
    monkeypatch.setattr(csv_file, "_numbers", lambda *_: pytest.fail("it was read"))
    path = tmp_path / "a.csv"
    path.write_text("time,j\n" + "1,2\n" * 1000)
    budget = csv_file.Budget
    monkeypatch.setattr(csv_file, "Budget", lambda name, size: budget(name, size, 10_000))
    with pytest.raises(StateError, match="holds more than 10000 bytes"):
        Measurement.read(path)


# ---- npz ----


def test_arrays_as_long_as_the_times_are_columns_and_others_are_told(tmp_path):
    pose = np.zeros((4, 4, 30))
    np.savez(tmp_path / "a.npz", T=np.eye(4), pose=pose, time=T, q=np.stack([X, X]), dt=0.01, note="by hand")
    with pytest.warns(FlexdynWarning, match=r"read time, q\[0\], q\[1\] \(30 samples\); left out") as told:
        found = Measurement.read(tmp_path / "a.npz")
    assert found.columns.keys() == {"q[0]", "q[1]"}
    text = str(told[0].message)
    for part in ("T (4 x 4)", "pose (4 x 4 x 30)", "dt (a single number)", "note (text)"):
        assert part in text


def test_times_that_were_renamed_decide_the_length(tmp_path):
    np.savez(tmp_path / "a.npz", clock=T, long=np.arange(100.0), j=X)
    with pytest.warns(FlexdynWarning, match=r"left out long \(100 numbers\)"):
        found = Measurement.read(tmp_path / "a.npz", names={"clock": "time"})
    np.testing.assert_array_equal(found["j"], X)


def test_nothing_is_told_where_all_is_read(tmp_path):
    np.savez(tmp_path / "a.npz", time=T, j=X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Measurement.read(tmp_path / "a.npz")


# ---- MAT ----


def test_structs_are_columns_by_their_path(tmp_path):
    log = {"time": T, "arm": {"q": X, "motor": {"current": 2 * X}}, "T": np.eye(4), "name": "run"}
    savemat(tmp_path / "a.mat", {"out": log, "T0": np.tile(np.eye(4), (1, 1))})
    with pytest.warns(FlexdynWarning, match=r"left out"):
        found = Measurement.read(tmp_path / "a.mat")
    assert found.columns.keys() == {"out.arm.q", "out.arm.motor.current"}
    np.testing.assert_array_equal(found.t, T)
    np.testing.assert_array_equal(found["out.arm.motor.current"], 2 * X)


def test_matrices_before_the_times_are_left_out_and_told(tmp_path):
    savemat(
        tmp_path / "a.mat",
        {"A": np.eye(4), "poses": np.zeros((4, 4, 30)), "tout": T, "q": np.stack([X, X], 1)},
    )
    with pytest.warns(FlexdynWarning, match=r"left out .*A \(4 x 4\)"):
        found = Measurement.read(tmp_path / "a.mat")
    assert len(found) == 30
    assert found.columns.keys() == {"q[0]", "q[1]"}


def test_arrays_of_structs_and_cells_have_their_number(tmp_path):
    cells = np.empty(2, dtype=object)
    cells[:] = [X, 3 * X]
    savemat(
        tmp_path / "a.mat", {"time": T, "c": cells, "empty": np.empty((0, 0)), "none": np.array([], object)}
    )
    with pytest.warns(FlexdynWarning, match="empty"):
        found = Measurement.read(tmp_path / "a.mat")
    np.testing.assert_array_equal(found["c[1]"], 3 * X)


def test_structs_lie_32_deep_in_each_other_and_no_deeper(tmp_path):
    """As the program of its own reads them, that many levels and one more."""

    def read(struct):
        savemat(tmp_path / "a.mat", {"time": T, "s": struct})
        output = os.open(tmp_path / "numbers", os.O_WRONLY | os.O_CREAT)
        return mat_child.read({"file": str(tmp_path / "a.mat"), "output": output, "most_bytes": 1 << 20})

    inside, name = {"x": X, "y": 2.0 * X, "note": "by hand"}, "s"
    for _ in range(31):
        inside, name = {"f": inside}, f"{name}.f"
    answer = read(inside)
    # shapes of variables of MATLAB
    assert answer["arrays"] == [("time", [1, 30]), (f"{name}.x", [1, 30]), (f"{name}.y", [1, 30])]
    assert answer["left_out"] == {f"{name}.note": "text"}
    np.testing.assert_array_equal(np.fromfile(tmp_path / "numbers"), np.concatenate([T, X, 2.0 * X]))
    with pytest.raises(mat_child.Refused, match="holds more than 10000 fields, or 32 structs in each other"):
        read({"f": inside})


def damaged(tmp_path, changes):
    path = tmp_path / "a.mat"
    struct = {"a": 1, "b": np.arange(10.0)}
    cells = np.array([1, "x"], object)
    savemat(path, {"time": np.arange(10.0), "x": np.arange(10.0), "s": struct, "c": cells})
    data = bytearray(path.read_bytes())
    for place, value in changes.items():
        data[place % len(data)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_mat_file_is_read_or_refused(tmp_path, seed):
    rng = np.random.default_rng(seed)
    changes = {int(rng.integers(128, 2000)): int(rng.integers(256)) for _ in range(3)}
    path = damaged(tmp_path, {313: 128, 522: 255} if seed == 0 else changes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = "a.mat"
        try:
            Measurement.read(path)
        except (StateError, UnknownNameError) as error:
            told = str(error)
    assert "a.mat" in told


def test_arrays_in_structs_are_within_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MOST_BYTES", 1 << 20)
    savemat(tmp_path / "a.mat", {"s": {"x": np.zeros(1 << 18)}}, do_compression=True)
    with pytest.raises(StateError, match="holds more than 1048576 bytes"):
        Measurement.read(tmp_path / "a.mat")


def test_what_lies_in_several_variables_of_a_mat_file_is_counted_together():
    cells = np.empty(6000, object)
    cells[:] = 1.0
    found = mat_child.Found(io.BytesIO(), 1 << 30)
    found.take("a", cells)
    assert found.left_out["a[5999]"] == "of type float"
    found.take("b", cells[:3998])
    with pytest.raises(mat_child.Refused, match="holds more than 10000 variables and fields"):
        found.take("c", 1.0)


def test_a_mat_file_that_takes_more_memory_than_it_may_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MEMORY", 1 << 27)
    monkeypatch.setattr(arrays, "MOST_BYTES", 1 << 27)
    savemat(tmp_path / "a.mat", {"s": {"x": np.zeros((1 << 28) >> 3)}}, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 1 << 20
    with pytest.raises(StateError, match=r"a\.mat"):
        Measurement.read(tmp_path / "a.mat")


def test_a_mat_file_that_takes_too_long_is_refused(tmp_path, monkeypatch):
    savemat(tmp_path / "a.mat", {"time": T, "x": X})
    sleeper = tmp_path / "child.py"
    sleeper.write_text("import time\ntime.sleep(1000)\n")
    monkeypatch.setattr(arrays, "_CHILD", sleeper)
    monkeypatch.setattr(arrays, "SECONDS", 1)
    with pytest.raises(StateError, match="takes longer than 1 s to read"):
        Measurement.read(tmp_path / "a.mat")


def test_mat_files_of_version_7_3_say_what_to_do(tmp_path):
    head = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(1000))
    with pytest.raises(StateError, match=r"version 7\.3, expected one up to 7"):
        Measurement.read(tmp_path / "a.mat")


def test_the_reader_of_mat_files_runs_elsewhere(tmp_path, monkeypatch):
    import scipy.io

    monkeypatch.setattr(scipy.io, "loadmat", lambda *_, **__: pytest.fail("read in this process"))
    savemat(tmp_path / "a.mat", {"time": T, "x": X})
    np.testing.assert_array_equal(Measurement.read(tmp_path / "a.mat")["x"], X)
