"""Recommenders on people that are split and judged by hand."""

from __future__ import annotations

import warnings
from math import log2

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack

from crowdtally.errors import InputError
from crowdtally_research.recommenders import models
from crowdtally_research.recommenders.histories import split
from crowdtally_research.recommenders.models import (
    Factors,
    ItemBased,
    Popular,
    best,
    hit_rate,
    ndcg,
)
from kit import toys

# ---- Nobody is both learned from and recommended to, and a history has nothing of what is
#      hidden


def numbered(people: int, length: int = 6) -> csr_matrix:
    """Person n has the items n·length and those after it: a row says whose it is."""
    rows = np.repeat(np.arange(people), length)
    return csr_matrix((np.ones(len(rows), np.float32), (rows, np.arange(len(rows)))))


def test_everybody_is_public_or_held_out_and_nobody_both() -> None:
    made = split(numbered(50), 20, 2, seed=1)
    public = {row.indices[0] // 6 for row in made.public}
    held_out = {row.indices[0] // 6 for row in made.histories}
    assert (len(public), len(held_out), made.people) == (30, 20, 20)
    assert public | held_out == set(range(50))


def test_history_and_hidden_items_are_the_persons_and_do_not_overlap() -> None:
    made = split(numbered(50), 20, 2, seed=1)
    assert made.histories.multiply(made.hidden).nnz == 0
    assert (np.diff(made.hidden.indptr) == 2).all()
    for row in made.histories + made.hidden:
        (whose,) = set(row.indices // 6)
        assert sorted(row.indices) == list(range(whose * 6, whose * 6 + 6))
        assert set(row.data) == {1.0}


def test_the_seed_decides_who_and_what() -> None:
    visits = toys.people(60)
    one, again, other = (split(visits, 20, 3, seed) for seed in (1, 1, 2))
    assert (one.hidden != again.hidden).nnz == (one.public != again.public).nnz == 0
    assert (one.hidden != other.hidden).nnz


def test_who_has_too_little_is_learned_from_and_not_held_out() -> None:
    few = csr_matrix((np.ones(3, np.float32), ([0, 0, 1], [0, 1, 2])), shape=(3, 120))
    made = split(vstack([few, numbered(20)]).tocsr(), 10, 2, seed=1)
    assert (np.diff(made.histories.indptr) == 4).all()
    assert sorted(np.diff(made.public.indptr))[:2] == [1, 2]  # and nobody without an item
    assert made.public.shape[0] == 12


@pytest.mark.parametrize(("people", "hidden", "words"), [
    (41, 2, "--people 40 or fewer"), (51, 2, "--people 40 or fewer"), (5, 4, "more people"),
])  # fmt: skip
def test_too_few_people_are_refused_with_what_would_do(
    people: int, hidden: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        split(numbered(50), people, hidden, seed=1)


# ---- The recommenders are implicit's, and know the public people alone ---------------------------


@pytest.fixture(scope="module")
def public() -> csr_matrix:
    return toys.people(150, seed=5)


@pytest.fixture(scope="module")
def histories() -> csr_matrix:
    return toys.people(8, seed=6)


def test_item_based_scores_are_those_of_implicit(
    public: csr_matrix, histories: csr_matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    from implicit.nearest_neighbours import BM25Recommender

    monkeypatch.setattr(models, "NEIGHBOURS", 12)  # of a hundred: not all are mutual
    theirs = BM25Recommender(K=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(public, show_progress=False)
    ours = ItemBased(public).scores(histories.toarray())
    for person, history in enumerate(histories):
        ids, scores = theirs.recommend(person, history, N=10, filter_already_liked_items=False)
        assert ours[person, ids] == pytest.approx(scores, rel=1e-5)
        assert np.sort(ours[person])[-10:][::-1] == pytest.approx(scores, rel=1e-5)


def test_factors_of_a_history_are_those_that_implicit_folds_in(
    public: csr_matrix, histories: csr_matrix
) -> None:
    from implicit.cpu.als import AlternatingLeastSquares

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = AlternatingLeastSquares(factors=64, random_state=4)
        theirs.fit(public, show_progress=False)
    folded = theirs.recalculate_user(np.arange(histories.shape[0]), histories)
    expected = folded @ theirs.item_factors.T
    assert Factors(public, 4).scores(histories.toarray()) == pytest.approx(expected, abs=1e-3)


def test_likely_items_count_as_much_as_they_are_likely(public: csr_matrix) -> None:
    one, other = np.eye(100, dtype=np.float32)[[3, 40]]
    for model in (ItemBased(public), Factors(public, 1)):
        both = model.scores(np.array([0.25 * one + 0.75 * other]))
        apart = 0.25 * model.scores(one[None]) + 0.75 * model.scores(other[None])
        assert both == pytest.approx(apart, abs=1e-5)


def test_the_popular_list_is_the_same_for_all(public: csr_matrix) -> None:
    scores = Popular(public).scores(np.eye(3, 100))
    assert (scores == public.toarray().sum(axis=0)).all()


def test_recommenders_see_no_held_out_person() -> None:
    visits = toys.people(120, seed=7)
    made = split(visits, 40, 3, seed=1)
    others = visits.toarray()
    held_out = ~(others[:, None] == made.public.toarray()[None]).all(axis=2).any(axis=1)
    assert held_out.sum() == 40
    others[held_out] = np.roll(others[held_out], 25, axis=1)  # the same people, another taste
    changed = split(csr_matrix(others), 40, 3, seed=1)
    assert (made.histories != changed.histories).nnz
    given = np.eye(100, dtype=np.float32)
    for make in (Popular, ItemBased, lambda public: Factors(public, 1)):
        assert (make(made.public).scores(given) == make(changed.public).scores(given)).all()


# ---- Lists and their metrics, worked out by hand -------------------------------------------------


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
