"""From records of users to sums: attributes, items, contexts and pairs, at a very large ε."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.loud import (
    LOUD,
    _hashes,
    _ledger,
)

__all__ = ["_hashes", "_ledger"]


# ---- attributes with users ----------------------------------------------------------------------


def of_users(**options) -> ct.Release:
    """Three users; the first has two records outside the lists before the one that counts."""
    records = pa.table(
        {
            "who": [1, 1, 1, 2, 2, 2, 3],
            "a": ["gone", "gone", "x", "x", "y", "y", "y"],
            "b": [0, 1, 1, 0, 0, 1, 99],
        }
    )
    read = ct.read(records, user="who", attributes=["a", "b"])
    domain = ct.Domain(attributes={"a": ["x", "y"], "b": [0, 1]})
    return ct.release(read, domain, epsilon=LOUD, dataset="users", **options, new_dataset=True)


@pytest.mark.parametrize("form", [{}, {"publishing": "filter-priority", "size": 10}])
def test_what_is_outside_the_lists_is_dropped_before_users_are_bounded(form):
    release = of_users(max_records=1, **form)
    assert release.sum(a="x", b=1).value in (1, 1.0)  # her one record within the lists is kept
    assert release.sum().value == 2
    assert release.sum().counted == "records"


def test_users_with_room_for_all_their_records():
    release = of_users(max_records=3, publishing="filter", size=10)
    assert release.sum("a = 'y'").value == 2
    assert release.sum("b = 1 or a = 'x'").value == 3


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"publishing": "filter", "cut": 0},
        {"publishing": "threshold", "threshold": "1/1000"},
        {"publishing": "priority", "size": 10},
        {"transform": "dyadic", "ordered": "b"},
        {"transform": "haar", "ordered": "b"},
        {"transform": "sketch", "buckets": 4096, "sketch_rows": 1},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_scaled_rows_are_read_in_fractions_of_a_count(form):
    """DPSense with θ = 1: the user of three cells counts a third in each, the other one whole."""
    release = of_users(bounding="dpsense", max_records=1, count="users", **form)
    third = release.sum(a="y", b=0)
    assert third.value == pytest.approx(1 / 3, abs=0.02)
    assert release.sum("b = 1").value == pytest.approx(1 + 1 / 3, abs=0.02)
    assert release.sum().value == pytest.approx(2, abs=0.02)
    assert third.standard_error < 0.1


def test_words_about_the_cut_are_in_counts_not_in_units():
    release = of_users(bounding="dpsense", max_records=2, count="users", publishing="filter", cut=3)
    assert "size 3 or more" in release.sum().unbiased_for


# ---- items, contexts, pairs ---------------------------------------------------------------------


VISITS = pa.table(
    {
        "who": [1, 1, 1, 2, 2, 3, 3, 4],
        "place": ["bar", "cafe", "park", "bar", "cafe", "bar", "gone", "park"],
        "hour": [1, 2, 2, 1, 7, 8, 8, 4],
    }
)
PLACES = ["park", "cafe", "bar", "zoo"]


def visits(**options) -> ct.Release:
    contexts = [] if options.get("pairs") else ["hour"]
    records = ct.read(VISITS, user="who", item="place", contexts=contexts)
    domain = ct.Domain(PLACES, {"hour": range(1, 9)} if contexts else None)
    options = {"max_records": 10} | options
    return ct.release(records, domain, epsilon=LOUD, dataset="visits", **options, new_dataset=True)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"publishing": "filter", "size": 40},
        {"publishing": "threshold", "size": 40},
        {"publishing": "filter-priority", "size": 40},
        {"transform": "dyadic", "ordered": "hour"},
        {"transform": "dyadic", "ordered": "hour", "publishing": "filter", "size": 40},
        {"transform": "dyadic", "ordered": "place,hour"},
        {"transform": "haar", "ordered": "hour"},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_items_and_items_in_context(form):
    release = visits(**form)
    assert release.sum("place = 'bar'").value == pytest.approx(3)
    assert release.sum("place = 'bar'").table == "items"
    assert release.sum("place between 'cafe' and 'bar'").value == pytest.approx(5)
    early = release.sum("hour <= 4 and place != 'zoo'")
    assert (early.value, early.table, early.cells) == (pytest.approx(5), "edges", 12)
    assert release.sum().table == "items"
    assert [(line.item, line.estimate) for line in release.top(3)] == [
        ("bar", pytest.approx(3)), ("park", pytest.approx(2)), ("cafe", pytest.approx(2)),
    ]  # fmt: skip
    first = release.top(1, hour=1)[0]
    assert (first.item, first.estimate) == ("bar", pytest.approx(2))


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize(
    "form", [{"transform": "sketch", "buckets": 64}, {"transform": "haar", "ordered": "place"}]
)
def test_what_has_no_list_to_rank(form):
    release = visits(**form)
    assert release.sum("place = 'bar'").value == pytest.approx(3, abs=2)
    with pytest.raises(ct.UsageError, match="no list to rank"):
        release.top(3)


@pytest.mark.parametrize("form", [{}, {"publishing": "filter", "size": 10}])
def test_pairs_are_unordered(form):
    """bar–cafe: users 1 and 2; bar–park and cafe–park: user 1."""
    release = visits(pairs=True, max_records=4, **form)
    for where, value, cells in [
        ("place = 'bar' and other_place = 'cafe'", 2, 1),
        ("other_place = 'bar' and place = 'cafe'", 2, 1),
        ("other_place = 'bar'", 3, 3),
        ("other_place in ('bar', 'cafe')", 4, 5),
        ("place in ('bar', 'cafe') and other_place in ('bar', 'cafe', 'park')", 4, 3),
        ("place = 'bar' and other_place != 'cafe'", 1, 2),
        ("place = 'park' or other_place = 'park'", 2, 3),
    ]:
        answer = release.sum(where)
        assert (answer.value, answer.cells, answer.table) == (value, cells, "pairs"), where
    assert release.sum("place = 'bar'").table == "items"
    with pytest.raises(ct.UsageError, match="no cell"):
        release.sum("place = 'bar' and other_place = 'bar'")


def test_long_lists_of_items_are_found_wherever_they_are():
    """Beyond 10,000 items release.json does not repeat the list, unless nothing else has it."""
    items = [f"item {i}" for i in range(10_001)]
    records = ct.read(
        pa.table({"who": [1, 2], "item": ["item 7", "item 10000"]}), user="who", item="item"
    )
    for form in ({}, {"transform": "haar", "ordered": "item"}, {"publishing": "filter", "size": 9}):
        release = ct.release(
            records,
            ct.Domain(items),
            epsilon=LOUD,
            dataset="long",
            max_records=1,
            **form,
            new_dataset=True,
        )
        answer = release.sum("item >= 'item 8'")
        assert answer.value == pytest.approx(1, abs=1e-6)
        assert answer.cells == 10_001 - 8


def test_discovered_items():
    records = ct.read(
        pa.table({"who": [*range(60), 99], "item": ["tea"] * 30 + ["milk"] * 30 + ["rare"]}),
        user="who", item="item",
    )  # fmt: skip
    release = ct.release(
        records,
        epsilon=30,
        delta="1e-6",
        discover_items=True,
        max_records=1,
        dataset="found",
        new_dataset=True,
    )
    answer = release.sum(item="tea")
    assert abs(answer.value - 30) < 8
    assert "items that were released" in answer.unbiased_for
    assert release.sum().cells == 2
    with pytest.raises(ct.UsageError, match="no value 'rare'"):
        release.sum(item="rare")


def test_a_sampled_item_stands_for_more_than_its_count():
    """Below τ a kept count stands for τ; the count itself is beside it."""
    records = ct.read(
        pa.table({"who": range(40), "item": ["a"] * 30 + ["b"] * 10}), user="who", item="item"
    )
    release = ct.release(
        records, ct.Domain(["a", "b"]), epsilon=LOUD, dataset="few", max_records=1,
        publishing="threshold", threshold=20, new_dataset=True,
    )  # fmt: skip
    for line in release.top(2, raw=True):
        assert line.count == {"a": 30, "b": 10}[line.item]
        assert line.estimate == max(line.count, 20)
        assert line.low == line.high == line.count  # noise alone: none at this ε
        assert line.standard_error == pytest.approx(0 if line.item == "a" else (20 * 10) ** 0.5)
