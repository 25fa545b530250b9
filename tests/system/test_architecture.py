"""What docs/architecture.md says about the code is so."""

from __future__ import annotations

import inspect
import re
from collections import Counter
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
        found.append([*names, "records/duckdb.least"])
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
    assert trace[0] == "crowdtally/api.release"
    assert len(trace) <= MOST_CALLS, trace
    printed = re.search(r"```text\n(crowdtally/api\.release.*?)\n```", TEXT, re.DOTALL)
    assert printed is not None, trace
    assert [line.split()[0] for line in printed[1].splitlines()] == trace


def test_every_folder_and_file_it_names_exists() -> None:
    named = set(re.findall(r"`((?:src|tests|docs|bench|research)/[\w./-]+)`", TEXT))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in (ROOT / "src/crowdtally").glob("*/__init__.py")}
    assert [name for name in sorted(packages) if f"`{name}/`" not in TEXT] == []


# ---- figures that only go down -------------------------------------------------------------------

OLD_AUTO = ("curator/steps/", "curator/refined.py", "noise/refining.py", "core/profile.py")
"""The default method, whose modules stay where they are until it is replaced."""


def test_the_house_does_not_grow(capsys: pytest.CaptureFixture[str]) -> None:
    """How many modules and lines there are: lower these figures when you can."""
    source = ROOT / "src" / "crowdtally"
    paths = [path for path in source.rglob("*.py") if path.name != "__init__.py"]
    names = [str(path.relative_to(source)) for path in paths]
    modules = [name for name in names if not name.startswith(OLD_AUTO)]
    lines = sum(path.read_text("utf-8").count("\n") for path in source.rglob("*.py"))
    folders = Counter(str(Path(name).parent) for name in modules)
    used = Counter(Path(name).name for name in modules)
    with capsys.disabled():
        print(f"\n{len(modules)} modules and {len(names) - len(modules)} of auto, {lines} lines")
    assert len(modules) <= 249
    assert lines <= 73_110
    assert max(folders.values()) <= 15, folders.most_common(3)
    assert max(used.values()) <= 4, used.most_common(3)
