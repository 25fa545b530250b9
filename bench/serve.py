"""How long questions to ``crowdtally serve`` take, beside the same questions to DuckDB.

Run ``python bench/serve.py [--cells 1e6] [--requests 10000] [--quick]``. A release folder of so
many cells is made directly, without records: named items × 10 hours. The server is the installed
command in a process of its own, on loopback, without kept estimates. Eight clients ask it for top
lists, searches and sums, each question another one, as pages and as JSON by turns, bounded in
number and time. DuckDB gets the same questions as plain queries of the same Parquet files, from
eight threads of one process, with its own settings. Then one client asks for sums, one after the
other on one connection, first of the server, then of a bare application of Starlette and DuckDB
(``bare.py``) that answers the same JSON. The last line is all figures as JSON::

    ratio          the 95th percentile of the server's times over DuckDB's
    by             the same for each kind of question and answer
    errors         answers that were none
    first_page     seconds from the call of the program to its first page
    estimates      seconds until estimates were there
    megabytes      the most memory that the server had
    on_one         requests per second of the server on one connection
    on_one_bare    the same of the bare application
    keepalive      the second over the first

Wanted at 10^6 cells: a ratio of at most 3, no error, a first page within 2 s, a keepalive of at
most 1.5; then the exit code is 0, else 1. ``--large 1e7`` also starts a server of that size, and
prints its memory and its times.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import duckdb

from top import release

CLIENTS, HOURS = 8, 10
TARGETS = {"ratio": 3.0, "first_page": 2.0, "errors": 0, "keepalive": 1.5}
FULL = 1_000_000
PATIENCE = 400.0
"""Seconds after which no question is asked any more."""
KINDS = ("top", "search", "sum")
PAGE = 50
ON_ONE, ON_ONE_SECONDS = 600, 20.0
"""Requests on one connection at most, and for how long."""


@dataclass(frozen=True)
class Question:
    """The same question to both."""

    kind: str
    """``top``, ``search`` or ``sum``."""
    query: str
    """The end of its address."""
    sql: str
    """As a plain query; ``{items}`` and ``{edges}`` are the files."""


def questions(seed: int, items: int) -> Iterator[Question]:
    """Questions without end, the kinds by turns."""
    draw = random.Random(seed)
    while True:
        yield _top(draw)
        yield _search(draw, items)
        yield _sum(draw, items)


def _top(draw: random.Random) -> Question:
    hours = sorted(draw.sample(range(HOURS), draw.randint(1, 3)))
    k = draw.randint(10, PAGE)
    asked = [("context", f"hour={hour}") for hour in hours]
    sql = (
        "SELECT item, sum(count) AS counted FROM '{edges}' "
        f"WHERE hour IN ({', '.join(map(str, hours))}) "
        f"GROUP BY item ORDER BY counted DESC LIMIT {k}"
    )
    return Question("top", urlencode([*asked, ("k", k)]), sql)


def _search(draw: random.Random, items: int) -> Question:
    words = [f"place {draw.randint(0, 88)} of", str(draw.randint(0, 999))]
    having = " AND ".join(f"contains(lower(item), '{word}')" for word in " ".join(words).split())
    sql = f"SELECT item, count FROM '{{items}}' WHERE {having} ORDER BY count DESC LIMIT {PAGE}"
    return Question("search", urlencode({"q": " ".join(words)}), sql)


def _sum(draw: random.Random, items: int) -> Question:
    first = draw.randint(0, HOURS - 2)
    last = draw.randint(first, HOURS - 1)
    number = 7 * draw.randrange(items) + 3
    where = f"hour between {first} and {last}"
    if draw.random() < 0.5:
        where += f" and item <> 'Place {number % 89} of street {number}'"
    return Question(
        "sum", urlencode({"where": where}), f"SELECT sum(count) FROM '{{edges}}' WHERE {where}"
    )


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int, float]]:
    """The program, its port and the seconds until its first page."""
    command = [sys.executable, "-m", "crowdtally", "serve", str(folder), "--port", "0"]
    start = time.perf_counter()
    with started(command) as (process, port):
        status, _ = asked(http.client.HTTPConnection("127.0.0.1", port), "/r/release/top")
        if status != 200:
            raise SystemExit(f"the first page has the status {status}")
        yield process, port, time.perf_counter() - start


@contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | {"CROWDTALLY_CACHE": ""},
    )  # fmt: skip
    try:
        line = process.stdout.readline() if process.stdout is not None else ""
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line!r}")
        yield process, int(found[1])
    finally:
        process.terminate()
        process.wait(10)


def asked(client: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body of an address."""
    client.request("GET", path)
    answer = client.getresponse()
    return answer.status, answer.read()


