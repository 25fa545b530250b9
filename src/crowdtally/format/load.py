"""A release on disk, opened: checked when it is loaded, its metadata parsed once."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
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
from crowdtally.format.folder import staging, unwritable
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
    damaged,
    promise,
)
from crowdtally.format.parse import FIELD, holds, parsed
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.format.withdrawal import WithdrawalNote, note_in, note_to_copy

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

    @property
    def counted(self) -> str:
        """What a count counts: records or users."""
        return str(self.metadata["counted"])

    @cached_property
    def guarantee(self) -> Guarantee:
        return Guarantee.from_json(self.metadata["guarantee"])

    @cached_property
    def promise(self) -> str:
        """What is promised, in sentences."""
        return promise(self.metadata)

    @cached_property
    def records(self) -> RecordFacts:
        return RecordFacts.from_json(self.metadata["records"])

    @cached_property
    def method(self) -> MethodFacts:
        return MethodFacts.from_json(self.metadata["method"])

    @cached_property
    def auto(self) -> AutoFacts | None:
        """How ``auto`` spent ε; None where a method was named."""
        facts = self.metadata.get("auto")
        return None if facts is None else AutoFacts.from_json(facts)

    @cached_property
    def charged(self) -> Charged:
        return Charged.from_json(self.metadata["charged"])

    @cached_property
    def domain(self) -> PublicDomain:
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
        raise regular.unreadable(path / "release.json", error) from error
    metadata = parsed(path / "release.json", raw, SCHEMA)
    found = Published(path, metadata, sha256=hashlib.sha256(raw).hexdigest())
    for table in found.tables:
        check_table(path, found.domain, table)
    if tell is not None and (note := found.withdrawn) is not None:
        tell(f"{note} (the release {str(path)!r})")
    return found


def what_counts(published: Published, table: TableFacts) -> Counted:
    """What is counted of one user in a table."""
    method, guarantee = published.method, published.guarantee
    auto = published.auto
    if table.law.per_cell or method.bounding == DISTINCT:
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
        quantity=published.metadata["records"].get("quantity", {}).get("most"),
        norm=published.method.norm,
    )


def counting_remarks(published: Published) -> list[str]:
    """What each table counts that questions are answered from; said once where all do the same."""
    # Where only top items are released, no table answers for all items.
    tables = [table for table in published.tables if table.kind.answers] or published.tables
    said = {table.name: what_counts(published, table).sentence() for table in tables}
    if len(set(said.values())) == 1:
        return [next(iter(said.values()))]
    return [f"In the table {name!r}: {words[0].lower()}{words[1:]}" for name, words in said.items()]


# A copy of a release holds what was released, and nothing that its folder merely leads to.
#
# A folder from somebody else may have links to any file of whoever copies it, and files may
# change while they are copied. So it is the copies that are looked at, before they get their
# name.

_ANOTHER = "it is not the file that was released (its SHA-256 is another)"


def copy_files(published: Published, folder: Path) -> None:
    """Copy the files of a release, and its note, into a folder that nobody sees yet.

    Raises:
        InputError: a file is missing, or its copy is not what was released.
        OSError: the disk does not take a copy.
    """
    for name in published.files:
        try:
            source = regular.open_regular(published.folder / name)
        except OSError:
            raise InputError(
                f"{str(published.folder)!r} lacks its {name!r}, or it is not a regular file that "
                "can be read: copy the whole folder."
            ) from None
        with source, open(folder / name, "xb") as copy:
            shutil.copyfileobj(source, copy)
        regular.flush(folder / name)
    for name in _others(published, folder):
        raise damaged(published.folder / name, _ANOTHER)
    _copy_note(published, folder)


def _others(published: Published, folder: Path) -> Iterator[str]:
    """Copies that are not what was released."""
    facts = published.metadata
    raw = (folder / "release.json").read_bytes()
    if not holds(raw, facts[FIELD]):
        yield "release.json"
    if regular.digest(folder / datapackage.FILE) != facts[datapackage.FIELD]["sha256"]:
        yield datapackage.FILE
    for table in published.tables:
        try:
            check_table(folder, published.domain, table)
        except InputError:
            yield table.file


def _copy_note(published: Published, folder: Path) -> None:
    """Let a copy say that the release was withdrawn; also by a note that is damaged."""
    try:
        raw = note_to_copy(published.folder, published.id)
    except InputError as error:
        raise InputError(
            f"{str(published.folder)!r} is marked as withdrawn, and a copy would not say so: "
            f"{error}. Let `crowdtally withdraw` write the note anew, then copy."
        ) from error
    if raw is not None:
        (folder / NOTE).write_bytes(raw)
        regular.flush(folder / NOTE)
