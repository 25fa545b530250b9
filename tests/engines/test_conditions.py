"""Conditions and time zones mean the same on both engines, row by row."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count, count_rows, dropped_in
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.expressions.functions import known_zones
from crowdtally.records.locate import locate
from crowdtally.records.prepare import prepare
from kit.databases import kept_by
from kit.spark import Start, engine_beside

# ---- Rows for which a condition does not hold are no records: every engine leaves out the same


ITEMS = ["bar", "café", "park"]
DOMAIN = Domain(ITEMS, item="place")
KEY = 20_240_229
LIMIT = 9
"""More than some users have of what the conditions take, and fewer than others."""
Row = dict[str, Any]


def _rows(number: int = 2000) -> list[Row]:
    rng = np.random.default_rng(7)
    return [
        {
            "who": _some(rng, [*range(40), None]),
            "place": _some(rng, [*ITEMS, "elsewhere", None]),
            "stars": _some(rng, [1, 2, 3, 4, 5, None]),
            "paid": _some(rng, ["3", "12", "free", "", None]),
            "town": _some(rng, ["a", "b", "c", None]),
        }
        for _ in range(number)
    ]


def _some(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(0, len(values))]


ROWS = _rows()
OPEN = {"a": True, "b": False}
CONDITIONS: dict[str, tuple[str, Callable[[Row], bool | None]]] = {
    "a comparison": ("stars >= 4", lambda row: row["stars"] and row["stars"] >= 4),
    "nulls are not records": ("NOT stars >= 4", lambda row: row["stars"] and row["stars"] < 4),
    "nulls by name": ("stars IS NULL OR stars = 5", lambda row: row["stars"] in (None, 5)),
    "a cast that fails on some rows": (
        "CAST(paid AS INTEGER) < 10", lambda row: row["paid"] == "3"
    ),
    "a list in which a cast is looked up": (
        "CAST(paid AS INTEGER) IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", lambda row: row["paid"] == "3"
    ),
    "a joined column": ("is_open", lambda row: OPEN.get(row["town"])),
    "a joined column without a partner": (
        "is_open IS NULL", lambda row: row["town"] not in OPEN
    ),
    "of several parts": (
        "stars <> 3 AND (place = 'bar' OR paid LIKE '1%')",
        lambda row: row["stars"] not in (3, None)
        and (row["place"] == "bar" or str(row["paid"]).startswith("1")),
    ),
    "never": ("stars > 5", lambda row: False),
    "always": ("1 = 1", lambda row: True),
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conditions")
    kinds = {"who": pa.int64(), "stars": pa.int64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in ROWS[0]])
    parquet.write_table(pa.Table.from_pylist(ROWS, schema), folder / "records.parquet")
    towns = pa.table({"town": list(OPEN), "is_open": list(OPEN.values())})
    parquet.write_table(towns, folder / "towns.parquet")
    return folder


def declared(source: Path, where: str, **roles: Any) -> ct.Records:
    joins = [(source / "towns.parquet", "town")] if "is_open" in where else []
    given = {"user": "who", "item": "place", "where": where, "joins": joins} | roles
    return ct.read(source / "records.parquet", **given)


@pytest.mark.quick_on_spark(
    "nulls by name",
    "a cast that fails on some rows",
    "a list in which a cast is looked up",
    "a joined column without a partner",
    "of several parts",
)
@pytest.mark.parametrize("name", CONDITIONS)
def test_only_what_the_condition_takes_is_counted_or_dropped(
    name: str, source: Path, start_engine: Start
) -> None:
    where, holds = CONDITIONS[name]
    with start_engine() as engine:
        prepared = prepare(engine, declared(source, where), DOMAIN)
        dropped = dropped_in(engine, prepared.rows)
        kept = kept_by(engine, prepared, SRA(2**20), KEY, "records")
    taken = [row for row in ROWS if holds(row)]
    partners = [row for row in taken if "is_open" not in where or row["town"] in OPEN]
    known = [row for row in partners if row["who"] is not None and row["place"] in ITEMS]
    nobody = sum(row["who"] is None for row in taken)
    assert dropped == Dropped(len(taken), nobody, len(taken) - nobody - len(known))
    wanted: dict[str, Counter[int]] = defaultdict(Counter)
    for row in known:
        wanted[str(row["who"])][ITEMS.index(row["place"])] += 1
    assert kept == wanted


def test_the_condition_comes_before_the_bound(source: Path, start_engine: Start) -> None:
    """Who has enough records that are taken contributes as many as are allowed."""
    where, limit = "stars >= 4", LIMIT
    with start_engine() as engine:
        prepared = prepare(engine, declared(source, where), DOMAIN)
        kept = kept_by(engine, prepared, SRA(limit), KEY, "records")
        (items, *_) = count(engine, prepared, SRA(limit), key=KEY, what="records").found
    own = _liked()
    assert {user: cells.total() for user, cells in kept.items()} == {
        user: min(cells.total(), limit) for user, cells in own.items()
    }
    assert all(cells <= own[user] for user, cells in kept.items())
    numbers = [cells.total() for cells in own.values()]
    assert items.values.sum() == sum(min(number, limit) for number in numbers)
    assert min(numbers) < limit < max(numbers)


def _liked() -> dict[str, Counter[int]]:
    """Each user's listed records of four stars or more, by cell."""
    own: dict[str, Counter[int]] = defaultdict(Counter)
    for row in ROWS:
        if row["who"] is not None and row["place"] in ITEMS and (row["stars"] or 0) >= 4:
            own[str(row["who"])][ITEMS.index(row["place"])] += 1
    return own


