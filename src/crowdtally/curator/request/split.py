"""How ε is divided between the parts of a release: exact shares that sum to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from crowdtally.core.layout import CELLS, EDGES, ITEMS, POPULARITY
from crowdtally.core.numbers import exact, show
from crowdtally.errors import UsageError, did_you_mean

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

    Args:
        given: the shares that were typed, if any.
        used: the parts that the release has.
        choose: how a bound is chosen.
        by_rho: whether it is ρ that is divided.

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
