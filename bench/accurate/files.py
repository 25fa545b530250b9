"""The real files: which columns, which public lists, which contexts.

They lie in the folder that ``CROWDTALLY_DATA`` names; a file that is not there is left out. Where
there is no catalogue, the distinct values in the file count as public. What has no users (adult,
lodes, dpbench) has nobody to bound and is left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

import crowdtally as ct
from crowdtally.core.counts import What
from crowdtally.curator.request.request import make_subject
from crowdtally.lab.comparison.records import Held, hold
from crowdtally.records.duckdb import DuckDBEngine

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PARTS = ("night", "morning", "afternoon", "evening")
_CHECKINS = (
    "SELECT user_id AS user, item_id AS item, dayname(to_timestamp(timestamp)) AS weekday FROM "
)
_FILMS = (
    "SELECT user_id AS user, movie_id AS item, gender, CASE WHEN age < 25 THEN 'Under 25' "
    "WHEN age < 35 THEN '25-34' ELSE 'Above 34' END AS age FROM {ml1m_ratings} JOIN {ml1m_users} "
    "USING (user_id)"
)
_ITEMS = "SELECT item_id AS item FROM "
_PLAIN = "SELECT user_id AS user, item_id AS item FROM "


@dataclass(frozen=True)
class File:
    """One file, with one family of contexts."""

    name: str
    """What it is called here."""
    select: str
    """The records: columns user, item and the contexts; a file's name is in braces."""
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of each context."""
    items: str | None = None
    """The public list; None where the values of the file itself count as public."""
    per_user: bool = False
    """Whether the contexts are a property of the user."""
    repeats: bool = True
    """Whether a user may have an item several times."""
    users: bool = False
    """Whether the items are also counted by distinct users."""

    def is_in(self, folder: Path) -> bool:
        """Whether all that it reads is there."""
        reads = f"{self.select} {self.items or ''}"
        return all((folder / f"{one}.parquet").is_file() for one in _named(reads))


FILES = (
    File(
        "MovieLens", _FILMS, {"gender": ("F", "M"), "age": ("Under 25", "25-34", "Above 34")},
        "SELECT movie_id AS item FROM {ml1m_movies}", per_user=True, repeats=False,
    ),
    File(
        "Gowalla", _CHECKINS + "{gowalla_checkins}", {"weekday": _DAYS},
        _ITEMS + "{gowalla_checkins_items}", users=True,
    ),
    File(
        "Foursquare NYC", _CHECKINS + "{foursquare_nyc_checkins}", {"weekday": _DAYS},
        _ITEMS + "{foursquare_nyc_checkins_items}", users=True,
    ),
    File(
        "Foursquare semantic",
        "SELECT user_id AS user, item_id AS item, day AS weekday FROM {foursquare_nyc_semantic}",
        {"weekday": _DAYS},
    ),
    File(
        "Online Retail",
        "SELECT user_id AS user, item_id AS item, dayname(timestamp) AS weekday "
        "FROM {online_retail_2010_2011}",
        {"weekday": _DAYS},
    ),
    File(
        "trivago", "FROM {trivago_cities}",
        {"platform": ("BR", "DE", "IN", "JP", "MX", "UK", "US", "other")}, per_user=True,
    ),
    File("Complete Journey", "FROM {completejourney_types}", {"part": _PARTS}),
    File(
        "Ask Ubuntu tags", "FROM {se_tags_ask_ubuntu}",
        {"year": tuple(f"y{year}" for year in range(8))}, per_user=True, repeats=False,
    ),
    File("GoBike", "FROM {gobike_stations}", {"part": _PARTS}, per_user=True, repeats=False),
    File("retail", _PLAIN + "{retail}", repeats=False),
    File("BMS-WebView-2", _PLAIN + "{bms_webview2}", repeats=False),
    File("Kosarak", _PLAIN + "{kosarak_prefix}", repeats=False),
    File("Last.fm genres", "FROM {lastfm_genres_5_25}"),
    File("bakery", "FROM {bakery}", repeats=False),
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A file's records, ready to be counted in any process, beside their truth."""

    file: File
    """Which file."""
    held: Held
    """The records."""

    @property
    def name(self) -> str:
        """The file, what is counted and in which contexts."""
        users = " users" if self.file.users and self.held.what == "users" else ""
        return " × ".join([f"{self.file.name}{users}", *self.contexts])

    @property
    def contexts(self) -> tuple[str, ...]:
        """The contexts in which items are counted too."""
        return tuple(axis.name for axis in self.held.domain.contexts)


def subjects_in(folder: Path, work: Path, only: str) -> Iterator[Subject]:
    """Every file that is there: its items alone, and with its contexts."""
    for file in FILES:
        if only.lower() not in file.name.lower():
            continue
        if not file.is_in(folder):
            print(f"{file.name} is not in {folder}: left out.", file=sys.stderr)
            continue
        yield subject_of(file, "records", folder, work / file.name, contexts=False)
        if file.users:
            yield subject_of(file, "users", folder, work / f"{file.name} users", contexts=False)
        if file.contexts:
            yield subject_of(file, "records", folder, work / f"{file.name} in contexts")


def subject_of(
    file: File, what: What, folder: Path, work: Path, *, contexts: bool = True
) -> Subject:
    """Read a file's records; without ``contexts``, of its items alone."""
    work.mkdir(parents=True)
    records = work / "read.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        select = _placed(file.select, folder)
        connection.execute(f"COPY ({select}) TO '{records}' (FORMAT parquet)")
        listed = _placed(file.items, folder) if file.items else f"FROM '{records}'"
        found = connection.execute(
            f"SELECT DISTINCT item FROM ({listed}) WHERE item IS NOT NULL ORDER BY item"
        ).fetchall()
    named = dict(file.contexts) if contexts else {}
    read = ct.read(records, user="user", item="item", contexts=list(named))
    domain = ct.Domain([item for (item,) in found], {n: list(v) for n, v in named.items()})
    with DuckDBEngine() as engine:
        held = hold(make_subject(read, domain, count=what), work, engine)
    return Subject(file, held)


def _named(select: str) -> list[str]:
    return re.findall(r"{(\w+)}", select)


def _placed(select: str, folder: Path) -> str:
    files = {name: f"'{folder / name}.parquet'" for name in _named(select)}
    return select.format(**files)