def test_after_the_bound_fewer_would_be_left(source: Path) -> None:
    """The wrong order shows in such records: what is cut first is not filled up again."""
    stars = [1, 2, 3, 4, 5]
    records = ct.read(source / "records.parquet", user="who", item="place", contexts=["stars"])
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, Domain(ITEMS, {"stars": stars}, item="place"))
        kept = kept_by(engine, prepared, SRA(LIMIT), KEY, "records")
    after = {
        user: sum(number for cell, number in cells.items() if stars[cell % 5] >= 4)
        for user, cells in kept.items()
    }
    before = {user: min(cells.total(), LIMIT) for user, cells in _liked().items()}
    assert all(after[user] <= before[user] for user in before)
    assert sum(after.values()) < 0.7 * sum(before.values())


def test_a_row_is_taken_for_what_it_holds_alone(source: Path, start_engine: Start) -> None:
    """Equal rows are taken together or not at all, whichever rows stand beside them."""
    alike: dict[tuple[Any, ...], int] = {}
    rows = [
        {"kind": alike.setdefault((row["stars"], row["paid"]), len(alike)), **row, "place": "bar"}
        for row in ROWS
    ]
    records = ct.read(
        source / "alike.parquet", user="kind", item="place",
        where="stars = 5 OR 12 // (stars - 2) > 5 OR CAST(paid AS INTEGER) > 5",
    )  # fmt: skip
    taken: dict[str, set[bool]] = defaultdict(set)
    with start_engine() as engine:
        for part in (rows, rows[:97], rows[97:104]):
            parquet.write_table(pa.Table.from_pylist(part), source / "alike.parquet")
            kept = kept_by(engine, prepare(engine, records, DOMAIN), SRA(2**20), KEY, "records")
            for kind, number in Counter(str(row["kind"]) for row in part).items():
                assert kept.get(kind, Counter()).total() in (0, number)
                taken[kind].add(kind in kept)
    assert all(len(outcomes) == 1 for outcomes in taken.values())
    assert {True, False} == set.union(*taken.values())


def test_the_largest_of_all_values_decides_about_no_row(
    tmp_path: Path, start_engine: Start
) -> None:
    """Where all rows have few stars, one row's cast must fail as it does beside a row with many."""
    own = [
        {"who": 1, "place": "bar", "stars": n, "paid": paid} for n, paid in ((1, "free"), (2, "3"))
    ]
    newcomer = {"who": 2, "place": "bar", "stars": 5000, "paid": "3"}
    contexts = {"cheap": "CAST(paid AS INTEGER) < 1 AND stars > 10"}
    domain = Domain(ITEMS, {"cheap": ["true", "false"]}, item="place")
    found: list[dict[str, Any]] = []
    with start_engine() as engine:
        for part in (own, [*own, newcomer]):
            parquet.write_table(pa.Table.from_pylist(part), tmp_path / "few.parquet")
            for roles, lists in (
                ({"where": "CAST(paid AS INTEGER) > 3 OR stars < 1000"}, DOMAIN),
                ({"contexts": contexts}, domain),
            ):
                records = ct.read(tmp_path / "few.parquet", user="who", item="place", **roles)
                kept = kept_by(engine, prepare(engine, records, lists), SRA(9), KEY, "records")
                found.append(kept["1"])
    assert found[:2] == found[2:]


