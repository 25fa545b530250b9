"""Served releases: opened, watched, cached and searched."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from crowdtally.core import files
from crowdtally.core.deadline import Patience, having, stoppable
from crowdtally.errors import InputError, UsageError, did_you_mean
from crowdtally.format import Published
from crowdtally.reader.axes import AxisLookup, Ints
from crowdtally.reader.page_parts import Source
from crowdtally.reader.questions.top import item_axis
from crowdtally.reader.release import Release
from crowdtally.reader.report.facts import Facts
from crowdtally.web.gate import Refused
from crowdtally.web.pages import value

_Found = TypeVar("_Found")
_Identity = tuple[tuple[int, ...], ...]


class Watched:
    """The files of a release, looked at again wherever one of them is another than before."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self._paths = [published.folder / name for name in published.files]
        self._sound: _Identity | None = None

    def check(self) -> None:
        """Raise an InputError where a file was changed, replaced or taken away."""
        found = tuple(map(_identity, self._paths))
        if found == self._sound:
            return
        path = self._published.folder / "release.json"
        try:
            digest = hashlib.sha256(files.content(path)).hexdigest()
        except OSError as error:
            raise _gone(path) from error
        if self._published.sha256 not in (None, digest):
            raise InputError(f"{str(path)!r} is not the one that was opened.")
        for table in self._published.tables:
            self._published.path(table)
        self._sound = found


def _identity(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise _gone(path) from error
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _gone(path: os.PathLike[str]) -> InputError:
    return InputError(f"{str(path)!r} is gone, or cannot be read any more.")


MOST = 256


class Kept:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[object, Any] = OrderedDict()

    def get(self, key: object, make: Callable[[], _Found]) -> _Found:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                found: _Found = self._found[key]
                return found
        made = make()
        with self._lock:
            self._found[key] = made
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return made


# Search names of items, without accents and cases.

MOST_WORDS = 8
LONGEST_SEARCH = 200
"""Letters of a search that are read, and of a name that are searched."""


def folded(text: str) -> str:
    """Letters without their accents and cases, so that "cafe" finds "Café".

    >>> folded("Café ÉTÉ"), folded("straße")
    ('cafe ete', 'strasse')
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(one for one in apart if not unicodedata.combining(one)).casefold()


def searched(text: str) -> list[str]:
    """The words that a name must have.

    >>> searched("Café  au lait")
    ['cafe', 'au', 'lait']
    """
    return folded(text[:LONGEST_SEARCH]).split()[:MOST_WORDS]


@dataclass(frozen=True)
class Index:
    """The names of all items, held by a database in memory."""

    database: Any
    """Its table ``names`` has each name's place in the list, the largest item first."""

    @classmethod
    def of(cls, names: Sequence[str], order: NDArray[np.int64]) -> Index:
        """Index names, which are in the order of the list; ``order`` has the largest item first."""
        database = duckdb.connect(":memory:", config={"threads": 2, "memory_limit": "1GB"})
        texts = np.array([folded(one[:LONGEST_SEARCH]) for one in names], dtype=object)
        columns = {"place": order.astype(np.int64), "folded": texts[order]}
        database.register("columns", columns)
        database.execute("CREATE TABLE names AS SELECT place, folded FROM columns")
        database.unregister("columns")
        return cls(database)

    def found(self, text: str, first: int, count: int) -> list[int]:
        """The places of items whose names have all words of a text, after the ``first`` ones."""
        words = searched(text)
        if not words:
            return []
        having = " AND ".join("contains(folded, ?)" for _ in words)
        query = f"SELECT place FROM names WHERE {having} LIMIT {int(count)} OFFSET {int(first)}"
        cursor = self.database.cursor()
        with stoppable(cursor.interrupt):
            return [place for (place,) in cursor.execute(query, words).fetchall()]


COMPUTING, READY, FAILED = "computing", "ready", "failed"
"""The state of what is made behind the first page."""
PATIENCE = 1.5
"""Seconds that a program's question waits for it."""


@dataclass(eq=False)
class Opened:
    """A release under its name in addresses, and what is worked out from it once."""

    name: str
    release: Release
    state: str = COMPUTING
    _ready: threading.Event = field(default_factory=threading.Event)
    _index: Index | None = None
    _facts: Facts | None = None
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self) -> None:
        self._served_withdrawn = self.release.withdrawn is not None
        self._watched = Watched(self.source.published)

    @cached_property
    def source(self) -> Source:
        return self.release.source()

    @property
    def title(self) -> str:
        of = self.source.published.charged.dataset or self.release.folder.name
        return f"Released counts of {value(of, 60)}"

    @property
    def is_ready(self) -> bool:
        return self.state == READY

    def prepare(self) -> None:
        """Make the estimates, the search and the report's facts; in a thread of its own."""
        try:
            if self.source.has_items:
                self._index = self._made_index()
            self._facts = self.source.facts()
            self.state = READY
        except Exception:  # a question fails again, and says why
            self.state = FAILED
        finally:
            self._ready.set()

    def _made_index(self) -> Index:
        believed, size = self.source.view.items, len(self.item)
        order: Ints = np.arange(size)
        if believed is not None and len(believed.believed) == size:
            order = np.argsort(-believed.believed.mean, kind="stable")
        return Index.of([self.source.name(one) for one in self.item.axis.values.tolist()], order)

    @cached_property
    def item(self) -> AxisLookup:
        return item_axis(self.source.view)

    def look(self) -> None:
        """Refuse a release that was withdrawn, changed or removed since it was opened."""
        note = self.release.withdrawn
        if note is not None and not self._served_withdrawn:
            raise Refused(
                410,
                f"{note} Ask whoever published it for what takes its place. To look at it all the "
                "same, its folder can be served anew.",
            )
        self._watched.check()

    def wait(self) -> None:
        """Wait a moment for the estimates; refuse the question if they are not there yet."""
        if not self._ready.wait(PATIENCE):
            raise Refused(
                409,
                "The estimates of this release are being computed. Try again in a few seconds.",
                retry_after="2",
            )

    @property
    def index(self) -> Index:
        self.wait()
        if not self.source.has_items:
            raise UsageError("this release has no items to search.")
        if self._index is None:  # it failed, and says why if it still does
            self._index = self._made_index()
        return self._index

    @property
    def facts(self) -> Facts:
        self.wait()
        if self._facts is None:  # it failed, and says why if it still does
            self._facts = self.source.facts()
        return self._facts


