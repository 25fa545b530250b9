"""Layouts of a release's tables, and counts of users that are summed over them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.counts import Memberships
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.errors import UsageError
from crowdtally.format import NoisyTable, tables
from crowdtally.laws.laplace import DiscreteLaplace
from kit.draws import SilentDraws
from kit.publishing import made, visits
from kit.stored import CELLS, DAYS, PLACES, hamlet

# ---- Tables open with any Parquet tool, in a documented layout, with the noise beside each
#      count


def test_tables_open_with_any_parquet_tool_in_the_order_of_the_lists(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    assert sorted(p.name for p in release.folder.iterdir()) == [
        "datapackage.json", "edges.parquet", "items.parquet", "release.json",
    ]  # fmt: skip
    edges = pyarrow.parquet.read_table(release.folder / "edges.parquet")
    assert edges.column_names == ["item", "day", "count", "noise_std", "low", "high"]
    assert {name: str(edges.schema.field(name).type) for name in edges.column_names} == {
        "item": "string", "day": "string", "count": "int64", "noise_std": "double",
        "low": "int64", "high": "int64",
    }  # fmt: skip
    found = list(zip(*(edges[name].to_pylist() for name in ("item", "day", "count")), strict=True))
    assert found == [(p, d, CELLS.get((p, d), 0)) for p in PLACES for d in DAYS]
    items = pyarrow.parquet.read_table(release.folder / "items.parquet")
    assert items["item"].to_pylist() == PLACES
    assert items["count"].to_pylist() == [5, 7, 1]


def test_integer_items_and_names_of_ones_own(tmp_path: Path) -> None:
    rows = pa.table({"who": ["a", "b"], "song id": [30, 4], "Länd": ["é", "é"]})
    domain = ct.Domain([30, 4, -1], {"Länd": ["é"]})
    roles = {"user": "who", "item": "song id"}
    release = made(tmp_path, rows, domain, draws=SilentDraws(), roles=roles)
    edges = pyarrow.parquet.read_table(release.folder / "edges.parquet")
    assert edges.column_names[:2] == ["song id", "Länd"]
    assert edges["song id"].to_pylist() == [30, 4, -1]
    assert edges["count"].to_pylist() == [1, 1, 0]
    assert [row.item for row in release.top(2, Länd="é")] == [30, 4]


def test_a_table_of_several_blocks_keeps_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_BLOCK", 7)
    values = [f"v{n * 37 % 101:03}" for n in range(101)]
    counts = {value: n % 5 for n, value in enumerate(values)}
    release = made(tmp_path, visits(counts), ct.Domain(values), draws=SilentDraws())
    items = pyarrow.parquet.read_table(release.folder / "items.parquet")
    assert items["item"].to_pylist() == values
    assert items["count"].to_pylist() == [n % 5 for n in range(101)]


def test_noise_beside_each_count(tmp_path: Path) -> None:
    release = hamlet(tmp_path, epsilon="1/3", method=ct.SRA(4), draws=None)
    (facts,) = (t for t in release.metadata["tables"] if t["name"] == "edges")
    scale = Fraction(4) / Fraction(1, 6)
    assert Fraction(facts["noise"]["scale"]) == scale
    width = DiscreteLaplace(scale).half_width(Fraction(19, 20))
    assert facts["noise"]["interval_half_width"] == width
    table = pyarrow.parquet.read_table(release.folder / "edges.parquet").to_pydict()
    assert set(table["noise_std"]) == {DiscreteLaplace(scale).std()} == {facts["noise"]["std"]}
    for count, low, high in zip(table["count"], table["low"], table["high"], strict=True):
        assert (low, high) == (count - width, count + width)


def test_negative_counts_are_kept(tmp_path: Path) -> None:
    items = [f"i{n}" for n in range(400)]
    release = made(tmp_path, visits({"i0": 1}), ct.Domain(items), epsilon="0.01")
    counts = pyarrow.parquet.read_table(release.folder / "items.parquet")["count"].to_numpy()
    assert len(counts) == 400
    # Half of them, but with probability 1e-9: four hundred coins, six standard errors.
    assert 140 < (counts < 0).sum() < 260


def test_counts_near_the_end_of_64_bits_stay_within_them() -> None:
    ends = np.iinfo(np.int64)
    values = np.array([ends.max, ends.min, 0, ends.max - 1], dtype=np.int64)
    table = NoisyTable(
        "t", grid([Axis.of("a", list("wxyz"))]), values, DiscreteLaplace(Fraction(10)), {}
    )
    (block,) = table.blocks()
    assert block["low"].tolist() == [ends.max - 30, ends.min, -30, ends.max - 31]
    assert block["high"].tolist() == [ends.max, ends.min + 30, 30, ends.max]


# ---- Memberships: all cells, exact, never negative -----------------------------------------------


def test_cells_that_are_not_listed_have_nobody() -> None:
    assert Memberships.of(5, [4, 1], [3, 2]).values.tolist() == [0, 2, 0, 0, 3]
    assert Memberships.of(2, [], []).values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("size", "values", "words"),
    [
        (0, np.zeros(0, dtype=np.int64), "at least 1"),
        (3, np.zeros(2, dtype=np.int64), "all 3 cells"),
        (2, np.zeros(2), "64-bit integers"),
        (2, np.array([1, 2], dtype=object), "64-bit integers"),
        (2, np.array([1, -1]), "fewer than 0"),
    ],
)
def test_what_is_no_number_of_users_is_refused(size: int, values: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Memberships(size, values)
