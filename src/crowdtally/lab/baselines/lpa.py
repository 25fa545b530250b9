"""LPA: the Laplace mechanism for the largest user (Dwork et al. 2006; the papers' first baseline).

Contract. Relation: all records of one user added or removed. Each user is cut to L records (by a
uniform sample; nobody is cut where L is the largest number of records). A table of these counts
moves by at most L in L1. Output law: for each cell, count + X with Pr[X = k] ∝ e^(−|k|·ε_t/L),
ε_t the table's part of ε; independent between cells and tables. Public: the lists, L, ε. It is a
release with the bounding ``declared``, made by the same steps. The proof note is ``lpa.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdtally.core.privacy import Epsilon
from crowdtally.curator.converse import Reading, Released
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.request.request import Subject
from crowdtally.lab.baselines.baseline import Bounded, Estimates, keyed
from crowdtally.ledger import Part
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class LPA:
    """Noise of scale L/ε on every count."""

    name: ClassVar[str] = "lpa"

    bounded: Bounded
    """The tables, each user cut to L records."""

    @classmethod
    def of(cls, subject: Subject, limit: int, *, is_uncut: bool = False) -> LPA:
        """At most ``limit`` records of a user count; ``is_uncut`` where nobody has more."""
        return cls(Bounded.of(subject, limit, is_uncut=is_uncut))

    def parts(self, epsilon: Epsilon) -> Sequence[Part]:
        """Each table."""
        return self.bounded.step(epsilon).parts()

    def count(self, reading: Reading, seed: int) -> Read[Any]:
        """The counts of every table."""
        return self.bounded.read(keyed(reading, seed))

    def release(self, counted: Read[Any], epsilon: Epsilon, draws: Draws) -> Estimates:
        """The noisy counts as they are, negative ones too."""
        released = self.bounded.step(epsilon).release(counted, Released(), draws)
        return {table.name: table.values.astype(np.float64) for table in released.tables}
