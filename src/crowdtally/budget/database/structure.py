"""What SQLite itself finds wrong with a ledger's file: its pages, its free list, its indexes.

SQLite's own check reads the whole file, about 0.15 s for 100,000 entries. A first charge can wait
for that; in a file that is larger still, it looks at the indexes of the last entries alone, and the
rest is left to ``verify``.
"""

from __future__ import annotations

from sqlalchemy import Connection, TextClause, text

from crowdtally.budget.database import tables

_LARGEST = 2**27  # bytes that are read before a first charge: some 160,000 entries
_ENTRIES = tables.ENTRIES.name
# By index, the column that it leads with. A lost index entry would hide a request id, or a draw.
_INDEXED = {
    "crowdtally_by_dataset": "dataset",
    "crowdtally_by_key": "key",
    "crowdtally_by_about": "about",
}


def problem(connection: Connection) -> str | None:
    """What SQLite finds in the whole file; ``None`` where all is well."""
    found = connection.scalar(text("PRAGMA integrity_check(1)"))
    return None if found == "ok" else " ".join(str(found).split())[:200]


def recent_problem(connection: Connection, start: int) -> str | None:
    """The same at a bounded cost; in a very large file, of the entries after ``start`` alone."""
    if _size(connection) <= _LARGEST:
        return problem(connection)
    there = set(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'index'")))
    for index in sorted(there & _INDEXED.keys()):
        if (number := connection.scalar(_lost(index), {"start": start})) is not None:
            return f"row {number} missing from index {index}"
    return None


def _size(connection: Connection) -> int:
    pages, each = (
        connection.scalar(text(f"PRAGMA {name}")) for name in ("page_count", "page_size")
    )
    return int(pages) * int(each)


def _lost(index: str) -> TextClause:
    """The first entry after a number that an index does not lead to."""
    column = _INDEXED[index]
    return text(
        f"SELECT min(e.number) FROM {_ENTRIES} AS e NOT INDEXED WHERE e.number > :start "
        f"AND e.{column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {_ENTRIES} AS i "
        f"INDEXED BY {index} WHERE i.{column} = e.{column} AND i.number = e.number)"
    )
