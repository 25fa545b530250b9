"""What public parameters rule out is refused before anything is charged; what they allow works."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.methods.tables import SampledTables
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.ledger import Ledger

VISITS = pa.table({"who": ["a", "b"], "item": ["x", "y"], "age": [1, 2], "persons": [1, 3]})
PAIR = ct.Domain(["x", "y"])
AGES = list(range(1000))


def released(folder: Path, records: Any, domain: Any, **options: Any) -> ct.Release:
    return ct.release(
        records, domain, output=folder / "release", ledger=folder / "ledger.sqlite",
        dataset="town", **options, new_dataset=True,
    )  # fmt: skip


def visits() -> Any:
    return ct.read(VISITS, user="who", item="item")


@pytest.mark.skipif(sys.platform != "linux", reason="names of folders are any bytes there")
@pytest.mark.parametrize("name", ["out\udcff", "in\udcff/out"])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str) -> None:
    """The tables could not be written there, after the charge."""
    (tmp_path / "in\udcff").mkdir()
    ledger = Ledger.open(tmp_path / "ledger.sqlite", create=True)
    with pytest.raises(UsageError, match="not text in UTF-8"):
        ct.release(
            visits(), PAIR, epsilon=1, max_records=1, output=tmp_path / name, ledger=ledger,
            dataset="town", new_dataset=True,
        )  # fmt: skip
    assert not ledger.charges()


def attributes(number: int) -> tuple[Any, ct.Domain]:
    """Records and domain of a table of 1000^number cells."""
    names = [f"a{n}" for n in range(number)]
    table = pa.table({"who": ["a", "b"]} | {name: [1, 2] for name in names})
    domain = ct.Domain(attributes=dict.fromkeys(names, AGES))
    return ct.read(table, user="who", attributes=names), domain


REFUSED = {
    "candidates of DPSense-S": (
        visits(),
        ct.Domain([str(n) for n in range(10_000)]),
        {"bounding": "dpsense-s", "choose": "dpsense", "count": "users", "max_records": 10_000},
        "1010000 candidates",
    ),
    "the whole filter of a tree": (
        *attributes(3),
        {"publishing": "filter-priority", "cut": 1, "size": 10, "transform": "dyadic",
         "ordered": ["a0"]},
        "empty ones would be published",
    ),
    "pairs of one item": (visits(), ct.Domain(["x"]), {"pairs": True}, "two items or more"),
    "an epsilon beyond all odds": (
        visits(), PAIR, {"epsilon": 20_000, "publishing": "filter", "cut": 0, "sides": "one"},
        "at most 10000",
    ),
    "popularity in noise": (
        visits(), PAIR, {"epsilon": "1e-9", "bounding": "hpa", "popularity_records": 2**31},
        "popularity would be beyond any count",
    ),
    "a reserved name in capitals": (
        ct.read(pa.table({"who": ["a"], "Count": ["x"]}), user="who", item="Count"),
        ct.Domain(["x"], item="Count"), {}, "'count'",
    ),
    "two names but for the case": (
        ct.read(VISITS, user="who", item="item", contexts={"Age": "age", "AGE": "age"}),
        ct.Domain(["x"], {"Age": [1], "AGE": [1]}), {}, "'AGE'",
    ),
    "a name that the tree needs": (
        ct.read(VISITS, user="who", item="item", contexts={"age": None, "age_level": "age"}),
        ct.Domain(["x"], {"age": [1, 2], "age_level": [1]}),
        {"transform": "dyadic", "ordered": ["age"]}, "'age_level'",
    ),
    "a reserved name of discovered items": (
        ct.read(pa.table({"who": ["a"], "low": ["x"]}), user="who", item="low"),
        None, {"discover_items": True, "delta": "1e-9"}, "'low'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_charged(tmp_path, case):
    records, domain, options, words = REFUSED[case]
    with pytest.raises(UsageError, match=words):
        released(tmp_path, records, domain, **{"epsilon": 1} | options)
    assert list(tmp_path.iterdir()) == []


ALLOWED = {
    "the rank rule beyond 2^62 cells": (7, {"choose": "rank"}),
    "DPSense-S over 10^12 cells": (
        4, {"bounding": "dpsense-s", "choose": "dpsense", "count": "users", "max_records": 5}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWED)
def test_wide_tables_have_their_bounds_chosen(tmp_path, case):
    number, options = ALLOWED[case]
    records, domain = attributes(number)
    made = released(tmp_path, records, domain, epsilon=1, publishing="filter", size=10, **options)
    assert made.metadata["method"]["bounds"]["cells"]["bound"] >= 1


def test_rows_and_persons_are_different_units(tmp_path):
    """ε for a row says nothing of a row that stands for many."""
    by_row = ct.read(VISITS, user_per_row=True, item="item")
    released(tmp_path, by_row, PAIR, epsilon=1)
    by_person = ct.read(VISITS, user_per_row=True, item="item", weight="persons")
    (tmp_path / "release").rename(tmp_path / "first")
    with pytest.raises(UsageError, match="'row', and this request is for 'person:persons'"):
        released(tmp_path, by_person, PAIR, epsilon=1)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.balance("town").spent.epsilon == 1


def test_the_release_does_not_say_how_long_the_records_took(tmp_path, monkeypatch):
    began_reading = []
    read_all = SampledTables.count

    def slowly(*given: Any) -> Any:
        began_reading.append(datetime.now(UTC))
        time.sleep(1.1)
        return read_all(*given)

    monkeypatch.setattr(SampledTables, "count", slowly)
    made = released(tmp_path, visits(), PAIR, epsilon=1, max_records=10)
    assert datetime.fromisoformat(made.metadata["created"]) <= began_reading[0]


def test_what_is_expected_before_the_charge_is_what_is_drawn(tmp_path):
    """DPSense-S counts in units of s/g: a cut of 10 is half as many of them at s = 2."""
    records, domain = attributes(4)
    options = {"bounding": "dpsense-s", "count": "users", "publishing": "filter", "cut": 10}
    with pytest.raises(UsageError, match="empty ones would be published"):
        released(tmp_path, records, domain, epsilon=1, scalings=["2"], **options)
    assert list(tmp_path.iterdir()) == []
    request = make_request(records, domain, epsilon=1, scalings=["1"], **options | {"cut": 300})
    (table,) = request.tables
    twice = make_request(records, domain, epsilon=1, scalings=["2"], **options | {"cut": 600})
    assert twice.tables[0].expected_empty == table.expected_empty
    assert twice.tables[0].law.std() == 2 * table.law.std()
