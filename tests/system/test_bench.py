"""Every benchmark says how it is called, without running."""

from __future__ import annotations

import json
import runpy
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from kit.ledgers import running_server

BENCH = Path(__file__).parents[2] / "bench"
SCRIPTS = sorted(p.name for p in BENCH.glob("*.py") if '__name__ == "__main__"' in p.read_text())


def test_the_benchmarks_are_found() -> None:
    assert {
        "accuracy.py", "asking.py", "bounding.py", "ledger.py", "netflix.py", "noise.py",
        "release.py", "sources.py", "spark.py",
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


def test_accuracy_is_measured_kept_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a made-up file of the same form: the real files are nobody's to need."""
    monkeypatch.syspath_prepend(BENCH)
    data = tmp_path / "data"
    data.mkdir()
    duckdb.execute(
        "COPY (SELECT u AS user_id, (u * 7 + i * i) % 40 AS item_id FROM range(400) AS a(u), "
        f"range(5) AS b(i)) TO '{data / 'retail.parquet'}' (FORMAT parquet)"
    )
    page = tmp_path / "page.md"
    page.write_text("before <!-- measured: begin --> old <!-- measured: end --> after")
    monkeypatch.setenv("CROWDTALLY_DATA", str(data))
    asked = [
        "--quick",
        "--only",
        "retail",
        "--methods",
        "sra,gs",
        "--processes",
        "1",
        "--records",
        "0",
    ]
    asked += ["--results", str(tmp_path / "kept"), "--write", str(page)]
    monkeypatch.setattr(sys, "argv", ["accuracy.py", *asked])
    main = runpy.run_path(str(BENCH / "accuracy.py"))["main"]
    main()
    first = capsys.readouterr()
    told = json.loads(first.out.splitlines()[-1])
    assert told["targets"] == 5
    assert {one["target"].split(":")[0] for one in told["missed"]} <= {"retail"}
    assert "auto --for counts" in first.out
    assert "sra l=10, paper" in first.out
    assert "hindsight" in first.out
    assert "Online Retail, weekday is not in" in first.err
    written = page.read_text()
    assert written.startswith("before <!-- measured: begin -->\n\n### ε = 1, 3 runs")
    assert "old" not in written
    main()
    again = capsys.readouterr()
    assert "0 tasks" in again.err, "what was measured is kept"
    assert again.out.splitlines()[:-1] == first.out.splitlines()[:-1]


def test_a_missed_target_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    from accurate.judging import Line, Mean
    from accurate.targets import Found, reason_of, verdicts
    from accurate.telling import markdown
    from accurate.ways import Way

    def line(way: Way, kind: str, mse: float) -> Line:
        names = ("kl", "mae", "median relative error", "precision@10",
                 "error of the true top ten", "error of the listed ten")  # fmt: skip
        scores = {"mse": Mean(mse, 0.0), **{name: Mean(0.5, 0.0) for name in names}}
        return Line("Foursquare NYC, users", "items", "1", way, kind, scores, 3)

    lines = [line(Way("auto", aim="counts"), "auto", 6.0),
             line(Way("dpsense+dpsense", 100), "paper", 10.0)]  # fmt: skip
    families = {"Foursquare NYC, weekday, users": "Foursquare NYC, users"}
    missed = {one.target: one for one in verdicts(Found(lines, "1"), families) if not one.met}
    one = missed["Foursquare NYC, users: item mse at most 0.50 of the papers' best"]
    assert "a table of zeros" in one.reason
    assert one.as_dict()["reason"] == one.reason
    assert any(f"wanted 0.500, because {one.reason}" in told for told in markdown(lines, [one]))
    flat = missed["Foursquare NYC, users: item kl at most 0.33 of the papers' best"]
    assert "DFT" in flat.reason
    unknown = replace(flat, target="of another file", reason=reason_of("of another file"))
    assert unknown.as_dict()["reason"] is None
    assert not any("because" in told for told in markdown(lines, [unknown]))


def test_each_step_on_the_netflix_look_alike_is_measured(tmp_path: Path) -> None:
    steps = runpy.run_path(str(BENCH / "netflix.py"))["STEPS"]
    assert list(steps) == ["generate", "group_by", "release"]
    for step in steps.values():
        assert 0 < step(tmp_path / "netflix.parquet", tmp_path, "0.0005") < 100
    kept = ["ledger.sqlite", "netflix.items.parquet", "netflix.parquet", "release"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
