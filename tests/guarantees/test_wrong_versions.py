"""Small wrong versions of the release; the enumeration must certify that each one violates ε.

Each has been a real bug somewhere. A test suite that does not see them proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.bounding.scaling import GRID
from crowdtally.curator.choices.bounds import RankChoice
from crowdtally.curator.counting import count as counting
from crowdtally.curator.counting.bounded import count
from crowdtally.curator.methods import tables
from crowdtally.curator.request import request
from crowdtally.curator.summaries import base
from crowdtally.curator.transforms.trees import Dyadic
from crowdtally.noise.geometric import difference
from crowdtally.records import engine as window
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept, sum_of
from kit.databases import History, databases
from kit.draws import Tracer
from kit.rules import (
    CHOSEN,
    FORMED,
    PAIRS,
    PLAIN,
    SAMPLES,
    SCALED,
    SQUARE,
    STEERED,
    TRIPLE,
    DistinctIds,
    FanOut,
    HashedUser,
    HashOfAllRows,
    KeepOneMore,
    OneQuota,
    PositionalIds,
)
from kit.subjects import Subject, compare, first_violation

Inject = Callable[[pytest.MonkeyPatch], None]
FEW: Sequence[History] = ((), (0,), (0, 1, 3))


@dataclass(frozen=True)
class Mutant:
    subject: Subject
    inject: Inject
    family: Sequence[History] = FEW
    keys: Sequence[int] = (1, 2, 3, 4)


# ---- noise ---------------------------------------------------------------------------------------


def _bound_less_one(patch: pytest.MonkeyPatch) -> None:
    def wrong(counts: Counts, *rest: Any) -> Any:
        return honest(replace(counts, l1_bound=counts.l1_bound - 1, squared=None), *rest)

    honest = base.dense
    patch.setattr(base, "dense", wrong)


def _noise_on_nonzero_cells(patch: pytest.MonkeyPatch) -> None:
    def wrong(counts: Counts, *rest: Any) -> Any:
        noisy = honest(counts, *rest)
        return replace(noisy, values=np.where(counts.dense() == 0, 0, noisy.values))

    honest = base.dense
    patch.setattr(base, "dense", wrong)


def _no_split(patch: pytest.MonkeyPatch) -> None:
    def whole(given: Any, used: Sequence[str], *_: Any) -> dict[str, Fraction]:
        return dict.fromkeys(used, Fraction(1))

    patch.setattr(request, "complete_split", whole)


class ScaleAsRate(Tracer):
    def laplace(self, scale: Any, size: int) -> Any:
        return difference(self.geometric, 1 / scale, size)


class SharedNoise(Tracer):
    """The second table gets the first one's noise again, as far as it reaches."""

    def laplace(self, scale: Any, size: int) -> Any:
        first = self.__dict__.setdefault("first", np.array([], dtype=np.int64))
        fresh = super().laplace(scale, size - len(first))
        self.__dict__["first"] = np.concatenate([first, fresh])
        return self.__dict__["first"]


class OneSided(Tracer):
    def laplace(self, scale: Any, size: int) -> Any:
        return self.geometric(1 / scale, size)


def _nothing(patch: pytest.MonkeyPatch) -> None:
    """The subject's draws are the mutant."""


# ---- sampling ------------------------------------------------------------------------------------


def _sra(wrong: type[SRA]) -> Inject:
    """SRA keeps what a wrong one keeps."""
    return lambda patch: patch.setattr(SRA, "keep", wrong.keep)


def _rank(patch: pytest.MonkeyPatch) -> None:
    def ranked(_: DuckDBEngine, table: ibis.Table, limit: int) -> Kept:
        kept = table.mutate(place=ibis.rank().over(group_by=table.user, order_by=table.priority))
        return Kept(kept.filter(kept.place < limit).drop("place"))

    patch.setattr(DuckDBEngine, "least", ranked)


# ---- steps ---------------------------------------------------------------------------------------


def _ranks_by_exact_counts(patch: pytest.MonkeyPatch) -> None:
    """Hand-picking by the popularity before its noise."""
    seen: list[Counts] = []

    def counted(*given: Any, **named: Any) -> Any:
        found = count(*given, **named)
        seen.append(found.found[0])
        return found

    def replaced(rule: Any, **changes: Any) -> Any:
        exact = {"popularity": seen[-1].dense()} if "popularity" in changes else {}
        return replace(rule, **changes | exact)

    patch.setattr(counting, "count_sampled", counted)
    patch.setattr(tables, "replace", replaced)


def _pairs_of_all_records(patch: pytest.MonkeyPatch) -> None:
    def unbounded(engine: Any, prepared: Any, rule: SRA, **given: Any) -> Any:
        read = count(engine, prepared, rule, **given)
        items, bounded = read.found
        _, pairs = count(engine, prepared, SRA(100), **given).found
        lie = {"l1_bound": bounded.l1_bound, "squared": bounded.squared}
        return replace(read, found=(items, replace(pairs, **lie)))

    patch.setattr(counting, "count_sampled", unbounded)


