"""Which table answers a condition, and release files as the reader opens them."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.errors import InputError
from crowdtally.reader import tables
from kit.command import crowdtally
from kit.draws import SilentDraws
from kit.publishing import made, visits
from kit.releases import axes_of, counts_of, release_of

# ---- Release files as the reader opens them: odd names, damage, replaced files, forked
#      processes


LOUD = "100000"


def released(folder, lists, table, **form):
    axes = axes_of(lists)
    return release_of(folder, axes, counts_of(axes, table), dict(**form), LOUD)


@pytest.mark.parametrize("form", [{}, {"summary": ct.Filter(cut=1)}])
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


@pytest.mark.parametrize("form", [{}, {"summary": ct.Filter(cut=1)}])
@pytest.mark.parametrize("left_out", [[7], [0, 999], list(range(200)), list(range(300))])
def test_nearly_all_values_are_all_but_those_left_out(tmp_path, form, left_out):
    release = released(tmp_path, {"a": range(1000), "b": ["x", "y"]}, np.arange(2000), **form)
    listed = ", ".join(map(str, left_out))
    wanted = sum(range(1, 2000, 2)) - sum(2 * one + 1 for one in left_out)
    assert release.sum(f"a not in ({listed}) and b = 'y'").value == wanted


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    for count in (5, 7):
        assert released(tmp_path, {"a": [1, 2]}, [count, 0]).sum(a=1).value == count


@pytest.mark.parametrize("form", [{}, {"summary": ct.Filter(cut=1)}])
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


# ---- A condition is answered from the table whose columns it names, and says what is counted
#      there


MOVIES = [1, 2, 260]
VIEWS = [("a", 1), ("a", 260), ("b", 260), ("b", 2), ("c", 260), ("c", 1), ("c", 2), ("d", 260)]
"""260 with 1: users a and c; 260 with 2: b and c; 1 with 2: c."""


def watched(folder: Path, **options: Any) -> ct.Release:
    users, movies = zip(*VIEWS, strict=True)
    rows = pa.table({"user": users, "movie": movies})
    given = {"pairs": True, "method": ct.SRA(3), "draws": SilentDraws()} | options
    return made(folder, rows, ct.Domain(MOVIES), roles={"item": "movie"}, **given)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> ct.Release:
    return watched(tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize(
    ("where", "value", "cells"),
    [
        ("movie = 260 and other_movie >= 1", 4, 2),  # always true of the other one
        ("movie = 260 and other_movie >= 2", 2, 1),
        ("movie = 260 and other_movie in (1, 2, 260)", 4, 2),
        ("movie = 260 and not other_movie > 260", 4, 2),
        ("other_movie >= 1", 5, 3),
        ("movie >= 1 and (other_movie = 1 or other_movie != 1)", 5, 3),
        ("movie = 260 or other_movie >= 1", 5, 3),
    ],
)
def test_who_names_the_other_item_asks_for_pairs(
    pairs: ct.Release, where: str, value: int, cells: int
) -> None:
    found = pairs.sum(where)
    assert (found.table, found.value, found.cells) == ("pairs", value, cells)


def test_so_does_who_names_it_in_python(pairs: ct.Release) -> None:
    found = [
        pairs.sum(movie=260, other_movie=MOVIES),
        pairs.range("other_movie", None, None, movie=260),
        pairs.prefix("other_movie", 260, movie=260),
        pairs.sum("movie = 260", other_movie=MOVIES),
    ]
    assert {(one.table, one.value, one.cells) for one in found} == {("pairs", 4, 2)}


@pytest.mark.parametrize("where", ["movie = 260", "movie in (260)", "movie > 2", None])
def test_who_does_not_name_it_asks_for_items(pairs: ct.Release, where: str | None) -> None:
    found = pairs.sum(where)
    assert (found.table, found.value) == ("items", 4 if where else len(VIEWS))


def test_a_context_that_is_named_is_asked_for(tmp_path: Path) -> None:
    """The sum is the same, but not its noise: it is that of the cells that are added up."""
    rows = visits({("zoo", "Mon"): 5, ("mill", "Tue"): 2}, "day")
    domain = ct.Domain(["zoo", "mill"], {"day": ["Mon", "Tue"]})
    release = made(tmp_path, rows, domain, draws=SilentDraws())
    alone = release.sum("item = 'zoo'")
    whole = release.sum("item = 'zoo' and day in ('Mon', 'Tue')")
    assert (alone.table, alone.value, alone.cells) == ("items", 5, 1)
    assert (whole.table, whole.value, whole.cells) == ("edges", 5, 2)
    assert release.sum(item="zoo", day=["Mon", "Tue"]) == whole


def test_no_table_has_all_of_them(tmp_path: Path) -> None:
    """Popularity answers no question, and pairs are not counted in contexts."""
    users, movies = zip(*VIEWS, strict=True)
    rows = pa.table({"user": users, "movie": movies, "day": ["Mon"] * len(users)})
    release = made(
        tmp_path, rows, ct.Domain(MOVIES, {"day": ["Mon"]}),
        roles={"item": "movie"}, method=ct.HPA(), draws=SilentDraws(),
    )  # fmt: skip
    assert release.sum("movie = 1").table == "items"
    with pytest.raises(ct.UsageError, match="has no column 'other_movie'"):
        release.sum("movie = 1 and other_movie = 2")


# ---- what is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "words"), [("records", "pairs of records"), ("users", "users with both items")]
)
def test_pairs_are_called_pairs(tmp_path: Path, count: str, words: str) -> None:
    release = watched(tmp_path, count=count)
    found = release.sum("movie = 260 and other_movie = 1")
    assert found.counted == words
    assert str(found).startswith(f"2 {words}, standard error ")
    assert release.sum("movie = 260").counted == count
    asked = ("sum", release.folder, "--where", "movie = 260 and other_movie = 1")
    assert crowdtally(*asked).out.startswith(f"2 {words}, ")
    assert json.loads(crowdtally(*asked, "--json").out)["counted"] == words
