"""DPSense, DPSense-S, L2, Auto."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import isqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from crowdtally.core.counts import What
from crowdtally.core.domain import Features
from crowdtally.core.numbers import whole_number
from crowdtally.curator.bounding.rules import given_limit
from crowdtally.curator.choices.dpsense_s import given_scalings
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.records.engine import HELD_AT, Engine, Rows, countable, either, held_sum, smaller

# DPSense: every row counts, scaled down where it is too long (Day & Li 2015).
#
# A user's row is the cells she has, each once (or up to a public cap; with a quantity, what her
# records of the cell count together, up to the cap). Where its sum RC exceeds θ the row is scaled
# by θ/RC, on an integer grid of g units per count: a cell with x ≤ cap weighs g·x if RC ≤ θ, else
# ⌊g·θ·x / RC⌋, by integer division, before anything is summed.
#
# Contract: one user changes the table by at most g·θ units in L1, and with a cap of 1 by at most
# g·√θ in L2, for every database. The proof note is ``dpsense.md``.

GRID = 2**20
"""g: units per count; rounding loses less than 2^−20 per user and cell."""
_LARGEST_CAP = 2**10


@dataclass(frozen=True)
class DPSense:
    """Scale each user's row to a sum of at most θ."""

    name: ClassVar[str] = "dpsense"
    takes: ClassVar[frozenset[str]] = frozenset({"max_records", "choose", "cap", "norm"})
    choices: ClassVar[tuple[str, ...]] = ("rank", "dpsense")
    keeps_records: ClassVar[bool] = False

    theta: int
    """θ: the largest row sum that is left alone. Public, or privately chosen."""
    cap: int = 1
    """The most that one user counts in one cell; 1 counts distinct users."""
    scaling: Fraction = Fraction(1)
    """s: what DPSense-S multiplies the published counts by. Public, or privately chosen."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        return cls(given_limit(options), _given_cap(options))

    @property
    def limit(self) -> int:
        return self.theta

    @property
    def l1_bound(self) -> int:
        return GRID * self.theta

    def l2_squared(self, what: What) -> int:
        """At most g²θ where a cell has the same weight as every other of its row, else g²θ².

        A row of RC cells ≤ θ has RC·g² ≤ g²θ; a longer one has RC·⌊gθ/RC⌋² ≤ g²θ²/RC < g²θ.
        """
        return GRID**2 * self.theta if self.cap == 1 else self.l1_bound**2

    @property
    def unit(self) -> Fraction:
        """A unit is 1/g of a count, times s."""
        return self.scaling / GRID

    def facts(self) -> dict[str, Any]:
        """The cap; bound and scaling are said elsewhere."""
        return {"cap": self.cap}

    def weights(self, engine: Engine, same: Rows) -> Rows:
        """(user, cell, rows) of equal records put together → (cell, weight) in units."""
        return weighted(with_row_sums(same, self.cap), self.theta)


@dataclass(frozen=True)
class DPSenseS(DPSense):
    """The same with counts published times s, which makes up for what scaling down lost."""

    name: ClassVar[str] = "dpsense-s"
    takes: ClassVar[frozenset[str]] = frozenset({"max_records", "choose", "cap", "scalings"})
    choices: ClassVar[tuple[str, ...]] = ("dpsense",)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """With the one scaling, or the largest to choose from: noise is no larger than its."""
        scalings = given_scalings(options["scalings"], one=options["choose"] is None)
        return cls(given_limit(options), _given_cap(options), scalings[-1])


def _given_cap(options: Mapping[str, Any]) -> int:
    cap = options["cap"]
    return 1 if cap is None else whole_number(cap, "--cap", 1, _LARGEST_CAP)


def capped(same: Rows, cap: int) -> Rows:
    """(user, cell, rows[, quantity]) → the same with ``amount``, the count, at most ``cap``."""
    count = same.quantity if "quantity" in same.columns else same.rows
    return same.mutate(amount=smaller(count, cap))


def with_row_sums(same: Rows, cap: int) -> Rows:
    """(user, cell, rows) → (user, cell, amount, row_sum): each cell once, nobody's none."""
    amounts = capped(countable(same), cap).select("user", "cell", "amount")
    sums = amounts.group_by("user").agg(row_sum=amounts.amount.sum().cast("int64"))
    return amounts.inner_join(sums, "user")


