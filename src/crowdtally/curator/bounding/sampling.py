"""Rules that keep some of a user's records: SRA, HPA, a rule of one's own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import What
from crowdtally.core.numbers import is_whole, whole_number
from crowdtally.core.values import value
from crowdtally.curator.bounding.rules import LARGEST_LIMIT, RecordRule, SamplingRule, check_choice
from crowdtally.errors import UsageError
from crowdtally.format.manifest import OWN_RULE
from crowdtally.records.engine import CARRIED, Column, Engine, Kept, Rows, grouped, places
from crowdtally.records.matching import HASH_BITS

# Keeping each user's first records in an order that is a function of the record and the key.
#
# Every sampling rule is one such order. Privacy needs only that the order of a user's records is
# a function of (key, that user's own records, values already released); see ``sra.md``.

# Below this many bits of order, ties between different records would begin to show in the law.
_LEAST_BITS = 32
CHOICES_OF_SAMPLES = ("rank",)


def with_identity(rows: Rows, what: What) -> Rows:
    """(user, cell[, id]) → rows with an identity independent of other users and of row order."""
    if what == "users":
        return grouped(rows)  # (user, cell, rows): each cell once, with what a census needs
    if "id" in rows.columns:
        return rows
    # A user's records in the order of their cells: places 0 … n−1 identify them. Records of one
    # cell are interchangeable; those without a cell come last, so that they move no other record.
    return rows.mutate(place=places(rows.user, rows.cell))


def keyed_hash(engine: Engine, records: Rows, key: int) -> Column:
    if "id" in records.columns:
        return engine.hash(key, [records.user, records.id])
    if "place" in records.columns:
        return engine.hash(key, [records.user, records.place])
    return engine.hash(key, [records.user, records.cell])


def keep_first(
    engine: Engine, records: Rows, order: Column, *, cells: int, limit: int, leading: int = 0
) -> Kept:
    """(user, cell) of each user's ``limit`` records of the smallest ``order``.

    ``order`` is an expression on ``records`` of 63 bits, of which the ``leading`` high ones are not
    random (a rank); its low bits give way to the cell, which breaks ties. A record without a user
    or without a cell is not kept.
    """
    bits = (cells - 1).bit_length()
    if HASH_BITS - leading - bits < _LEAST_BITS:
        kept = engine.least(records.select("user", "cell", priority=order), limit)
        return replace(kept, rows=kept.rows.select("user", "cell"))
    # The cell rides in the low bits: one integer orders the records, breaks ties by their content
    # and gives the cell back. Without a cell it is null, which nothing keeps.
    low = 2**bits - 1
    priority = (order & (2**HASH_BITS - 1 - low)) | records.cell
    along = [name for name in CARRIED if name in records.columns]
    kept = engine.least(records.select("user", *along, priority=priority), limit)
    return replace(kept, rows=kept.rows.select("user", cell=kept.rows.priority & low))


# SRA: a uniform sample of at most l records of each user (Fan & Jin 2015, Algorithm 1).
#
# Contract: ``keep`` is a function B(key, T_u) of one user's own records as a multiset. It returns
# at most ``limit`` rows of each user. Over a uniform key the rows are a simple random sample
# without replacement of T_u (of its distinct cells where users are counted). The proof note is
# ``sra.md``.


class UniformSample(RecordRule):
    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell) with at most ``limit`` rows of each user."""
        records = with_identity(rows, what)  # (user, cell[, id | place])
        order = keyed_hash(engine, records, key)
        return keep_first(engine, records, order, cells=cells, limit=self.limit)


