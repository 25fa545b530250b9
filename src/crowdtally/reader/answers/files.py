"""Answers as files: the suffix says how, and a file is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from crowdtally.core.files import new_file, refuse_taken
from crowdtally.errors import UsageError
from crowdtally.reader.answers.columns import Column


class Writable(Protocol):
    """What an answer must be able to do to become a file."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns in order."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Its rows."""

    def to_json(self) -> str:
        """The same as JSON."""

    def to_csv(self) -> str:
        """The same as CSV."""


def _csv(answer: Writable, path: Path) -> None:
    # The mark tells a spreadsheet that the bytes are UTF-8.
    path.write_text(answer.to_csv(), encoding="utf-8-sig", newline="")


def _json(answer: Writable, path: Path) -> None:
    path.write_text(f"{answer.to_json()}\n", encoding="utf-8", newline="")


def _parquet(answer: Writable, path: Path) -> None:
    from crowdtally.reader.answers.frames import write_parquet

    write_parquet(answer.columns, answer.to_dicts(), path)


def _xlsx(answer: Writable, path: Path) -> None:
    from crowdtally.reader.answers.spreadsheets import workbook

    path.write_bytes(workbook(answer.columns, answer.to_dicts()))


SUFFIXES: Mapping[str, Callable[[Writable, Path], None]] = {
    ".csv": _csv,
    ".json": _json,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}
"""How an answer is written, by the file's suffix."""


def checked_target(path: str | os.PathLike[str]) -> Path:
    """The file to write to, as far as that shows beforehand: a known suffix, and a new name."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{str(target)!r} does not say how to write the answer: end it in one of "
            f"{', '.join(SUFFIXES)}."
        )
    refuse_taken(target)
    return target


def written(answer: Writable, path: str | os.PathLike[str]) -> Path:
    """Write an answer to a new file; its path."""
    target = checked_target(path)
    with new_file(target) as part:
        SUFFIXES[target.suffix.lower()](answer, part)
    return target
