"""Numbers of MovieLens 1M that an independent implementation gave, at ε = 1/2 for the items."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.lab.estimates import estimate
from crowdtally.lab.metrics import kl, mae, mse, precision
from crowdtally.lab.rehearse import Rehearsal, largest_contribution, true_counts
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import Seeded

FOLDER = Path(os.environ.get("CROWDTALLY_DATA", ""))
RATINGS, MOVIES = FOLDER / "ml1m_ratings.parquet", FOLDER / "ml1m_movies.parquet"
pytestmark = pytest.mark.skipif(
    not os.environ.get("CROWDTALLY_DATA") or not RATINGS.is_file() or not MOVIES.is_file(),
    reason="CROWDTALLY_DATA names no folder with ml1m_ratings.parquet and ml1m_movies.parquet",
)
LARGEST = 2314

Released = Callable[..., tuple[np.ndarray, list[np.ndarray], Rehearsal]]


@pytest.fixture(scope="module")
def released() -> Iterator[Released]:
    """The truth and some estimates: of two keys, and of several noises each."""
    listed = duckdb.execute("SELECT movie_id FROM read_parquet(?) ORDER BY 1", [str(MOVIES)])
    domain = ct.Domain([movie for (movie,) in listed.fetchall()])
    records = ct.read(str(RATINGS), user="user_id", item="movie_id")
    with DuckDBEngine() as engine:

        @cache
        def truth(rehearsal: Rehearsal) -> np.ndarray:
            tables = rehearsal.request.tables
            return true_counts(engine, rehearsal.prepared, "records", tables)["items"]

        def run(runs: int, **options: Any) -> tuple[np.ndarray, list[np.ndarray], Rehearsal]:
            request = make_request(records, domain, epsilon="1/2", **options)
            rehearsal, draws = Rehearsal(request, engine), SystemDraws(Seeded(1))
            tables = [rehearsal.run(n % 2, draws).tables[0] for n in range(runs)]
            if isinstance(options["method"], ct.Declared):
                assert largest_contribution(engine, rehearsal.prepared, "records") == LARGEST
            return truth(rehearsal), [estimate(table) for table in tables], rehearsal

        yield run


def test_sampling_thirty_records_of_each_user(released: Released) -> None:
    truth, estimates, rehearsal = released(4, method=ct.SRA(30))
    rated = truth > 0
    assert (len(truth), rated.sum(), truth.sum()) == (3883, 3706, 1_000_209)
    assert np.mean([mae(truth, e) for e in estimates]) == pytest.approx(234, rel=0.02)
    of_rated = [mae(truth[rated], e[rated]) for e in estimates]
    assert np.mean(of_rated) == pytest.approx(242, rel=0.02)
    kept = rehearsal.kept(rehearsal.halfway(0, SystemDraws()))["items"]
    assert kept / truth.sum() == pytest.approx(0.1768, abs=0.0001)


def test_noise_for_the_largest_user(released: Released) -> None:
    """LPA: 2·(2314/½)² is 4.28·10^7, and drowns all but a few movies."""
    truth, estimates, _ = released(10, method=ct.Declared(LARGEST))
    assert np.mean([mse(truth, e) for e in estimates]) == pytest.approx(4.28e7, rel=0.03)
    assert np.mean([kl(truth, e) for e in estimates]) == pytest.approx(5.9, abs=0.3)
    found = [precision(truth, e, 10) for e in estimates]
    assert np.mean([share for share in found if share is not None]) <= 0.06
    assert None not in found
