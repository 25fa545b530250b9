"""How ε is divided: exact shares, none of nothing, in all one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crowdtally.curator.request.method import complete_split
from crowdtally.errors import UsageError


@pytest.mark.parametrize("edges", ["0.6", "0.4", "0.5000000000000000000001", "1"])
def test_shares_that_do_not_sum_to_one_are_refused(edges: str) -> None:
    with pytest.raises(UsageError, match="must sum to 1: received"):
        complete_split({"items": "0.5", "edges": edges}, ["items", "edges"])


@pytest.mark.parametrize("share", ["0", "-0.5"])
def test_a_share_of_nothing_is_refused(share: str) -> None:
    rest = 1 - Fraction(share)
    with pytest.raises(UsageError, match="'items' must be above 0"):
        complete_split({"items": share, "edges": rest}, ["items", "edges"])


@pytest.mark.parametrize("choose", ["rank", "dpsense", None])
def test_default_shares_sum_to_one(choose: str | None) -> None:
    used = ["popularity", "items", "edges", *(["choose"] if choose else [])]
    shares = complete_split(None, used, choose)
    assert sum(shares.values()) == 1
    assert shares.keys() == set(used)
    assert shares["items"] == shares["edges"]
