"""How like the real data look-alikes are, where a public file of the same origin is at hand."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from crowdtally_research.lookalikes.statistics import statistics_of
from crowdtally_research.lookalikes.writing import Maker


@dataclass(frozen=True)
class Likeness:
    """What the table in docs/lab.md compares."""

    gini: float
    """Of the counts of items that occur."""
    top_ten: float
    """The share of records of the ten most popular items."""
    gini_of_users: float
    """Of the numbers of records of users."""
    median: float
    """Records of a user."""
    new: float
    """The share of records that are the first of their user and item."""

    @classmethod
    def of(cls, users: NDArray[np.int64], items: NDArray[np.int64]) -> Likeness:
        by_item, by_user = (
            np.sort(np.unique(one, return_counts=True)[1])[::-1] for one in (items, users)
        )
        pairs = len(np.unique(users.astype(np.int64) * (int(items.max()) + 1) + items))
        return cls(
            gini(by_item), by_item[:10].sum() / len(items), gini(by_user),
            float(np.median(by_user)), pairs / len(items),
        )  # fmt: skip


def gini(falling: NDArray[np.int64]) -> float:
    ranks = np.arange(len(falling), 0, -1)
    return float((2 * ranks - len(falling) - 1) @ falling / (len(falling) * falling.sum()))


def made_up(name: str, scale: object) -> Likeness:
    blocks = list(Maker(statistics_of(name, scale), 1).blocks())
    users, items = (
        np.concatenate([block[column] for block in blocks]) for column in ("user_id", "item_id")
    )
    return Likeness.of(users, items)


def real(file: str, item: str) -> Likeness:
    folder = os.environ.get("CROWDTALLY_DATA")
    if folder is None or not (Path(folder) / file).is_file():
        pytest.skip(f"{file} is not in the folder CROWDTALLY_DATA")
    found = duckdb.execute(
        f"SELECT dense_rank() OVER (ORDER BY user_id) AS user_id, "
        f"dense_rank() OVER (ORDER BY {item}) AS item_id FROM read_parquet(?)",
        [str(Path(folder) / file)],
    ).fetchnumpy()
    return Likeness.of(found["user_id"], found["item_id"])


def test_gini_is_the_textbooks() -> None:
    assert gini(np.array([5, 5, 5])) == 0
    assert gini(np.array([4, 2, 1, 1])) == pytest.approx(
        np.abs(np.subtract.outer([4, 2, 1, 1], [4, 2, 1, 1])).sum() / (2 * 4 * 8)
    )


@pytest.mark.parametrize(
    ("name", "scale", "file", "item"),
    [
        ("movielens", 1, "ml1m_ratings.parquet", "movie_id"),
        ("kosarak", "36683/990002", "kosarak_prefix.parquet", "item_id"),
        ("gowalla", 1, "gowalla_checkins.parquet", "item_id"),
    ],
)
def test_items_and_returns_are_like_the_real_ones(
    name: str, scale: object, file: str, item: str
) -> None:
    theirs, ours = real(file, item), made_up(name, scale)
    assert ours.gini == pytest.approx(theirs.gini, abs=0.03), (ours, theirs)
    assert ours.top_ten == pytest.approx(theirs.top_ten, rel=0.1), (ours, theirs)
    assert ours.new == pytest.approx(theirs.new, abs=0.03), (ours, theirs)


@pytest.mark.parametrize(
    ("name", "scale", "least", "most"),
    [
        ("movielens", "0.2", 0.55, 0.70), ("foursquare", "0.1", 0.45, 0.65),
        ("netflix", "0.005", 0.75, 0.90), ("transaction", "0.1", 0.5, 0.7),
        ("kosarak", "0.02", 0.75, 0.90),
    ],
)  # fmt: skip
def test_items_are_skewed(name: str, scale: str, least: float, most: float) -> None:
    assert least < made_up(name, scale).gini < most