def ready(port: int) -> None:
    """Wait until estimates are there."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(3000):
        _, body = asked(client, "/releases.json")
        if json.loads(body)[0]["estimates"] != "computing":
            return
        time.sleep(0.1)
    raise SystemExit("the estimates are not there after five minutes")


class Times:
    """Seconds of questions, by kind, from several threads."""

    def __init__(self) -> None:
        self.by: dict[str, list[float]] = {}
        self.errors = 0
        self._lock = threading.Lock()

    def add(self, kind: str, seconds: float, good: bool) -> None:
        """One question was answered."""
        with self._lock:
            self.by.setdefault(kind, []).append(seconds)
            self.errors += not good

    def p95(self, kind: str | None = None) -> float:
        """The 95th percentile, of one kind or of all."""
        found = [one for k, times in self.by.items() if kind in (None, k) for one in times]
        return statistics.quantiles(found, n=20)[-1]


def by_clients(count: int, work: Callable[[int, int], None]) -> None:
    """Run ``work(client, questions)`` in eight threads."""
    threads = [
        threading.Thread(target=work, args=(n, count // CLIENTS + (n < count % CLIENTS)))
        for n in range(CLIENTS)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def of_server(port: int, count: int, items: int, end: float) -> Times:
    """Questions to the server, pages and JSON by turns."""
    times = Times()

    def work(number: int, many: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for place, one in zip(range(many), questions(number, items), strict=False):
            if time.monotonic() > end:
                return
            form = ("page", "json")[place // 3 % 2]
            query = one.query.partition("&k=")[0] if form == "page" else one.query
            path = f"/r/release/{one.kind}{'.json' if form == 'json' else ''}?{query}"
            start = time.perf_counter()
            status, body = asked(client, path)
            seconds = time.perf_counter() - start
            times.add(f"{one.kind} {form}", seconds, status == 200 and len(body) > 2)

    by_clients(count, work)
    return times


def of_duckdb(folder: Path, count: int, items: int, end: float) -> Times:
    """The same questions to DuckDB."""
    times, database = Times(), duckdb.connect()
    files = {name: str(folder / f"{name}.parquet") for name in ("items", "edges")}

    def work(number: int, many: int) -> None:
        cursor = database.cursor()
        for _, one in zip(range(many), questions(number, items), strict=False):
            if time.monotonic() > end:
                return
            start = time.perf_counter()
            cursor.execute(one.sql.format(**files)).fetchall()
            times.add(one.kind, time.perf_counter() - start, True)

    by_clients(count, work)
    return times


def sums() -> Iterator[str]:
    """Questions for sums, each as the end of an address."""
    while True:
        for first in range(HOURS):
            for last in range(first, HOURS):
                yield urlencode({"where": f"hour BETWEEN {first} AND {last}"})


def per_second(port: int, path: str) -> tuple[float, dict[str, Any]]:
    """Requests per second on one connection, one after the other; and the first answer."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    first: dict[str, Any] = {}
    for query, _ in zip(sums(), range(20), strict=False):  # what is slow once is not measured
        status, body = asked(client, f"{path}?{query}")
        if status != 200:
            raise SystemExit(f"{path} has the status {status}")
        first = first or json.loads(body)
    done, start = 0, time.perf_counter()
    for query, _ in zip(sums(), range(ON_ONE), strict=False):
        asked(client, f"{path}?{query}")
        done += 1
        if time.perf_counter() - start > ON_ONE_SECONDS:
            break
    client.close()
    return done / (time.perf_counter() - start), first


def of_bare(folder: Path, template: dict[str, Any]) -> float:
    """Requests per second on one connection of an application that does no more than it must."""
    kept = folder.parent / "template.json"
    kept.write_text(json.dumps(template), "utf-8")
    bare = Path(__file__).with_name("bare.py")
    command = [sys.executable, str(bare), str(folder / "edges.parquet"), str(kept)]
    with started(command) as (_, port):
        found, first = per_second(port, "/sum.json")
    if first != template:
        raise SystemExit(f"the bare application answers {first}, and the server {template}")
    return found


def megabytes(process: subprocess.Popen[str]) -> float:
    """The most memory that a process had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    return float("nan") if found is None else int(found[1]) / 1024


def measured(cells: int, requests: int) -> dict[str, Any]:
    """All figures of a release of so many cells."""
    with tempfile.TemporaryDirectory() as folder:
        made = release(Path(folder), cells, HOURS, named=True)
        items = cells // HOURS
        with server(made) as (process, port, first):
            start = time.perf_counter()
            ready(port)
            estimates = first + time.perf_counter() - start
            of_server(port, 30, items, time.monotonic() + 30)  # what is slow once is not measured
            end = time.monotonic() + PATIENCE
            ours = of_server(port, requests, items, end)
            memory = megabytes(process)
            on_one, template = per_second(port, "/r/release/sum.json")
        on_one_bare = of_bare(made, template)
        of_duckdb(made, 30, items, time.monotonic() + 30)
        theirs = of_duckdb(made, max(requests // 4, 24), items, time.monotonic() + PATIENCE)
    by = {
        f"{kind} {form}": round(ours.p95(f"{kind} {form}") / theirs.p95(kind), 2)
        for kind in KINDS
        for form in ("page", "json")
    }
    return {
        "cells": cells,
        "requests": sum(map(len, ours.by.values())),
        "ratio": round(ours.p95() / theirs.p95(), 2),
        "by": by,
        "p95": round(ours.p95(), 4),
        "p95_duckdb": round(theirs.p95(), 4),
        "errors": ours.errors,
        "first_page": round(first, 2),
        "estimates": round(estimates, 2),
        "megabytes": round(memory),
        "on_one": round(on_one),
        "on_one_bare": round(on_one_bare),
        "keepalive": round(on_one_bare / on_one, 2),
    }


def judged(found: dict[str, Any]) -> list[str]:
    """The targets that were missed; smaller releases have none."""
    if found["cells"] < FULL:
        return []
    return [f"{name}: {found[name]}" for name, most in TARGETS.items() if found[name] > most]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=float, default=FULL, help="items × 10 hours")
    parser.add_argument("--requests", type=int, default=10_000, help="in all")
    parser.add_argument("--large", type=float, default=0, help="also so many cells, 240 requests")
    parser.add_argument("--quick", action="store_true", help="20,000 cells, 240 requests")
    given = parser.parse_args()
    cells, requests = (20_000, 240) if given.quick else (int(given.cells), given.requests)
    found = measured(cells, requests)
    told = [found, *([measured(int(given.large), 240)] if given.large else [])]
    for one in told:
        print(", ".join(f"{name} {value}" for name, value in one.items()))
    missed = judged(found)
    print(json.dumps({**found, "large": told[1:], "targets": TARGETS, "missed": missed}))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
