"""Every benchmark says how it is called, without running."""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

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
        "COPY (SELECT u AS user, (u * 7 + i * i) % 40 AS item, ['morning', 'night'][1 + u % 2] AS "
        "part FROM range(400) AS a(u), range(5) AS b(i)) "
        f"TO '{data / 'completejourney_types.parquet'}' (FORMAT parquet)"
    )
    page, saved = tmp_path / "page.md", tmp_path / "saved.json"
    page.write_text("before <!-- measured: begin --> old <!-- measured: end --> after")
    monkeypatch.setenv("CROWDTALLY_DATA", str(data))
    monkeypatch.setattr(
        sys, "argv",
        ["accuracy.py", "--quick", "--processes", "1", "--results", str(tmp_path / "kept"),
         "--write", str(page), "--save", str(saved)],
    )  # fmt: skip
    main = runpy.run_path(str(BENCH / "accuracy.py"))["main"]
    main()
    first = capsys.readouterr()
    answer = json.loads(first.out.splitlines()[-1])
    # Of two files' items and one's cells: MSE and KL over the seeds, and MSE over Laplace; four
    # kinds of intervals. The old auto was not measured on this file.
    assert answer["targets"] == 3 * 3 + 4
    assert answer["runs"] == [3]
    assert all(one["target"].startswith("ε 1, ") for one in answer["missed"])
    assert "| Complete Journey × part | auto for recommend | 3 |" in first.out
    assert "| Complete Journey | the best seed | 3 |" in first.out
    assert "bakery is not in" in first.err
    written = page.read_text()
    assert written.startswith("before <!-- measured: begin -->\n\n### ε = 1, items")
    assert "old" not in written
    lines = json.loads(saved.read_text())
    assert {(line["subject"], line["table"], line["way"]["method"]) for line in lines} == {
        ("Complete Journey", "items", "counts"), ("Complete Journey", "items", "top"),
        *(("Complete Journey × part", table, aim)
          for table in ("items", "cells") for aim in ("counts", "recommend")),
    }  # fmt: skip
    main()
    again = capsys.readouterr()
    assert ", 0 to do" in again.err, "what was measured is kept"
    assert again.out.splitlines()[:-1] == first.out.splitlines()[:-1]


def test_accuracy_is_judged_beside_seeds_laplace_and_the_old_auto(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCH)
    from accurate.judging import Line, Mean, verdicts
    from accurate.scores import LISTS, SLICES
    from accurate.ways import DELTA, Way

    def line(kind: str, method: str, mse: float, table: str = "items", **more: Any) -> Line:
        covered = {f"covered {name}": Mean(0.92, 0.01) for name in (*SLICES, "total")}
        lists = dict.fromkeys(LISTS, Mean(mse / 10, 0.0))
        scores = {"mse": Mean(mse, 0.1), "kl": Mean(0.5, 0.0), **covered, **lists}
        way = Way(kind, method, delta=more.pop("delta", "0"))
        return Line(more.pop("subject", "Gowalla"), table, "1", way, more["longest"], 20, scores)

    def judged(*lines: Line) -> dict[str, tuple[float, bool]]:
        return {one.target: (one.found.value, one.met) for one in verdicts(lines)}

    short = judged(
        line("auto", "counts", 6.0, longest=8), line("old auto", "counts", 1.0, longest=8),
        line("seed", "sra", 5.0, longest=8), line("seed", "hpa", 7.0, longest=8),
        line("laplace", "sra", 5.0, longest=8),
    )  # fmt: skip
    name = "ε 1, Gowalla, items, auto for counts"
    assert short[f"{name}: MSE over that of sra None"] == (1.2, False)
    assert short[f"{name}: KL over that of sra None"] == (1.0, True)
    assert short[f"{name}: MSE over that of Laplace for the true maximum None"] == (1.2, False)
    assert short["ε 1, 1 files pooled: covered total"] == (0.92, True)
    assert not any("geometric" in target for target in short)
    long = judged(
        line("auto", "counts", 6.0, longest=9), line("laplace", "sra", 5.0, longest=9),
        line("old auto", "counts", 5.0, longest=9), line("old auto", "recommend", 1, longest=9),
        line("auto", "counts", 1.0, subject="other", longest=9),
        line("old auto", "counts", 1.2, subject="other", longest=9),
        line("auto", "counts", 1.9, delta=DELTA, longest=9),
        line("auto", "recommend", 8.0, "cells", longest=9),
        line("old auto", "recommend", 9.0, "cells", longest=9),
    )  # fmt: skip
    assert long.pop("ε 1, items of 2 files with long rows: geometric mean of MSE over the old "
                    "auto's") == (pytest.approx(1.0), True)  # fmt: skip
    delta = long.pop(f"{name}, δ {DELTA}: MSE over that of pure ε")
    assert delta == (pytest.approx(1.9 / 6), False)
    lists = {target: found for target, found in long.items() if "recommend" in target}
    assert set(lists.values()) == {(0.8, False)}
    assert len(lists) == len(LISTS)
    trivago = judged(
        line("auto", "recommend", 8.0, "cells", subject="trivago × platform", longest=9),
        line("seed", "sra", 8.0, "cells", subject="trivago × platform", longest=9),
    )
    assert list(trivago.values()) == [(0.8, True)] * len(LISTS)


def test_each_step_on_the_netflix_look_alike_is_measured(tmp_path: Path) -> None:
    steps = runpy.run_path(str(BENCH / "netflix.py"))["STEPS"]
    assert list(steps) == ["generate", "group_by", "release"]
    for step in steps.values():
        assert 0 < step(tmp_path / "netflix.parquet", tmp_path, "0.0005") < 100
    kept = ["ledger.sqlite", "netflix.items.parquet", "netflix.parquet", "release"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
