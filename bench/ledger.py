"""How fast a charge is, and whether it stays so as the ledger grows.

``python bench/ledger.py`` prints a table and, as its last line, JSON::

    ratio   charges per second with 100,000 existing entries over the same on an empty ledger,
            of a ledger that is open; opening and the first charge are shown beside it
    charge_share
            what opening, checking, charging and marking take of a release of 10^6 records
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import crowdtally as ct
from crowdtally.budget import Asked, Charge, Created, Head, Ledger, Part, Reserved
from crowdtally.budget.authors import this_author
from crowdtally.budget.balance import Balance, after
from crowdtally.budget.chain import append
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.unit import PrivacyUnit
from made_up import DAYS, ITEMS, generate

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
    head = Ledger.open(path, create=True).head()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    balance: Balance | None = None
    rows = []
    for event in [Created(UNIT, "sequential", None)] + [Reserved(UNIT, a_charge(), Asked())] * (
        entries - 1
    ):
        balance = after(balance, DATASET, event)
        rows.append(append(head, now, balance, event, this_author()))
        head = Head(rows[-1].number, rows[-1].hash)
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO crowdtally_entries VALUES (?, ?, ?, ?, ?, ?, ?)",
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
        ledger.reserve(DATASET, UNIT, charge, new_dataset=True)
    return charges / (time.perf_counter() - start)


def opened(path: Path) -> tuple[Ledger, float]:
    """A ledger after its first charge, and how long opening and charging took together."""
    Ledger.open(path, create=True)  # makes a new file, which is not what is measured
    start = time.perf_counter()
    ledger = Ledger.open(path, create=True)
    ledger.reserve(DATASET, UNIT, a_charge(), new_dataset=True)
    return ledger, 1000 * (time.perf_counter() - start)


def growth(folder: Path, entries: int, charges: int, repeats: int) -> dict[str, float]:
    """In many short turns, so that what else the machine does falls on both alike."""
    print(f"writing {entries:,} entries …", flush=True)
    grow(folder / "full.sqlite", entries)
    rates: dict[str, list[float]] = {"empty": [], "full": []}
    first: dict[str, list[float]] = {"empty": [], "full": []}
    for repeat in range(repeats):
        pair = [("empty", folder / f"empty-{repeat}.sqlite"), ("full", folder / "full.sqlite")]
        for name, path in pair if repeat % 2 else reversed(pair):
            ledger, milliseconds = opened(path)
            first[name].append(milliseconds)
            rates[name].append(charges_per_second(ledger, charges))
    print("verifying …", flush=True)
    start = time.perf_counter()
    found = Ledger.open(folder / "full.sqlite", create=True).verify()
    if not found.ok:
        raise SystemExit(found.describe())
    ratios = [full / empty for full, empty in zip(rates["full"], rates["empty"], strict=True)]
    return {
        "entries": entries,
        "empty_per_second": statistics.median(rates["empty"]),
        "full_per_second": statistics.median(rates["full"]),
        "ratio": statistics.median(ratios),
        "empty_open_and_first_ms": statistics.median(first["empty"]),
        "full_open_and_first_ms": statistics.median(first["full"]),
        "verify_seconds": time.perf_counter() - start,
    }


def show_growth(figures: dict[str, float]) -> None:
    print(f"\n{'ledger':<24}{'charges/s':>12}{'opening and first, ms':>24}")
    for name, label in (("empty", "empty"), ("full", f"{figures['entries']:,} entries")):
        rate, first = figures[f"{name}_per_second"], figures[f"{name}_open_and_first_ms"]
        print(f"{label:<24}{rate:>12.1f}{first:>24.1f}")
    print(f"ratio {figures['ratio']:.3f} (median of pairs; at least 0.8 wanted)")
    print(f"verifying all of it took {figures['verify_seconds']:.1f} s\n")


def release_overhead(folder: Path, records: int = 1_000_000, repeats: int = 7) -> dict[str, Any]:
    """What opening, checking, charging and marking take of a whole release: the median share."""
    generate(folder / "records.parquet", records)
    source = ct.read(
        folder / "records.parquet", user="user", item="item", contexts=["day"], record_id="id"
    )
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    shares, seconds = [], []
    for _ in range(repeats + 1):
        timed = _Timed()
        start = time.perf_counter()
        with timed:
            ct.release(
                source, domain, epsilon=1, ledger=folder / "charged.sqlite", new_dataset=True
            )
        seconds.append(time.perf_counter() - start)
        shares.append(timed.seconds / seconds[-1])
    # The first run loads modules and makes the ledger.
    return {
        "release_seconds": round(statistics.median(seconds[1:]), 3),
        "charge_share": round(statistics.median(shares[1:]), 4),
    }


class _Timed:
    """Adds up the time spent in the ledger's methods while it is entered."""

    METHODS = ("check", "reserve", "mark_published")

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._before = {name: getattr(Ledger, name) for name in self.METHODS}
        for name, method in self._before.items():
            setattr(Ledger, name, self._timing(method))
        opened = Ledger.open.__func__  # type: ignore[attr-defined]
        self._open = Ledger.__dict__["open"]
        Ledger.open = classmethod(self._timing(opened))  # type: ignore[method-assign, assignment]

    def __exit__(self, *_: object) -> None:
        for name, method in self._before.items():
            setattr(Ledger, name, method)
        Ledger.open = self._open  # type: ignore[method-assign]

    def _timing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*given, **named)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--charges", type=int, default=40, help="in each turn")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--folder", type=Path, help="where to write; a local disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = growth(Path(folder), options.entries, options.charges, options.repeats)
    show_growth(figures)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
