"""One key gives one sample, however the records lie and however often it is computed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from crowdtally.curator.bounding.sampling import SRA
from crowdtally.records.prepare import prepare
from kit.crowd import BARE, DOMAIN, EVERYONE, Start, together

KEY, OTHER_KEY, FILES = 31, 32, 5


def kept(start: Start, source: Path, *keys: int) -> list[Counter[Any]]:
    """What is kept under each key, computed each time from the files."""
    with start() as engine:
        prepared = prepare(engine, BARE.records(source, DOMAIN), DOMAIN)
        samples = [
            engine.columns(
                SRA(2).keep(engine, prepared.rows, cells=DOMAIN.size, key=key, what="records").rows
            )
            for key in keys
        ]
    return [
        Counter(zip(found["user"].tolist(), found["cell"].tolist(), strict=True))
        for found in samples
    ]


def test_order_and_files_change_nothing_but_the_key_does(
    start_engine: Start, tmp_path: Path
) -> None:
    rows = together(EVERYONE)
    order = np.random.default_rng(3).permutation(len(rows))
    parquet.write_table(BARE.table(rows), tmp_path / "all.parquet")
    for number in range(FILES):
        part = [rows[place] for place in order[number::FILES]]
        parquet.write_table(BARE.table(part), tmp_path / f"part-{number}.parquet")
    once, again, other = kept(start_engine, tmp_path / "all.parquet", KEY, KEY, OTHER_KEY)
    (in_parts,) = kept(start_engine, tmp_path / "part-*.parquet", KEY)
    assert once == again == in_parts
    assert once.total() == other.total()
    assert sum((once - other).values()) > once.total() / 10