def test_rows_that_are_persons_and_weights(source: Path, start_engine: Start) -> None:
    records = ct.read(
        source / "records.parquet", user_per_row=True, weight="stars", item="place",
        where="paid IN ('3', '12')",
    )  # fmt: skip
    with start_engine() as engine:
        prepared = prepare(engine, records, DOMAIN)
        (items, *_) = count_rows(engine, prepared).found
        dropped = dropped_in(engine, prepared.rows)
    taken = [row for row in ROWS if row["paid"] in ("3", "12")]
    persons: Counter[Any] = Counter()
    for row in taken:
        persons[row["place"]] += row["stars"] or 0
    assert items.dense().tolist() == [persons[item] for item in ITEMS]
    assert dropped.rows == len(taken)


def test_a_condition_is_true_or_false(source: Path, start_engine: Start) -> None:
    for where in ("stars", "stars + 1", "place", "NULL"):
        with start_engine() as engine, pytest.raises(InputError, match="compare it with something"):
            prepare(engine, declared(source, where), DOMAIN)


def test_a_condition_that_fits_no_column_is_refused(source: Path, start_engine: Start) -> None:
    with start_engine() as engine:
        with pytest.raises(InputError, match=r"the condition --where reads column 'star', which"):
            prepare(engine, declared(source, "star >= 4"), DOMAIN)
        with pytest.raises(InputError, match=r"the condition --where needs .*--type paid=int64\."):
            prepare(engine, declared(source, "paid >= 4"), DOMAIN)
        with pytest.raises(InputError, match=r"--type paid=int64\."):
            prepare(engine, declared(source, "paid BETWEEN 3 AND 4"), DOMAIN)
        with pytest.raises(UsageError, match=r"contains histogram\(\), which is not"):
            prepare(engine, declared(source, "histogram(stars) IS NULL"), DOMAIN)


# ---- Times are turned into days and hours in the zone that was declared: by both engines, and
#      rightly
#
# The third opinion is Python's own, by the zones of the machine or of the package ``tzdata``.


ZONES = [
    "UTC", "Europe/Vienna", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York",
    "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Chatham",
    "Pacific/Apia", "Africa/Monrovia", "Europe/Dublin", "Pacific/Kiritimati",
]  # fmt: skip
"""Whole hours, halves and quarters; clocks that change, once by half an hour, once by a day."""
CHANGES = [
    datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2024, 10, 27, 1, tzinfo=UTC),  # Vienna
    datetime(2024, 3, 10, 7, tzinfo=UTC), datetime(2024, 11, 3, 6, tzinfo=UTC),  # New York
    datetime(2024, 4, 6, 15, tzinfo=UTC), datetime(2024, 10, 5, 15, 30, tzinfo=UTC),  # Lord Howe
    datetime(2011, 12, 30, 10, tzinfo=UTC),  # Apia, which had no 30th of December
]  # fmt: skip
EXPRESSIONS = {
    "year({t})": "%Y",
    "month({t})": "%m",
    "day({t})": "%d",
    "hour({t})": "%H",
    "minute({t})": "%M",
    "dayname({t})": "%A",
    "monthname({t})": "%B",
    "date_part('isodow', {t})": "%u",
    "dayofyear({t})": "%j",
    "CAST({t} AS DATE)": "%Y-%m-%d",
    "strftime({t}, '%A %H:%M')": "%A %H:%M",
    "CAST({t} AS TIMESTAMP)": "%Y-%m-%d %H:%M:%S",
}
"""What to make of an instant, and how Python writes it."""


def instants() -> list[int]:
    """Seconds from 1970 to 2037: any, and those around changes of clocks."""
    drawn = random.Random(11)
    near = [
        int(change.timestamp()) + off
        for change in CHANGES
        for off in (-3601, -1800, -1, 0, 1, 1799, 1800, 3599, 3600)
    ]
    return [0, *near, *(drawn.randrange(0, 2_145_916_800) for _ in range(300))]


