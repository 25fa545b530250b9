"""A look-alike on the disk: the printed numbers hold, nothing half-written stays."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import crowdtally as ct
import crowdtally_research
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally_research.lookalikes import writing
from crowdtally_research.lookalikes.drawing import SHAPES
from crowdtally_research.lookalikes.statistics import LOOKALIKES, statistics_of

SCALES = {
    "gowalla": "0.02", "foursquare": "1/100", "netflix": "0.0005", "movielens": 0.02,
    "movielens-10m": "0.002", "transaction": "0.01", "document": "0.0001", "aol": "1e-3",
    "kosarak": "0.01",
}  # fmt: skip
BINARY = [name for name, shape in SHAPES.items() if shape.returns is None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, writing.LookAlike]:
    """Each look-alike, small."""
    folder = tmp_path_factory.mktemp("made")
    return {
        name: crowdtally_research.lookalike(name, folder / f"{name}.parquet", scale=scale)
        for name, scale in SCALES.items()
    }


def asked(query: str, path: Path) -> list[tuple[Any, ...]]:
    return duckdb.execute(query, [str(path)]).fetchall()


def test_every_look_alike_is_made_here() -> None:
    assert list(SCALES) == list(LOOKALIKES)


@pytest.mark.parametrize("name", SCALES)
def test_the_numbers_hold_in_the_file(made: dict[str, writing.LookAlike], name: str) -> None:
    numbers = statistics_of(name, SCALES[name])
    assert made[name].statistics == numbers
    per_user = "SELECT count(*) n FROM read_parquet(?) GROUP BY user_id"
    [found] = asked(
        f"SELECT count(*), sum(n), max(n), min(n) FROM ({per_user})", made[name].records
    )
    assert found == (numbers.users, numbers.records, numbers.most, numbers.fewest)
    [ids] = asked(
        "SELECT count(DISTINCT record_id), min(record_id), max(record_id), min(user_id), "
        "max(user_id), min(item_id) >= 1, max(item_id) FROM read_parquet(?)",
        made[name].records,
    )
    assert ids[:6] == (numbers.records, 0, numbers.records - 1, 1, numbers.users, True)
    assert ids[6] <= numbers.items
    distinct = "SELECT count(DISTINCT item_id), min(item_id), max(item_id) FROM read_parquet(?)"
    listed = asked(distinct, made[name].items)
    assert listed == [(numbers.items, 1, numbers.items)]


@pytest.mark.parametrize("name", SCALES)
def test_an_item_comes_once_where_data_are_binary(
    made: dict[str, writing.LookAlike], name: str
) -> None:
    [(rows, pairs)] = asked(
        "SELECT count(*), count(DISTINCT (user_id, item_id)) FROM read_parquet(?)",
        made[name].records,
    )
    assert (rows == pairs) == (name in BINARY)


@pytest.mark.parametrize("name", SCALES)
def test_contexts_are_the_declared_columns(made: dict[str, writing.LookAlike], name: str) -> None:
    described = asked("DESCRIBE SELECT * FROM read_parquet(?)", made[name].records)
    columns = [row[0] for row in described]
    assert columns == ["record_id", "user_id", "item_id", *made[name].contexts]
    for context, values in made[name].contexts.items():
        found = asked(f"SELECT DISTINCT {context} FROM read_parquet(?)", made[name].records)
        assert {value for (value,) in found} == set(values)


def test_the_papers_contexts_are_there(made: dict[str, writing.LookAlike]) -> None:
    assert {name: list(one.contexts) for name, one in made.items() if one.contexts} == {
        "gowalla": ["weekday"], "foursquare": ["weekday"], "netflix": ["weekday"],
        "movielens": ["gender", "age"],
    }  # fmt: skip


def test_gender_and_age_are_the_users(made: dict[str, writing.LookAlike]) -> None:
    [(most,)] = asked(
        "SELECT max(n) FROM (SELECT count(DISTINCT (gender, age)) n FROM read_parquet(?) "
        "GROUP BY user_id)",
        made["movielens"].records,
    )
    assert most == 1


def test_rows_of_users_are_mixed(made: dict[str, writing.LookAlike]) -> None:
    users = duckdb.execute(
        "SELECT user_id FROM read_parquet(?) ORDER BY record_id", [str(made["kosarak"].records)]
    ).fetchnumpy()["user_id"]
    assert np.mean(users[1:] == users[:-1]) < 0.05


def test_the_same_seed_makes_the_same_file_and_another_another(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.parquet" for n in range(3)]
    for path, seed in zip(paths, (7, 7, 8), strict=True):
        crowdtally_research.lookalike("gowalla", path, scale="0.01", seed=seed)
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again
    assert first != other


def test_blocks_are_whole_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """With small blocks the same numbers hold."""
    monkeypatch.setattr(writing, "_BLOCK", 5_000)
    numbers = statistics_of("movielens", "0.03")
    blocks = list(writing.Maker(numbers, 1).blocks())
    assert len(blocks) > 4
    users = [set(block["user_id"].tolist()) for block in blocks]
    assert sum(map(len, users)) == len(set().union(*users)) == numbers.users
    rows = [len(block["user_id"]) for block in blocks]
    assert sum(rows) == numbers.records
    assert max(rows) < 5_000 + numbers.most


def test_no_block_repeats_another_ones_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of equal sizes, so that equal draws would make equal blocks."""
    monkeypatch.setattr(writing, "_BLOCK", 100)
    numbers = replace(LOOKALIKES["kosarak"], users=50, records=500, most=10, fewest=10)
    blocks = list(writing.Maker(numbers, 1).blocks())
    assert len(blocks) == 5
    assert len({tuple(block["item_id"].tolist()) for block in blocks}) == 5