def _rounds_after_summing(patch: pytest.MonkeyPatch) -> None:
    """Rows are scaled in floats; only the totals are rounded to the grid."""

    def weighted(amounts: ibis.Table, theta: int) -> ibis.Table:
        share = ibis.least(1.0, theta / amounts.row_sum.cast("float64"))
        return amounts.select("cell", weight=amounts.amount * float(GRID) * share)

    patch.setattr("crowdtally.curator.bounding.scaling.weighted", weighted)
    patch.setattr("crowdtally.curator.counting.bounded.held_sum", sum_of)  # takes whole ones alone


def _greedy_choice(patch: pytest.MonkeyPatch) -> None:
    """The choice spends a hundred times its share."""
    honest = RankChoice.rate
    patch.setattr(RankChoice, "rate", property(lambda choice: 100 * honest.fget(choice)))  # type: ignore[attr-defined]


def _least_by_window(patch: pytest.MonkeyPatch) -> None:
    """Not a mutant: the window that the fast cut must equal."""
    patch.setattr(DuckDBEngine, "least", lambda _, table, limit: Kept(window.least(table, limit)))


def _bound_of_the_untransformed(patch: pytest.MonkeyPatch) -> None:
    """A record is in a node of every level, but the noise is for one."""
    honest = Dyadic.apply

    def wrong(transform: Any, counts: Counts, cells: Any) -> Counts:
        made = honest(transform, counts, cells)
        return replace(made, l1_bound=counts.l1_bound, squared=None)

    patch.setattr(Dyadic, "apply", wrong)
    patch.setattr(Dyadic, "factor", lambda *_: 1)
    patch.setattr(Dyadic, "l2_factor", lambda *_: 1)


ONE, TWO = SAMPLES["one record, stored ids"], SAMPLES["two records, stored ids"]
MUTANTS = {
    "l−1 in the scale": Mutant(TWO, _bound_less_one),
    "noise on non-zero cells only": Mutant(ONE, _noise_on_nonzero_cells),
    "missing split": Mutant(ONE, _no_split),
    "scale used as a rate": Mutant(replace(ONE, tracer=ScaleAsRate), _nothing),
    "one shared noise": Mutant(replace(ONE, tracer=SharedNoise), _nothing),
    "one-sided noise": Mutant(replace(ONE, tracer=OneSided), _nothing),
    "keep l+1": Mutant(ONE, _sra(KeepOneMore)),
    "positional record ids": Mutant(SAMPLES["one record, no ids"], _sra(PositionalIds)),
    "grouping by a hashed user": Mutant(ONE, _sra(HashedUser), ((), (0,), (3,))),
    "hash of all rows": Mutant(SAMPLES["one record, no ids"], _sra(HashOfAllRows)),
    "distinct ids across users": Mutant(ONE, _sra(DistinctIds), ((), (0,), (1, 2))),
    "one quota for all users": Mutant(ONE, _sra(OneQuota)),
    "join with fan-out after bounding": Mutant(ONE, _sra(FanOut)),
    "rank in place of row_number": Mutant(
        Subject(SQUARE, {"method": ct.SRA(1)}, "repeated"), _rank, ((), (0, 0), (0, 1))
    ),
    "hand-picking by exact counts": Mutant(
        replace(STEERED["hpa, one record"], steering=((100, 100),)),
        _ranks_by_exact_counts,
        ((), (0,), (0, 3)),
    ),
    "pairs of all records": Mutant(
        PAIRS["pairs of two records"], _pairs_of_all_records, ((), (0, 1, 2))
    ),
    "rounding after summing": Mutant(
        Subject(TRIPLE, SCALED["dpsense, one"].options, room=25),
        _rounds_after_summing,
        ((), (0, 1, 2)),
    ),
    "one level's noise for a tree": Mutant(FORMED["dyadic"], _bound_of_the_untransformed),
    "a choice beyond its share": Mutant(
        CHOSEN["sra, rank"], _greedy_choice, ((), (0, 0), (0, 0, 1)), (1,)
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.inject(monkeypatch)
    subject = replace(mutant.subject)  # its request is made anew, by the mutant
    assert first_violation(subject, databases(mutant.family, 3), mutant.keys)


@pytest.mark.parametrize("name", MUTANTS)
def test_without_the_mutation_the_same_databases_pass(name: str) -> None:
    mutant = MUTANTS[name]
    subject = replace(mutant.subject, tracer=Tracer)
    findings = compare(subject, databases(mutant.family, 2), mutant.keys[:1])
    assert not findings.uncertified, findings.uncertified[:3]
    assert findings.pairs


def test_the_window_would_do_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    _least_by_window(monkeypatch)
    findings = compare(Subject(PLAIN, {"method": ct.SRA(2)}), databases(((), (0, 0, 1)), 2), (1,))
    assert not findings.uncertified
    assert findings.reached
