"""The lists of a context: popular there, special there."""

import numpy as np
import pytest

from crowdtally.inference import contexts
from crowdtally.inference.contexts import ContextFacts, estimate_contexts, popular, special
from crowdtally.inference.lifts import Head


class Items:
    mean = np.array([100.0, 900.0, 800.0, 50.0, 850.0])
    deviation = np.ones(5)


@pytest.fixture(autouse=True)
def known_chances(monkeypatch):
    """How likely each is among the largest is the matter of ``chances`` and its own tests."""
    monkeypatch.setattr(contexts, "chances_among", lambda score, deviation, k: score / score.max())


def two_contexts(*, head: bool = True):
    """Items 2 and 4 were counted in both; 4 is liked in the second."""
    counted = Head(np.array([2, 4]), np.array([[400.0, 400.0], [250.0, 600.0]]), 2.0)
    totals = np.array([5000.0, 5000.0])
    facts = ContextFacts(totals, 1.0, 4000.0, head=counted if head else None)
    return estimate_contexts(Items(), facts)


def test_popular_ranks_by_the_context_s_own_counts():
    first, second = (popular(two_contexts(), context, 3) for context in (0, 1))
    assert list(first.places) == [1, 2, 4]
    assert second.places[0] == 4
    assert (np.diff(second.score) <= 0).all()
    assert list(second.measured) == [place in (2, 4) for place in second.places]
    assert second.chance[0] == 1.0


def test_special_ranks_by_lift_among_the_largest(monkeypatch):
    found = special(two_contexts(), 1, 2)
    assert found.places[0] == 4
    assert found.score[0] > 1.1
    assert found.deviation[0] < 0.3
    monkeypatch.setattr(contexts, "AMONG", 1)
    assert list(special(two_contexts(), 1, 2).places) == [1]


def test_nothing_is_special_where_all_contexts_are_ranked_alike():
    found = special(two_contexts(head=False), 0, 3)
    assert not len(found.places)
    assert list(popular(two_contexts(head=False), 0, 9).places) == [1, 4, 2, 0, 3]
