"""Fixtures of the comparison's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.core.records import Records
from kit.lab import DAYS, PLACES, declared, write_visits


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_visits(tmp_path_factory.mktemp("visits") / "visits.parquet")


@pytest.fixture(scope="module")
def records(visits: Path) -> Records:
    return declared(visits)


@pytest.fixture(scope="module")
def domain() -> ct.Domain:
    return ct.Domain(PLACES, {"day": DAYS})
