"""A condition is answered from the table whose columns it names, and says what is counted there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.made import made, visits
from kit.silent import SilentDraws

MOVIES = [1, 2, 260]
VIEWS = [("a", 1), ("a", 260), ("b", 260), ("b", 2), ("c", 260), ("c", 1), ("c", 2), ("d", 260)]
"""260 with 1: users a and c; 260 with 2: b and c; 1 with 2: c."""


def watched(folder: Path, **options: Any) -> ct.Release:
    users, movies = zip(*VIEWS, strict=True)
    rows = pa.table({"user": users, "movie": movies})
    given = {"pairs": True, "max_records": 3, "draws": SilentDraws()} | options
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
        roles={"item": "movie"}, bounding="hpa", draws=SilentDraws(),
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