def test_the_file_says_that_it_is_made_up(made: dict[str, writing.LookAlike]) -> None:
    for path in (made["aol"].records, made["aol"].items):
        told = dict(asked("SELECT key, value FROM parquet_kv_metadata(?)", path))
        assert told[b"crowdtally"].decode().startswith("Made up:")


def test_a_disk_that_ends_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(CrowdtallyError, match="cannot be written: File too large"):
            crowdtally_research.lookalike("netflix", tmp_path / "n.parquet", scale="0.002")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["a block", "the first rename", "the second rename"])
def test_an_interruption_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    calls, rename = [], os.rename

    def interrupted(*given: Any) -> None:
        calls.append(given)
        if len(calls) == (2 if moment == "the second rename" else 1):
            raise KeyboardInterrupt
        rename(*given)

    if moment == "a block":
        monkeypatch.setattr(writing.Maker, "_block", interrupted)
    else:
        monkeypatch.setattr(writing.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        crowdtally_research.lookalike("kosarak", tmp_path / "k.parquet", scale="0.001")
    assert calls
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.parquet"
    flush = writing.files.flush

    def late(written: Path) -> None:
        flush(written)
        path.write_text("somebody's")

    monkeypatch.setattr(writing.files, "flush", late)
    with pytest.raises(UsageError, match="never replaces"):
        crowdtally_research.lookalike("kosarak", path, scale="0.001")
    assert path.read_text() == "somebody's"
    assert list(tmp_path.iterdir()) == [path]


def test_python_names_its_own_parameters(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^scale must be greater than 0 .*: received 1.5\.$"):
        crowdtally_research.lookalike("aol", tmp_path / "a.parquet", scale=1.5)
    with pytest.raises(UsageError, match=r"^seed must be .*: received True\.$"):
        crowdtally_research.lookalike("aol", tmp_path / "a.parquet", seed=True)


def test_what_was_made_can_be_released_in_python(
    made: dict[str, writing.LookAlike], tmp_path: Path
) -> None:
    one = made["movielens"]
    records = ct.read(
        one.records, user="user_id", item="item_id", contexts=list(one.contexts),
        record_id="record_id",
    )  # fmt: skip
    released = ct.release(
        records, ct.Domain(ct.read_list(one.items, "item_id"), one.contexts), epsilon=10**6,
        method=ct.SRA(10), ledger=tmp_path / "ledger.sqlite", output=tmp_path / "out",
        new_dataset=True,
    )  # fmt: skip
    assert sum(row.count for row in released.top(one.statistics.items)) == 10 * one.statistics.users
