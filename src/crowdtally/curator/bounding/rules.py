"""What every bounding rule answers, and the rules that cut nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from crowdtally.core.counts import What
from crowdtally.core.domain import columns_of
from crowdtally.core.numbers import whole_number
from crowdtally.core.records import Records
from crowdtally.core.values import names, one_of, value
from crowdtally.laws.interval import MOST_CELLS

if TYPE_CHECKING:
    from crowdtally.records.engine import Engine, Kept, Rows


# A rule is a function B(key, T_u, released values) of the multiset of one user's own records. It
# may not see other users, the order of rows or anything read off the records as a whole.

LARGEST_LIMIT = 2**31
LARGEST_PAIR_LIMIT = 100
"""Records per user beyond which pairs are refused: one user could add 4,950 of them."""


class Rule(Protocol):
    keeps_records: ClassVar[bool]
    """Whether it keeps some of a user's records, the same for all tables."""

    @property
    def name(self) -> str:
        """What ``release.json`` calls it."""

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
    @property
    def limit(self) -> int:
        """The most rows of one user that are kept."""

    def keep(self, engine: Engine, rows: Rows, *, cells: int, key: int, what: What) -> Kept:
        """(user, cell[, id]) → (user, cell), bounded; a function of each user's own records.

        Rows without a user or a cell are among those given, and are never kept. With a quantity q
        each cell is cell·C + q − 1, and ``cells`` is C times as many.
        """


@dataclass(frozen=True)
class RecordRule:
    """Base of the rules that keep at most l of a user's records."""

    keeps_records: ClassVar[bool] = True
    unit: ClassVar[Fraction] = Fraction(1)

    max_records: int = 10
    """The most records of one user that are kept; with a choice, the largest candidate."""
    times: int = field(default=1, kw_only=True)
    """C: the most that one kept record counts; 1 without a quantity. Public."""

    def __post_init__(self) -> None:
        check_limit(self, self.max_records)

    @property
    def limit(self) -> int:
        return self.max_records

    @property
    def l1_bound(self) -> int:
        """At most l kept records, each of which counts at most C times: see ``quantity.md``."""
        return self.limit * self.times

    def l2_squared(self, what: What) -> int:
        """A user counts once in each of at most l cells; but l records may be in one cell."""
        return self.limit if what == "users" else self.l1_bound**2

    def facts(self) -> dict[str, Any]:
        return {}


def check_limit(rule: object, limit: object) -> None:
    whole_number(limit, f"max_records of {type(rule).__name__}", 1, LARGEST_LIMIT)


def check_choice(rule: object, choose: object, suited: Sequence[str]) -> None:
    if choose is not None:
        one_of(choose, suited, f"choose of {type(rule).__name__}")


# What one user can change in a table of pairs of items, of whom at most l records are kept.


def pairs_l1(limit: int) -> int:
    """Unordered pairs of at most l kept records, never a record with itself."""
    return limit * (limit - 1) // 2


def pairs_l2_squared(limit: int, what: What) -> int:
    """The L2 bound, squared.

    Of distinct items each pair is one cell, by 1. Where items repeat, n_i records of item i make
    n_i·n_j pairs of one cell, and most in L2 are those of two items with half of the records each.

    >>> pairs_l2_squared(10, "users"), pairs_l2_squared(10, "records")
    (45, 625)
    """
    return pairs_l1(limit) if what == "users" else max((limit * limit // 4) ** 2, 1)


# Rows without an id: nothing is cut, and how many of them are one person's is a public statement.
#
# ``--user-per-row``: one. ``--bounded-to L``: at most L. The proof note is ``row.md``.


@dataclass(frozen=True)
class EveryRow:
    """Contract: one person is one row, or one of those that a row's weight counts: L1 = 1."""

    name: ClassVar[str] = "row"
    keeps_records: ClassVar[bool] = False
    unit: ClassVar[Fraction] = Fraction(1)

    limit: int = 1

    @classmethod
    def of(cls, records: Records) -> EveryRow:
        if records.bounded_to is None:
            return cls()
        return Stated(records.bounded_to, records.cells_once, columns_of(records))

    @property
    def l1_bound(self) -> int:
        return self.limit

    def l2_squared(self, what: What) -> int:
        """All of them may be in one cell."""
        return self.limit**2

    def squared_in(self, columns: Collection[str]) -> int:
        return self.limit**2

    def facts(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Stated(EveryRow):
    """Contract: no person has more than L rows. Whoever publishes says so; nothing checks it."""

    name: ClassVar[str] = "stated"

    once: bool = False
    """Whether no two rows of a person agree in all of :attr:`columns`: this too is stated."""
    columns: tuple[str, ...] = ()

    def squared_in(self, columns: Collection[str]) -> int:
        """L where each of L rows is in a cell of its own; else L².

        The statement is about whole cells: rows of one item in several contexts share one of its
        cells.
        """
        return self.limit if self.once and set(columns) >= set(self.columns) else self.limit**2


@dataclass(frozen=True)
class Everyone:
    """Each user counts once in each of her cells: for interval noise.

    Contract: one user changes every cell by 0 or 1, all the same way. The proof is in
    ``distinct.md``.
    """

    name: ClassVar[str] = "distinct"
    keeps_records: ClassVar[bool] = False
    limit: ClassVar[int] = 1
    l1_bound: ClassVar[int] = 1
    """The most that one user changes *each* cell by: of their sum there is no bound."""
    unit: ClassVar[Fraction] = Fraction(1)

    def l2_squared(self, what: What) -> int:
        raise TypeError("where nobody is bounded there is no L2 bound")

    def facts(self) -> dict[str, Any]:
        return {}


# The top items are selected by their numbers of distinct users: nobody is bounded.
#
# That is private because a user changes every number by 0 or 1, all the same way: for the
# selection see ``choices/top_items.md``, for the noise of the numbers ``noise/interval.md``.


@value
@dataclass(frozen=True)
class Top(Everyone):
    """Release only the K items that most users have, overall or in each context.

    Contract: adding one user changes every cell by 0 or 1, and lowers none.
    """

    k: int
    """How many items, in each context where there are contexts."""
    context_per_user: str | Sequence[str] = ()
    """The contexts that are a property of the user, such as gender: all of them, or none."""

    def __post_init__(self) -> None:
        whole_number(self.k, "k of Top", 1, MOST_CELLS)
        found = names(self.context_per_user, "context_per_user of Top", least=0)
        object.__setattr__(self, "context_per_user", found)

    @property
    def per_user(self) -> tuple[str, ...]:
        return tuple(self.context_per_user)

    def facts(self) -> dict[str, Any]:
        return {"context_per_user": list(self.per_user)} if self.per_user else {}


@value
@dataclass(frozen=True)
class Discover:
    """Release the cells of columns without a public list that enough users have."""

    columns: str | Sequence[str]
    """The columns without a public list: the item, contexts or attributes."""
    max_records: int = 10
    """The most different cells of one user that count."""

    def __post_init__(self) -> None:
        check_limit(self, self.max_records)
        object.__setattr__(self, "columns", names(self.columns, "columns of Discover"))
