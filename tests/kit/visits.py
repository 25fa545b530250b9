"""Visits of a hamlet, to compare methods on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.request.request import make_subject
from crowdtally.lab.comparison.records import Held, hold
from crowdtally.records.duckdb import DuckDBEngine

PLACES = ["bar", "cafe", "park", "pier", "zoo"]
DAYS = ["Mon", "Tue"]
NAMES = ["sra", "hpa", "declared", "sra+rank", "lpa", "gs"]
"""Methods of every kind: with one step, with several, and baselines."""


def write_visits(path: Path, more: int = 0) -> Path:
    """Visits of 11 people, of whom one made 40 and the others a few each."""
    users = [user for user in range(10) for _ in range(user + 1)] + [99] * (40 + more)
    pyarrow.parquet.write_table(
        pa.table(
            {
                "who": [f"visitor-{user}" for user in users],
                "place": [PLACES[(place * place) % 5] for place in range(len(users))],
                "day": [DAYS[place % 2] for place in range(len(users))],
            }
        ),
        path,
    )
    return path


def declared(visits: object) -> Records:
    """The roles of their columns."""
    return ct.read(visits, user="who", item="place", contexts=["day"])


def held_in(folder: Path, records: Records, domain: ct.Domain) -> Held:
    """The records as a comparison holds them."""
    with DuckDBEngine() as engine:
        return hold(make_subject(records, domain), folder, engine)
