"""LPA on MovieLens 1M, against the error that an independent implementation has."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.request.request import make_request
from crowdtally.lab.baselines import BASELINES
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare

DATA = Path(os.environ.get("CROWDTALLY_DATA", ""))
RATINGS, MOVIES = DATA / "ml1m_ratings.parquet", DATA / "ml1m_movies.parquet"
RUNS = 60


@pytest.mark.skipif(not RATINGS.is_file(), reason="CROWDTALLY_DATA names no folder with MovieLens")
def test_the_error_of_lpa_with_the_true_largest_user():
    """M = 2,314 and ε = 1, of which the items have half: MSE 4.28·10^7 ± 3%."""
    movies = duckdb.execute(f"SELECT movie_id FROM '{MOVIES}' ORDER BY 1").fetchnumpy()["movie_id"]
    records = ct.read(str(RATINGS), user="user_id", item="movie_id")
    asked = make_request(records, ct.Domain(movies.tolist()), epsilon=1, method=ct.SRA(1))
    half = Epsilon.of("1/2")
    with DuckDBEngine() as engine:
        lpa = BASELINES.load("lpa").of(asked.subject, 2314)
        reading = Reading(engine, prepare(engine, asked.records, asked.domain, asked.sources))
        counted = lpa.count(reading, seed=0)
    truth = counted.found[0].dense()
    assert (len(truth), truth.sum()) == (3883, 1_000_209), "nobody is cut"
    errors = [lpa.release(counted, half, SystemDraws())["items"] - truth for _ in range(RUNS)]
    # 232,980 squares of Laplace noise: their mean has a deviation of 0.5%.
    assert np.mean(np.square(errors)) == pytest.approx(4.28e7, rel=0.03)
