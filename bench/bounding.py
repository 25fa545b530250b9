"""How fast bounds are chosen and applied: a table for people, one line of JSON at the end.

Run ``python bench/bounding.py``, or one part of it with ``--only``. Each part is a function in
``PARTS`` that prints its own lines and returns its figures; the last line printed is all figures as
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.noise.draws import SystemDraws
from made_up import DAYS, generate
from made_up import ITEMS as RELEASE_ITEMS

Figures = dict[str, Any]

RECORDS, ITEMS, USERS, MOST = 1_000_000, 10_000, 6_000, 2_000
RELEASE_RECORDS = 10_000_000
LOOP_THETAS = (1, 10, 100, 1000, 2000)
"""The stated part on which the naive triple loop is timed: these θ, all s, all items."""
NUMPY_THETAS = tuple(range(50, MOST + 1, 50))
"""The same for the double loop whose inner sum is numpy's."""


def seconds(work: Callable[[], object], times: int) -> float:
    """The median time of one call."""
    return median(timeit.repeat(work, number=1, repeat=times))


def matrix() -> RowTable:
    """A binary matrix of 10^6 records: few users have thousands of items, few items most users.

    Its longest rows are above θ_max, so that no θ can be skipped.
    """
    rng = np.random.default_rng(1)
    activity = rng.pareto(1.1, USERS) + 0.2
    popularity = np.arange(1, ITEMS + 1) ** -0.7
    users = rng.choice(USERS, 4 * RECORDS, p=activity / activity.sum())
    items = rng.choice(ITEMS, 4 * RECORDS, p=popularity / popularity.sum())
    pairs = rng.permutation(np.unique(users * ITEMS + items))[:RECORDS]
    users, items = np.divmod(pairs, ITEMS)
    sums = np.bincount(users, minlength=USERS)
    assert len(pairs) == RECORDS
    assert sums.max() > MOST
    entries, totals = np.unique(sums[users] * ITEMS + items, return_counts=True)
    return RowTable(entries // ITEMS, entries % ITEMS, totals)


def dpsense_s() -> Figures:
    table = matrix()
    choice = DPSenseSChoice(ITEMS, MOST, Epsilon.of("0.1"), Epsilon.of("0.9"))
    scores = choice.scores(table)
    fast = seconds(lambda: choice.scores(table), 5)
    whole = seconds(lambda: choice.pick(table, SystemDraws()), 3)
    loops = _naive(table, choice, scores, LOOP_THETAS, _plain_sum)
    vectors = _naive(table, choice, scores, NUMPY_THETAS, _numpy_sum)
    rows = [
        (f"all θ ≤ {MOST}, {len(choice.scalings)} s: exact scores", fast),
        ("  the same and the private choice among them", whole),
        (f"naive triple loop, timed on {len(LOOP_THETAS)} of {MOST} θ, for all", loops),
        (f"naive, inner sum by numpy, timed on {len(NUMPY_THETAS)} θ, for all", vectors),
    ]
    print(f"DPSense-S: {RECORDS} records, {ITEMS} items, {USERS} users, {len(table.sums)} entries")
    for name, spent in rows:
        print(f"  {name:<66}{spent:>10.3f} s{spent / fast:>10.0f} ×")
    return {
        "records": RECORDS,
        "items": ITEMS,
        "users": USERS,
        "entries": len(table.sums),
        "thetas": MOST,
        "scalings": len(choice.scalings),
        "seconds": round(fast, 4),
        "choice_seconds": round(whole, 4),
        "naive_seconds": round(loops, 1),
        "naive_timed_thetas": len(LOOP_THETAS),
        "naive_numpy_seconds": round(vectors, 1),
        "ratio": round(loops / fast, 1),
        "ratio_numpy": round(vectors / fast, 1),
    }


Sum = Callable[[int, NDArray[np.int64], NDArray[np.int64]], int]


def _plain_sum(k: int, bounded: NDArray[np.int64], true: NDArray[np.int64]) -> int:
    total = 0
    for b, t in zip(bounded.tolist(), true.tolist(), strict=True):
        total += abs(k * b - t)
    return total


def _numpy_sum(k: int, bounded: NDArray[np.int64], true: NDArray[np.int64]) -> int:
    return int(np.abs(k * bounded - true).sum())


def _naive(
    table: RowTable,
    choice: DPSenseSChoice,
    scores: NDArray[Any],
    thetas: tuple[int, ...],
    inner: Sum,
) -> float:
    """Seconds for all θ, from these; Algorithm 2 as printed, on integers, equal to ``scores``.

    For each θ the columns are counted anew (by numpy in both variants, from the same table), then
    for each s the errors of all columns are summed.
    """
    a, b = choice.published.value.as_integer_ratio()
    true = 100 * choice.grid * _counted(table, table.totals)
    start = time.perf_counter()
    for theta in thetas:
        weights = np.where(table.sums <= theta, choice.grid, theta * (choice.grid // table.sums))
        bounded = _counted(table, weights * table.totals)
        for i, s in enumerate(choice.scalings):
            k = int(s * 100)
            score = -a * inner(k, bounded, true) - b * ITEMS * choice.grid * k * theta
            assert score == scores[theta - 1, i]
    return (time.perf_counter() - start) * choice.most / len(thetas)


def _counted(table: RowTable, values: NDArray[np.int64]) -> NDArray[np.int64]:
    columns = np.zeros(ITEMS, dtype=np.int64)
    np.add.at(columns, table.columns, values)
    return columns


def hpa_over_sra() -> Figures:
    """A whole release by HPA over a whole release by SRA, on the same 10^7 records."""
    rules = {"sra": ct.SRA(10), "hpa": ct.HPA(10)}
    times: dict[str, list[float]] = {name: [] for name in rules}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "records.parquet", RELEASE_RECORDS)
        records = ct.read(
            folder / "records.parquet", user="user", item="item", contexts=["day"], record_id="id"
        )
        domain = ct.Domain(range(RELEASE_ITEMS), {"day": DAYS})
        for _ in range(5):
            for rule, method in rules.items():
                start = time.perf_counter()
                ct.release(
                    records,
                    domain,
                    epsilon=1,
                    ledger=folder / "ledger",
                    method=method,
                    new_dataset=True,
                )
                times[rule].append(time.perf_counter() - start)
    best = {rule: min(spent) for rule, spent in times.items()}
    for rule, spent in best.items():
        print(f"{rule} release of {RELEASE_RECORDS:.0e} records: {spent:.3f} s (best of 5)")
    return {
        "sra_seconds": round(best["sra"], 3),
        "hpa_seconds": round(best["hpa"], 3),
        "hpa_over_sra": round(best["hpa"] / best["sra"], 2),
    }


PARTS: tuple[Callable[[], Figures], ...] = (dpsense_s, hpa_over_sra)


def main() -> None:
    parts = {part.__name__: part for part in PARTS}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        choices=parts,
        nargs="+",
        default=list(parts),
        metavar="PART",
        help=f"one or more of {', '.join(parts)}",
    )
    arguments = parser.parse_args()
    figures: Figures = {}
    for name in arguments.only:
        figures |= parts[name]()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
