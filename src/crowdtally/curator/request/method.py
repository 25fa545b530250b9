"""Bounding, choice, split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.counts import What
from crowdtally.core.layout import CELLS, EDGES, ITEMS, POPULARITY
from crowdtally.core.numbers import exact, show, whole_number
from crowdtally.core.records import Records
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.bounding.rules import (
    LARGEST_LIMIT,
    Everyone,
    EveryRow,
    RecordRule,
    Rule,
    Selected,
    Stated,
)
from crowdtally.curator.bounding.sampling import OwnRule
from crowdtally.curator.bounding.scaling import DPSense, DPSenseL2, per_user_of
from crowdtally.curator.choices.dpsense_s import given_scalings
from crowdtally.curator.request.options import AUTO, is_given
from crowdtally.errors import UsageError, did_you_mean

# The method of a release: how users are bounded, how the bound is found, what is counted.

_USUAL_POPULARITY = 10


@dataclass(frozen=True)
class Method:
    """Every public parameter of the method."""

    rule: Rule
    """The rule that bounds a user, with its bound or, before a choice, its largest candidate."""
    choose: str | None = None
    """How the bound is chosen privately; None where the rule has it."""
    what: What = "records"
    """Whether records or distinct users are counted."""
    popularity_records: int | None = None
    """d₀: records per user in the popularity estimate; only where there is one."""
    scalings: tuple[Fraction, ...] = (Fraction(1),)
    """The s that DPSense-S chooses from; one where it is given."""
    pairs: bool = False
    """Whether pairs of items of one user are counted too."""
    discover: tuple[str, ...] = ()
    """The columns that are discovered, because they have no public list."""


def rule_of(options: Mapping[str, Any], records: Records) -> Rule:
    """The rule that the options name, or the object that they hand over."""
    if records.user is None:
        return EveryRow.of(records)
    if options["top"] is not None:
        return Selected(per_user_of(options))
    if options["noise"] == "interval":
        return Everyone()
    given = options["bounding"]
    rule = _named(given, options) if isinstance(given, str) else OwnRule.handed(given)
    # A rule that scales rows caps what a user counts in a cell, whatever the quantities are.
    if records.quantity is not None and isinstance(rule, RecordRule):
        return replace(rule, times=records.quantity.most)
    return rule


def _named(name: str, options: Mapping[str, Any]) -> Rule:
    """The rule of that name, for the norm that was asked for."""
    rule: Rule = BOUNDINGS.load(name).of(options)
    if isinstance(rule, DPSense) and "norm" in rule.takes and options["norm"] == "l2":
        return DPSenseL2(rule.theta, rule.cap)
    return rule


def method_of(options: Mapping[str, Any], rule: Rule, discover: tuple[str, ...] = ()) -> Method:
    """The method, its options checked one by one."""
    choose = options["choose"]
    if choose is not None:
        CHOICES.load(choose)
    scalings: tuple[Fraction, ...] = (Fraction(1),)
    what: What = "users" if counts_users(rule, options) else "records"
    ranked = _popularity_records(options) if "popularity_records" in rule.takes else None
    if "scalings" in rule.takes:
        scalings = given_scalings(options["scalings"], one=choose is None)
    return Method(rule, choose, what, ranked, scalings, options["pairs"], discover)


def counts_users(rule: Rule, options: Mapping[str, Any]) -> bool:
    """Whether distinct users are counted: because that was asked, or because the rule can only."""
    if isinstance(rule, EveryRow):
        return not isinstance(rule, Stated)  # a row is a person, or only one of theirs
    return isinstance(rule, Everyone) or options["count"] == "users"


def _popularity_records(options: Mapping[str, Any]) -> int:
    given = options["popularity_records"]
    if given is None:
        return _USUAL_POPULARITY
    return whole_number(given, "--popularity-records", 1, LARGEST_LIMIT)


# What options that were left to ``auto`` mean beside those that were given.

_BY_NAME = (
    "bounding", "max_records", "choose", "popularity_records", "cap", "norm", "scalings",
    "pairs", "discover_items", "discover", "top", "size", "cut", "threshold", "sides", "ordered",
    "buckets",
)  # fmt: skip
"""Options of which each one names a method, or belongs to one that is named."""
_PLAIN = {"transform": "none", "publishing": "dense"}
"""What ``auto`` means where a method is named; and what ``auto`` itself does, cells permitting."""
_USUAL = {"bounding": "sra", "max_records": 10, **_PLAIN}


def is_auto(given: Mapping[str, Any], records: Records) -> bool:
    """Whether no method was named, so that ``auto`` decides."""
    if records.user is None or given["noise"] == "interval":
        return False
    named = any(is_given(given, name) for name in _BY_NAME)
    return not named and all(given[name] in (AUTO, plain) for name, plain in _PLAIN.items())


def resolved(given: Mapping[str, Any], records: Records) -> dict[str, Any]:
    """All options, none of them left open but the bounding where ``auto`` decides.

    Where a method is named, what was not given is as the papers have it: a sample of at most 10
    records of each user, every cell, no transform.
    """
    usual = _PLAIN if is_auto(given, records) else _USUAL
    open_ones = {name: value for name, value in usual.items() if given[name] in (AUTO, None)}
    return dict(given) | open_ones


# How ε is divided between the parts of a release: exact shares that sum to one.

CHOOSE, TOTAL = "choose", "total"
"""Parts that are no table: the private choice of a bound, and the mass of undiscovered items."""
AUTO_PART = "auto"
"""The one part of ``auto``, which divides it step by step as it goes."""
PARTS = (
    AUTO_PART, CHOOSE, TOTAL, POPULARITY.name, "select", "measure", ITEMS.name, EDGES.name,
    CELLS.name,
)  # fmt: skip
"""Every part that a release can have."""


def complete_split(
    given: Mapping[str, object] | None,
    used: Sequence[str],
    choose: str | None = None,
    *,
    by_rho: bool = False,
) -> dict[str, Fraction]:
    """The shares of the parts in use: as given (they must cover them and sum to 1), or defaults.

    These depend on how a bound is chosen, and on whether it is ρ that is divided.

    >>> complete_split(None, ["items", "edges"])
    {'items': Fraction(1, 2), 'edges': Fraction(1, 2)}
    """
    if given is None:
        return _defaults(used, choose, by_rho=by_rho)
    shares = {name: exact(share, f"the share of {name!r}") for name, share in given.items()}
    for name, share in shares.items():
        if name not in PARTS:
            raise UsageError(f"unknown part {name!r} in the split. {did_you_mean(name, PARTS)}")
        if name not in used:
            raise UsageError(
                f"the split gives a share to {name!r}, which this release does not have; "
                f"it has: {', '.join(used)}."
            )
        if share <= 0:
            raise UsageError(f"the share of {name!r} must be above 0: received {show(share)}.")
    missing = [name for name in used if name not in shares]
    if missing:
        raise UsageError(f"the split gives nothing to {missing[0]!r}: add {missing[0]}=SHARE.")
    if sum(shares.values()) != 1:
        raise UsageError(
            f"the shares must sum to 1: received {show(sum(shares.values(), Fraction(0)))}."
        )
    return {name: shares[name] for name in used}


def _defaults(used: Sequence[str], choose: str | None, *, by_rho: bool) -> dict[str, Fraction]:
    """Small shares for what prepares the tables; what remains is halved between the tables."""
    small = {
        # Two per cent is enough for a rank or a histogram; DPSense's algorithms need the papers'
        # tenth.
        CHOOSE: Fraction(1, 10) if choose == "dpsense" else Fraction(2, 100),
        TOTAL: Fraction(2, 100),
        POPULARITY.name: Fraction(1, 10),
        # Which items they are needs far more than how many users those have; but by ρ, K draws
        # cost √K times one and not K times, and then counts of equal noise need as much.
        "select": Fraction(1, 2) if by_rho else Fraction(3, 4),
    }
    shares = {name: small[name] for name in used if name in small}
    tables = [name for name in used if name not in small]
    rest = (1 - sum(shares.values(), Fraction(0))) / len(tables)
    return shares | dict.fromkeys(tables, rest)
