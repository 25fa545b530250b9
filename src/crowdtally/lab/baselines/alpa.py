"""ALPA: the noisy total, spread evenly over all cells (Day & Li 2015, section 3.2).

Contract. Relation: all records of one user added or removed. Each user is cut to L records, so the
total of a table moves by at most L. Output law: total + X with Pr[X = k] ∝ e^(−|k|·ε_t/L), once
for each table, ε_t its part of ε; divided by the public number of cells. Public: the lists, L, ε.
The proof note is ``alpa.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Counts
from crowdtally.core.numbers import integers
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Reading
from crowdtally.curator.request.request import Subject
from crowdtally.lab.baselines.baseline import (
    Bounded,
    Estimates,
    each_table,
    keyed,
    laplace_part,
    noisy,
)
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class ALPA:
    """Every cell has the mean of all."""

    name: ClassVar[str] = "alpa"

    bounded: Bounded
    """The tables, each user cut to L records."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> ALPA:
        """At most ``limit`` records of a user count; ``is_uncut`` where nobody has more."""
        return cls(Bounded.of(subject, limit, is_uncut=is_uncut))

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """The total of each table."""
        tables = self.bounded.at(epsilon)
        return [laplace_part(f"{t.name} total", t.epsilon, t.bound) for t in tables]

    def count(self, reading: Reading, seed: int) -> dict[str, Counts]:
        """The counts of every table."""
        return self.bounded.count(keyed(reading, seed))

    def release(self, counted: Mapping[str, Counts], epsilon: Epsilon, draws: Draws) -> Estimates:
        """The same estimate for all cells of a table."""

        def spread(counts: Counts, share: Epsilon) -> NDArray[np.float64]:
            (total,) = noisy(total_of(counts), counts.l1_bound, share, draws)
            return np.full(counts.size, float(total) / counts.size)

        return each_table(self.bounded.at(epsilon), counted, spread)


def total_of(counts: Counts) -> NDArray[np.int64]:
    """The total, as a table of one cell."""
    return integers([int(counts.addable().sum())])
