"""The recommenders are implicit's, and know the public people alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from crowdtally_research.recommenders import models
from crowdtally_research.recommenders.histories import split
from crowdtally_research.recommenders.models import Factors, ItemBased, Popular
from kit import tastes


@pytest.fixture(scope="module")
def public() -> csr_matrix:
    return tastes.people(150, seed=5)


@pytest.fixture(scope="module")
def histories() -> csr_matrix:
    return tastes.people(8, seed=6)


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
    visits = tastes.people(120, seed=7)
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
