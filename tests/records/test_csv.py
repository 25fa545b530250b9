"""CSV: no row's length or line breaks decide how another is read, and weights are digits."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.curator.counting.bounded import count_rows
from crowdtally.records import csv as csv_files
from crowdtally.records import csv as csv_quotes
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from crowdtally.records.prepare import prepare

Rows = list[tuple[str | None, ...]]


@pytest.fixture(scope="module")
def read() -> Iterator[Callable[[Path], Rows]]:
    """All rows of a file, by one engine for all of them."""
    with DuckDBEngine() as engine:

        def rows(path: Path) -> Rows:
            names = engine.open(locate(path), "t")
            table = engine.arrow("SELECT * FROM t")
            return list(zip(*(table[name].to_pylist() for name in names), strict=True))

        yield rows


@pytest.mark.parametrize("seed", range(6))
def test_text_of_several_lines_at_any_place(seed, read, tmp_path, monkeypatch):
    """In buffers of 256 kB, so that rows and quotes lie across their ends in every way."""
    monkeypatch.setattr(csv_files, "LONGEST_ROW", 2**17)
    monkeypatch.setattr(csv_files, "_BUFFER", 2**18)
    draw = random.Random(seed)
    pieces = ["a", ",", "\n", '"', "\r\n", "x,y\n1,2", "ä", " " * 30, "u,i\n"]
    rows = [
        (str(n), "".join(draw.choices(pieces, k=draw.randrange(60))) or None) for n in range(30_000)
    ]
    path = tmp_path / "many.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("u", "i"), *rows])
    assert path.stat().st_size > 8 * 2**18
    assert read(path) == rows


def test_a_long_row_is_a_row(read, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(f"u,i\n1,a\n2,{'x' * 5_000_000}\n3,b\n")
    assert [(u, len(i or "")) for u, i in read(path)] == [("1", 1), ("2", 5_000_000), ("3", 1)]


def test_an_empty_field_is_null_and_a_quoted_text_of_a_copy_is_not(tmp_path):
    path = tmp_path / "copy"
    path.write_text('"1",""\n"2",\n')
    with DuckDBEngine() as engine:
        engine.define("t", f"SELECT * FROM {csv_files.exact_text(path, ['a', 'b'])}")
        assert engine.arrow("SELECT * FROM t").to_pylist() == [
            {"a": "1", "b": ""}, {"a": "2", "b": None},
        ]  # fmt: skip


MOST = 2**33
WEIGHTS = {
    "7": 7, " 7 ": 7, "007": 7, "0": 0, "8589934591": MOST - 1, "8589934592": MOST,
    "8589934593": MOST, "9223372036854775807": MOST, " 9223372036854775807": MOST,
    "9223372036854775808": MOST, " 9223372036854775808": MOST, "9" * 400: MOST,
    "0" * 400 + "7": 7, "000000000000000000000009223372036854775808": MOST,
    "0.5": 0, "1.5": 0, "1.0": 0, "0x10": 0, "1e3": 0, "-1": 0, "+1": 0, "1_000": 0, "": 0,
    "١": 0, "1 2": 0, "7\n": 0,
}  # fmt: skip


@pytest.mark.parametrize("text", WEIGHTS, ids=lambda text: repr(text)[:30])
def test_a_weight_in_text_is_digits(text, tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("i", "w"), ("a", text), ("b", "1")])
    records = ct.read(path, user_per_row=True, weight="w", item="i")
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, ct.Domain(["a", "b"], item="i"))
        items, _ = count_rows(engine, prepared).found
    assert items.dense().tolist() == [WEIGHTS[text], 1]


# ---- quotes --------------------------------------------------------------------------------------


def by_python(text: str) -> Rows | None:
    """The rows as Python's own reader has them; None where it refuses the text.

    Empty fields after the last column are passed over, as DuckDB does.
    """
    try:
        _, *rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error:
        return None
    return [tuple(field or None for field in row[:2]) for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_those_of_pythons_reader_or_the_file_is_refused(seed, read, tmp_path, monkeypatch):
    """In particular no row is lost without a word, however quotes stand; in blocks of 8 bytes."""
    monkeypatch.setattr(csv_quotes, "_BLOCK", 8)
    draw, read_at_all = random.Random(seed), 0
    pieces = ["a", ",", '"', "\n", '""', '",', '\n"', "b"]
    for number in range(400):
        text = "u,i\n" + "".join(draw.choices(pieces, k=draw.randrange(1, 14)))
        path = tmp_path / f"{number}.csv"
        path.write_text(text)
        with contextlib.suppress(ct.InputError):
            assert read(path) == by_python(text), repr(text)
            read_at_all += 1
    assert read_at_all > 20


@pytest.mark.parametrize(
    "text", ['u,i\n1,a\n2,"b\n3,c\n', 'u,i\n1,a"\n2,"\n3,d\n', 'u,i\n"b"a,b"a"","']
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_quote_that_is_never_closed_is_refused(text, ending, read, tmp_path):
    """A single reader drops it, and all rows after it, without a word."""
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending == "csv.gz" else text.encode())
    with pytest.raises(ct.InputError, match="a quote is opened and not closed"):
        read(path)
