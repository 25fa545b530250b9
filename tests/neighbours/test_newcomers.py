"""One user who joins or leaves a source of any kind changes nobody else's sample.

And the bounded counts change by at most the bound. What is tried is what makes a program read a
whole column in another way: a missing value, a text among integers, a new category.
"""

from __future__ import annotations

import pytest

from kit.crowds import histories
from kit.kinds import Kind, Place
from kit.kinds_guessed import KINDS
from kit.neighbouring import distance, sampled, tallies
from kit.newcomers import LIMIT, NEWCOMERS, Newcomer
from neighbours.conftest import Before

CASES = [
    pytest.param(kind, newcomer, id=f"{name}: {title}")
    for name, kind in KINDS.items()
    for title, newcomer in NEWCOMERS.items()
    if kind.holds(newcomer.base.schema)
]


@pytest.mark.parametrize(("kind", "newcomer"), CASES)
def test_a_newcomer_changes_nobody_elses_sample(
    kind: Kind, newcomer: Newcomer, place: Place, before: Before
) -> None:
    alone, together = before(kind, newcomer.base), sampled(place, kind, newcomer.joined, LIMIT)
    assert {user: together.get(user) for user in alone} == alone
    assert len(together.keys() - alone.keys()) <= 1
    assert len(alone) == len(histories(kind, newcomer.base)), "users were merged, or are missing"
    for one, other in zip(
        tallies(alone, newcomer.base), tallies(together, newcomer.base), strict=True
    ):
        assert distance(one, other) <= LIMIT
