"""Tempered: one dial from a uniform sample (SRA) to hand-picking (HPA).

A user's records are taken in the order of γ·ln(max(popularity, floor)) + Gumbel(keyed hash),
largest first: a sample without replacement with odds popularity^γ (the exponential race).

Contract: given a released popularity, ``keep`` is a function of (key, T_u, popularity); it returns
at most ``limit`` rows of each user. Floats order a user's own records and decide nothing else: the
bound holds for every order that is a function of the record (``sra.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.hpa import nothing_released
from crowdtally.curator.bounding.ordering import keep_first, keyed_hash, told_apart
from crowdtally.curator.bounding.rule import RecordRule, given_limit
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.hashing import HASH_BITS
from crowdtally.curator.engine.relations import Column, Kept, Rows, smaller
from crowdtally.errors import UsageError
from crowdtally.values.counts import What
from crowdtally.values.rational import exact, show

FLOOR = 1
"""Popularity below this counts as this: the logarithm of a noisy count needs a public floor."""
_GUMBEL_LEAST, _GUMBEL_MOST = -4.0, 45.0  # −ln(−ln u) for u = 2^−64 … 1 − 2^−64 lies between


@dataclass(frozen=True, eq=False)
class Tempered(RecordRule):
    """Keep l of each user's records, with odds popularity^γ."""

    name: ClassVar[str] = "tempered"
    takes: ClassVar[frozenset[str]] = RecordRule.takes | {"popularity_records", "temper"}

    popularity: NDArray[np.int64] = field(default_factory=nothing_released)
    """The noisy count of every item of the public list, drawn once, already released."""
    gamma: Fraction = Fraction(1, 2)
    """γ ≥ 0: 0 is SRA; the larger, the nearer to HPA."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Tempered:
        """From ``max_records`` and ``temper``; the popularity follows once it is released."""
        given = options["temper"]
        gamma = cls.gamma if given is None else exact(given, "--temper")
        if not 0 <= gamma <= 100:
            raise UsageError(f"--temper must be between 0 (SRA) and 100 (HPA): received {given!r}.")
        return cls(given_limit(options), gamma=gamma)

    def facts(self) -> dict[str, Any]:
        """γ."""
        return {"temper": show(self.gamma)}

    def steering(self) -> NDArray[np.float64]:
        """All that the popularity says to :meth:`keep`: γ·ln(max(popularity, floor)) of items."""
        logarithms = np.log(np.maximum(self.popularity, FLOOR).astype(np.float64))
        return float(self.gamma) * logarithms

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell) with at most ``limit`` rows of each user."""
        scores = self.steering()
        scored = engine.load("popularity", {"item": np.arange(len(scores)), "score": scores})
        records = told_apart(rows, what)
        item = (records.cell // (cells // len(scores))).cast("int64")
        records = records.mutate(item=item).left_join(scored, "item")
        order = self._order(keyed_hash(engine, records, key), records["score"], scores)
        return keep_first(engine, records, order, cells=cells, limit=self.limit)

    def _order(self, hashed: Column, score: Column, scores: NDArray[np.float64]) -> Column:
        """The total as a 63-bit integer, the best record smallest."""
        uniform = (hashed.cast("float64") + 0.5) / 2.0**HASH_BITS
        # Near 1 a double cannot tell uniforms apart; the least step keeps the logarithm finite.
        uniform = smaller(uniform, 1 - 2.0**-53)
        total = score - (-uniform.ln()).ln()
        most, least = float(scores.max()) + _GUMBEL_MOST, float(scores.min()) + _GUMBEL_LEAST
        share = (most - total) / (most - least)  # within [0, 1)
        return (share * (2.0**HASH_BITS - 2.0**11)).floor().cast("int64")
