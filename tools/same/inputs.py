"""The small town whose records are counted, in every kind of source."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from random import Random
from typing import Any

from same import seams
from same.stage import Stage

PLACES = [f"p{number}" for number in range(12)]
DAYS = ["Mon", "Tue", "Wed"]
NAMES = (
    "id", "who", "shop", "place", "day", "hour", "n", "age", "sex", "stamp", "moment",
)  # fmt: skip
_USERS, _ROWS = 90, 700


@cache
def rows() -> tuple[tuple[Any, ...], ...]:
    """Heavy and light users, some repeats, and some rows that have to be dropped."""
    chance = Random(7)
    made: list[tuple[Any, ...]] = []
    for number in range(_ROWS):
        user = int(_USERS * chance.random() ** 2)
        place = int(len(PLACES) * chance.random() ** 2)
        when = 1711839600 + 1800 * chance.randrange(96)  # around a change to summer time
        row = (
            number, f"u{user}", f"s{user % 4}", PLACES[place], DAYS[chance.randrange(3)],
            chance.randrange(8), 1 + chance.randrange(3), 18 + user % 50, "fm"[user % 2],
            when, _moment(when),
        )  # fmt: skip
        made.append(row)
    odd = made[0]
    for place, value in ((1, None), (3, None), (3, "elsewhere"), (4, "Sun"), (4, None), (3, " p1")):
        changed = list(odd)
        changed[place], changed[0] = value, len(made)
        made.append(tuple(changed))
    return tuple(made)


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def columns() -> dict[str, list[Any]]:
    """The records by column."""
    return dict(zip(NAMES, map(list, zip(*rows(), strict=True)), strict=True))


def as_csv(delimiter: str = ",") -> str:
    """The records as text."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(NAMES)
    writer.writerows(["" if value is None else value for value in row] for row in rows())
    return out.getvalue()


def arrow() -> Any:
    """The records as an Arrow table."""
    import pyarrow as pa

    return pa.table(columns())


def lists(stage: Stage) -> None:
    """What is public: lists of values, tables to join and labels."""
    write = stage.write
    write("places.csv", "place\n" + "".join(f"{place}\n" for place in PLACES))
    kinds = ("park", "shop", "inn")
    info = "".join(f"{place},{kinds[n % 3]}\n" for n, place in enumerate(PLACES))
    write("info.csv", "place,kind\n" + info)
    write("kinds.csv", "kind\n" + "".join(f"{kind}\n" for kind in kinds))
    write("letters.csv", "letter\nP0\nP1\nP2\nP3\n")
    write("other.csv", info.replace(",", ";").join(("spot;kind\n", "")))
    write("same.csv", "who,person\n" + "".join(f"u{n},v{n // 2}\n" for n in range(40)))
    write("days.csv", "value\n" + "".join(f"{day}\n" for day in DAYS))
    write(
        "labels.csv",
        "place,label,category\n"
        + "".join(f'{place},"The <b>{place}</b>, & co",c{n % 2}\n'
                  for n, place in enumerate(PLACES)),
    )  # fmt: skip


# ---- the records in each kind of source ---------------------------------------------------------


def _parquet(stage: Stage) -> str:
    import pyarrow.parquet as pq

    pq.write_table(arrow(), stage.folder / "visits.parquet")
    return "visits.parquet"


def _parts(stage: Stage) -> str:
    import pyarrow.parquet as pq

    whole = arrow()
    for number, (start, stop) in enumerate(((0, 50), (50, 300), (300, len(whole)))):
        pq.write_table(whole.slice(start, stop - start), stage.folder / f"part-{number}.parquet")
    return "part-*.parquet"


def _duckdb(stage: Stage) -> str:
    import duckdb

    with duckdb.connect(str(stage.folder / "base.duckdb")) as base:
        base.register("incoming", arrow())
        base.execute("CREATE TABLE visits AS FROM incoming")
    return "base.duckdb#visits"


def _sqlite(stage: Stage) -> str:
    with closing(sqlite3.connect(stage.folder / "base.sqlite")) as base, base:
        base.execute(f"CREATE TABLE visits ({', '.join(NAMES)})")
        base.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(NAMES))})", rows())
    return "base.sqlite#visits"


def new_database(stage: Stage) -> str:
    """The URL of an empty database, which the texts do not show."""
    server = seams.postgres()
    name = server.new_database()
    url = str(server.url(name))
    stage.places |= {name: "<database>", server.password: "<password>", str(server.port): "<port>"}
    return url


def _postgres(stage: Stage) -> str:
    import psycopg

    url = new_database(stage)
    kinds = ("bigint", "text", "text", "text", "text", *["bigint"] * 3, "text", "bigint", "text")
    made = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, kinds, strict=True))
    with psycopg.connect(url) as base:
        base.execute(f"CREATE TABLE visits ({made})")  # type: ignore[arg-type,unused-ignore]
        with base.cursor().copy("COPY visits FROM STDIN") as copy:
            for row in rows():
                copy.write_row(row)
    return f"{url}#visits"


def _text(name: str, delimiter: str) -> Callable[[Stage], str]:
    def write(stage: Stage) -> str:
        stage.write(name, as_csv(delimiter))
        return name

    return write


SOURCES: dict[str, Callable[[Stage], str]] = {
    "csv": _text("visits.csv", ","),
    "tsv": _text("visits.tsv", "\t"),
    "parquet": _parquet,
    "glob": _parts,
    "duckdb-file": _duckdb,
    "sqlite": _sqlite,
    "postgres": _postgres,
}
"""What the command line reads."""
