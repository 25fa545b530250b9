"""``auto``: the bound follows from what earlier, charged steps released.

Nobody gives a bound. The release first measures how long the users' rows are, then scales the rows
to the θ of least expected error, and spends the rest of ε where that pays (``steps/auto``). Every
row is scaled as DPSense scales it, so each table's bound is exact for every database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

from crowdtally.core.counts import What
from crowdtally.core.domain import Features
from crowdtally.curator.bounding.dpsense import GRID
from crowdtally.errors import UsageError, did_you_mean

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

    @property
    def limit(self) -> int:
        """The largest θ that may be chosen."""
        return LARGEST_THETA

    @property
    def l1_bound(self) -> int:
        """The most that one user may change in the items' table, in units."""
        return GRID * LARGEST_THETA

    def l2_squared(self, what: What) -> int:
        """No less than in L1."""
        return self.l1_bound**2

    @property
    def unit(self) -> Fraction:
        """A unit is 1/g of a count."""
        return Fraction(1, GRID)

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
