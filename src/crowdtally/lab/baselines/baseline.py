"""What every baseline is: a bound L that is taken to be public, exact counts, then noise.

The unit is the user, neighbours differ by all records of one user, and every baseline is pure
ε-differentially private for the L it is given. The papers give it the largest number of records
that a user has: that is read off the records, which no ε covers, and it favours the baselines. A
comparison that does the same has to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.numbers import Integers, exact_sum
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Reading, Released, Step
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.method import steps_of
from crowdtally.curator.methods.tables import SampledTables
from crowdtally.curator.request.request import Request, Subject, make_request
from crowdtally.curator.request.table_specs import counted_cells
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.lab.rehearsing import Keyed
from crowdtally.lab.truth import Everything
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws

Estimates = dict[str, NDArray[np.float64]]
"""For each table of the request, what it says about every cell, in the order of the domain."""


class Baseline(Protocol):
    """A baseline on the tables of a subject: items, and items in context; or cells.

    Each table gets an equal part of ε, and is measured by itself::

        method = BASELINES.load("dft").of(request.subject, limit=2314)
        counted = method.count(Reading(engine, prepared), seed=1)
        estimates = method.release(counted, Epsilon.of(1), SystemDraws())
    """

    name: ClassVar[str]
    """What a person types."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> Self:
        """For these records and lists; at most ``limit`` records of a user count.

        ``is_uncut`` where nobody is known to have more: then no sample is drawn.
        """

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """Everything that is spent, mechanism by mechanism; it adds up to ε exactly."""

    def count(self, reading: Reading, seed: int) -> Any:
        """Exact and private; a function of the records and of the seed of the sampling keys."""

    def release(self, counted: Any, epsilon: Epsilon, draws: Draws) -> Estimates:
        """Draw all noise, anew each time."""


@dataclass(frozen=True)
class Bounded:
    """The tables of a subject where each user is cut to a public number of records."""

    request: Request
    """A release with the bounding ``declared``: the step that counts is its real one."""
    is_uncut: bool = False
    """Whether nobody has more than the bound, as was read off the records: then all are kept,
    without a sample of each user, which takes minutes for 10^8 records."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> Bounded:
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
        options: dict[str, Any] = {}
        if subject.records.user is not None:
            what = subject.method.what
            options = {"bounding": "declared", "max_records": limit, "count": what}
        return cls(
            make_request(
                subject.records, subject.domain, epsilon=1, sources=subject.sources, **options
            ),
            is_uncut,
        )

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

    def step(self, epsilon: Epsilon) -> Step:
        """The one step of the release."""
        (step,) = steps_of(self.request.at(epsilon))
        return step

    def read(self, reading: Reading) -> Read[Any]:
        """(user, cell) → at most L records of each user → what the step counts."""
        step = self.step(self.request.epsilon)
        if self.is_uncut and isinstance(step, SampledTables):
            step = replace(step, rule=Everything(step.rule.limit, step.rule.times))
        return step.count(reading, Released())

    def count(self, reading: Reading) -> dict[str, Counts]:
        """The counts of each table."""
        return self.counts_in(self.read(reading))

    def counts_in(self, read: Read[Any]) -> dict[str, Counts]:
        """What the step counted, by the names of the tables."""
        found = read.found
        # A step that bounds records says with which rule; one that counts rows has none.
        counts = found[1] if self.request.records.user is not None else found
        names = [table.name for table in self.tables]
        return dict(zip(names, counts, strict=False))


def keyed(reading: Reading, seed: int) -> Keyed:
    """The same records with sampling keys that follow from a seed."""
    return Keyed(reading.engine, reading.prepared, seed)


def noisy(values: Integers, l1_bound: int, epsilon: Epsilon, draws: Draws) -> Integers:
    """Integers with independent discrete Laplace noise of scale ``l1_bound``/ε.

    Contract: if one user changes ``values`` by at most ``l1_bound`` in L1, the result is
    ε-differentially private for users.
    """
    law = DiscreteLaplace(l1_bound / epsilon.value)
    return exact_sum(values, law.draw(draws, len(values)))


def laplace_part(name: str, epsilon: Epsilon, bound: int, *, chosen: bool = False) -> Part:
    """What is said of a draw of :func:`noisy`; ``chosen`` where the bound is at most this."""
    key = "l1_bound_at_most" if chosen else "l1_bound"
    return Part(name, epsilon, DiscreteLaplace.kind, {key: bound})


def each_table(
    tables: Sequence[Table],
    counted: Mapping[str, Any],
    release: Callable[[Any, Epsilon], NDArray[np.float64]],
) -> Estimates:
    """Every table released by itself, for its own part of ε."""
    return {table.name: release(counted[table.name], table.epsilon) for table in tables}
