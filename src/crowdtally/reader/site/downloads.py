"""The files that a site offers: a whole copy of the release, and its metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally.format import Published, datapackage
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.reader.exporting.croissant import croissant

CROISSANT = "croissant.json"
_METADATA = {
    "release.json": "The release about itself: guarantee, method, noise, lists, charge.",
    datapackage.FILE: "Frictionless Data Package: fields, types and hashes of the tables.",
    CROISSANT: "Croissant metadata, for machine-learning libraries.",
    NOTE: "That the release was withdrawn, when and why.",
}


@dataclass(frozen=True)
class Download:
    """One file."""

    path: str
    """Its address, relative to the site."""
    words: str
    """What it holds."""
    size: int
    """In bytes."""
    is_metadata: bool
    """Whether it says something about the tables."""


def copy_release(published: Published, folder: Path) -> None:
    """Put a whole copy of the release there, with its Croissant metadata beside the tables."""
    published.save(folder)
    (folder / CROISSANT).write_text(croissant(published), encoding="utf-8")


def linked_data(published: Published, folder: str) -> dict[str, Any]:
    """Croissant metadata, for a page beside the folder: schema.org's Dataset, and more."""
    found: dict[str, Any] = json.loads(croissant(published))
    for file in found["distribution"]:
        file["contentUrl"] = f"{folder}/{file['contentUrl']}"
    return found


def released(published: Published, site: Path, folder: str) -> Iterator[Download]:
    """The files of the copy."""
    tables = {table.file: f"The table {table.name} as it was released." for table in
              published.tables}  # fmt: skip
    for name, words in (_METADATA | tables).items():
        path = site / folder / name
        if path.is_file():
            yield Download(f"{folder}/{name}", words, path.stat().st_size, name in _METADATA)


def listed(site: Path, path: str, words: str) -> Download:
    """A list that was written there."""
    return Download(path, words, (site / path).stat().st_size, False)
