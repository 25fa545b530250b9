"""The two real tables; where a file is missing, made-up ones of the same size and skewness."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import duckdb
import numpy as np

from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.papers.cormode.sparse import Ints, Sparse

LODES, ADULT = "lodes", "adult"
_SEED = 7
_BLOCKS = (8_358, 17_127)
_COMMUTES = 372_191
_TRACTS = 241
_TRACT_PAIRS = 41_649
_ATTRIBUTES = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "gender"
)  # fmt: skip
_PROFILES = 907_200
_OCCUPIED_PROFILES = 8_619
_TRACT_UNIT = 10_000
"""What a census block's number is divided by for the number of its tract: its last four digits."""


def blocks(data: Data) -> Sparse:
    """LODES: persons by the census blocks where they work and live."""
    if not data.is_real(LODES):
        return _made_up(prod(_BLOCKS), _COMMUTES, 3.5)
    return _grouped(data.files(LODES)[0], ("w_geocode", "h_geocode"), "sum(S000)")


def tracts(data: Data) -> Sparse:
    """LODES: persons by the census tracts where they work and live."""
    if not data.is_real(LODES):
        return _made_up(_TRACTS**2, _TRACT_PAIRS, 1.2)
    named = [f"{name} // {_TRACT_UNIT}" for name in ("w_geocode", "h_geocode")]
    return _grouped(data.files(LODES)[0], named, "sum(S000)")


def profiles(data: Data) -> Sparse:
    """Adult: persons by seven attributes."""
    if not data.is_real(ADULT):
        return _made_up(_PROFILES, _OCCUPIED_PROFILES, 1.1)
    return _grouped(data.files(ADULT)[0], [f'"{name}"' for name in _ATTRIBUTES], "count(*)")


def _grouped(path: Path, columns: Sequence[str], weight: str) -> Sparse:
    """The occupied cells of all combinations of the values that occur.

    That the lists come from the records is an experiment's licence, not a release's.
    """
    named = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
    query = f"SELECT {named}, {weight} AS n FROM read_parquet(?) GROUP BY ALL"
    with duckdb.connect() as connection:
        found = connection.execute(query, [str(path)]).fetchnumpy()
    size, cells = 1, np.zeros(len(found["n"]), dtype=np.int64)
    for place in range(len(columns)):
        values, codes = np.unique(found[f"c{place}"], return_inverse=True)
        size, cells = size * len(values), cells * len(values) + codes
    order = np.argsort(cells)
    return Sparse(size, cells[order], np.asarray(found["n"], dtype=np.int64)[order])


def _made_up(size: int, occupied: int, tail: float) -> Sparse:
    """Cells anywhere, with counts of a Pareto law: most are 1, few are large."""
    rng = np.random.default_rng(_SEED)
    cells: Ints = np.sort(rng.choice(size, occupied, replace=False))
    return Sparse(size, cells, np.ceil(rng.pareto(tail, occupied)).clip(1, 2_000).astype(np.int64))
