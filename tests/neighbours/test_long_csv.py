"""Valid CSV is read whatever the byte positions: no row's length decides how another is read.

Where several readers share a file, each guesses where a row begins; in quoted text of many lines
they guess wrong, depending on how long the rows before are. Only a file beyond one reader's share
shows it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare

_BYTES = 70_000_000
_NOTE = 'first line\n""quoted"", and, commas\n\n7,x,more\n' * 200


def write(path: Path, shift: int) -> int:
    """Records whose notes look like other records; how many there are."""
    row = f'7,x,"{_NOTE}"\n'
    rows = _BYTES // len(row)
    with path.open("w", newline="") as file:
        file.write(f"who,place,note\n8,y,{'-' * shift}\n")
        file.writelines(row for _ in range(rows))
    return rows


@pytest.mark.parametrize("shift", [1, 4099])
def test_quoted_text_of_many_lines(shift: int, tmp_path: Path) -> None:
    rows = write(tmp_path / "long.csv", shift)
    records = ct.read(tmp_path / "long.csv", user="who", item="place")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, ct.Domain(["x", "y"], item="place"))
        items, _ = count(engine, prepared, SRA(2 * rows), key=1, what="records").found
    assert items.dense().tolist() == [rows, 1]