@value
@dataclass(frozen=True)
class SRA(UniformSample):
    """Keep a uniform sample of each user's records."""

    name: ClassVar[str] = "sra"

    choose: str | None = None
    """``rank`` chooses the bound privately, up to max_records, for a share of epsilon."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, self.choose, CHOICES_OF_SAMPLES)


@value
@dataclass(frozen=True)
class Declared(UniformSample):
    """The same with a public bound that is meant to cut nobody (the papers' LPA)."""

    name: ClassVar[str] = "declared"

    max_records: int = 10
    """The most records that a user has, as far as that is known; of more so many are kept."""


# HPA: each user's records of the most popular items (Fan & Jin 2015, Algorithm 2).
#
# Contract: given a popularity that was already released, ``keep`` is a function of (key, T_u,
# popularity); it returns at most ``limit`` rows of each user. Records of equal popularity are
# taken uniformly. The proof note is ``hpa.md``.


@value
@dataclass(frozen=True, eq=False)
class HPA(RecordRule):
    """Keep the l records of each user whose items rank highest in a released popularity."""

    name: ClassVar[str] = "hpa"

    popularity_records: int = 10
    """The most records of one user that count in the popularity by which items are ranked."""
    choose: str | None = None
    """``rank`` chooses the bound privately, up to max_records, for a share of epsilon."""
    popularity: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), kw_only=True
    )
    """The noisy count of every item of the public list, drawn once, already released."""

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.popularity_records, "popularity_records of HPA", 1, LARGEST_LIMIT)
        check_choice(self, self.choose, CHOICES_OF_SAMPLES)

    def steering(self) -> NDArray[np.int64]:
        """The rank of each item, 0 for the most popular: all that :meth:`keep` takes from it.

        Items of equal noisy count share a rank: the hash decides.
        """
        _, rank = np.unique(-self.popularity, return_inverse=True)
        return rank.astype(np.int64)

    def _kept_by(self) -> tuple[Any, ...]:
        """All that decides what it keeps: two popularities that rank items alike are one."""
        given = self.limit, self.popularity_records, self.choose, self.times
        return *given, self.steering().tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HPA) and self._kept_by() == other._kept_by()

    def __hash__(self) -> int:
        return hash(self._kept_by())

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        width = cells // len(self.popularity)
        ranks = self.steering()
        ranked = engine.load("popularity", {"item": np.arange(len(ranks)), "rank": ranks})
        records = with_identity(rows, what)
        records = records.mutate(item=(records.cell // width).cast("int64"))
        records = records.left_join(ranked, "item")
        # The rank leads; what is left of 63 bits is the hash, which breaks ties.
        # All ranks equal take one bit too: 2^63 would not fit.
        bits = max(int(ranks.max()).bit_length(), 1)
        order = records["rank"] * 2 ** (HASH_BITS - bits)
        order = order + (keyed_hash(engine, records, key) >> bits)
        return keep_first(engine, records, order, cells=cells, limit=self.limit, leading=bits)


@dataclass(frozen=True)
class OwnRule(RecordRule):
    """A rule that somebody else wrote, handed to ``ct.release(method=…)``.

    What it returns is cut to ``limit`` rows of each user by a keyed hash: returning too many costs
    accuracy, not privacy. Its author must prove that it looks at each user's own records alone, and
    the release says so.
    """

    rule: Any = field(default=None, hash=False, kw_only=True)

    @classmethod
    def handed(cls, given: object) -> OwnRule:
        name = getattr(given, "name", None)
        if not isinstance(given, SamplingRule) or not isinstance(name, str) or not name:
            typed = f"the text {given!r}" if isinstance(given, str) else f"a {type(given).__name__}"
            raise UsageError(
                "method is a value such as ct.SRA(max_records=10) or ct.Top(10), or a rule of your "
                "own, which has a name, a limit (records per user) and a method keep(engine, rows, "
                f"*, cells, key, what): received {typed}. See CONTRIBUTING.md."
            )
        if not is_whole(given.limit) or not 1 <= given.limit <= LARGEST_LIMIT:
            raise UsageError(
                f"the limit of the rule {name!r} must be a whole number between 1 and "
                f"{LARGEST_LIMIT}: received {given.limit!r}."
            )
        return cls(given.limit, rule=given)

    @property
    def name(self) -> str:
        return f"{self.rule.name}{OWN_RULE}"

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """What the rule keeps, cut to the limit; another pass counts the dropped rows."""
        kept = self.rule.keep(engine, rows, cells=cells, key=key, what=what)
        kept = kept.rows if isinstance(kept, Kept) else kept
        records = kept.select("user", "cell")
        again = SRA(self.limit).keep(engine, records, cells=cells, key=key, what=what)
        return Kept(again.rows)
