"""Rules that scale a user's row down: DPSense, DPSense-S, their Euclidean norm, and auto's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import isqrt
from typing import Any, ClassVar, Literal

import numpy as np

from crowdtally.core.counts import What
from crowdtally.core.numbers import Number, whole_number
from crowdtally.core.values import one_of, value
from crowdtally.curator.bounding.rules import Rule, check_choice, check_limit
from crowdtally.curator.choices.dpsense_s import SCALINGS, given_scalings
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


@value
@dataclass(frozen=True)
class DPSense:
    """Scale each user's row to a sum of at most θ, or to a Euclidean norm of at most θ."""

    name: ClassVar[str] = "dpsense"
    keeps_records: ClassVar[bool] = False

    max_records: int = 10
    """The largest row that is left alone: longer ones are scaled down to it. With a choice, the
    largest candidate."""
    cap: int | None = None
    """The most that one user's records count in one cell; for counts of records alone."""
    choose: str | None = None
    """``rank`` or ``dpsense``, or ``histogram`` with norm l2, chooses the bound privately, up to
    max_records, for a share of epsilon."""
    norm: str = "l1"
    """``l1``: rows are scaled to a sum. ``l2``: to a Euclidean norm, which is for Gaussian noise
    and leaves more of long rows."""

    def __post_init__(self) -> None:
        check_limit(self, self.max_records)
        if self.cap is not None:
            whole_number(self.cap, f"cap of {type(self).__name__}", 1, _LARGEST_CAP)
        one_of(self.norm, ("l1", "l2"), "norm of DPSense")
        check_choice(self, self.choose, self.choices)

    @property
    def choices(self) -> tuple[str, ...]:
        return ("histogram",) if self.norm == "l2" else ("rank", "dpsense")

    @property
    def limit(self) -> int:
        return self.max_records

    @property
    def most(self) -> int:
        return self.cap or 1

    @property
    def scaling(self) -> Fraction:
        return Fraction(1)

    @property
    def l1_bound(self) -> int:
        """In norm l2: the L2 bound times the root of the number of cells."""
        return GRID * self.limit * (_ROOT_OF_CELLS if self.norm == "l2" else 1)

    def l2_squared(self, what: What) -> int:
        """At most g²θ where a cell has the same weight as every other of its row, else g²θ².

        A row of RC cells ≤ θ has RC·g² ≤ g²θ; a longer one has RC·⌊gθ/RC⌋² ≤ g²θ²/RC < g²θ.
        """
        if self.norm == "l1" and self.most == 1:
            return GRID**2 * self.limit
        return (GRID * self.limit) ** 2

    @property
    def unit(self) -> Fraction:
        return self.scaling / GRID

    def facts(self) -> dict[str, Any]:
        return {"cap": self.most} | ({"norm": "l2"} if self.norm == "l2" else {})

    def weights(self, engine: Engine, same: Rows) -> Rows:
        """(user, cell, rows) of equal records put together → (cell, weight) in units."""
        if self.norm == "l2":
            amounts = capped(countable(same), self.most).select("user", "cell", "amount")
            return l2_weighted(engine, amounts, self.limit)
        return weighted(with_row_sums(same, self.most), self.limit)


@value
@dataclass(frozen=True)
class DPSenseS(DPSense):
    """The same with counts published times s, which makes up for what scaling down lost."""

    name: ClassVar[str] = "dpsense-s"

    choose: str | None = None
    """``dpsense`` chooses the bound, up to max_records, and the scaling privately, for a share of
    epsilon."""
    norm: str = field(default="l1", init=False)
    scalings: str | Sequence[Number] = ()
    """The factor within 1 … 2 that counts are multiplied by; with a choice all factors to choose
    from. Without any: 1.00, 1.01, … 2.00."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = given_scalings(self.scalings, one=self.choose is None)
        object.__setattr__(self, "scalings", given)

    @property
    def choices(self) -> tuple[str, ...]:
        return ("dpsense",)

    @property
    def weighed(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(s) for s in self.scalings) or SCALINGS

    @property
    def scaling(self) -> Fraction:
        """s; before a choice the largest, since noise is no larger than its."""
        return self.weighed[-1]


def is_euclidean(rule: Rule) -> bool:
    return isinstance(rule, DPSense) and rule.norm == "l2"


def capped(same: Rows, cap: int) -> Rows:
    """(user, cell, rows[, quantity]) → the same with ``amount``, the count, at most ``cap``."""
    count = same.quantity if "quantity" in same.columns else same.rows
    return same.mutate(amount=smaller(count, cap))


def with_row_sums(same: Rows, cap: int) -> Rows:
    """(user, cell, rows) → (user, cell, amount, row_sum): each cell once, with a user."""
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
    """(user, cell, amount ≤ 2^26), each cell of a user once → (cell, weight) in units of 1/g.

    Σ weight² of each user is at most g²θ².
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


_ROOT_OF_CELLS = 2**31
"""A row whose squares are not held has fewer than 2^61 cells: √2^61 is less than this. So in L1
the only bound is g·θ·2^31, too much for Laplace noise: the norm is for Gaussian noise alone."""


# ``auto``: the bound follows from what earlier, charged steps released.
#
# Nobody gives a bound. The release first measures how long the users' rows are, then scales the
# rows to the θ of least expected error, and spends the rest of ε where that pays
# (``methods/auto.py``). Every row is scaled as DPSense scales it, so each table's bound is exact
# for every database.

Aim = Literal["counts", "top", "recommend"]
AIMS: tuple[Aim, ...] = ("counts", "top", "recommend")
LARGEST_THETA = 2**14
"""The largest θ: with the cap on records, integers stay within 64 bits."""


@dataclass(frozen=True)
class Auto:
    """The parameters of ``auto``; it measures everything else, and pays for it."""

    name: ClassVar[str] = "auto"
    keeps_records: ClassVar[bool] = False
    limit: ClassVar[int] = LARGEST_THETA
    l1_bound: ClassVar[int] = GRID * LARGEST_THETA
    """The most that one user may change in the items' table, in units."""
    unit: ClassVar[Fraction] = Fraction(1, GRID)

    aim: Aim = "counts"
    repeats: bool = True
    """Whether a user's several records at one item count as several; else she counts once."""
    per_user: tuple[str, ...] = ()
    """The contexts that are a property of the user: all of them, or none."""

    def l2_squared(self, what: What) -> int:
        return self.l1_bound**2

    def facts(self) -> dict[str, Any]:
        return {}
