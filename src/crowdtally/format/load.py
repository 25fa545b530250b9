"""A release on disk, opened."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from crowdtally.core import files as regular
from crowdtally.core.counts import Counted
from crowdtally.errors import InputError
from crowdtally.format import datapackage
from crowdtally.format.contents import check_table
from crowdtally.format.folder import copy_files, staging, unwritable
from crowdtally.format.manifest import (
    DISTINCT,
    STATED,
    AutoFacts,
    BoundFacts,
    Charged,
    Guarantee,
    MethodFacts,
    PublicDomain,
    RecordFacts,
    TableFacts,
    bounds_nobody,
    promise,
)
from crowdtally.format.parse import parsed
from crowdtally.format.withdrawal import WithdrawalNote, note_in

# A release on disk, opened: checked when it is loaded, its metadata parsed once.

SCHEMA = "crowdtally-release/1"
"""Name and version of the layout of ``release.json``; see docs/release-format.md."""


@dataclass(frozen=True)
class Published:
    """A release on disk: its metadata and where its tables lie."""

    folder: Path
    """The folder that holds ``release.json`` and the tables."""
    metadata: Mapping[str, Any]
    """``release.json``."""
    _keeps: object = field(default=None, repr=False, compare=False)
    """Keeps a temporary folder alive as long as the release is used."""
    sha256: str | None = None
    """Of the bytes of ``release.json``, where they were read."""

    @property
    def schema(self) -> str:
        """Name and version of the layout of ``release.json``."""
        return str(self.metadata["schema"])

    @property
    def id(self) -> str:
        """What the ledger knows it by."""
        return str(self.metadata["id"])

    @property
    def withdrawn(self) -> WithdrawalNote | None:
        """When and why it was called back; looked up anew, since that can happen at any time."""
        return note_in(self.folder, self.id)

    def withdrawal_remark(self) -> str | None:
        """What whoever opens it must be told first; None unless it was withdrawn."""
        note = self.withdrawn
        return None if note is None else f"{note} (the release {str(self.folder)!r})"

    @property
    def counted(self) -> str:
        """What a count counts: records or users."""
        return str(self.metadata["counted"])

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised, and to whom."""
        return Guarantee.from_json(self.metadata["guarantee"])

    @cached_property
    def promise(self) -> str:
        """What is promised, in sentences."""
        return promise(self.metadata)

    @cached_property
    def records(self) -> RecordFacts:
        """What a record was."""
        return RecordFacts.from_json(self.metadata["records"])

    @cached_property
    def method(self) -> MethodFacts:
        """How the records were bounded."""
        return MethodFacts.from_json(self.metadata["method"])

    @cached_property
    def auto(self) -> AutoFacts | None:
        """How ``auto`` spent ε; None where a method was named."""
        facts = self.metadata.get("auto")
        return None if facts is None else AutoFacts.from_json(facts)

    @cached_property
    def charged(self) -> Charged:
        """What the ledger was told."""
        return Charged.from_json(self.metadata["charged"])

    @cached_property
    def domain(self) -> PublicDomain:
        """The public lists."""
        return PublicDomain.from_json(self.metadata["domain"])

    @cached_property
    def tables(self) -> tuple[TableFacts, ...]:
        """What it says about each table, in order."""
        return tuple(TableFacts.from_json(one, self.domain) for one in self.metadata["tables"])

    def table(self, name: str) -> TableFacts | None:
        """What it says about a table, or None where it has no such table."""
        return next((table for table in self.tables if table.name == name), None)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files; a note that calls it back is not one of them."""
        return ("release.json", datapackage.FILE, *(table.file for table in self.tables))

    def path(self, table: TableFacts) -> Path:
        """The Parquet file of a table, found whole: a file that changed is checked again."""
        check_table(self.folder, self.domain, table)
        return self.folder / table.file

    def save(self, folder: str | os.PathLike[str]) -> Published:
        """Copy the release to a new folder, atomically, if it is still what was opened."""
        target = Path(folder)
        with staging(target) as staged:
            try:
                copy_files(self, staged.path)
            except OSError as error:
                raise unwritable(target, error) from error
            staged.commit()
        return Published(target, self.metadata, sha256=self.sha256)


def _lack(path: Path) -> str:
    if path.is_dir():
        return "it has no release.json"
    return "it is a file" if path.exists() else "there is no such folder"


def load(folder: str | os.PathLike[str], tell: Callable[[str], None] | None = None) -> Published:
    """Open a release and check it: an InputError says what is damaged.

    Args:
        folder: where it lies.
        tell: says it where the release was withdrawn.
    """
    path = Path(folder)
    try:
        raw = regular.content(path / "release.json")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{str(path)!r} is not a release: {_lack(path)}. Give the folder that "
            "`crowdtally release -o FOLDER` wrote."
        ) from None
    except OSError as error:
        raise InputError(
            f"{str(path / 'release.json')!r} cannot be read: "
            f"{error.strerror or 'unknown reason'}. Check its permissions and the disk."
        ) from error
    metadata = parsed(path / "release.json", raw, SCHEMA)
    found = Published(path, metadata, sha256=hashlib.sha256(raw).hexdigest())
    for table in found.tables:
        check_table(path, found.domain, table)
    if tell is not None and (remark := found.withdrawal_remark()) is not None:
        tell(remark)
    return found


# What the counts of a released table count, from what ``release.json`` says about its method.


def what_counts(published: Published, table: TableFacts) -> Counted:
    """What is counted of one user in a table."""
    method, guarantee = published.method, published.guarantee
    auto = published.auto
    free = auto is not None and table.kind.answers and bounds_nobody(table.law)
    if table.law.per_cell or method.bounding == DISTINCT or free:
        return Counted("users", 1, everywhere=True)
    if guarantee.unit in ("row", "person"):
        return Counted("users", None, weight=guarantee.column)
    if method.bounding == STATED:
        return Counted("records", None, stated=method.bounds[table.name].bound)
    # A table of discovered items has its bound as its sensitivity, and no other.
    bound = method.bounds.get(table.name, BoundFacts(table.sensitivity, Fraction(1)))
    return Counted(
        "users" if published.counted == "users" else "records",
        bound.bound,
        method.cap is not None or auto is not None,
        method.cap or 1,
        bound.scaling,
        uncapped=auto is not None and auto.repeats,
        pairs=table.kind.is_pairs,
        quantity=_quantity(published),
        norm=_norm(published, table),
    )


def _norm(published: Published, table: TableFacts) -> str:
    """What rows were scaled to; of ``auto``, which decides it, by the table's own step."""
    step = None if published.auto is None else published.auto.step(table.name)
    return published.method.norm if step is None else str(step.facts.get("norm", "l1"))


def counting_remarks(published: Published) -> list[str]:
    """What each table counts that questions are answered from; said once where all do the same."""
    # Where only top items are released, no table answers for all items.
    tables = [table for table in published.tables if table.kind.answers] or published.tables
    said = {table.name: what_counts(published, table).sentence() for table in tables}
    if len(set(said.values())) == 1:
        return [next(iter(said.values()))]
    return [f"In the table {name!r}: {words[0].lower()}{words[1:]}" for name, words in said.items()]


def _quantity(published: Published) -> int | None:
    found = published.metadata["records"].get("quantity")
    return None if found is None else int(found["most"])
