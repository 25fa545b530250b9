"""What one user adds to a discovery: each cell once, and no more cells than the limit."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from crowdtally.core.privacy import Delta, Epsilon
from crowdtally.curator.choices.selection import UnknownCells
from kit.made import made
from kit.silent import SilentDraws

USERS = 40


def mass(folder: Path, items: list[str], limit: int) -> tuple[list[int], int]:
    """The released counts, and the mass of the rest, where everybody has these records."""
    users = [f"u{user}" for user in range(USERS) for _ in items]
    rows = pa.table({"user": users, "item": items * USERS})
    release = made(
        folder, rows, None, draws=SilentDraws(),
        discover_items=True, max_records=limit, epsilon=100, delta="1e-6",
    )  # fmt: skip
    counts = parquet.read_table(release.folder / "items.parquet")["count"].to_pylist()
    return counts, release.metadata["other"]["count"]


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_user_counts_for_at_most_so_many_items(limit: int, tmp_path: Path) -> None:
    counts, other = mass(tmp_path, ["a", "b", "c", "d", "e", "f"], limit)
    assert sum(counts) + other == limit * USERS


def test_a_user_counts_once_for_an_item(tmp_path: Path) -> None:
    assert mass(tmp_path, ["a", "a", "a", "b"], 4) == ([USERS, USERS], 0)


def test_the_mass_of_others_is_that_of_the_finest_table(tmp_path: Path) -> None:
    """Everybody has one item in one context that all share, and one that nobody else has."""
    users = [f"u{user}" for user in range(USERS) for _ in range(2)]
    contexts = [context for user in range(USERS) for context in ("all", f"c{user}")]
    rows = pa.table({"user": users, "item": ["a"] * 2 * USERS, "context": contexts})
    release = made(
        tmp_path, rows, None, draws=SilentDraws(), roles={"contexts": ["context"]},
        discover="item,context", max_records=2, epsilon=100, delta="1e-6",
    )  # fmt: skip
    tables = {table["name"]: table["cells"] for table in release.metadata["tables"]}
    assert tables == {"items": 1, "edges": 1}
    assert release.metadata["other"]["table"] == "edges"
    assert release.metadata["other"]["count"] == USERS


def test_a_cell_at_the_threshold_is_released() -> None:
    rule = UnknownCells(3, Epsilon.of(1), Delta.of("1e-6"))
    counts = np.array([rule.threshold - 1, rule.threshold, rule.threshold + 1])
    assert rule.select(counts, SilentDraws()).places.tolist() == [1, 2]


@pytest.mark.parametrize("epsilon", ["1e6", "1e300"])
def test_a_delta_too_small_to_write_down_is_rounded_up(epsilon: str) -> None:
    rule = UnknownCells(1, Epsilon.of(epsilon), Delta.of("1e-6"))
    assert rule.threshold == 2
    assert rule.actual_delta == Fraction(1, 10**400)