SECONDS = instants()
TABLE = pa.table(
    {
        "row": range(len(SECONDS)),
        "seconds": SECONDS,
        "stored": pa.array([1_000_000 * second for second in SECONDS], pa.timestamp("us", "UTC")),
    }
)


def made_of(engine: Any, zone: str, texts: list[str]) -> dict[str, list[str]]:
    """Each expression on every row, as text."""
    engine.in_zone(zone)
    types = {"row": "int64", "seconds": "int64", "stored": "timestamptz"}
    engine.open(locate(TABLE), "source", (), types)
    columns = ", ".join(f'TRY({text}) AS "v{number}"' for number, text in enumerate(texts))
    engine.define("made", f'SELECT "row", {columns} FROM "source"')
    if isinstance(engine, DuckDBEngine):
        found = engine.arrow('SELECT * FROM "made"')
    else:
        found = engine._fetched(engine.table("made"))
    found = found.sort_by("row")
    return {text: list(map(str, found[f"v{n}"].to_pylist())) for n, text in enumerate(texts)}


def _plain(text: str) -> str:
    return str(int(text)) if text.isdigit() else text


@pytest.fixture(scope="module")
def engines(cluster: Any) -> Iterator[list[Any]]:
    with DuckDBEngine() as here, engine_beside(cluster) as there:
        yield [here, there]


@pytest.mark.parametrize("zone", ZONES)
def test_both_engines_and_python_agree(zone: str, engines: list[Any]) -> None:
    columns = ("to_timestamp(seconds)", "stored")
    asked = {
        f"CAST({form.format(t=column)} AS VARCHAR)": pattern
        for column in columns
        for form, pattern in EXPRESSIONS.items()
    }
    asked |= {f"CAST({column} AS VARCHAR)": "offset" for column in columns}
    here, there = (made_of(engine, zone, list(asked)) for engine in engines)
    local = [datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(zone)) for second in SECONDS]
    for text, pattern in asked.items():
        wanted = [_offset_text(t) if pattern == "offset" else t.strftime(pattern) for t in local]
        assert list(map(_plain, here[text])) == list(map(_plain, wanted)), text
        assert list(map(_plain, there[text])) == list(map(_plain, wanted)), text


def _offset_text(local: datetime) -> str:
    offset = local.utcoffset() or timedelta()
    minutes = abs(offset) // timedelta(minutes=1)
    hours, rest = divmod(minutes, 60)
    sign = "-" if offset < timedelta() else "+"
    return f"{local:%Y-%m-%d %H:%M:%S}{sign}{hours:02}" + (f":{rest:02}" if rest else "")


def test_times_without_a_zone_stay_as_they_are(engines: list[Any]) -> None:
    texts = [
        "CAST(hour(CAST('2024-07-06 22:15:00' AS TIMESTAMP)) AS VARCHAR)",
        "dayname(CAST('2024-07-06' AS DATE))",
    ]
    for engine in engines:
        found = made_of(engine, "Asia/Tokyo", texts)
        assert [set(found[text]) for text in texts] == [{"22"}, {"Saturday"}]


def test_a_city_east_of_london_gets_its_saturdays_right(start_engine: Start) -> None:
    """Friday evening in London is Saturday morning in Tokyo, and Saturday evening no Sunday."""
    evenings = [datetime(2024, 7, day, 20, tzinfo=UTC) for day in (5, 6, 7)]  # Friday to Sunday
    visits = pa.table(
        {"who": ["a", "b", "c"], "place": ["bar"] * 3, "t": [int(t.timestamp()) for t in evenings]}
    )
    days = ["Friday", "Saturday", "Sunday", "Monday"]
    domain = Domain(["bar"], {"day": days}, item="place")
    found = {}
    with start_engine() as engine:
        for zone in ("UTC", "Asia/Tokyo"):
            records = ct.read(
                visits, user="who", item="place", timezone=zone,
                contexts={"day": "dayname(to_timestamp(t))"}, types={"t": "int64"},
            )  # fmt: skip
            kept = kept_by(engine, prepare(engine, records, domain), SRA(1), 1, "records")
            found[zone] = {user: days[next(iter(cells))] for user, cells in kept.items()}
    assert found["UTC"] == {"a": "Friday", "b": "Saturday", "c": "Sunday"}
    assert found["Asia/Tokyo"] == {"a": "Saturday", "b": "Sunday", "c": "Monday"}


