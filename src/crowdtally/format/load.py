"""A release on disk, opened: checked when it is loaded, its metadata parsed once."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from crowdtally.core import files as regular
from crowdtally.core.counts import Counted
from crowdtally.errors import InputError
from crowdtally.format import datapackage
from crowdtally.format.agreement import disagreements
from crowdtally.format.contents import check_table
from crowdtally.format.entries import PublicDomain, TableFacts
from crowdtally.format.folder import staging, unwritable
from crowdtally.format.manifest import (
    DISTINCT,
    STATED,
    AutoFacts,
    BoundFacts,
    Charged,
    Guarantee,
    Manifest,
    MethodFacts,
    RecordFacts,
)
from crowdtally.format.parse import FIELD, damaged, holds, json_object, received, shaped
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

    @cached_property
    def manifest(self) -> Manifest:
        """What ``release.json`` says, parsed."""
        return shaped(self.metadata, Manifest, partial(damaged, self.folder / "release.json"))

    @property
    def schema(self) -> str:
        """Name and version of the layout of ``release.json``."""
        return self.manifest.schema

    @property
    def id(self) -> str:
        """What the ledger knows it by."""
        return self.manifest.id

    @property
    def withdrawn(self) -> WithdrawalNote | None:
        """When and why it was called back; looked up anew, since that can happen at any time."""
        return note_in(self.folder, self.id)

    @property
    def counted(self) -> str:
        """What a count counts: records or users."""
        return self.manifest.counted

    @property
    def guarantee(self) -> Guarantee:
        return self.manifest.guarantee

    @property
    def promise(self) -> str:
        """What is promised, in sentences."""
        return self.manifest.promise

    @property
    def records(self) -> RecordFacts:
        return self.manifest.records

    @property
    def method(self) -> MethodFacts:
        return self.manifest.method

    @property
    def auto(self) -> AutoFacts | None:
        """How ``auto`` spent ε; None where a method was named."""
        return self.manifest.auto

    @property
    def charged(self) -> Charged:
        return self.manifest.charged

    @property
    def domain(self) -> PublicDomain:
        return self.manifest.domain

    @property
    def tables(self) -> tuple[TableFacts, ...]:
        """What it says about each table, in order."""
        return self.manifest.tables

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


def _parsed(path: Path, raw: bytes) -> tuple[dict[str, Any], Manifest]:
    """The contents of ``release.json``; an InputError says what is wrong with it."""
    fault = partial(damaged, path)
    metadata = json_object(raw, fault)
    if "schema" in metadata and metadata["schema"] != SCHEMA:
        raise InputError(
            f"{str(path)!r} has layout {received(metadata['schema'])}; this version reads "
            f"{SCHEMA!r} alone: use the version that wrote it."
        )
    digest = str(metadata.get(FIELD))
    if re.fullmatch("[0-9a-f]{64}", digest) and not holds(raw, digest):
        raise fault("it was changed after it was written (its SHA-256 is another)")
    manifest = shaped(metadata, Manifest, fault)
    for disagreement in disagreements(manifest):
        raise fault(disagreement)
    return metadata, manifest


def load(folder: str | os.PathLike[str], tell: Callable[[str], None] | None = None) -> Published:
    """Open a release and check it: an InputError says what is damaged.

    ``tell`` is told where the release was withdrawn.
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
    metadata, manifest = _parsed(path / "release.json", raw)
    found = Published(path, metadata, sha256=hashlib.sha256(raw).hexdigest())
    found.__dict__["manifest"] = manifest
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
        quantity=None if published.records.quantity is None else published.records.most,
        norm="squares" if auto is not None and auto.by_norm(table) else method.norm,
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
    raw = (folder / "release.json").read_bytes()
    if not holds(raw, published.manifest.sha256):
        yield "release.json"
    if regular.digest(folder / datapackage.FILE) != published.manifest.datapackage.sha256:
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
