"""How records are spread over users, and what a bound would keep. Exact and private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from crowdtally.curator.bounding.dpsense_l2 import DPSenseL2
from crowdtally.curator.choosing.rows import RowSums
from crowdtally.curator.counting.rows import record_sums, scaled_sums
from crowdtally.curator.request.method import Method
from crowdtally.records.engine import Engine, cell_parts
from crowdtally.records.prepare import Prepared

_AROUND = ((1, 5), (1, 2), (1, 1), (2, 1), (5, 1))
"""The bounds that are shown beside the one that was asked for, as ratios to it."""


@dataclass(frozen=True)
class Bucket:
    """The users who have between so and so many records."""

    least: int
    """The fewest records of its users."""
    most: int
    """The most."""
    users: int
    """How many users."""


@dataclass(frozen=True)
class Keeping:
    """What one bound keeps."""

    limit: int
    """The bound."""
    kept: int
    """Records that are within it."""
    cut: int
    """Users who have more, and of whom some records are not counted."""


@dataclass(frozen=True)
class Spread:
    """How many users have how many records. Those that fall out are not among them."""

    users_with: dict[int, int]
    """For each number of records that somebody has, how many users have it, ascending."""
    counted: str
    """What is counted for each user, in words: records, or different cells or items."""
    bounds_sums: bool = True
    """Whether a bound is one on these sums; else it is on the Euclidean norm of a row."""

    @classmethod
    def of(cls, sums: RowSums, counted: str) -> Spread:
        """From the sums of the users' rows."""
        pairs = zip(sums.sums.tolist(), sums.users.tolist(), strict=True)
        return cls(dict(sorted(pairs)), counted)

    @property
    def users(self) -> int:
        """All users who have a record."""
        return sum(self.users_with.values())

    @property
    def records(self) -> int:
        """All their records."""
        return sum(number * users for number, users in self.users_with.items())

    def buckets(self) -> list[Bucket]:
        """1, 2, 3–5, 6–10, 11–20, 21–50, … up to the largest number that somebody has."""
        largest = max(self.users_with, default=0)
        found: list[Bucket] = []
        for least, most in _ranges():
            if least > largest:
                return found
            inside = (users for n, users in self.users_with.items() if least <= n <= most)
            found.append(Bucket(least, most, sum(inside)))
        raise AssertionError("ranges do not end")

    def keeping(self, limit: int) -> Keeping:
        """What a bound of ``limit`` keeps of all records.

        >>> Spread({1: 10, 4: 2}, "records").keeping(3)
        Keeping(limit=3, kept=16, cut=2)
        """
        kept = sum(min(number, limit) * users for number, users in self.users_with.items())
        cut = sum(users for number, users in self.users_with.items() if number > limit)
        return Keeping(limit, kept, cut)

    def around(self, limit: int) -> list[Keeping]:
        """What the bound keeps, and a few smaller and larger ones; nothing of another bound."""
        if not self.bounds_sums:
            return []
        limits = sorted({max(limit * above // below, 1) for above, below in _AROUND})
        return [self.keeping(one) for one in limits]

    def to_dict(self, limit: int | None) -> dict[str, Any]:
        """For JSON; without a limit nobody is bounded, and nothing cut."""
        return {
            "counted": self.counted,
            "users": self.users,
            "records": self.records,
            "histogram": [vars(bucket) for bucket in self.buckets()],
            "max_records": [] if limit is None else [vars(one) for one in self.around(limit)],
        }


def spread(engine: Engine, prepared: Prepared, method: Method) -> Spread:
    """What the rule of ``method`` would cut down, for all users who have a record."""
    cap = method.rule.facts().get("cap")
    if cap is not None:
        sums = scaled_sums(engine, prepared, cap, width=1).found
        found = Spread.of(sums, "cells" if cap == 1 else f"records, at most {cap} of a cell")
        return replace(found, bounds_sums=not isinstance(method.rule, DPSenseL2))
    if method.discover:  # a user keeps so many different cells, whatever is said to be counted
        items = len(cell_parts(prepared.rows)) == 1
        sums = record_sums(engine, prepared, "users").found
        return Spread.of(sums, "items" if items else "cells")
    sums = record_sums(engine, prepared, method.what).found
    return Spread.of(sums, "records" if method.what == "records" else "cells")


def _ranges() -> Iterator[tuple[int, int]]:
    yield from ((1, 1), (2, 2), (3, 5), (6, 10))
    for power in count(1):
        ten = 10**power
        yield from ((ten + 1, 2 * ten), (2 * ten + 1, 5 * ten), (5 * ten + 1, 10 * ten))
