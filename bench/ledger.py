"""How fast a charge is, and whether it stays so as the ledger grows.

``python bench/ledger.py`` prints a table and, as its last line, JSON::

    ratio_sqlite, ratio_postgresql
            charges per second with 100,000 existing entries over the same on an empty ledger,
            of a ledger that is open; opening and the first charge are shown beside it
    ratio   the lesser of the two
    show_seconds, verify_seconds (sqlite_…, postgresql_…)
            what ``ledger show`` (the whole command) and verifying take with that many entries
    show_ratio, verify_ratio (sqlite_…, postgresql_…)
            the same over reading the rows, hashing each and parsing its JSON, which is the least
            that both must do; on another machine or under load these change less than seconds
    charge_share
            what opening, checking, charging and marking take of a release of 10^6 records

A charge is all that a release adds: ``reserve``, ``start_drawing`` and ``mark_published``, each
flushed before the next.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import crowdtally as ct
from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.ledger import (
    Asked,
    Charge,
    Created,
    Drawing,
    Event,
    Head,
    Ledger,
    MarkedPublished,
    Part,
    Reserved,
)
from crowdtally.ledger.balance import Balance, after
from crowdtally.ledger.chain import Row, append
from crowdtally.ledger.provenance import this_author
from made_up import DAYS, ITEMS, generate
from served import server

DATASET = "bench"
SOURCES = ("/data/bench.parquet",)
UNIT = PrivacyUnit("user", "user_id")
SHA = "5a" * 32
WANTED = 0.9
MOST_SHOW, MOST_VERIFY = 5, 10


def a_charge() -> Charge:
    """What a release with two tables charges."""
    half = Epsilon.of("1/600000")
    parts = tuple(
        Part(name, half, "discrete-laplace", {"l1_bound": 8, "scale": "4800000"})
        for name in ("items", "edges")
    )
    return Charge("bench-release", half * 2, parts, versions={"crowdtally": "0"})


def asked(number: int | str) -> Asked:
    """What a scheduler asks for: each request has an id of its own."""
    parameters = {"method": "known", "split": "1/2", "items": SHA, "days": SHA}
    return Asked(SOURCES[0], f"/out/{number}", parameters, "benchmark", f"request-{number}")


def history(head: Head, entries: int) -> Iterator[Row]:
    """The rows of a ledger with that many entries; the chain is the same as one by one."""
    now, author = datetime.now(UTC).isoformat(timespec="seconds"), this_author()
    balance: Balance | None = None
    reservation = ""
    for number in range(1, entries + 1):
        event: Event
        if number == 1:
            event = Created(UNIT, "sequential", None)
        elif number % 3 == 2:
            event = Reserved(UNIT, a_charge(), asked(f"old-{number}"))
        else:
            event = MarkedPublished(reservation, SHA) if number % 3 else Drawing(reservation)
        balance = after(balance, DATASET, event)
        row = append(head, now, balance, event, author)
        head = Head(row.number, row.hash)
        if number % 3 == 2:
            reservation = f"{row.number}-{row.hash[:8]}"
        yield row


def grow_file(path: str, entries: int) -> None:
    """A ledger in a file, written at once."""
    rows = list(history(Ledger.open(path, create=True).head(), entries))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO crowdtally_entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [tuple(vars(row).values()) for row in rows],
        )
        last = (rows[-1].number, rows[-1].hash)
        connection.execute("UPDATE crowdtally_ledger SET number = ?, hash = ?", last)
        connection.execute("INSERT INTO crowdtally_datasets VALUES (?, ?)", (DATASET, last[0]))


def grow_on_server(url: str, entries: int) -> None:
    """A ledger on a server, copied in by its owner at once."""
    import psycopg

    with Ledger.open(url, create=True) as ledger:
        head = ledger.head()
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY crowdtally_entries FROM STDIN") as copy:
            for row in history(head, entries):
                copy.write_row(tuple(vars(row).values()))
        cursor.execute(
            "UPDATE crowdtally_ledger SET number = %s, hash = %s", (row.number, row.hash)
        )
        cursor.execute("INSERT INTO crowdtally_datasets VALUES (%s, %s)", (DATASET, row.number))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # as the server does by itself, a little later


def new_schema(url: str, name: str) -> str:
    """A place of its own for one ledger on the server."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}?options=-csearch_path%3D{name}"


