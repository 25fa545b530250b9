"""Of what ``changes`` lists, no more is wrong than the stated rate: pairs of simulated releases."""

from __future__ import annotations

import pytest

from kit.changed_pairs import METHODS, Outcome, outcome

FDR = 0.1
CASES = [("none", False), ("some", False), ("all", True)]
"""Nothing changed; 5% of the items have twice the users; all have, so that no share changed."""


def holds(found: Outcome) -> bool:
    """Whether the rate is at most the stated one, but for two standard errors."""
    return found.rate <= FDR + 2 * found.error


QUICK = [
    ("sra", "none", False), ("hpa", "none", False), ("threshold", "some", False),
    ("interval", "none", False), ("interval", "all", True),
    *(("auto", what, shares) for what, shares in CASES),
]  # fmt: skip
"""The cheap ones; all of them are long."""


@pytest.mark.parametrize(("method", "what", "shares"), QUICK)
def test_the_false_discovery_rate_is_at_most_the_stated_one(
    method: str, what: str, shares: bool
) -> None:
    pairs = 12 if method == "auto" else 60
    found = outcome(METHODS[method], what, pairs, fdr=FDR, shares=shares, crowds=1, seed=1)
    print(f"{method}, {what}{' of shares' * shares}: {found}")
    assert holds(found), found


@pytest.mark.long
@pytest.mark.parametrize(("what", "shares"), [*CASES, ("none", True), ("all", False)])
@pytest.mark.parametrize("method", METHODS)
def test_the_rate_holds_over_500_pairs(method: str, what: str, shares: bool) -> None:
    found = outcome(METHODS[method], what, 500, fdr=FDR, shares=shares, seed=2)
    print(f"{method}, {what}{' of shares' * shares}: {found}")
    assert holds(found), found
    if what == "some":
        assert found.missed <= 0.05 + 2 * found.missed_error, found


@pytest.mark.parametrize("method", ["sra", "interval"])
def test_doubled_items_are_found_and_their_intervals_hold(method: str) -> None:
    found = outcome(METHODS[method], "some", 15, fdr=FDR, crowds=1, seed=3)
    assert found.power > 0.4, found
    assert found.missed <= 0.05 + 2 * found.missed_error, found


def test_twice_the_users_are_a_change_of_counts_and_none_of_shares() -> None:
    counts = outcome(METHODS["interval"], "all", 10, crowds=1)
    shares = outcome(METHODS["interval"], "all", 10, crowds=1, shares=True)
    assert counts.power > 0.9
    assert shares.rate == 0
