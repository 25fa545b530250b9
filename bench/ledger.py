"""How fast a charge is, and whether it stays so as the ledger grows.

``python bench/ledger.py`` prints a table and, as its last line, JSON::

    ratio   charges per second with 100,000 existing entries over the same on an empty ledger
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from crowdtally.budget import Charge, Created, Head, Ledger, Part, Reserved
from crowdtally.budget.balance import Balance, after
from crowdtally.budget.chain import append
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.unit import PrivacyUnit

DATASET = "bench"
UNIT = PrivacyUnit("user", "user_id")


def a_charge() -> Charge:
    """What a release with two tables charges."""
    half = Epsilon.of("1/600000")
    parts = tuple(
        Part(name, half, "discrete-laplace", {"l1_bound": 8, "scale": "4800000"})
        for name in ("items", "edges")
    )
    return Charge("bench-release", half * 2, parts, versions={"crowdtally": "0"})


def grow(path: Path, entries: int) -> None:
    """A ledger with that many entries, written at once; the chain is the same as one by one."""
    head = Ledger.open(path).head()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    balance: Balance | None = None
    rows = []
    for event in [Created(UNIT, "sequential", None)] + [Reserved(UNIT, a_charge())] * (entries - 1):
        balance = after(balance, DATASET, event)
        rows.append(append(head, now, balance, event))
        head = Head(rows[-1].number, rows[-1].hash)
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO crowdtally_entries VALUES (?, ?, ?, ?, ?, ?)",
            [tuple(vars(row).values()) for row in rows],
        )
        last = (head.number, head.hash)
        connection.execute("UPDATE crowdtally_ledger SET number = ?, hash = ?", last)
        connection.execute("INSERT INTO crowdtally_datasets VALUES (?, ?)", (DATASET, head.number))
    connection.close()


def charges_per_second(ledger: Ledger, charges: int) -> float:
    charge = a_charge()
    start = time.perf_counter()
    for _ in range(charges):
        ledger.reserve(DATASET, UNIT, charge)
    return charges / (time.perf_counter() - start)


def growth(folder: Path, entries: int, charges: int, repeats: int) -> dict[str, float]:
    """Interleaved, so that what else the machine does falls on both alike."""
    print(f"writing {entries:,} entries …", flush=True)
    grow(folder / "full.sqlite", entries)
    full = Ledger.open(folder / "full.sqlite")
    rates: dict[str, list[float]] = {"empty": [], "full": []}
    for repeat in range(repeats):
        empty = Ledger.open(folder / f"empty-{repeat}.sqlite")
        pair = [("empty", empty), ("full", full)]
        for name, ledger in pair if repeat % 2 else reversed(pair):
            rates[name].append(charges_per_second(ledger, charges))
    ratios = [f / e for f, e in zip(rates["full"], rates["empty"], strict=True)]
    print("verifying …", flush=True)
    start = time.perf_counter()
    found = full.verify()
    if not found.ok:
        raise SystemExit(found.describe())
    return {
        "entries": entries,
        "empty_per_second": statistics.median(rates["empty"]),
        "full_per_second": statistics.median(rates["full"]),
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "verify_seconds": time.perf_counter() - start,
    }


def show_growth(figures: dict[str, float]) -> None:
    print(f"\n{'ledger':<24}{'charges/s':>12}")
    print(f"{'empty':<24}{figures['empty_per_second']:>12.1f}")
    print(f"{figures['entries']:<24,}{figures['full_per_second']:>12.1f}")
    print(f"ratio {figures['ratio']:.3f} (median; at least 0.8 wanted)")
    print(f"verifying all of it took {figures['verify_seconds']:.1f} s\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--charges", type=int, default=200, help="per repeat and ledger")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="where to write; a local disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = growth(Path(folder), options.entries, options.charges, options.repeats)
    show_growth(figures)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
