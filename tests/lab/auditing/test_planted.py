"""Faults planted in the real line of a release: each is reported above its claim.

Each is one function or attribute of production, replaced. The correct version of the same case is
attacked in the same way, and is not reported. The noise has a seed: the outcome is always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowdtally.core.layout import Pairs
from crowdtally.core.privacy import Epsilon
from crowdtally.curator import questions
from crowdtally.curator.bounding import scaling
from crowdtally.curator.choices.bounds import DPSenseChoice
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.choices.selection import UnknownCells
from crowdtally.curator.counting import bounded as counted
from crowdtally.curator.counting import users
from crowdtally.curator.request import table_specs as request_tables
from crowdtally.curator.summaries import base, sparse
from crowdtally.curator.transforms.base import Sketch
from crowdtally.curator.transforms.trees import Dyadic, Haar
from crowdtally.lab.auditing.attack import carried_through
from crowdtally.lab.auditing.cases import Case, cases_of
from crowdtally.lab.auditing.certify import Row
from crowdtally.lab.auditing.databases import pairs_of
from crowdtally.lab.auditing.run import Attack, Shared
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import Seeded

EPSILON = {"discovery": 3}
"""What one step of the threshold changes is the larger, the larger ε is."""
Patch = pytest.MonkeyPatch


def case_of(name: str) -> Case:
    epsilon = Epsilon.of(EPSILON.get(name, 1))
    return next(case for case in cases_of(name.split(":")[0], epsilon) if case.name == name)


def attacked(name: str, pair: str, runs: int, alpha: float) -> Row:
    """A case, attacked with the first pair that these words describe."""
    case = case_of(name)
    chosen = next(one for one in pairs_of(case.request) if pair in one.words)
    with Shared() as shared:
        one = Attack(case, chosen, shared, lambda: SystemDraws(Seeded(11)))
        return carried_through(one, one.runs(max(runs // 4, 200)), runs, alpha)


# ---- the faults


def scale_of_one_record_less(patch: Patch) -> None:
    right = base.dense

    def smaller(counts: Any, price: Any, draws: Draws) -> Any:
        return right(replace(counts, l1_bound=counts.l1_bound - 1, squared=None), price, draws)

    patch.setattr(base, "dense", smaller)


class Repeating(SystemDraws):
    """Noise that is the same for every table."""

    def __init__(self, draws: Draws) -> None:
        super().__init__()
        self.noise = draws.laplace(Fraction(4), 64)

    def laplace(self, scale: Fraction, size: int) -> Any:
        return self.noise[:size]


def one_noise_for_both_tables(patch: Patch) -> None:
    right = questions.TableQuestion.draw
    patch.setattr(questions.TableQuestion, "draw", lambda q, c, d: right(q, c, Repeating(d)))


def twice_the_rate_in_dpsense(patch: Patch) -> None:
    right = DPSenseChoice.rate.fget
    assert right is not None
    patch.setattr(DPSenseChoice, "rate", property(lambda choice: 2 * right(choice)))


def no_half_in_dpsense_s(patch: Patch) -> None:
    right = DPSenseSChoice.rate.fget
    assert right is not None
    patch.setattr(DPSenseSChoice, "rate", property(lambda choice: 2 * right(choice)))


def _one_level_less(patch: Patch, kind: type[Any]) -> None:
    factor, apply = kind.factor, kind.apply

    def fewer(self: Any, counts: Any, cells: Any) -> Any:
        made = apply(self, counts, cells)
        return replace(made, l1_bound=counts.l1_bound * (factor(self, cells) - 1), squared=None)

    patch.setattr(kind, "factor", lambda self, cells: factor(self, cells) - 1)
    patch.setattr(kind, "l2_factor", lambda self, cells: self.factor(cells) ** 2)
    patch.setattr(kind, "apply", fewer)


def log_m_for_dyadic(patch: Patch) -> None:
    _one_level_less(patch, Dyadic)


def log_m_for_haar(patch: Patch) -> None:
    _one_level_less(patch, Haar)


def one_row_of_a_sketch_forgotten(patch: Patch) -> None:
    _one_level_less(patch, Sketch)


def threshold_off_by_one(patch: Patch) -> None:
    right: Callable[[UnknownCells], int] = vars(UnknownCells)["threshold"].func
    patch.setattr(UnknownCells, "threshold", property(lambda rule: right(rule) - 1))


def popularity_without_noise(patch: Patch) -> None:
    class Silent(SystemDraws):
        def laplace(self, scale: Fraction, size: int) -> Any:
            return np.zeros(size, dtype=np.int64)

    right = questions.TableQuestion.draw

    def silent(question: questions.TableQuestion, counted: Any, draws: Any) -> Any:
        of_popularity = question.name == "popularity"
        return right(question, counted, Silent() if of_popularity else draws)

    patch.setattr(questions.TableQuestion, "draw", silent)


def samples_that_move_with_others(patch: Patch) -> None:
    right = DuckDBEngine.hash

    def hashed(self: DuckDBEngine, key: int, columns: Any) -> Any:
        (rows,) = self._connection.execute("SELECT count(*) FROM source_held").fetchall()[0]
        return right(self, (key + rows * 7919) % 2**63, columns)

    patch.setattr(DuckDBEngine, "hash", hashed)


def no_noise_in_empty_cells(patch: Patch) -> None:
    def none(*_: Any) -> Any:
        return np.zeros(0, dtype=np.int64)

    patch.setattr(sparse, "empty_cells", none)


def cells_in_the_order_of_their_making(patch: Patch) -> None:
    both = np.concatenate
    patch.setattr(sparse, "_merged", lambda c, v, e, n: (both([c, e]), both([v, n])))


def one_item_more_is_discovered(patch: Patch) -> None:
    right = users.window.least
    patch.setattr(users.window, "least", lambda rows, limit: right(rows, limit + 1))


def pairs_of_l_records_are_l_less_one(patch: Patch) -> None:
    bound, counts = request_tables.table_bound, counted._counts

    def fewer(rule: Any, cells: Any, what: Any) -> Any:
        less = rule.l1_bound - 1
        pairs = isinstance(cells, Pairs)
        return (less, rule.unit, less**2) if pairs else bound(rule, cells, what)

    def counts_of_fewer(*given: Any, pairs: bool) -> Any:
        first, second = counts(*given, pairs=pairs)
        return first, replace(second, l1_bound=given[3] - 1, squared=None)

    patch.setattr(request_tables, "table_bound", fewer)
    patch.setattr(counted, "_counts", counts_of_fewer)


def row_sums_of_cells(patch: Patch) -> None:
    def sums(same: Any, cap: int) -> Any:
        rows = scaling.capped(scaling.countable(same), cap).select("user", "cell", "amount")
        each = rows.group_by("user").agg(row_sum=rows.count().cast("int64"))
        return rows.inner_join(each, "user")

    patch.setattr(scaling, "with_row_sums", sums)


ALONE = "records in one cell: 1, the bound"
ONE_CELL = "records in one cell: 2, the bound"
PLANTED = {
    "scale l−1 for l": (scale_of_one_record_less, "sra", ONE_CELL, 2_500),
    "one noise for both tables": (
        one_noise_for_both_tables, "contexts", "in every context", 600
    ),
    "no ½ in DPSense-S": (
        no_half_in_dpsense_s, "dpsense-s+dpsense: choose", "where one other user has each", 1_500
    ),
    "DPSense's choice at twice its rate": (
        twice_the_rate_in_dpsense, "dpsense+dpsense: choose", "as many records as the cap", 30_000
    ),
    "log m for log m + 1": (log_m_for_dyadic, "sra/dyadic", ALONE, 1_500),
    "threshold off by one": (threshold_off_by_one, "discovery", "nobody else has", 6_000),
    "haar: log m for log m + 1": (log_m_for_haar, "sra/haar", ALONE, 1_500),
    "a sketch of R rows, noise for R − 1": (
        one_row_of_a_sketch_forgotten, "sra/sketch", ALONE, 500
    ),
    "popularity without noise": (
        popularity_without_noise, "hpa: popularity", "records in one cell", 500
    ),
    "samples that move with others": (
        samples_that_move_with_others, "sra: items", "among 40", 1_000
    ),
    "occupied cells first": (
        cells_in_the_order_of_their_making, "sra/filter", "in one cell: one more", 300
    ),
    "one item more is discovered": (
        one_item_more_is_discovered, "discovery", "must have them, one more", 500
    ),
    "l − 1 for l(l − 1)/2": (
        pairs_of_l_records_are_l_less_one, "pairs: edges", "different cells: 3", 8_000
    ),
    "row sums of cells": (row_sums_of_cells, "dpsense: items", "as the cap in each", 5_000),
    "no noise in empty cells": (no_noise_in_empty_cells, "sra/filter", ONE_CELL, 800),
}  # fmt: skip


_LONG = {
    "a sketch of R rows, noise for R − 1", "l − 1 for l(l − 1)/2", "row sums of cells",
    "DPSense's choice at twice its rate", "threshold off by one", "haar: log m for log m + 1",
    "no noise in empty cells",
}  # fmt: skip
"""Those that need most runs, and those whose way through the attack is that of a quick one."""
FAULTS = [
    pytest.param(fault, marks=pytest.mark.long if fault in _LONG else ()) for fault in PLANTED
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_reported_above_its_claim(fault: str, monkeypatch: Patch) -> None:
    plant, name, pair, runs = PLANTED[fault]
    plant(monkeypatch)
    row = attacked(name, pair, runs, alpha=1e-3)
    assert row.leaks, f"{fault}: {row.certified} of {row.claim}; {row.event}"
    assert f"{name} leaks at least" in row.sentence()


@pytest.fixture(scope="module")
def correct() -> Callable[..., Row]:
    """Each correct case is attacked once, however many faults are planted in it."""
    known: dict[Any, Row] = {}

    def of(*asked: Any) -> Row:
        if asked not in known:
            known[asked] = attacked(*asked)
        return known[asked]

    return of


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_without_the_fault_is_not(fault: str, correct: Callable[..., Row]) -> None:
    _, name, pair, runs = PLANTED[fault]
    assert not correct(name, pair, min(runs, 500), 1e-6).leaks
