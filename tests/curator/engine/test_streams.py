"""Whatever offers Arrow batches is a frame; a reader, which gives its rows once, is read once."""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.ledger import Ledger
from crowdtally.records import copying
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.locate import locate
from kit.every_source import DAYS, PLACES, Stream, counted, expected, table
from kit.loud import LOUD

SECRET = "Xanadu"


class Refuses:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise RuntimeError(SECRET)


class Lies:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return SECRET


def breaks_off() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield table().to_batches()[0]
        raise ValueError(SECRET)

    return pa.RecordBatchReader.from_batches(table().schema, batches())


def spent() -> Any:
    """A reader that says of itself that it was read."""
    from arro3.core import RecordBatchReader

    reader = RecordBatchReader.from_arrow(table())
    reader.read_all()
    return reader


def test_a_reader_can_be_read_again_by_us() -> None:
    reader = table().to_reader(max_chunksize=50)
    for _ in range(3):
        assert counted(reader)[:2] == expected()


def test_what_is_kept_of_a_reader_goes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reader = table().to_reader()
    counted(reader)
    (left,) = tmp_path.iterdir()
    assert left.stat().st_mode & 0o077 == 0, "others may read it"
    del reader
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_types_of_a_stream_are_inferred_as_any_frames() -> None:
    for source in (Stream(table()), table().to_reader()):
        with DuckDBEngine() as engine:
            columns = engine.open(locate(source), "t")
        assert not any(column.declared for column in columns.values())
        assert columns["n"].own is not None
        assert columns["who"].own is None


def test_a_guest_among_integers_changes_nobody() -> None:
    for extra in ([], ["guest"]):
        users = pa.array([*map(str, range(9)), *extra]) if extra else pa.array(range(9))
        frame = pa.table(
            {"who": users, "place": ["park"] * len(users), "day": ["Mon"] * len(users)}
        )
        items, _, _ = counted(Stream(frame), limit=1)
        assert items[0] == 9 + len(extra)


@pytest.mark.parametrize("kind", ["categorical", "dictionary", "null column", "string view"])
def test_columns_of_many_types(kind: str) -> None:
    whole = table()
    source: Any = {
        "categorical": lambda: pl.from_arrow(whole).cast({"who": pl.Categorical}),
        "dictionary": lambda: whole.set_column(0, "who", whole["who"].dictionary_encode()),
        "null column": lambda: pl.from_arrow(whole).with_columns(n=None),
        "string view": lambda: whole.set_column(0, "who", whole["who"].cast(pa.string_view())),
    }[kind]()
    assert counted(Stream(source))[:2] == expected()


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "find_spec", lambda _: None)
    assert counted(Stream(pl.from_arrow(table())))[:2] == expected()
    odd = pl.from_arrow(table()).with_columns(n=pl.lit(2**70, dtype=pl.Int128))
    with pytest.raises(ct.InputError, match=r"type that cannot be read.*'crowdtally\[frames\]'"):
        counted(Stream(odd))


