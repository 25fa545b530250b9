"""What docs/architecture.md says about the code is so."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.records.duckdb import DuckDBEngine

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_CALLS = 7


def calls(tmp_path: Path, patch: pytest.MonkeyPatch) -> list[str]:
    """The calls from ``ct.release`` to the place where a record is kept or dropped."""
    found: list[list[str]] = []
    least = DuckDBEngine.least

    def watched(*given: object, **named: object) -> object:
        frames = [frame for frame in inspect.stack() if "crowdtally" in Path(frame.filename).parts]
        names = [
            f"{Path(frame.filename).parent.name}/{Path(frame.filename).stem}.{frame.function}"
            for frame in reversed(frames)
        ]
        found.append([*names, "engine/duckdb.least"])
        return least(*given, **named)  # type: ignore[arg-type]

    patch.setattr(DuckDBEngine, "least", watched)
    rows = pa.table({"who": ["a", "b"], "item": ["x", "y"]})
    ct.release(
        ct.read(rows, user="who", item="item"), ct.Domain(["x", "y"]), epsilon=1,
        ledger=tmp_path / "ledger.sqlite", dataset="town", new_dataset=True, max_records=10,
    )  # fmt: skip
    (only,) = found
    return only


def test_few_calls_lead_to_where_a_record_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = calls(tmp_path, monkeypatch)
    assert trace[0] == "crowdtally/facade.release"
    assert len(trace) <= MOST_CALLS, trace
    printed = re.search(r"```text\n(crowdtally/facade\.release.*?)\n```", TEXT, re.DOTALL)
    assert printed is not None, trace
    assert [line.split()[0] for line in printed[1].splitlines()] == trace


def test_every_folder_and_file_it_names_exists() -> None:
    named = set(re.findall(r"`((?:src|tests|docs|bench|research)/[\w./-]+)`", TEXT))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in (ROOT / "src/crowdtally").glob("*/__init__.py")}
    assert [name for name in sorted(packages) if f"`{name}/`" not in TEXT] == []
