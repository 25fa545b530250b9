"""A copy of a release holds what was released, and nothing that its folder merely leads to.

A folder from somebody else may have links to any file of whoever copies it, and files may change
while they are copied. So it is the copies that are looked at, before they get their name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from crowdtally.core import files as durable
from crowdtally.core import files as regular
from crowdtally.errors import InputError
from crowdtally.published import packaging, seal
from crowdtally.published.checks.files import check_table
from crowdtally.published.domain import PublicDomain
from crowdtally.published.table import TableFacts
from crowdtally.published.withdrawal import FILE as NOTE
from crowdtally.published.withdrawal import note_to_copy
from crowdtally.published.words import damaged

_ANOTHER = "it is not the file that was released (its SHA-256 is another)"


class Opened(Protocol):
    """A release that was opened: what it must be known by."""

    @property
    def folder(self) -> Path:
        """Where it lies."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``release.json``."""

    @property
    def sha256(self) -> str | None:
        """Of the bytes of ``release.json``, where they were read."""

    @property
    def id(self) -> str:
        """What the ledger knows it by."""

    @property
    def domain(self) -> PublicDomain:
        """The public lists."""

    @property
    def tables(self) -> tuple[TableFacts, ...]:
        """What it says about each table."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""


def copy_files(published: Opened, folder: Path) -> None:
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
        durable.flush(folder / name)
    for name in _others(published, folder):
        raise damaged(published.folder / name, _ANOTHER)
    _copy_note(published, folder)


def _others(published: Opened, folder: Path) -> Iterator[str]:
    """Copies that are not what was released."""
    facts = published.metadata
    raw = (folder / "release.json").read_bytes()
    if not seal.holds(raw, facts[seal.FIELD]):
        yield "release.json"
    if regular.digest(folder / packaging.FILE) != facts[packaging.FIELD]["sha256"]:
        yield packaging.FILE
    for table in published.tables:
        try:
            check_table(folder, published.domain, table)
        except InputError:
            yield table.file


def _copy_note(published: Opened, folder: Path) -> None:
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
        durable.flush(folder / NOTE)
