"""The lab's estimate of each cell is what the reader answers about it, whatever was released."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.format import NoisyTable
from crowdtally.lab.estimates import estimate, range_answers
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import Release
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import Seeded
from kit.loud import LOUD
from kit.publishing import GivenNoise, made, visits
from kit.releases import GUARANTEE, METHOD, RECORDS, axes_of, counts_of, in_form, opened, write

LISTS = {"age": list(range(5)), "sex": ["F", "M"]}  # five values are padded to eight
WHOLE = {"sex": ["F", "M"], "age": list(range(4))}  # four are not
LINE = {"age": list(range(11))}
_DYADIC, _HAAR = {"transform": ct.Dyadic("age")}, {"transform": ct.Haar("age")}
_BOTH = {"transform": ct.Dyadic(["age", "sex"])}
_SKETCH = {"transform": ct.Sketch(5000, rows=3)}
TRANSFORMS: dict[str, dict[str, Any]] = {
    "cells": {}, "dyadic": _DYADIC, "dyadic of both": _BOTH, "haar": _HAAR, "sketch": _SKETCH,
}  # fmt: skip
PUBLISHINGS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter": {"summary": ct.Filter(cut=4)},
    "threshold": {"summary": ct.Threshold("19/3")},
    "priority": {"summary": ct.Priority(6)},
    "filter-priority": {"summary": ct.FilterPriority(4, cut=2)},
}
FORMS = {
    f"{transform}, {publishing}": TRANSFORMS[transform] | PUBLISHINGS[publishing]
    for transform, publishing in product(TRANSFORMS, PUBLISHINGS)
    if transform != "sketch" or publishing == "dense"
}


@pytest.fixture(autouse=True)
def _hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One public seed of sketches: with it no two of the cells share a bucket."""
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)


def table_of(lists: Mapping[str, Sequence[Any]]) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.integers(0, 30, [len(values) for values in lists.values()])


def noisy(
    lists: Mapping[str, Sequence[Any]], form: Mapping[str, Any], epsilon: str, bound: int = 2
) -> NoisyTable:
    """A table of attributes with its noise on."""
    axes = axes_of(lists)
    asked = in_form("cells", grid(axes), Epsilon.of(epsilon), form, bound=bound)
    counts = counts_of(axes, table_of(lists), bound)
    return asked.publish(counts, SystemDraws(Seeded(11)))


def saved(folder: Path, table: NoisyTable, lists: Mapping[str, Sequence[Any]]) -> Release:
    """The same table, saved and opened by a reader."""
    attributes = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()}
        for a in axes_of(lists)
    ]
    facts = {
        "tables": [write(folder / "cells.parquet", table)],
        "domain": {"attributes": attributes},
        "counted": "users",
        "guarantee": GUARANTEE | {"epsilon": "1"},
        "records": RECORDS,
        "method": METHOD | {"bounds": {"cells": {"bound": 2, "scaling": "1"}}},
    }
    return opened(folder, facts)


@pytest.mark.parametrize("lists", [LISTS, WHOLE], ids=["padded", "whole"])
@pytest.mark.parametrize("form", FORMS)
def test_each_cell_is_what_a_reader_is_told(
    form: str, lists: Mapping[str, Sequence[Any]], tmp_path: Path
) -> None:
    table = noisy(lists, FORMS[form], "1")
    release = saved(tmp_path, table, lists)
    found = estimate(table)
    assert found.dtype == np.float64
    told = [
        release.point(**dict(zip(lists, values, strict=True))).value
        for values in product(*lists.values())
    ]
    assert found.tolist() == pytest.approx(told, abs=1e-9)
    assert found.tolist() != table_of(lists).ravel().tolist()


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_without_noise_it_is_the_truth(transform: str) -> None:
    for lists in (LISTS, WHOLE):
        found = estimate(noisy(lists, TRANSFORMS[transform], LOUD))
        assert found.tolist() == pytest.approx(table_of(lists).ravel().tolist(), abs=1e-9)


def test_a_dropped_cell_counts_nothing_and_a_sampled_one_the_threshold() -> None:
    table = noisy(LISTS, {"summary": ct.Threshold("19/3")}, "1")
    assert table.cells is not None
    published = dict(zip(table.cells.tolist(), table.values.tolist(), strict=True))
    by_hand = [
        0 if cell not in published
        else np.sign(published[cell]) * max(abs(published[cell]), 19 / 3)
        for cell in range(10)
    ]  # fmt: skip
    assert estimate(table).tolist() == pytest.approx(by_hand)
    assert 0 < len(published) < 10
    assert min(abs(value) for value in published.values()) < 19 / 3


