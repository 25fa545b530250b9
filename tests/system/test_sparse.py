"""Sparse releases from records to sums: attributes, items, contexts, pairs and questions."""

from __future__ import annotations

import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.loud import (
    DOMAIN,
    FORMS,
    LOUD,
    _hashes,
    _ledger,
    check_exactly,
    people,
    released,
    table_of,
)

__all__ = ["_hashes", "_ledger"]


# ---- From records to sums: every publishing and transform, through ``ct.release`` and
#      ``ct.load``
#
# At a very large ε the noise is 0 but with a probability far below 10^-100, so that what is wrong
# is not hidden by it. How noise and sampling behave is in ``tests/reader/questions/test_sum.py``.


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_a_mid_size_table_without_noise_is_exact(form):
    columns = people(3000)
    check_exactly(released(columns, **form), table_of(columns))


@pytest.mark.parametrize("form", FORMS[1::5], ids=lambda form: "-".join(map(str, form.values())))
def test_a_tiny_table_without_noise_is_exact(form):
    columns = {
        "age": np.array([3, 3, 19]),
        "sex": np.array(["F", "F", "M"]),
        "region": np.array(["no", "no", "north"]),
    }
    check_exactly(released(columns, **form), table_of(columns))


@pytest.mark.usefixtures("_hashes")
def test_a_sketch_of_many_buckets_is_nearly_exact():
    """Cells share buckets; with 2^14 of them few do, and the mean of five rows evens them out."""
    columns = people(300)
    release = released(columns, transform=ct.Sketch(2**14))
    table = table_of(columns)
    answer = release.sum("age < 10 and sex = 'F'")
    assert answer.value == pytest.approx(table[:10, 0].sum(), abs=3)
    assert answer.standard_error < 3
    assert "hashes" in answer.unbiased_for


def test_noise_is_as_stated():
    """At ε = 1 a sum over 40 cells is off by a few standard errors at most, and says how many."""
    columns = people(3000)
    release = released(columns, epsilon=1, summary=ct.Priority(100))
    answer = release.sum("region = 'north'")
    assert answer.cells == 40
    assert abs(answer.value - table_of(columns)[:, :, 0].sum()) < 8 * answer.standard_error
    assert answer.standard_error > 40**0.5


# ---- who stands for whom ------------------------------------------------------------------------


def test_weights_say_how_many_persons_a_row_stands_for(caplog):
    columns = people(400)
    weights = [None, 0, -3, 1000, *([5] * 396)]
    caplog.set_level(logging.WARNING)
    release = released(columns | {"w": pa.array(weights, pa.int64())}, weight="w")
    table = table_of(columns, weights)
    check_exactly(release, table)
    assert "stands for as many persons as its weight says" in str(release.metadata["guarantee"])
    within = [all(columns[n][i] in DOMAIN[n] for n in DOMAIN) for i in range(400)]
    kept = sum(inside and i > 2 for i, inside in enumerate(within))
    told = " ".join(record.getMessage() for record in caplog.records)
    assert f"{400 - kept} with a value outside the lists or without a weight" in told


def test_each_row_is_one_person_and_the_release_says_so():
    guarantee = released(people(20), summary=ct.Filter(size=50)).metadata["guarantee"]
    assert guarantee["unit"] == {"kind": "row", "column": None}
    assert "each row is one person" in guarantee["words"]


