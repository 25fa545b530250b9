"""What every baseline is, LPA and ALPA.

A baseline has a bound L that is taken to be public, exact counts, then noise. The unit is the user,
neighbours differ by all records of one user, and every baseline is pure ε-differentially private
for the L it is given. The papers give it the largest number of records that a user has: that is
read off the records, which no ε covers, and it favours the baselines. A comparison that does the
same has to say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.integers import Integers, exact_sum, integers
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.sampling import Declared
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.counting.count import count as count_question
from crowdtally.curator.method import method_of
from crowdtally.curator.questions import Question, SampledCounts
from crowdtally.curator.request.request import Request, Subject, make_request
from crowdtally.curator.request.table_specs import counted_cells
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.lab.rehearse import Everything, Keyed
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

Floats = NDArray[np.float64]
Estimates = dict[str, Floats]
"""For each table of the request an estimate of every cell, in the order of the domain."""


@dataclass(frozen=True)
class Bounded:
    """The tables of a subject (items, and items in context; or cells), each user cut to L records.

    A baseline is a subclass, with ``name``, ``parts``, ``count`` and ``estimate``::

        method = BASELINES.load("dft").of(request.subject, limit=2314)
        counted = method.count(Reading(engine, prepared), seed=1)
        estimates = method.release(counted, Epsilon.of(1), SystemDraws())

    ``parts`` lists everything that is spent, mechanism by mechanism; it adds up to ε exactly.
    ``count`` is exact and private: a function of the records and of the seed of the sampling keys.
    """

    request: Request
    """A release with the bounding ``declared``: the question is its real one."""
    is_uncut: bool = False
    """Whether nobody has more than the bound, as was read off the records: then all are kept,
    without a sample of each user, which takes minutes for 10^8 records."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> Self:
        """At most ``limit`` records of a user count; each row where it is one person."""
        if subject.domain is None or subject.method.pairs:
            raise UsageError(
                "the baselines count items, items in context or cells of public lists: leave out "
                f"{'--pairs' if subject.method.pairs else '--discover'}, or the baselines."
            )
        for (name, _), cells in counted_cells(subject.domain, pairs=False).items():
            if cells.size > Dense.largest:
                raise UsageError(
                    f"a baseline estimates every cell, at most {Dense.largest:,} of them: the "
                    f"table {name!r} has {cells.size:,}. Leave the baselines out of --methods."
                )
        options: dict[str, Any] = {"epsilon": 1, "sources": subject.sources}
        if subject.records.user is not None:
            options |= {"method": Declared(limit), "count": subject.method.what}
        return cls(make_request(subject.records, subject.domain, **options), is_uncut)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, with their L1 bounds, at ε = 1."""
        return self.request.bounded

    @property
    def distinct(self) -> bool:
        """Whether a user adds at most 1 to a cell."""
        return self.request.method.what == "users"

    def at(self, epsilon: Epsilon) -> tuple[Table, ...]:
        """The tables at ε, of which each gets an equal part."""
        return self.request.at(epsilon).bounded

    def question(self, epsilon: Epsilon) -> Question:
        question = next(method_of(self.request.at(epsilon)).ask())
        if self.is_uncut and isinstance(question, SampledCounts):
            rule = Everything(question.rule.limit, question.rule.times)
            return replace(question, rule=rule)
        return question

    def read(self, reading: Reading) -> Read[Any]:
        """(user, cell) → at most L records of each user → the counts of the question."""
        return count_question(self.question(self.request.epsilon), reading)

    def counts(self, reading: Reading) -> dict[str, Counts]:
        """The same by the names of the tables."""
        names = [table.name for table in self.tables]
        return dict(zip(names, self.read(reading).found, strict=False))

    def release(self, counted: Mapping[str, Any], epsilon: Epsilon, draws: Draws) -> Estimates:
        """Draw all noise anew: each table by itself, for its own part of ε."""
        return {
            table.name: self.estimate(counted[table.name], table.epsilon, draws)
            for table in self.at(epsilon)
        }

    def estimate(self, counted: Any, epsilon: Epsilon, draws: Draws) -> Floats:
        """Release one table for this ε."""
        raise NotImplementedError


def keyed(reading: Reading, seed: int) -> Keyed:
    """The same records with sampling keys that follow from a seed."""
    return Keyed(reading.engine, reading.prepared, seed)


def noisy(values: Integers, l1_bound: int, epsilon: Epsilon, draws: Draws) -> Integers:
    """Integers with independent discrete Laplace noise of scale ``l1_bound``/ε.

    Contract: if one user changes ``values`` by at most ``l1_bound`` in L1, the result is
    ε-differentially private for users.
    """
    return exact_sum(values, DiscreteLaplace(l1_bound / epsilon.value).draw(draws, len(values)))


def laplace_part(name: str, epsilon: Epsilon, bound: int, *, chosen: bool = False) -> Part:
    """The part of a charge for :func:`noisy`; ``chosen`` where the bound is at most this."""
    key = "l1_bound_at_most" if chosen else "l1_bound"
    return Part(name, epsilon, DiscreteLaplace.kind, {key: bound})


class LPA(Bounded):
    """The Laplace mechanism for the largest user (Dwork et al. 2006; the papers' first baseline).

    Contract. Relation: all records of one user added or removed. Each user is cut to L records (by
    a uniform sample; nobody is cut where L is the largest number of records). A table of these
    counts moves by at most L in L1. Output law: for each cell, count + X with Pr[X = k] ∝
    e^(−|k|·ε_t/L), ε_t the table's part of ε; independent between cells and tables. Public: the
    lists, L, ε. It is a release with the bounding ``declared``, asked by the same question. The
    proof note is ``lpa.md``.
    """

    name: ClassVar[str] = "lpa"

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        return self.question(epsilon).parts()

    def count(self, reading: Reading, seed: int) -> Read[Any]:
        return self.read(keyed(reading, seed))

    def release(self, counted: Any, epsilon: Epsilon, draws: Draws) -> Estimates:
        """The noisy counts as they are, negative ones too."""
        answer = self.question(epsilon).draw(counted.found, draws)
        return {table.name: table.values.astype(np.float64) for table in answer.tables}


class ALPA(Bounded):
    """The noisy total, spread evenly over all cells (Day & Li 2015, section 3.2).

    Contract. Relation: all records of one user added or removed. Each user is cut to L records, so
    the total of a table moves by at most L. Output law: total + X with Pr[X = k] ∝ e^(−|k|·ε_t/L),
    once for each table, ε_t its part of ε; divided by the public number of cells. Public: the
    lists, L, ε. The proof note is ``alpa.md``.
    """

    name: ClassVar[str] = "alpa"

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        tables = self.at(epsilon)
        return [laplace_part(f"{t.name} total", t.epsilon, t.bound) for t in tables]

    def count(self, reading: Reading, seed: int) -> dict[str, Counts]:
        return self.counts(keyed(reading, seed))

    def estimate(self, counted: Counts, epsilon: Epsilon, draws: Draws) -> Floats:
        (total,) = noisy(total_of(counted), counted.l1_bound, epsilon, draws)
        return np.full(counted.size, float(total) / counted.size)


def total_of(counts: Counts) -> NDArray[np.int64]:
    """The total, as a table of one cell."""
    return integers([int(counts.addable().sum())])
