"""What every bounding rule answers. One of your own needs only a few of these: see ``own.py``.

A rule is a function B(key, T_u, released values) of the multiset of one user's own records. It may
not see other users, the order of rows or anything read off the records as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from crowdtally.core.counts import What
from crowdtally.core.numbers import whole_number

if TYPE_CHECKING:  # the command line lists rules without importing an engine
    from crowdtally.records.engine import Engine, Kept, Rows

LARGEST_LIMIT = 2**31
LARGEST_PAIR_LIMIT = 100
"""Records per user beyond which pairs are refused: one user could add 4,950 of them."""


class Rule(Protocol):
    """A rule with its public parameters."""

    takes: ClassVar[frozenset[str]]
    """The options of a release that are for it."""
    choices: ClassVar[tuple[str, ...]]
    """The private choices of its bound that suit it."""
    keeps_records: ClassVar[bool]
    """Whether it keeps some of a user's records, the same for all tables."""

    @property
    def name(self) -> str:
        """What a person types."""

    @property
    def limit(self) -> int:
        """The bound (l, θ or M); where it is chosen privately, the largest candidate."""

    @property
    def l1_bound(self) -> int:
        """What one user can change in a table of cells, in L1, in units."""

    def l2_squared(self, what: What) -> int:
        """The square of what one user can change in a table of cells, in L2, in units squared."""

    @property
    def unit(self) -> Fraction:
        """What one unit means as a count."""

    def facts(self) -> dict[str, Any]:
        """What ``release.json`` says about its parameters."""


@runtime_checkable
class SamplingRule(Protocol):
    """A rule that keeps records."""

    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records.

        Rows without a user or without a cell are among those given, and are never kept. Where
        records have a quantity, each cell is that of a cell and a quantity: cell·C + q − 1, and
        ``cells`` is C times as many.
        """


@dataclass(frozen=True)
class RecordRule:
    """What rules that keep at most l of a user's records have in common."""

    takes: ClassVar[frozenset[str]] = frozenset({"max_records", "choose"})
    choices: ClassVar[tuple[str, ...]] = ("rank",)
    keeps_records: ClassVar[bool] = True

    limit: int
    """l: the most records that one user may contribute. Public, or privately chosen."""
    times: int = field(default=1, kw_only=True)
    """C: the most that one kept record counts; 1 without a quantity. Public."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """From ``max_records``."""
        return cls(given_limit(options))

    @property
    def l1_bound(self) -> int:
        """At most l kept records, each of which counts at most C times: see ``quantity.md``."""
        return self.limit * self.times

    def l2_squared(self, what: What) -> int:
        """A user counts once in each of at most l cells; but l records may be in one cell."""
        return self.limit if what == "users" else self.l1_bound**2

    @property
    def unit(self) -> Fraction:
        """Records, or distinct users, are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """The bound alone, which is said elsewhere."""
        return {}


def given_limit(options: Mapping[str, Any]) -> int:
    """``max_records``, checked."""
    most = LARGEST_PAIR_LIMIT if options["pairs"] else LARGEST_LIMIT
    return whole_number(options["max_records"], "--max-records", 1, most)
