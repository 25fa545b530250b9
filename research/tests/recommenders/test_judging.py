"""Lists and their metrics, worked out by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from crowdtally_research.recommenders.models import best, hit_rate, ndcg

NOBODY_CARES = np.zeros(5)


def test_what_the_person_has_is_left_out_and_nothing_else() -> None:
    scores = np.array([[5.0, 4.0, 3.0, 2.0, 1.0]] * 2)
    had = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    assert best(scores, had, NOBODY_CARES, 2).tolist() == [[1, 3], [0, 1]]


def test_lists_are_in_the_order_of_the_scores() -> None:
    scores = np.random.default_rng(3).random((20, 50))
    had = np.zeros(scores.shape, dtype=bool)
    for row, listed in zip(scores, best(scores, had, np.zeros(50), 7), strict=True):
        assert listed.tolist() == np.argsort(-row)[:7].tolist()


def test_whoever_gave_nothing_gets_the_popular_list() -> None:
    popularity = np.array([3.0, 9.0, 1.0, 7.0, 5.0])
    scores, had = np.zeros((1, 5)), np.array([[0, 1, 0, 0, 0]], dtype=bool)
    assert best(scores, had, popularity, 3).tolist() == [[3, 4, 0]]


def test_popularity_decides_between_equals_only() -> None:
    scores = np.array([[0.2, 0.2, 0.3, 0.1, 0.0]])
    had = np.zeros((1, 5), dtype=bool)
    assert best(scores, had, np.array([1.0, 2.0, 0, 0, 1e6]), 5).tolist() == [[2, 1, 0, 3, 4]]


def test_a_list_may_be_as_long_as_the_catalogue() -> None:
    scores, had = np.array([[1.0, 3.0, 2.0]]), np.zeros((1, 3), dtype=bool)
    assert best(scores, had, np.zeros(3), 3).tolist() == [[1, 2, 0]]


def test_a_hit_is_one_however_many_are_found() -> None:
    hidden = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], dtype=bool)
    assert hit_rate(np.array([[0, 1], [0, 1]]), hidden).tolist() == [1.0, 0.0]


def test_ndcg_by_hand() -> None:
    hidden = np.array([[1, 1, 0, 0, 0]] * 3, dtype=bool)
    listed = np.array([[0, 1, 2], [2, 0, 3], [2, 3, 4]])
    ideal = 1 + 1 / log2(3)
    assert ndcg(listed, hidden) == pytest.approx([1.0, (1 / log2(3)) / ideal, 0.0])


def test_more_hidden_items_than_the_list_is_long_can_still_be_all_found() -> None:
    hidden = np.ones((1, 6), dtype=bool)
    assert ndcg(np.array([[4, 2]]), hidden).tolist() == [1.0]
