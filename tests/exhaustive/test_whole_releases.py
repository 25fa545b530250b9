"""What lies in the folder of a release is what the enumeration says the steps put out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import dense
from crowdtally.format import Published
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.locate import Sources
from kit.publishing import publish
from kit.rules import CHOSEN, PAIRS, SAMPLES, STEERED
from kit.subjects import Bench, Subject, known_keys
from kit.tiny import Database
from kit.tracing import Tracer

DATABASE: Database = ((0, 0, 1), (1, 2, 3), (0,))
KEY = 31337
WHOLE = {
    name: (SAMPLES | STEERED | PAIRS | CHOSEN)[name]
    for name in (
        "two records, no ids",
        "two records, repeated ids",
        "users, two cells",
        "items alone",
        "hpa, one record",
        "pairs of two records",
        "sra, rank",
    )
}


def released(subject: Subject, folder: Path, draws: Draws) -> Published:
    """A release by ``publish`` itself: its own engine, a ledger, files."""
    cells = tuple(tuple(cell % subject.space.cells for cell in h) for h in DATABASE)
    rows = subject.space.rows(cells, subject.ids)
    names = ("user", "item", "context", "id")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    sources = Sources(replace(subject.records, source=table))
    request = replace(subject.request, sources=sources)
    ledger = Ledger.open(folder / "ledger.db", create=True)
    with known_keys(KEY):
        return publish(
            request, "tiny", folder / "release", ledger=ledger, draws=draws, tell=pytest.fail
        )


@pytest.mark.parametrize("name", WHOLE)
def test_files_hold_what_the_steps_release(name: str, tmp_path: Path) -> None:
    subject = WHOLE[name]
    cells = tuple(tuple(cell % subject.space.cells for cell in h) for h in DATABASE)
    made = released(subject, tmp_path, Tracer(subject.room))
    with Bench(subject) as bench:
        tables = bench.tables(cells, KEY, Tracer(subject.room))
    assert [table["name"] for table in made.metadata["tables"]] == [t.name for t in tables]
    for table in tables:
        told = made.table(table.name)
        assert told is not None
        stored = parquet.read_table(made.path(told))
        assert stored["count"].to_pylist() == table.values.tolist()
        assert told.law == table.law


@given(
    counts=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4),
    noises=st.lists(st.integers(-(2**70), 2**70), min_size=4, max_size=4),
)
@example(counts=[2**63 - 1], noises=[1, 0, 0, 0])  # in 64 bits the sum would wrap round
def test_dense_values_are_held_within_64_bits(counts: list[int], noises: list[int]) -> None:
    """Beyond what the tracer's numbers reach: the noise stays exact, the sum is clipped."""

    class Fixed(SystemDraws):
        def laplace(self, scale: Fraction, size: int) -> np.ndarray:
            small = all(-(2**63) <= noise < 2**63 for noise in noises)
            return np.array(noises[:size], dtype=np.int64 if small else object)

    axis = Axis.of("item", range(len(counts)))
    layout = grid([axis])
    exact = Counts(layout.size, np.arange(len(counts)), np.array(counts, dtype=np.int64), 1)
    table = dense(exact, Epsilon.of(1), Fixed())
    wanted = [c + x for c, x in zip(counts, noises, strict=False)]
    assert table.values.tolist() == [min(max(v, -(2**63)), 2**63 - 1) for v in wanted]
