"""The whole trial, on people with tastes that categories tell."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import crowdtally as ct
import crowdtally_research
from crowdtally.errors import InputError, UsageError
from crowdtally_research.recommenders.experiment import Question, Visits, tried
from crowdtally_research.recommenders.histories import DRAWN, Stock
from crowdtally_research.recommenders.running import Found, Tally, _mean
from kit import tastes
from kit.words import Seeded

EPSILONS = ("0.1", "8")


@pytest.fixture(scope="module")
def found() -> Found:
    visits = Visits(tastes.people(360, seed=8), 5040, 0)
    question = Question.of(",".join(EPSILONS), people=80, hidden=3, length=5, draws=2, seed=3)
    draws = Stock(Seeded(5))
    return tried(visits, tastes.catalogue(), question, called="…", draws=draws)


def quality(found: Found, recommender: str, history: str, epsilon: str | None = None) -> float:
    (one,) = [
        q for q in found.qualities
        if (q.recommender, q.history, q.epsilon, q.metric)
        == (recommender, history, epsilon, "hit rate")
    ]  # fmt: skip
    return one.mean


MODELS = pytest.mark.parametrize("recommender", ["item-based", "factorisation"])


@MODELS
def test_raw_histories_recommend_far_better_than_random_ones(
    found: Found, recommender: str
) -> None:
    raw, random = (quality(found, recommender, kind) for kind in ("raw", "random"))
    assert raw > random + 0.2


@MODELS
def test_a_random_history_is_no_better_than_the_popular_list(
    found: Found, recommender: str
) -> None:
    for one in found.qualities:
        if (one.recommender, one.history) == (recommender, "random"):
            assert one.gain < 4 * one.gain_error


@MODELS
def test_histories_tell_more_with_less_noise(found: Found, recommender: str) -> None:
    for kind in DRAWN:
        noisy, clear = (quality(found, recommender, kind, epsilon) for epsilon in EPSILONS)
        assert clear > noisy + 0.1, kind


@MODELS
def test_where_categories_are_tastes_a_perturbed_history_beats_the_popular_list(
    found: Found, recommender: str
) -> None:
    popular = quality(found, "popular list", "none")
    assert quality(found, recommender, "posterior", "8") > popular + 0.1
    assert quality(found, recommender, "popularity prior", "8") > popular + 0.1


def test_measured_errors_are_the_expected_ones(found: Found) -> None:
    assert [(one.scales, one.epsilon) for one in found.aggregates] == [
        (scales, epsilon) for epsilon in EPSILONS for scales in ("perturbed", "uniform")
    ]
    for one in found.aggregates:
        assert one.measured == pytest.approx(one.expected, abs=6 * one.measured_error)


def test_the_facts_are_those_of_the_trial(found: Found) -> None:
    facts = found.facts
    assert (facts.people, facts.public, facts.items, facts.categories) == (80, 280, 100, 4)
    assert (facts.mean_history, facts.hidden, facts.length, facts.draws) == (11.0, 3, 5, 2)


def test_every_kind_is_there_for_every_epsilon_and_recommender(found: Found) -> None:
    keys = {(q.recommender, q.history, q.epsilon, q.metric) for q in found.qualities}
    assert len(keys) == len(found.qualities) == 2 * (1 + 2 * (2 + len(DRAWN) * len(EPSILONS)))


def test_a_mean_is_over_draws_and_its_error_over_people() -> None:
    tally = Tally()
    key = ("item-based", "perturbed", "1", "ndcg")
    for values in ([1.0, 0.0, 0.5], [0.0, 0.0, 1.0]):
        tally.add(key, np.array(values))
    assert tally.of(key).tolist() == [0.5, 0.0, 0.75]
    mean, error = _mean(tally.of(key))
    spread = sqrt(((0.5 - mean) ** 2 + mean**2 + (0.75 - mean) ** 2) / 2)
    assert (mean, error) == pytest.approx((1.25 / 3, spread / sqrt(3)))


def test_a_gain_is_the_difference_of_the_same_people(found: Found) -> None:
    popular = quality(found, "popular list", "none")
    for one in found.qualities:
        if one.metric == "hit rate":
            assert one.gain == pytest.approx(one.mean - popular)
        if one.recommender == "popular list":
            assert (one.gain, one.gain_error) == (0.0, 0.0)


def test_in_python_it_is_a_frame_that_says_that_it_is_not_private() -> None:
    visits = tastes.people(60, seed=8).tocoo()
    import pandas as pd

    records = ct.read(
        pd.DataFrame({"who": visits.row, "film": visits.col}), user="who", item="film"
    )
    films = {place: [str(place % 3)] for place in range(100)}
    frame = crowdtally_research.recommend(records, films, epsilon=[1], people=20, draws=1)
    assert frame.attrs["warning"].startswith("NOT PRIVATE")
    assert frame.attrs["facts"]["rows"] == 60 * 14
    assert set(frame.recommender) == {"popular list", "item-based", "factorisation"}
    with pytest.raises(InputError, match="too few people"):
        crowdtally_research.recommend(records, films, epsilon=1, people=60)
    with pytest.raises(UsageError, match="would not fit the memory: give 200000 people or fewer"):
        crowdtally_research.recommend(records, films, epsilon=1, people=200_001)
    with pytest.raises(UsageError, match="longer than the catalogue's 100 items"):
        crowdtally_research.recommend(records, films, epsilon=1, people=20, length=101)
