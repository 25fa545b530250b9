"""How users are bounded, how the bound is found, what is counted, and how the price is split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from crowdtally.core.counts import What
from crowdtally.core.layout import CELLS, EDGES, ITEMS, POPULARITY
from crowdtally.core.numbers import exact, show
from crowdtally.core.records import Records
from crowdtally.core.values import name_of
from crowdtally.curator.bounding import METHODS, rules
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.bounding.sampling import HPA, SRA, OwnRule
from crowdtally.curator.request.options import Options
from crowdtally.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Method:
    rule: rules.Rule
    """With its bound or, before a choice, its largest candidate."""
    what: What = "records"
    pairs: bool = False
    discover: tuple[str, ...] = ()
    """The columns without a public list."""

    @property
    def choose(self) -> str | None:
        """How the bound is chosen privately; None where it is given."""
        return getattr(self.rule, "choose", None)

    @property
    def popularity_records(self) -> int | None:
        """d₀: records per user in the popularity estimate; only where there is one."""
        return self.rule.popularity_records if isinstance(self.rule, HPA) else None


def rule_of(options: Options, records: Records) -> rules.Rule:
    given = usual_method(options, records) if options.method is None else options.method
    if records.user is None:
        return rules.EveryRow.of(records)
    if isinstance(given, rules.Top):
        return given
    if options.noise == "interval":
        return rules.Everyone()
    rule = _bounding(given, options)
    # A rule that scales rows caps what a user counts in a cell, whatever the quantities are.
    if records.quantity is not None and isinstance(rule, rules.RecordRule):
        return replace(rule, times=records.quantity.most)
    return rule


def usual_method(options: Options, records: Records) -> Auto | SRA:
    """auto, unless something else needs a method with a bound."""
    return Auto() if options.is_plain else SRA()


def _bounding(given: object, options: Options) -> rules.Rule:
    if isinstance(given, Auto):
        return given.rule(options.count)
    if isinstance(given, rules.Discover):
        return SRA(given.max_records)
    return cast(rules.Rule, given) if name_of(METHODS, given) else OwnRule.handed(given)


def counts_users(rule: rules.Rule, options: Options) -> bool:
    """Whether distinct users are counted: because that was asked, or because the rule must."""
    if isinstance(rule, rules.EveryRow):
        return not isinstance(rule, rules.Stated)  # a row is a person, or only one of theirs
    return isinstance(rule, rules.Everyone) or options.count == "users"


def method_of(options: Options, rule: rules.Rule, discover: tuple[str, ...] = ()) -> Method:
    what: What = "users" if counts_users(rule, options) else "records"
    return Method(rule, what, options.pairs, discover)


# How ε is divided between the parts of a release: exact shares that sum to one.

CHOOSE, TOTAL = "choose", "total"
"""Parts that are no table: the private choice of a bound, and the mass of undiscovered items."""
AUTO_PART = "auto"
"""The one part of ``auto``, which divides it itself."""
PARTS = (
    AUTO_PART, CHOOSE, TOTAL, POPULARITY.name, "select", "measure", ITEMS.name, EDGES.name,
    CELLS.name,
)  # fmt: skip


def complete_split(
    given: Mapping[str, object] | None,
    used: Sequence[str],
    choose: str | None = None,
    *,
    by_rho: bool = False,
) -> dict[str, Fraction]:
    """The shares of the parts in use: as given (they must cover them and sum to 1), or defaults.

    >>> complete_split(None, ["items", "edges"])
    {'items': Fraction(1, 2), 'edges': Fraction(1, 2)}
    """
    if given is None:
        return _defaults(used, choose, by_rho=by_rho)
    shares = {name: exact(share, f"the share of {name!r}") for name, share in given.items()}
    _check_shares(shares, used)
    return {name: shares[name] for name in used}


def _check_shares(shares: Mapping[str, Fraction], used: Sequence[str]) -> None:
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