@pytest.mark.parametrize("role", ["user", "record_id"])
@pytest.mark.parametrize("stored", [True, False], ids=["with a schema", "in a frame"])
def test_who_somebody_is_does_not_depend_on_the_zone(
    role: str, stored: bool, start_engine: Start, tmp_path: Any
) -> None:
    """An hour that clocks show twice: by their local times its ids would be the same."""
    change = int(CHANGES[1].timestamp())
    times = [1_000_000 * (change + 600 * step) for step in range(-7, 7)]
    ids = pa.array([time for time in times for _ in range(4)], pa.timestamp("us", "UTC"))
    table = pa.table(
        {
            "when": ids,
            "who": [1] * len(ids),
            "place": ["a", "b", "c", "d"] * len(times),
        }
    )
    source: Any = table
    if stored:
        source = tmp_path / "times.parquet"
        parquet.write_table(table, source)
    roles = {"user": "when"} if role == "user" else {"user": "who", "record_id": "when"}
    domain = Domain(["a", "b", "c", "d"], item="place")
    kept = {}
    with start_engine() as engine:
        for zone in ("UTC", "Europe/Vienna", "Pacific/Chatham"):
            records = ct.read(source, item="place", timezone=zone, **roles)
            prepared = prepare(engine, records, domain)
            kept[zone] = kept_by(engine, prepared, SRA(2), 5, "records")
    people = {zone: [cells for _, cells in sorted(found.items())] for zone, found in kept.items()}
    assert people["UTC"] == people["Europe/Vienna"] == people["Pacific/Chatham"]
    assert len(people["UTC"]) == (len(times) if role == "user" else 1)


@pytest.mark.parametrize("stored", [False, True])
def test_nanoseconds_are_instants_too(stored: bool, start_engine: Start, tmp_path: Path) -> None:
    """As pandas and Polars write them."""
    times = pa.array([datetime(2024, 7, 5, 20, tzinfo=UTC)], pa.timestamp("ns", "UTC"))
    table = pa.table({"who": times, "item": [1], "t": times})
    parquet.write_table(table, tmp_path / "times.parquet")
    source = tmp_path / "times.parquet" if stored else table
    found = []
    for zone, hour in (("Asia/Tokyo", 5), ("UTC", 20)):
        records = ct.read(
            source, user="who", item="item", contexts={"hour": "hour(t)"}, timezone=zone,
            types={} if stored else {"t": "timestamptz"},
        )  # fmt: skip
        domain = ct.Domain([1], {"hour": [hour]}, item="item")
        with start_engine() as engine:
            if stored and not isinstance(engine, DuckDBEngine):
                with pytest.raises(InputError, match="microseconds"):
                    prepare(engine, records, domain)
                return
            rows = prepare(engine, records, domain).rows
            read = engine.columns(rows.select("cell", user=rows.user.cast("string")))
        assert read["cell"].tolist() == [0]
        found.append(str(read["user"][0]))
    assert stored or found[0] == found[1] == "2024-07-05 20:00:00+00"


def test_an_instant_matches_its_listed_text_in_every_zone(start_engine: Start) -> None:
    """In a frame an instant is read as text: as that of one instant, not of a place's clocks."""
    table = pa.table(
        {"who": [1, 2], "at": pa.array([0, 1_729_990_800_000_000], pa.timestamp("us", "UTC"))}
    )
    with start_engine() as engine:
        found = []
        for zone in ("UTC", "Europe/Vienna"):
            records = ct.read(table, user="who", item="at", timezone=zone)
            prepared = prepare(engine, records, None)
            found.append(sorted(engine.columns(prepared.rows)["cell"].tolist()))
    assert found[0] == found[1]
    assert found[0][0].startswith("1970-01-01 00:00:00")


def test_every_zone_that_may_be_named_is_known_to_spark(cluster: Any) -> None:
    java = set(cluster._jvm.java.time.ZoneId.getAvailableZoneIds())
    assert len(known_zones()) > 400
    assert len(known_zones() - java) < 5, "more than the newest cities"


def test_a_zone_that_this_java_does_not_know(cluster: Any) -> None:
    unknown = pytest.raises(CrowdtallyError, match="does not know the time zone Mars/Olympus")
    with engine_beside(cluster) as engine, unknown:
        engine.in_zone("Mars/Olympus")
