"""Every benchmark says how it is called, without running."""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

import pytest

from budget.ledger_kit import running_server

BENCH = Path(__file__).parent.parent / "bench"
SCRIPTS = sorted(p.name for p in BENCH.glob("*.py") if '__name__ == "__main__"' in p.read_text())


def test_the_benchmarks_are_found() -> None:
    assert {
        "bounding.py", "ledger.py", "netflix.py", "noise.py", "release.py", "sources.py",
        "spark.py",
    } <= set(SCRIPTS)  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_answered_and_nothing_runs(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured() -> float:
        raise AssertionError("the benchmark runs")

    monkeypatch.syspath_prepend(BENCH)
    main = runpy.run_path(str(BENCH / script))["main"]
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    monkeypatch.setattr(time, "perf_counter", measured)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: {script} ")
    described = said.split("\n\n")[1].split()
    assert len(described) > 5, "nothing says what is measured"


def test_every_kind_of_source_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    running_server()  # skips where PostgreSQL cannot be started
    monkeypatch.syspath_prepend(BENCH)
    found = runpy.run_path(str(BENCH / "sources.py"))["measured"](2_000, 1)
    kinds = {"parquet", "csv", "duckdb", "sqlite", "postgresql"}
    assert set(found["seconds"]) == set(found["ratio"]) == set(found["reading"]) == kinds
    assert found["ratio"]["parquet"] == 1
    assert all(0 < found["reading"][kind] < found["seconds"][kind] for kind in kinds)


def test_each_step_on_the_netflix_look_alike_is_measured(tmp_path: Path) -> None:
    steps = runpy.run_path(str(BENCH / "netflix.py"))["STEPS"]
    assert list(steps) == ["generate", "group_by", "release"]
    for step in steps.values():
        assert 0 < step(tmp_path / "netflix.parquet", tmp_path, "0.0005") < 100
    kept = ["ledger.sqlite", "netflix.items.parquet", "netflix.parquet", "release"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