BAD = {
    "refuses": (Refuses, r"refuses them \(RuntimeError\).*once: if it was read or closed before"),
    "offers something else": (Lies, "refuses them"),
    "breaks off": (breaks_off, r"cannot be read to its end .*: what feeds it failed"),
    "was read before": (spent, "gives its rows once.*make it anew"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_stream_is_refused_uncharged(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, words = BAD[case]
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    with pytest.raises(ct.InputError, match=words) as caught:
        released(make(), tmp_path)
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not charges(tmp_path)


def test_a_reader_that_broke_off_is_not_read_on() -> None:
    """What is left of it would pass for all of it."""
    reader = breaks_off()
    for words in ("what feeds it failed", "some of its rows are gone: make it anew"):
        with pytest.raises(ct.InputError, match=words):
            counted(reader)


def test_a_reader_that_somebody_has_read_is_said_to_be_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is empty like one without rows, and records must not decide: it is said, not refused."""
    for number, strict in enumerate((True, False)):
        reader = table().to_reader()
        reader.read_all()
        if strict:
            with pytest.raises(ct.InputError, match=r"the source has no rows.*was it read before"):
                released(reader, tmp_path, strict=True)
            assert not charges(tmp_path)
        else:
            released(reader, tmp_path)
            assert "gives its rows once: was it read before?" in caplog.text
        assert len(charges(tmp_path)) == number * 3  # reserved, drawing, published


def test_a_table_without_rows_is_not_said_to_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    released(table().slice(0, 0), tmp_path)
    said = caplog.text
    assert "has no rows" in said
    assert "reader" not in said


def released(source: Any, folder: Path, **options: Any) -> ct.Release:
    return ct.release(
        ct.read(source, user="who", item="place", contexts=["day"]),
        ct.Domain(PLACES, {"day": DAYS}, item="place"),
        epsilon=LOUD, max_records=400, dataset="visits", output=folder / "out",
        ledger=folder / "ledger.sqlite", **options, new_dataset=True,
    )  # fmt: skip


def charges(folder: Path) -> list[Any]:
    path = folder / "ledger.sqlite"
    return (
        [e for e in Ledger.open(path, create=True).entries() if e.number > 1]
        if path.exists()
        else []
    )


def test_what_is_no_stream_says_how_to_make_one() -> None:
    delta = type("DeltaTable", (), {"__module__": "deltalake.table"})()
    with pytest.raises(ct.UsageError, match=r"to_pyarrow_dataset\(\).scanner\(\).to_reader\(\)\."):
        locate(delta)
    iceberg = type("Table", (), {"__module__": "pyiceberg.table"})()
    with pytest.raises(ct.UsageError, match=r"table\.scan\(\)\.to_arrow_batch_reader\(\)\."):
        locate(iceberg)
    with pytest.raises(
        ct.UsageError, match=r"cannot be read from a builtins\.dict.*_stream__\)\.$"
    ):
        locate({})


# ---- users that became floats --------------------------------------------------------------------

FLOATS = [1.0, 2.0, -0.0, 0.0, 1.5, float("nan"), 2.0**53, 1e300, -7.25, float("inf"), 1e-7]
KEPT = [1, 2, 0]


def _users(values: Any) -> Any:
    return {"who": values, "place": ["park"] * len(values), "day": ["Mon"] * len(values)}


FRAMES = {
    "pandas": lambda values: pd.DataFrame(_users(values)),
    "pandas objects": lambda values: pd.DataFrame(_users(pd.Series(values, dtype=object))),
    "pandas nullable": lambda values: pd.DataFrame(_users(pd.array(values, "Float64"))),
    "arrow": lambda values: pa.table(_users(values)),
    "stream": lambda values: Stream(pa.table(_users(values))),
    "polars": lambda values: pl.DataFrame(_users(values)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_float_is_a_user_where_it_is_a_whole_number(kind: str) -> None:
    items, _, dropped = counted(FRAMES[kind](FLOATS), limit=1)
    assert items[0] == len(KEPT), "−0.0 and 0.0 are one user"
    assert dropped.without_user == 7
    # To pandas NaN is a missing value; among objects so is what no number of another column equals.
    missing = {"pandas": 1, "pandas nullable": 1, "pandas objects": 4}.get(kind, 0)
    assert dropped.inexact == 7 - missing


@pytest.mark.parametrize("kind", ["pandas", "pandas objects", "arrow", "polars"])
def test_the_sample_of_a_user_is_the_same_as_integer_and_as_float(kind: str) -> None:
    """A missing value makes floats of all integers; nobody is sampled anew for it."""
    frame = table().to_pandas()
    users = (frame["n"] % 17).tolist()
    samples = []
    for values in (users, [float(user) for user in users], list(map(str, users))):
        made = {"who": values, "place": frame["place"], "day": frame["day"]}
        plain = pd.DataFrame(made)
        whole = plain.astype({"who": object}) if kind == "pandas objects" else plain
        if kind in ("arrow", "polars"):
            whole = pa.table(
                {**made, "who": values, "place": table()["place"], "day": table()["day"]}
            )
        samples.append(counted(pl.from_arrow(whole) if kind == "polars" else whole, limit=2))
    assert samples[0][:2] == samples[1][:2] == samples[2][:2]


@pytest.mark.parametrize("text", ["1.5", "-7.25", "1e-07", "1.5e+300", "9007199254740993.0"])
def test_a_guest_does_not_bring_fractions_back(text: str) -> None:
    """A text among them makes text of all floats."""
    for values in ([text, "ana"], [text, "ana", "guest"]):
        items, _, dropped = counted(pa.table(_users(values)), limit=1)
        assert (items[0], dropped.inexact) == (len(values) - 1, 1)


@pytest.mark.parametrize(
    "text", ["1.0", "7", "1.2.3", "10.0.0.1", "2024.01.31", "+4930123456789012345", "12e45", "1e",
             "0009007199254740993", "e-7", "v1.5", ".", "-", "1-2", "user@e.x"],
)  # fmt: skip
def test_other_texts_are_users(text: str) -> None:
    items, _, dropped = counted(pa.table(_users([text, "ana"])), limit=1)
    assert (items[0], dropped.inexact) == (2, 0)


def test_a_declared_text_is_a_user_whatever_it_says(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(_users(["1.5", "ana"])), tmp_path / "visits.parquet")
    assert counted(tmp_path / "visits.parquet", limit=1)[0][0] == 2


def test_importing_the_engine_imports_no_pyarrow() -> None:
    import subprocess

    code = "import sys, crowdtally.records.open; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
