"""Release files as the reader opens them: odd names, damage, replaced files, forked processes."""

from __future__ import annotations

import multiprocessing
import os

import numpy as np
import pytest

from crowdtally.errors import InputError
from crowdtally.reader import tables
from kit.releases import axes_of, counts_of, release_of

LOUD = "100000"


def released(folder, lists, table, **form):
    axes = axes_of(lists)
    return release_of(folder, axes, counts_of(axes, table), dict(**form), LOUD)


@pytest.mark.parametrize("form", [{}, {"publishing": "filter", "cut": 1}])
@pytest.mark.parametrize(
    "names", [("weight", "key_0"), ('a"b', "it's"), ("release", "axis_0"), ("name", "SELECT")]
)
def test_columns_of_any_name(tmp_path, names, form):
    first, second = names
    table = np.arange(6).reshape(2, 3)
    release = released(tmp_path, {first: ["x'y", 'x"y'], second: range(3)}, table, **form)
    assert release.sum(**{first: "x'y", second: [1, 2]}).value == 3
    quoted = first.replace('"', '""')
    assert release.sum(f"\"{quoted}\" = 'x''y'").value == 3
    assert release.range(second, 1, None).value == 12


@pytest.mark.parametrize("form", [{}, {"publishing": "filter", "cut": 1}])
@pytest.mark.parametrize("left_out", [[7], [0, 999], list(range(200)), list(range(300))])
def test_nearly_all_values_are_all_but_those_left_out(tmp_path, form, left_out):
    release = released(tmp_path, {"a": range(1000), "b": ["x", "y"]}, np.arange(2000), **form)
    listed = ", ".join(map(str, left_out))
    wanted = sum(range(1, 2000, 2)) - sum(2 * one + 1 for one in left_out)
    assert release.sum(f"a not in ({listed}) and b = 'y'").value == wanted


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    for count in (5, 7):
        assert released(tmp_path, {"a": [1, 2]}, [count, 0]).sum(a=1).value == count


@pytest.mark.parametrize("form", [{}, {"publishing": "filter", "cut": 1}])
def test_a_damaged_table_is_said_to_be(tmp_path, form):
    release = released(tmp_path, {"a": range(1000)}, np.arange(1000), **form)
    path = tmp_path / "cells.parquet"
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match=r"cells\.parquet' is damaged: .* Copy the release again"):
        release.sum("a < 10")


@pytest.mark.parametrize(
    "where", ["a < 3", "b = 'y'", "a in (1, 5) and b <> 'x'", "a = 2 or b = 'z'", "not (a = 0)"]
)
def test_sums_in_memory_are_those_of_the_file(tmp_path, monkeypatch, where):
    table = np.random.default_rng(3).integers(-50, 50, 21)
    release = released(tmp_path, {"a": range(7), "b": ["x", "y", "z"]}, table)
    held = release.sum(where)
    monkeypatch.setattr(tables, "HELD_ROWS", 0)
    assert release.sum(where) == held


def test_counts_of_another_file_are_not_kept(tmp_path, monkeypatch):
    path, read = tmp_path / "cells.parquet", tables.column
    released(tmp_path, {"a": [1, 2]}, [7, 0])
    other = path.read_bytes()
    release = released(tmp_path, {"a": [1, 2]}, [5, 0])
    good = path.read_bytes()

    def while_it_is_another(*asked):
        path.write_bytes(other)
        return read(*asked)

    with monkeypatch.context() as patched:
        patched.setattr(tables, "column", while_it_is_another)
        with pytest.raises(InputError, match="not the file that was released"):
            release.sum(a=1)
    path.write_bytes(good)
    assert release.sum(a=1).value == 5


def test_a_sum_beyond_64_bits_is_right(tmp_path):
    large = 2**62
    release = released(tmp_path, {"a": range(4)}, np.full(4, large))
    assert release.sum("a < 3").value == pytest.approx(3 * large, abs=10)


def _asks(release):
    assert release.sum(a=1).value == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking with threads
def test_a_forked_process_asks_a_database_of_its_own(tmp_path):
    release = released(tmp_path, {"a": [1, 2]}, [5, 0])
    _asks(release)
    child = multiprocessing.get_context("fork").Process(target=_asks, args=(release,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_a_whole_table_has_the_columns_of_the_file_alone(tmp_path):
    frame = released(tmp_path, {"a": [1, 2]}, [5, 0]).table("cells").df()
    assert list(frame.columns) == ["a", "count", "noise_std", "low", "high"]
