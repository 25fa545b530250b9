"""The method of a release: how users are bounded, how the bound is found, what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.counts import What
from crowdtally.core.numbers import whole_number
from crowdtally.core.records import Records
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.bounding.auto import per_user_of
from crowdtally.curator.bounding.distinct import Everyone
from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.curator.bounding.dpsense_l2 import DPSenseL2
from crowdtally.curator.bounding.own import OwnRule
from crowdtally.curator.bounding.row import EveryRow, Stated
from crowdtally.curator.bounding.rule import LARGEST_LIMIT, RecordRule, Rule
from crowdtally.curator.bounding.selected import Selected
from crowdtally.curator.choosing.dpsense_s import given_scalings

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
    if options["choose"] is not None:
        CHOICES.load(options["choose"])
    ranked = "popularity_records" in rule.takes
    scaled = "scalings" in rule.takes
    return Method(
        rule,
        options["choose"],
        "users" if counts_users(rule, options) else "records",
        _popularity_records(options) if ranked else None,
        given_scalings(options["scalings"], one=options["choose"] is None)
        if scaled
        else (Fraction(1),),
        options["pairs"],
        discover,
    )


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