# ---- domains of all sizes -----------------------------------------------------------------------


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize(
    "form",
    [
        {"summary": ct.Threshold(size=1000)},
        {"summary": ct.FilterPriority(1000)},
        {"summary": ct.FilterPriority(1000), "transform": ct.Dyadic(["a0", "a39"])},
        {"summary": ct.Filter(size=1000), "transform": ct.Haar("a0")},
        {"transform": ct.Sketch(4096)},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_forty_attributes(form):
    """4^40 cells are more than 2^63: nothing wraps round, and r is exact."""
    names = [f"a{i}" for i in range(40)]
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 4, (30, 40))
    columns = {name: rows[:, place] for place, name in enumerate(names)}
    records = ct.read(pa.table(columns), user_per_row=True, attributes=names)
    domain = ct.Domain(attributes={name: range(4) for name in names})
    release = ct.release(records, domain, epsilon=LOUD, dataset="forty", **form, new_dataset=True)
    point = release.point(**{name: int(rows[0, place]) for place, name in enumerate(names)})
    assert point.cells == 1
    assert point.value == pytest.approx(1, abs=0.6)
    if isinstance(form.get("transform"), ct.Sketch):
        with pytest.raises(ct.UsageError, match="one by one"):
            release.sum("a0 = 0")
        return
    answer = release.sum("a0 between 1 and 2 and a39 != 3 and a5 = 0")
    wanted = np.isin(rows[:, 0], [1, 2]) & (rows[:, 39] != 3) & (rows[:, 5] == 0)
    assert answer.cells == 2 * 3 * 4**37
    assert answer.value == pytest.approx(wanted.sum())
    either = release.sum("a0 = 0 or a1 = 0")
    assert either.cells == 4**40 - 9 * 4**38
    assert either.value == pytest.approx(((rows[:, 0] == 0) | (rows[:, 1] == 0)).sum())


@pytest.mark.parametrize(
    "form",
    [
        *(FORMS[number] for number in (0, 1, 4, 6)),
        {"transform": ct.Dyadic("a")},
        {"transform": ct.Haar("a")},
        {"transform": ct.Sketch(1)},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_a_domain_of_one_cell(form):
    records = ct.read(pa.table({"a": ["x"] * 7}), user_per_row=True, attributes=["a"])
    domain = ct.Domain(attributes={"a": ["x"]})
    release = ct.release(records, domain, epsilon=LOUD, dataset="one", **form, new_dataset=True)
    answer = release.point(a="x")
    assert (answer.value, answer.cells) == (7, 1)
    assert release.sum().value == 7


@pytest.mark.parametrize(
    "summary",
    [ct.Filter(size=50), ct.Threshold(size=50), ct.Priority(50), ct.FilterPriority(50)],
)
def test_a_table_without_an_empty_cell(summary):
    columns = {"a": np.repeat(np.arange(50), np.arange(1, 51))}
    records = ct.read(pa.table(columns), user_per_row=True, attributes=["a"])
    domain = ct.Domain(attributes={"a": range(50)})
    release = ct.release(
        records,
        domain,
        epsilon=LOUD,
        dataset="full",
        summary=summary,
        new_dataset=True,
    )
    assert release.sum("a < 10").value == 55
    assert release.sum().value == 1275


# ---- Questions to a release of attributes: in Python, on the command line, and those refused -----


def test_attributes_have_no_items_to_rank(small):
    with pytest.raises(ct.UsageError, match="table of attributes: it has no items"):
        ct.load(small).top(3)
    with pytest.raises(ct.UsageError, match="no contexts"):
        ct.load(small).top(3, sex="F")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"age": 3, "sex": "F"}, "leave 6 cells of the table 'cells'"),
        ({"age": 3, "sex": "F", "regio": "sea"}, "Did you mean 'region'"),
        ({"age": True}, "text or a whole number"),
        ({"age": 3.5}, "text or a whole number"),
        ({"age": "three"}, "holds whole numbers"),
        ({"sex": []}, "no cell"),
    ],
)
def test_points_that_are_none(small, given, words):
    with pytest.raises(ct.UsageError, match=words):
        ct.load(small).point(**given)


def test_values_may_be_written_as_on_the_command_line(small):
    release = ct.load(small)
    assert release.sum(age="3").value == release.sum(age=3).value == release.sum(age=[3]).value
    assert release.range("age", "3", None, sex="F").cells == 17 * 6


# ---- the command line ---------------------------------------------------------------------------