LONGEST_NAME = 60
_GRACE = 5.0
"""Seconds that what is being made has to end."""


class Shelf:
    """Open releases by name, in the order in which they were given."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self._opened: dict[str, Opened] = {}
        self._patience = Patience()
        self._preparing: threading.Thread | None = None
        for release in releases:
            name = self._free(slug(release.folder))
            self._opened[name] = Opened(name, release)

    def _free(self, name: str) -> str:
        """The name, or the same with a number where another release has it."""
        number, found = 1, name
        while found in self._opened:
            number += 1
            found = f"{name}-{number}"
        return found

    def __iter__(self) -> Iterator[Opened]:
        return iter(self._opened.values())

    def __len__(self) -> int:
        return len(self._opened)

    def __getitem__(self, name: str) -> Opened:
        found = self._opened.get(name)
        if found is None:
            shown = name[:LONGEST_NAME]
            raise Refused(
                404, f"No release {shown!r} is served here. {did_you_mean(shown, self._opened)}"
            )
        return found

    def prepare(self, then: Callable[[Opened], object]) -> None:
        """Make what each release needs, one after the other; ``then`` is called with each."""

        def work() -> None:
            with having(self._patience):
                for one in self:
                    one.prepare()
                for one in self:
                    if one.is_ready:
                        with suppress(Exception):  # a question fails again, and says why
                            then(one)

        self._preparing = threading.Thread(target=work, name="estimates", daemon=True)
        self._preparing.start()

    def close(self) -> None:
        self._patience.end()
        if self._preparing is not None:
            self._preparing.join(_GRACE)


def slug(folder: Path) -> str:
    """A folder's name as a part of an address.

    >>> slug(Path("/data/Visits 2026 (new)")), slug(Path("Über")), slug(Path("/"))
    ('visits-2026-new', 'ber', 'release')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    return plain[:LONGEST_NAME] or "release"
