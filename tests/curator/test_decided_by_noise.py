"""What is decided follows from what was drawn: exact counts behind the same draw change nothing.

Each decision is made twice, on different records, with draws that come out alike. A decision that
looked at an exact value after the draw would differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.core.counts import Memberships
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.choices.bounds import (
    BITS,
    DPSenseChoice,
    NormChoice,
    RankChoice,
    RowNorms,
    RowSums,
    RowTable,
    log_spaced,
)
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.choices.selection import TopItems, UnknownCells
from crowdtally.noise.draws import SystemDraws
from kit.publishing import GivenNoise, made

ONE, RHO = Epsilon.of(1), Rho.of("0.01")


def whole(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


class Picking(SystemDraws):
    """Choices fall on the places that are given, whatever the scores; noise is none."""

    def __init__(self, *places: int) -> None:
        super().__init__()
        self._places = list(places)

    def choose(self, scores: Any, rate: Any) -> int:
        return self._places.pop(0)

    def interval(self, rate: Any, size: int) -> Any:
        return np.zeros(size, dtype=np.int64)


class Towards(SystemDraws):
    """Noise that makes the noisy values those that are wanted."""

    def __init__(self, wanted: np.ndarray, exact: np.ndarray) -> None:
        super().__init__()
        self._noise = (wanted - exact).ravel().astype(object)

    def laplace(self, scale: Any, size: int) -> Any:
        assert size == self._noise.size
        return self._noise

    gaussian = laplace


SUMS = [RowSums(whole(1), whole(500)), RowSums(whole(3, 20), whole(5, 900))]
TABLES = [
    RowTable(whole(1), whole(0), whole(500)),
    RowTable(whole(3, 20), whole(1, 2), whole(5, 900)),
]
CHOICES: dict[str, tuple[Any, list[Any], int]] = {
    "rank": (RankChoice(100, log_spaced(50), ONE, ONE), SUMS, len(log_spaced(50))),
    "dpsense": (DPSenseChoice(100, 50, ONE, ONE), SUMS, len(log_spaced(50))),
    "dpsense-s": (DPSenseSChoice(100, 20, ONE, ONE), TABLES, 20),
}


@pytest.mark.parametrize("rule", CHOICES)
def test_a_bound_is_the_one_that_was_drawn(rule: str) -> None:
    choice, sides, candidates = CHOICES[rule]
    picked = [[choice.pick(side, Picking(place)) for side in sides] for place in range(candidates)]
    assert all(one == other for one, other in picked)
    assert len({one for one, _ in picked}) == candidates


@pytest.mark.parametrize("cap", [1, 16])
def test_a_norm_follows_from_the_noisy_histogram(cap: int) -> None:
    choice = NormChoice(1000, 400, RHO, RHO, cap)
    sides = [
        RowNorms(whole(1), whole(1), whole(9000)),
        RowNorms(whole(90, 4000), whole(60, 900), whole(7000, 5)),
    ]
    chosen = set()
    for bit in range(2, 14, 3):
        wanted = np.zeros((BITS, choice.sums), dtype=np.int64)
        wanted[bit, 0] = 20_000
        first, second = (choice.pick(one, Towards(wanted, choice.bins(one))) for one in sides)
        assert first == second == choice.fitting(wanted)
        chosen.add(first)
    assert len(chosen) > 2, "the histogram decides nothing"


@pytest.mark.parametrize("price", [ONE, Rho.of("0.05")])
def test_a_cell_appears_by_its_noisy_count(price: Any) -> None:
    rule = UnknownCells(3, price, Delta.of("0.01"))
    least = rule.threshold
    wanted = whole(least, least - 1, least + 40, -7, least)
    for counts in (whole(1, 1, 1, 1, 1), whole(10**6, 10**6, 1, 10**6, 2)):
        found = rule.select(counts, Towards(wanted, counts))
        assert found.places.tolist() == [0, 2, 4]
        assert found.noisy.tolist() == [least, least + 40, least]


def test_the_top_items_are_those_that_were_drawn() -> None:
    rule = TopItems(2, ONE)
    for users in (whole(9, 900, 0, 5, 77), whole(0, 0, 4000, 0, 0)):
        assert rule.select(Memberships(5, users), Picking(3, 0)).tolist() == [0, 3]


def released(folder: Path, name: str = "items") -> dict[str, int]:
    """The count of each item, as it is published."""
    table = pq.read_table(folder / "out" / f"{name}.parquet")
    return dict(zip(table["item"].to_pylist(), table["count"].to_pylist(), strict=True))


def test_the_items_that_are_measured_are_those_that_were_drawn(tmp_path: Path) -> None:
    """The least of all: an exact ranking would name the first two."""
    rows = [(f"{item}-{n}", item) for item, users in (("a", 40), ("b", 30), ("c", 2), ("d", 1))
            for n in range(users)]  # fmt: skip
    table = pa.table({"user": [user for user, _ in rows], "item": [item for _, item in rows]})
    made(tmp_path, table, ct.Domain(["a", "b", "c", "d"]), method=ct.Top(2), draws=Picking(3, 2))
    assert released(tmp_path, "head") == {"c": 2, "d": 1}


HAVING = [("a", "b")] * 6 + [("a",)] * 20


def kept(folder: Path, noise: tuple[int, int]) -> dict[str, int]:
    """Users have a and b, or a alone, and keep one item: which, the noisy popularity says."""
    rows = [(user, item) for user, items in enumerate(HAVING) for item in items]
    table = pa.table({"user": [user for user, _ in rows], "item": [item for _, item in rows]})
    made(
        folder, table, ct.Domain(["a", "b"]), method=ct.HPA(1),
        draws=GivenNoise(noise),
    )  # fmt: skip
    return released(folder)


def test_records_are_picked_by_the_noisy_popularity(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    assert kept(tmp_path / "one", (0, 0)) == {"a": 26, "b": 0}
    assert kept(tmp_path / "other", (-500, 500)) == {"a": 20, "b": 6}
