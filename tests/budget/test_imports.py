"""A budget costs nothing until a ledger is opened; its bench prints what it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from budget.ledger_kit import running_server

BENCH = Path(__file__).parents[2] / "bench" / "ledger.py"


def test_sqlalchemy_is_imported_when_a_ledger_is_opened_not_before(folder: Path) -> None:
    code = (
        "import sys, crowdtally.ledger as b\n"
        "heavy = {'sqlalchemy', 'psycopg', 'sqlite3', 'platformdirs'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
        f"b.Ledger.open({str(folder / 'ledger.sqlite')!r}, create=True)\n"
        "assert 'sqlalchemy' in sys.modules and 'psycopg' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_bench_runs_and_ends_in_json() -> None:
    running_server()  # skips where PostgreSQL cannot be started
    small = ["--entries", "50", "--charges", "2", "--repeats", "1", "--records", "1000"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *small], check=True, capture_output=True, text=True
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["entries"] == 50
    assert figures["ratio"] == min(figures["ratio_sqlite"], figures["ratio_postgresql"]) > 0
    assert 0 < figures["charge_share"] < 1
    for kind in ("sqlite", "postgresql"):
        for name in ("show", "verify"):
            seconds, floor = figures[f"{kind}_{name}_seconds"], figures[f"{kind}_floor_seconds"]
            assert seconds > floor > 0
            assert figures[f"{kind}_{name}_ratio"] > 1