def test_the_command_prints_what_python_says(tmp_path):
    columns = people(500)
    released(columns, summary=ct.Filter(size=500))
    where = "age between 5 and 12 and sex = 'F'"
    ended = crowdtally("sum", "out", "--where", where, "--json")
    assert ended.code == 0, str(ended)
    answer = json.loads(ended.out)
    assert answer["value"] == table_of(columns)[5:13, 0].sum()
    assert answer["cells"] == 8 * 6
    assert answer["low"] is None
    ended = crowdtally("sum", "out", "--where", where)
    assert f"{answer['value']:.12g} users, standard error" in ended.out
    assert "over 48 cells" in ended.out
    assert "unbiased for the noisy counts of size" in ended.out
    everything = crowdtally("sum", "out", "--json")
    assert json.loads(everything.out)["value"] == table_of(columns).sum()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A release that many questions are put to."""
    folder = tmp_path_factory.mktemp("small")
    return released(people(5), output=folder / "out", ledger=folder / "ledger.sqlite").folder


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("", "condition is empty"),
        ("agee = 3", "Did you mean 'age'"),
        ("sex = 'f'", "has no value 'f'"),
        ("age = '3'", "whole numbers"),
        ("sex < 3", "holds text"),
        ("age > 3 and age < 4", "no cell of the public domain satisfies"),
        ("region between 'no' and 'north'", "Ranges go by the order of the lists"),
        ("sum(age) = 3", "not understood"),
        ("age = 3; drop table t", "give one condition"),
    ],
)
def test_questions_that_are_refused(small, where, words):
    ended = crowdtally("sum", small, "--where", where)
    assert ended.code == 2
    assert ended.out == ""
    assert words in ended.err


# ---- From records of users to sums: attributes, items, contexts and pairs, at a very large ε -----


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


@pytest.mark.parametrize("form", [{}, {"summary": ct.FilterPriority(10)}])
def test_what_is_outside_the_lists_is_dropped_before_users_are_bounded(form):
    release = of_users(method=ct.SRA(1), **form)
    assert release.sum(a="x", b=1).value in (1, 1.0)  # her one record within the lists is kept
    assert release.sum().value == 2
    assert release.sum().counted == "records"


def test_users_with_room_for_all_their_records():
    release = of_users(method=ct.SRA(3), summary=ct.Filter(size=10))
    assert release.sum("a = 'y'").value == 2
    assert release.sum("b = 1 or a = 'x'").value == 3


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize(
    "form",
    [
        {},
        {"summary": ct.Filter(cut=0)},
        {"summary": ct.Threshold("1/1000")},
        {"summary": ct.Priority(10)},
        {"transform": ct.Dyadic("b")},
        {"transform": ct.Haar("b")},
        {"transform": ct.Sketch(4096, rows=1)},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_scaled_rows_are_read_in_fractions_of_a_count(form):
    """DPSense with θ = 1: the user of three cells counts a third in each, the other one whole."""
    release = of_users(method=ct.DPSense(1), count="users", **form)
    third = release.sum(a="y", b=0)
    assert third.value == pytest.approx(1 / 3, abs=0.02)
    assert release.sum("b = 1").value == pytest.approx(1 + 1 / 3, abs=0.02)
    assert release.sum().value == pytest.approx(2, abs=0.02)
    assert third.standard_error < 0.1


def test_words_about_the_cut_are_in_counts_not_in_units():
    release = of_users(method=ct.DPSense(2), summary=ct.Filter(cut=3), count="users")
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
    options = {"method": ct.SRA(10)} | options
    return ct.release(records, domain, epsilon=LOUD, dataset="visits", **options, new_dataset=True)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"summary": ct.Filter(size=40)},
        {"summary": ct.Threshold(size=40)},
        {"summary": ct.FilterPriority(40)},
        {"transform": ct.Dyadic("hour")},
        {"summary": ct.Filter(size=40), "transform": ct.Dyadic("hour")},
        {"transform": ct.Dyadic(["place", "hour"])},
        {"transform": ct.Haar("hour")},
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
@pytest.mark.parametrize("form", [{"transform": ct.Sketch(64)}, {"transform": ct.Haar("place")}])
def test_what_has_no_list_to_rank(form):
    release = visits(**form)
    assert release.sum("place = 'bar'").value == pytest.approx(3, abs=2)
    with pytest.raises(ct.UsageError, match="no list to rank"):
        release.top(3)


@pytest.mark.parametrize("form", [{}, {"summary": ct.Filter(size=10)}])
def test_pairs_are_unordered(form):
    """bar–cafe: users 1 and 2; bar–park and cafe–park: user 1."""
    release = visits(pairs=True, method=ct.SRA(4), **form)
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
    for form in ({}, {"transform": ct.Haar("item")}, {"summary": ct.Filter(size=9)}):
        release = ct.release(
            records,
            ct.Domain(items),
            epsilon=LOUD,
            dataset="long",
            method=ct.SRA(1),
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
        method=ct.Discover("item", 1),
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
        records, ct.Domain(["a", "b"]), epsilon=LOUD, dataset="few", method=ct.SRA(1),
        summary=ct.Threshold(20), new_dataset=True,
    )  # fmt: skip
    for line in release.top(2, raw=True):
        assert line.count == {"a": 30, "b": 10}[line.item]
        assert line.estimate == max(line.count, 20)
        assert line.low == line.high == line.count  # noise alone: none at this ε
        assert line.standard_error == pytest.approx(0 if line.item == "a" else (20 * 10) ** 0.5)