def weighted(amounts: Rows, theta: int) -> Rows:
    """(cell, amount, row_sum) → (cell, weight) in integer units."""
    scaled = (amounts.amount * (GRID * theta) // amounts.row_sum).cast("int64")
    whole = (amounts.amount * GRID).cast("int64")
    weight = either(amounts.row_sum <= theta, whole, scaled)
    return amounts.select("cell", weight=weight)


# Rows scaled down to a Euclidean norm of θ, for Gaussian noise.
#
# A row whose sum of squares Q exceeds θ² is scaled by θ/√Q, on an integer grid of g units per
# count: each count of it weighs w = ⌊√(g²θ²/Q)⌋, in any other row g. So a user who has many cells
# keeps far more of each than a row scaled to a *sum* of θ does, while Gaussian noise is no
# larger.
#
# Contract: one user changes the sums of weights by at most g·θ in L2, for every database, where Q
# is the sum of squares of exactly the row that is scaled. Nothing may be added up over her cells
# afterwards, neither by a transform nor by item or context: a sum over c of them moves by up to
# √c times as much. The proof note is ``l2_rows.md``.

_NUMBERS = count()
"""What an engine holds keeps its name: no later table may take its place."""


def l2_weighted(engine: Engine, amounts: Rows, theta: int) -> Rows:
    """Returns (cell, weight) in units of 1/g: Σ weight² of each user is at most g²θ².

    Args:
        engine: what runs it.
        amounts: (user, cell, amount): each cell of a user once, amounts of 0 … 2^26.
        theta: θ, the largest norm that is left alone.
    """
    number = next(_NUMBERS)
    squares = amounts.group_by("user").agg(squares=held_sum(amounts.amount * amounts.amount))
    squares = engine.materialise(squares, f"squares_{number}")
    found = engine.arrays(squares.select("squares").distinct())["squares"]
    weights = np.array([weight_of(one, theta) for one in found.tolist()], dtype=np.int64)
    loaded = engine.load(f"weights_{number}", {"squares": found, "each": weights})
    rows = amounts.inner_join(squares.inner_join(loaded, "squares"), "user")
    return rows.select("cell", weight=(rows.amount * rows.each).cast("int64"))


def weight_of(squares: int, theta: int) -> int:
    """What one count weighs in a row with this sum of squares, in units.

    A sum that is held, and may be larger in truth, leaves nothing of its row.

    >>> weight_of(9, 3) == GRID, weight_of(4, 1) == GRID // 2, weight_of(2**61, 2**31)
    (True, True, 0)
    """
    if squares >= HELD_AT:
        return 0
    most = (GRID * theta) ** 2
    return isqrt(most // squares) if squares > theta**2 else GRID


# DPSense with a Euclidean norm: each user's row scaled to a norm of θ, for Gaussian noise.
#
# Contract: one user changes a table by at most g·θ units in L2, for every database, where the row
# is that of the very table. In L1 the only bound is g·θ·2^31, which Laplace noise would have to
# hide: so the rule is for Gaussian noise alone. The proof note is ``l2_rows.md``.

_ROOT_OF_CELLS = 2**31
"""A row whose squares are not held has fewer than 2^61 cells: √2^61 is less than this."""


@dataclass(frozen=True)
class DPSenseL2(DPSense):
    """Scale each user's row to a Euclidean norm of at most θ."""

    choices: ClassVar[tuple[str, ...]] = ("histogram",)

    @property
    def l1_bound(self) -> int:
        """What one user can change in L1: her norm times the root of the number of her cells."""
        return GRID * self.theta * _ROOT_OF_CELLS

    def l2_squared(self, what: What) -> int:
        """g²θ², whatever is counted."""
        return (GRID * self.theta) ** 2

    def facts(self) -> dict[str, Any]:
        return {"cap": self.cap, "norm": "l2"}

    def weights(self, engine: Engine, same: Rows) -> Rows:
        amounts = capped(countable(same), self.cap).select("user", "cell", "amount")
        return l2_weighted(engine, amounts, self.theta)


# ``auto``: the bound follows from what earlier, charged steps released.
#
# Nobody gives a bound. The release first measures how long the users' rows are, then scales the
# rows to the θ of least expected error, and spends the rest of ε where that pays
# (``steps/auto``). Every row is scaled as DPSense scales it, so each table's bound is exact for
# every database.

Aim = Literal["counts", "top", "recommend"]
AIMS: tuple[Aim, ...] = ("counts", "top", "recommend")
LARGEST_THETA = 2**13
"""θ beyond which no row sum is let: with the cap on records, integers stay within 64 bits."""


@dataclass(frozen=True)
class Auto:
    """What ``auto`` is told; everything else it measures, and pays for."""

    name: ClassVar[str] = "auto"
    takes: ClassVar[frozenset[str]] = frozenset({"for_", "context_per_user", "features", "repeats"})
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = False
    limit: ClassVar[int] = LARGEST_THETA
    """The largest θ that may be chosen."""
    l1_bound: ClassVar[int] = GRID * LARGEST_THETA
    """The most that one user may change in the items' table, in units."""
    unit: ClassVar[Fraction] = Fraction(1, GRID)

    aim: Aim = "counts"
    """What the release is for: it moves the shares of ε."""
    repeats: bool = True
    """Whether a user's several records at one item count as several; else she counts once."""
    per_user: tuple[str, ...] = ()
    """The contexts that are a property of the user: all of them, or none."""
    features: Features | None = None
    """Public features of the items, where they are given."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """From the options of a release; features are read later, with the items."""
        return cls(_aim(options), _repeats(options), per_user_of(options))

    def l2_squared(self, what: What) -> int:
        """No less than in L1."""
        return self.l1_bound**2

    def facts(self) -> dict[str, Any]:
        """Said elsewhere, step by step."""
        return {}


def per_user_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The contexts that are declared a property of the user."""
    named = options["context_per_user"]
    if not isinstance(named, str | list | tuple):
        kind = type(named).__name__
        raise UsageError(f"--context-per-user is a context, or a list of them: received a {kind}.")
    names = named.split(",") if isinstance(named, str) else named
    return tuple(str(name).strip() for name in names)


def _aim(options: Mapping[str, Any]) -> Aim:
    given = options["for_"]
    if given not in AIMS:
        raise UsageError(f"unknown --for {given!r}. {did_you_mean(str(given), AIMS)}")
    aim: Aim = given
    return aim


def _repeats(options: Mapping[str, Any]) -> bool:
    given, users = options["repeats"], options["count"] == "users"
    if given is None:
        return not users
    if given not in ("yes", "no"):
        raise UsageError(f"--repeats is yes or no: received {given!r}.")
    if users and given == "yes":
        raise UsageError(
            "with --count users a user counts once at an item: remove --repeats yes, or count "
            "records with --count records."
        )
    return bool(given == "yes")