def test_units_are_turned_into_counts() -> None:
    """Rows that were scaled count in parts of a record."""
    request = make_request(
        ct.read(visits({"a": 7, "b": 2}), user="user", item="item"), ct.Domain(["a", "b", "c"]),
        epsilon=LOUD, method=ct.DPSense(1), count="users",
    )  # fmt: skip
    with DuckDBEngine() as engine:
        (table,) = Rehearsal(request, engine).run(1, SystemDraws()).tables
    assert table.law.unit < 1
    assert estimate(table).tolist() == pytest.approx([7, 2, 0], abs=1e-3)


def test_the_order_of_estimates_is_the_readers_top_list(tmp_path: Path) -> None:
    counts = {("a", "Mon"): 5, ("b", "Mon"): 9, ("b", "Tue"): 1, ("c", "Tue"): 7}
    domain = ct.Domain(["a", "b", "c", "d"], {"day": ["Mon", "Tue"]}, item="item")
    rows = visits(counts, "day")
    noises = [3, -2, 0, 4], [1, 0, -3, 2, 0, 6, 1, -1]
    release = made(tmp_path, rows, domain, draws=GivenNoise(*noises), method=ct.SRA(1))
    records = ct.read(rows, user="user", item="item", contexts=["day"])
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(make_request(records, domain, epsilon=1, method=ct.SRA(1)), engine)
        items, edges = map(estimate, rehearsal.run(0, GivenNoise(*noises)).tables)
    names = np.array(["a", "b", "c", "d"])
    assert items.tolist() == [8, 8, 7, 4]
    assert [(row.item, row.estimate) for row in release.top(4, raw=True)] == [
        ("a", 8), ("b", 8), ("c", 7), ("d", 4),
    ]  # fmt: skip
    tuesdays = edges.reshape(4, 2)[:, 1]
    assert tuesdays.tolist() == [0, 3, 13, -1]
    order = np.argsort(-tuesdays, kind="stable")
    told = [(row.item, row.estimate) for row in release.top(4, raw=True, day="Tue")]
    assert told == list(zip(names[order].tolist(), tuesdays[order].tolist(), strict=True))


@pytest.mark.parametrize("publishing", PUBLISHINGS)
def test_ranges_are_what_a_reader_is_told(publishing: str, tmp_path: Path) -> None:
    table = noisy(LINE, _DYADIC | PUBLISHINGS[publishing], "1")
    release = saved(tmp_path, table, LINE)
    pairs = [(low, high) for low in range(11) for high in range(low + 1, 12)]
    low, high = map(np.array, zip(*pairs, strict=True))
    found = range_answers(table, low, high)
    told = [release.range("age", first, end - 1).value for first, end in pairs]
    if publishing == "dense":
        assert found is None  # fitted nodes add up, except for the padding
        sums = [estimate(table)[first:end].sum() for first, end in pairs if end < 11]
        assert sums == pytest.approx(
            [t for t, (_, end) in zip(told, pairs, strict=True) if end < 11]
        )
    else:
        assert found is not None
        assert found.tolist() == pytest.approx(told)
        summed = [estimate(table)[first:end].sum() for first, end in pairs]
        assert summed != pytest.approx(told)


def test_ranges_of_other_tables_are_sums_of_cells() -> None:
    ends = np.array([0]), np.array([1])
    for lists, form in ((LISTS, _DYADIC | PUBLISHINGS["filter"]), (LINE, _HAAR), (LINE, {})):
        assert range_answers(noisy(lists, form, "1"), *ends) is None


def test_a_table_too_large_to_list_is_refused() -> None:
    axes = axes_of({"a": range(10_000), "b": range(10_000)})
    form = {"summary": ct.Filter(size=5)}
    asked = in_form("cells", grid(axes), Epsilon.of("1"), form, bound=1)
    one = np.zeros(1, dtype=np.int64)
    counts = Counts(10**8, one, one + 3, 1)
    with pytest.raises(UsageError, match="has 100000000 cells, and at most 50000000 are compared"):
        estimate(asked.publish(counts, SystemDraws()))
