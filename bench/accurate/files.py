"""The real files: which columns, which public lists, which contexts.

They lie in the folder that ``CROWDTALLY_DATA`` names; a file that is not there is left out. Where
there is no catalogue, the distinct values in the file count as public. What has no users (adult,
lodes, dpbench) has nobody to bound and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
_COUNTRIES = ("United Kingdom", "Germany", "France", "EIRE", "elsewhere")
_TIMES = (
    "SELECT user_id AS user, item_id AS item, dayname(to_timestamp(timestamp)) AS weekday, "
    f"{list(_PARTS)}[1 + hour(to_timestamp(timestamp)) // 6] AS part FROM "
)
_FILMS = (
    "SELECT user_id AS user, movie_id AS item, gender, CASE WHEN age < 25 THEN 'Under 25' "
    "WHEN age < 35 THEN '25-34' ELSE 'Above 34' END AS age FROM {ml1m_ratings} JOIN {ml1m_users} "
    "USING (user_id)"
)
_GENRES = (
    "SELECT movie_id AS item, unnest(string_split(genres, '|')) AS genre, "
    "(year // 10 * 10)::VARCHAR AS decade FROM {ml1m_movies}"
)
_PURCHASES = (
    "SELECT user_id AS user, item_id AS item, dayname(timestamp) AS weekday, "
    f"CASE WHEN Country IN {_COUNTRIES[:-1]} THEN Country ELSE 'elsewhere' END AS country "
    "FROM {online_retail_2010_2011}"
)
_GENDER, _AGE = ("F", "M"), ("Under 25", "25-34", "Above 34")
_PLAIN = "SELECT user_id AS user, item_id AS item FROM "


@dataclass(frozen=True)
class File:
    """One file, with one family of contexts."""

    name: str
    """What it is called here."""
    select: str
    """The records: columns user, item and the contexts; a file's name is in braces."""
    items: str | None = None
    """The public list; None where the values of the file itself count as public."""
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of each context."""
    per_user: bool = False
    """Whether the contexts are a property of the user."""
    repeats: bool = True
    """Whether a user may have an item several times."""
    features: str | None = None
    """Public features of the items: columns item and one for each group of features."""
    counted: tuple[What, ...] = ("records",)
    """What is counted: users too where records repeat, in the file's first family."""
    first: bool = True
    """Whether it is the file's first family of contexts: items alone are measured there."""

    def is_in(self, folder: Path) -> bool:
        """Whether all that it reads is there."""
        told = f"{self.select} {self.items or ''} {self.features or ''}"
        return all((folder / f"{one}.parquet").is_file() for one in _named(told))


_BOTH: tuple[What, ...] = ("records", "users")
FILES = (
    File(
        "MovieLens, gender × age", _FILMS, "SELECT movie_id AS item FROM {ml1m_movies}",
        {"gender": _GENDER, "age": _AGE}, per_user=True, repeats=False, features=_GENRES,
    ),
    File(
        "MovieLens, gender", _FILMS, "SELECT movie_id AS item FROM {ml1m_movies}",
        {"gender": _GENDER}, per_user=True, repeats=False, features=_GENRES, first=False,
    ),
    File(
        "Gowalla, weekday", _TIMES + "{gowalla_checkins}",
        "SELECT item_id AS item FROM {gowalla_checkins_items}", {"weekday": _DAYS}, counted=_BOTH,
    ),
    File(
        "Gowalla, part of day", _TIMES + "{gowalla_checkins}",
        "SELECT item_id AS item FROM {gowalla_checkins_items}", {"part": _PARTS}, first=False,
    ),
    File(
        "Foursquare NYC, weekday", _TIMES + "{foursquare_nyc_checkins}",
        "SELECT item_id AS item FROM {foursquare_nyc_checkins_items}", {"weekday": _DAYS},
        counted=_BOTH,
    ),
    File(
        "Foursquare semantic, weekday",
        "SELECT user_id AS user, item_id AS item, day AS weekday FROM {foursquare_nyc_semantic}",
        None, {"weekday": _DAYS}, counted=_BOTH,
    ),
    File("Online Retail, weekday", _PURCHASES, None, {"weekday": _DAYS}, counted=_BOTH),
    File(
        "Online Retail, country", _PURCHASES, None, {"country": _COUNTRIES}, per_user=True,
        first=False,
    ),
    File("retail", _PLAIN + "{retail}", repeats=False),
    File("BMS-WebView-2", _PLAIN + "{bms_webview2}", repeats=False),
    File("Kosarak", _PLAIN + "{kosarak_prefix}", repeats=False),
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A file's records, ready to be counted in any process, beside their truth."""

    file: File
    """Which file."""
    held: Held
    """The records."""
    features: Path | None = None
    """The public features."""

    @property
    def name(self) -> str:
        """The file, its contexts and what is counted."""
        if self.has_contexts:
            return f"{self.file.name}{self._counted}"
        return self.items_name + (", alone" if self.file.contexts else "")

    @property
    def items_name(self) -> str:
        """The file's items, whichever contexts they are counted in."""
        return self.file.name.split(",")[0] + self._counted

    @property
    def _counted(self) -> str:
        return f", {self.held.what}" if self.file.repeats else ""

    @property
    def has_contexts(self) -> bool:
        """Whether items are counted in contexts too."""
        return bool(self.held.domain.contexts)


def subject_of(
    file: File, what: What, folder: Path, work: Path, *, contexts: bool = True
) -> Subject:
    """Read a file's records; without ``contexts``, of its items alone."""
    work.mkdir(parents=True)
    records, features = work / "read.parquet", None
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        select = _placed(file.select, folder)
        connection.execute(f"COPY ({select}) TO '{records}' (FORMAT parquet)")
        listed = _placed(file.items, folder) if file.items else f"FROM '{records}'"
        found = connection.execute(
            f"SELECT DISTINCT item FROM ({listed}) WHERE item IS NOT NULL ORDER BY item"
        ).fetchall()
        if file.features:
            features = work / "features.csv"
            connection.execute(
                f"COPY ({_placed(file.features, folder)}) TO '{features}' (FORMAT csv, HEADER)"
            )
    named = dict(file.contexts) if contexts else {}
    read = ct.read(records, user="user", item="item", contexts=list(named))
    domain = ct.Domain([item for (item,) in found], {n: list(v) for n, v in named.items()})
    with DuckDBEngine() as engine:
        held = hold(make_subject(read, domain, count=what), work, engine)
    return Subject(file, held, features)


def _named(select: str) -> list[str]:
    return re.findall(r"{(\w+)}", select)


def _placed(select: str, folder: Path) -> str:
    files = {name: f"'{folder / name}.parquet'" for name in _named(select)}
    return select.format(**files)
