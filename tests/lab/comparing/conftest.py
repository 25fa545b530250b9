"""A hamlet whose visits are compared: a few visitors, one of whom came very often."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.values.records import Records

PLACES = ["bar", "cafe", "park", "pier", "zoo"]
DAYS = ["Mon", "Tue"]


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


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_visits(tmp_path_factory.mktemp("visits") / "visits.parquet")


def declared(visits: Path) -> Records:
    return ct.read(visits, user="who", item="place", contexts=["day"])


@pytest.fixture(scope="module")
def records(visits: Path) -> Records:
    return declared(visits)


@pytest.fixture(scope="module")
def domain() -> ct.Domain:
    return ct.Domain(PLACES, {"day": DAYS})