def charge_once(ledger: Ledger, request: str) -> None:
    """All that one release adds to the ledger."""
    made = ledger.reserve(
        DATASET, UNIT, a_charge(), asked=asked(request), sources=SOURCES, new_dataset=True
    )
    ledger.start_drawing(made.id)
    ledger.mark_published(made.id, SHA)


def charges_per_second(ledger: Ledger, charges: int, turn: str) -> float:
    start = time.perf_counter()
    for number in range(charges):
        charge_once(ledger, f"{turn}-{number}")
    return charges / (time.perf_counter() - start)


def opened(location: str, turn: str) -> tuple[Ledger, float]:
    """A ledger after its first charge, and how long opening and charging took together."""
    Ledger.open(location, create=True).close()  # makes a new one, which is not what is measured
    start = time.perf_counter()
    ledger = Ledger.open(location)
    charge_once(ledger, f"{turn}-first")
    return ledger, 1000 * (time.perf_counter() - start)


def growth(
    place: Callable[[str], str],
    grow: Callable[[str, int], None],
    entries: int,
    charges: int,
    repeats: int,
) -> dict[str, float]:
    """In many short turns, so that what else the machine does falls on both alike."""
    print(f"writing {entries:,} entries …", flush=True)
    full = place("grown")
    grow(full, entries)
    os.sync()  # what was just written is not part of any turn
    rates: dict[str, list[float]] = {"empty": [], "full": []}
    first: dict[str, list[float]] = {"empty": [], "full": []}
    for repeat in range(repeats):
        pair = [("empty", place(f"empty_{repeat}")), ("full", full)]
        for name, location in pair if repeat % 2 else reversed(pair):
            ledger, milliseconds = opened(location, f"turn-{repeat}")
            with ledger:
                first[name].append(milliseconds)
                rates[name].append(charges_per_second(ledger, charges, f"turn-{repeat}"))
    ratios = [full / empty for full, empty in zip(rates["full"], rates["empty"], strict=True)]
    return {
        "empty_per_second": statistics.median(rates["empty"]),
        "full_per_second": statistics.median(rates["full"]),
        "ratio": statistics.median(ratios),
        "empty_open_and_first_ms": statistics.median(first["empty"]),
        "full_open_and_first_ms": statistics.median(first["full"]),
        **reading(full),
    }


def reading(location: str) -> dict[str, float]:
    """What showing and verifying all of it take, in seconds and over the least they must do."""
    print("showing and verifying …", flush=True)
    turns = [
        {"floor": least(location), "verify": verifying(location), "show": showing(location)}
        for _ in range(3)
    ]
    best = {name: min(turn[name] for turn in turns) for name in turns[0]}
    return {
        "floor_seconds": best["floor"],
        "verify_seconds": best["verify"],
        "show_seconds": best["show"],
        "verify_ratio": best["verify"] / best["floor"],
        "show_ratio": best["show"] / best["floor"],
    }


def least(location: str) -> float:
    """Every row read, hashed and parsed, and nothing compared with anything."""
    with Ledger.open(location) as ledger:
        start = time.perf_counter()
        for row in ledger._store.read(lambda page: page.rows_after(0)):
            sha256(f"{row.hash}\n{row.body}".encode()).hexdigest()
            json.loads(row.body)
        return time.perf_counter() - start


def verifying(location: str) -> float:
    start = time.perf_counter()
    with Ledger.open(location) as ledger:
        found = ledger.verify()
    if not found.ok:
        raise SystemExit(found.describe())
    return time.perf_counter() - start


