"""A hundredth of the Transaction look-alike, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdtally_research.reproducing.figure import Data
from crowdtally_research.reproducing.papers.day_li.bench import Bench, bench_on
from kit.draws import SilentDraws


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("made"), is_quick=True)


@pytest.fixture(scope="session")
def path(made: Data) -> Path:
    return made.lookalike("transaction")


@pytest.fixture(scope="session")
def bench(path: Path) -> Bench:
    """Without noise: what is published is what was counted."""
    return bench_on(path, SilentDraws())
