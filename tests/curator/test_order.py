"""The order of a release: counted once, then charged, and only then drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.curator.methods.discover import Discover
from crowdtally.curator.methods.tables import (
    ChooseLimit,
    Popularity,
    RowTables,
    SampledTables,
    ScaledTables,
)
from crowdtally.errors import CrowdtallyError, InputError
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.locate import locate

ROWS = pa.table({"who": list("aabbc"), "item": list("xyxyx")})
STEPS = (ChooseLimit, Discover, Popularity, RowTables, SampledTables, ScaledTables)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in order: the ledger's entries, every count and every draw."""
    found: list[str] = []

    def watch(owner: Any, name: str, words: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def noted(*given: Any, **named: Any) -> Any:
            found.append(words)
            return original(*given, **named)

        monkeypatch.setattr(owner, name, noted)

    for name in ("check", "reserve", "start_drawing", "mark_published"):
        watch(Ledger, name, name)
    for step in STEPS:
        watch(step, "count", "count")
    for draw in ("geometric", "gaussian", "choose", "bernoulli", "hits"):
        watch(SystemDraws, draw, "draw")
    return found


def once(events: list[str]) -> list[str]:
    """The events, repetitions of one in a row left out."""
    return [event for place, event in enumerate(events) if events[place - 1 : place] != [event]]


def release(folder: Path, source: Any = ROWS, **options: Any) -> ct.Release:
    roles = options.pop("roles", {"user": "who", "item": "item"})
    domain = None if options.get("discover_items") else ct.Domain(["x", "y", "z"])
    return ct.release(
        ct.read(source, **roles), domain, epsilon=1, output=folder / "out",
        ledger=folder / "ledger.sqlite", dataset="town", new_dataset=True,
        **({"max_records": 10} | options),
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {}, {"bounding": "dpsense", "count": "users", "max_records": 2}, {"pairs": True},
        {"roles": {"user_per_row": True, "item": "item"}, "max_records": None},
        {"discover_items": True, "delta": "1e-3"}, {"publishing": "filter", "cut": 1},
    ],
    ids=["sample", "scaled rows", "pairs", "rows", "discovery", "summary"],
)  # fmt: skip
def test_one_step(options: dict[str, Any], tmp_path: Path, events: list[str]) -> None:
    release(tmp_path, **options)
    assert once(events) == ["check", "count", "reserve", "start_drawing", "draw", "mark_published"]


def test_later_steps_count_after_the_charge(tmp_path: Path, events: list[str]) -> None:
    """Popularity, choice and tables: what steers a later count is released, so it was paid for."""
    release(tmp_path, bounding="hpa", choose="rank")
    later = ["count", "draw", "count", "draw"]
    first = ["check", "count", "reserve", "start_drawing", "draw"]
    assert once(events) == [*first, *later, "mark_published"]


def test_damage_shows_before_anything_is_charged(tmp_path: Path, events: list[str]) -> None:
    path = tmp_path / "rows.parquet"
    many = pa.table({"who": list(range(50_000)), "item": ["x", "y"] * 25_000})
    pq.write_table(many, path, compression="gzip", use_dictionary=False)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3 : len(raw) // 3 + 400] = bytes(400)
    path.write_bytes(raw)
    with pytest.raises(InputError):
        release(tmp_path, path)
    assert "reserve" not in events
    assert "draw" not in events
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.charges() == []


def test_strict_stops_before_the_charge(tmp_path: Path, events: list[str]) -> None:
    with pytest.raises(InputError, match="would be dropped"):
        release(tmp_path, ROWS.append_column("day", [[1] * 5]).replace_schema_metadata(None),
                roles={"user": "who", "item": "day"}, strict=True)  # fmt: skip
    assert once(events) == ["check", "count"]


def test_a_failure_after_the_charge_stays_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InputError("the disk is gone.")

    monkeypatch.setattr(SampledTables, "release", fail)
    with pytest.raises(InputError, match="The charge stands"):
        release(tmp_path)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.balance("town").spent.epsilon == 1


def test_the_records_are_counted_once(tmp_path: Path, events: list[str]) -> None:
    release(tmp_path)
    assert events.count("count") == 1


def test_each_source_is_located_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []

    def noted(source: object) -> Any:
        found.append(source)
        return locate(source)

    monkeypatch.setattr("crowdtally.records.locate.locate", noted)
    people = pa.table({"who": list("abc"), "age": [1, 2, 3]})
    records = ct.read(ROWS, user="who", item="item", joins=[(people, "who")], contexts=["age"])
    domain = ct.Domain(["x", "y"], {"age": [1, 2, 3]})
    ct.release(
        records,
        domain,
        epsilon=1,
        ledger=tmp_path / "ledger.sqlite",
        dataset="town",
        new_dataset=True,
        max_records=10,
    )
    assert len(found) == 2


def test_a_step_that_hides_a_part_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    """The charge is what the steps say they cost: less than ε is a fault of the program."""
    parts = SampledTables.parts
    monkeypatch.setattr(SampledTables, "parts", lambda step: parts(step)[1:])
    with pytest.raises(CrowdtallyError, match="do not add up to its epsilon"):
        release(tmp_path, bounding="hpa")
    assert events == []
