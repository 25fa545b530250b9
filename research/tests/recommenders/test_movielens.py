"""MovieLens 1M with its 18 genres: the shape of the answer on real people."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally_research.recommenders.experiment import Question, catalogue_of, read_visits, tried
from crowdtally_research.recommenders.histories import Stock
from kit.draws import Seeded

FOLDER = Path(os.environ.get("CROWDTALLY_DATA", ""))
RATINGS, GENRES = FOLDER / "ml1m_ratings.parquet", FOLDER / "ml1m_movie_genres.parquet"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not os.environ.get("CROWDTALLY_DATA") or not RATINGS.is_file() or not GENRES.is_file(),
        reason="CROWDTALLY_DATA names no folder with ml1m_ratings and ml1m_movie_genres",
    ),
]


def test_the_answer_on_movielens() -> None:
    catalogue = catalogue_of(str(GENRES), "movie_id")
    records = ct.read(str(RATINGS), user="user_id", item="movie_id")
    visits = read_visits(records, catalogue)
    assert (visits.matrix.shape, visits.left_out) == ((6040, 3883), 0)
    question = Question.of("1", people=400, draws=2, seed=11)
    found = tried(visits, catalogue, question, called="…", draws=Stock(Seeded(1)))
    gains = {
        (q.recommender, q.history): q.gain / (q.gain_error or 1.0)
        for q in found.qualities
        if q.metric == "hit rate"
    }
    for recommender in ("item-based", "factorisation"):
        assert gains[recommender, "raw"] > 5
        assert gains[recommender, "random"] < -5
        assert gains[recommender, "perturbed"] < -2  # worse than the same list for all
        assert gains[recommender, "posterior"] > 2  # better, from the same draw
    expected = {one.scales: one.expected for one in found.aggregates}
    assert expected["perturbed"] == pytest.approx(4.494, abs=0.001)
    assert expected["uniform"] == pytest.approx(5.972, abs=0.001)