def showing(location: str) -> float:
    """The command as a person types it, with its start."""
    command = [sys.executable, "-m", "crowdtally", "ledger", "show", "--ledger", location]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def show_growth(kind: str, entries: int, figures: dict[str, float]) -> None:
    print(f"\n{kind:<24}{'charges/s':>12}{'opening and first, ms':>24}")
    for name, label in (("empty", "empty"), ("full", f"{entries:,} entries")):
        rate, first = figures[f"{name}_per_second"], figures[f"{name}_open_and_first_ms"]
        print(f"{label:<24}{rate:>12.1f}{first:>24.1f}")
    print(f"ratio {figures['ratio']:.3f} (median of pairs; at least {WANTED} wanted)")
    for name, wanted in (("show", MOST_SHOW), ("verify", MOST_VERIFY)):
        seconds, ratio = figures[f"{name}_seconds"], figures[f"{name}_ratio"]
        print(
            f"{name} took {seconds:.1f} s, {ratio:.1f} times the least there is to do "
            f"(at most {wanted} s wanted for 100,000 entries)",
            flush=True,
        )
    print()


def release_overhead(folder: Path, records: int = 1_000_000, repeats: int = 7) -> dict[str, Any]:
    """What opening, checking, charging and marking take of a whole release: the median share."""
    generate(folder / "records.parquet", records)
    source = ct.read(
        folder / "records.parquet", user="user", item="item", contexts=["day"], record_id="id"
    )
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    shares, seconds = [], []
    for number in range(repeats + 1):
        timed = _Timed()
        start = time.perf_counter()
        with timed:
            ct.release(
                source, domain, epsilon=1, ledger=folder / "charged.sqlite", new_dataset=True,
                output=folder / f"release-{number}",
            )  # fmt: skip
        seconds.append(time.perf_counter() - start)
        shares.append(timed.seconds / seconds[-1])
        if set(timed.called) != {"open", *timed.METHODS}:
            raise SystemExit(f"a release no longer goes by the methods that are timed: {timed}")
    # The first run loads modules and makes the ledger.
    return {
        "release_seconds": round(statistics.median(seconds[1:]), 3),
        "charge_share": round(statistics.median(shares[1:]), 4),
    }


class _Timed:
    """Adds up the time spent in the ledger's methods while it is entered."""

    METHODS = ("check", "reserve", "start_drawing", "mark_published")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.called: list[str] = []

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

    def __repr__(self) -> str:
        return ", ".join(self.called)

    def _timing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            self.called.append(method.__name__)
            start = time.perf_counter()
            try:
                return method(*given, **named)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def measured(
    folder: Path, entries: int, charges: int, repeats: int, records: int
) -> dict[str, Any]:
    """All of it; each kind of ledger is shown as soon as it is known."""
    kinds: dict[str, dict[str, float]] = {}
    kinds["sqlite"] = growth(
        lambda name: str(folder / f"{name}.sqlite"), grow_file, entries, charges, repeats
    )
    show_growth("SQLite", entries, kinds["sqlite"])
    with server() as url:
        kinds["postgresql"] = growth(
            partial(new_schema, url), grow_on_server, entries, charges, repeats
        )
    show_growth("PostgreSQL", entries, kinds["postgresql"])
    share = release_overhead(folder, records, min(repeats, 7))
    print(f"a release of {records:,} records takes {share['release_seconds']} s;", end=" ")
    print(f"of that, charging takes {share['charge_share']:.1%} (less than 5% wanted)\n")
    ratios = {f"ratio_{kind}": round(found["ratio"], 3) for kind, found in kinds.items()}
    return {
        "entries": entries,
        **{f"{kind}_{name}": round(value, 4) for kind, found in kinds.items()
           for name, value in found.items() if name != "ratio"},
        **share,
        **ratios,
        "ratio": min(ratios.values()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--charges", type=int, default=10, help="in each turn")
    parser.add_argument("--repeats", type=int, default=61)
    parser.add_argument("--records", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write; a local disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measured(
            Path(folder), options.entries, options.charges, options.repeats, options.records
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
