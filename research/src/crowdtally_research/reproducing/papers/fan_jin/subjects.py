"""The paper's four data sets: how each is read, and the paper's settings for it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from crowdtally.curator.request.lists import read_list
from crowdtally.curator.request.request import Subject, make_subject
from crowdtally.values.domain import Domain
from crowdtally.values.records import Records
from crowdtally_research.lookalikes.shapes import SHAPES
from crowdtally_research.reproducing.datasets import Data

EPSILON = 1
"""The whole ε of every release, as in the paper."""
_FILMS = """
    SELECT user_id, movie_id AS item_id, gender, CASE WHEN age < 25 THEN 'Under 25'
    WHEN age < 35 THEN '25-34' ELSE 'Above 34' END AS age
    FROM {0} AS rated JOIN {1} AS users USING (user_id)
"""
_CATALOGUE = "SELECT movie_id, title FROM {2} ORDER BY movie_id"
_GENRES = """
    SELECT movie_id AS item_id, unnest(string_split(genres, '|')) AS genre,
    (year // 10 * 10)::VARCHAR AS decade FROM {2}
"""


@dataclass(frozen=True)
class Source:
    """A data set of the paper."""

    name: str
    """Of the look-alike, and of the real file where there is one."""
    title: str
    """For a reader."""
    limit: int = 10
    """l: the records that SRA and HPA keep of a user."""
    popularity_records: int = 1
    """d: the records of a user in HPA's popularity; the paper reads it off the data, min|T_k|."""
    declared: Mapping[str, str] = field(default_factory=dict)
    """What a curator knows of it, and ``auto`` is told."""
    auto_runs: int = 20
    """How often ``auto`` is run."""


SOURCES: Mapping[str, Source] = {
    one.name: one
    for one in (
        Source("gowalla", "Gowalla"),
        Source("foursquare", "Foursquare"),
        Source("netflix", "Netflix", declared={"repeats": "no"}, auto_runs=5),
        Source(
            "movielens", "MovieLens", 30, 20, {"repeats": "no", "context_per_user": "gender,age"}
        ),
    )
}
"""In the paper's order."""


@dataclass(frozen=True)
class Read:
    """A data set, ready to be counted."""

    source: Source
    """What it is."""
    subject: Subject
    """Its records and public lists."""
    features: Path | None = None
    """Public features of the items, where there are any."""
    titles: tuple[str, ...] = ()
    """What a reader calls each item, in the order of the list; none where items have numbers."""

    def options(self, method: str) -> dict[str, Any]:
        """What a release with this method is asked for, with the paper's settings."""
        if method == "auto":
            return dict(self.source.declared)
        asked = {"bounding": method, "max_records": self.source.limit}
        return asked | (
            {"popularity_records": self.source.popularity_records} if method == "hpa" else {}
        )


@contextmanager
def read(data: Data, name: str) -> Iterator[Read]:
    """The data set, in a folder of its own while it is used: the real file, or its look-alike."""
    source = SOURCES[name]
    with tempfile.TemporaryDirectory(prefix="crowdtally-") as folder:
        yield _real(data, source, Path(folder)) if data.is_real(name) else _made(data, source)


def _made(data: Data, source: Source) -> Read:
    path = data.lookalike(source.name)
    items = read_list(path.with_name(f"{path.stem}.items.parquet"), "item_id")
    contexts = SHAPES[source.name].contexts.values
    columns = dict.fromkeys(contexts)
    records = Records(str(path), "user_id", "item_id", columns, record_id="record_id")
    return Read(source, make_subject(records, Domain(items, contexts)))


def _real(data: Data, source: Source, folder: Path) -> Read:
    """MovieLens: ratings with the gender and age of their users, and the catalogue of movies."""
    files = [str(path).replace("'", "''") for path in data.files(source.name)]
    records, features = folder / "records.parquet", folder / "features.csv"
    with duckdb.connect(":memory:") as connection:

        def select(query: str) -> str:
            return query.format(*(f"read_parquet('{file}')" for file in files))

        def write(query: str, to: Path, form: str) -> None:
            target = str(to).replace("'", "''")
            connection.execute(f"COPY ({select(query)}) TO '{target}' ({form})")

        write(_FILMS, records, "FORMAT parquet")
        write(_GENRES, features, "FORMAT csv, HEADER")
        catalogue = connection.execute(select(_CATALOGUE)).fetchall()
    contexts = SHAPES[source.name].contexts.values
    declared = Records(str(records), "user_id", "item_id", dict.fromkeys(contexts))
    domain = Domain([item for item, _ in catalogue], contexts)
    titles = tuple(str(title) for _, title in catalogue)
    return Read(source, make_subject(declared, domain), features, titles)
