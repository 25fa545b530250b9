"""``datapackage.json`` is the file that was released, and says what ``release.json`` says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crowdtally.core import files
from crowdtally.errors import InputError
from crowdtally.published import footer, packaging, parquet
from crowdtally.published.checks.parsing import json_object
from crowdtally.published.checks.shape import Each, Fields, Leaf, faults, is_text
from crowdtally.published.words import damaged

_TEXT = Leaf("a text", is_text)
_PACKAGE = Fields(
    {
        "id": _TEXT,
        "resources": Each(
            Fields(
                {
                    "path": _TEXT,
                    "hash": _TEXT,
                    "schema": Fields({"fields": Each(Fields({"name": _TEXT, "type": _TEXT}))}),
                }
            )
        ),
    }
)


def check_package(folder: Path, metadata: Mapping[str, Any]) -> None:
    """Raise an InputError where a release's ``datapackage.json`` is not what it must be.

    Args:
        folder: the release.
        metadata: its ``release.json``, which was checked before.
    """
    path = folder / packaging.FILE
    raw = _bytes(path, metadata[packaging.FIELD]["sha256"])
    found = json_object(raw, lambda what: damaged(path, what))
    for fault in faults(_PACKAGE, found):
        raise damaged(path, fault)
    for fault in _disagreements(folder, found, metadata):
        raise damaged(path, fault)


def check_footer(path: Path, metadata: Mapping[str, Any]) -> None:
    """Raise an InputError where a table's footer is that of another release."""
    for fault in footer.disagreements(parquet.notes_in(path), metadata):
        raise damaged(path, fault)


def _bytes(path: Path, sha256: str) -> bytes:
    try:
        found = files.content(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(
            f"{str(path.parent)!r} lacks its {packaging.FILE!r}: copy the whole folder."
        ) from None
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror or 'unknown reason'}. Check its "
            "permissions and the disk."
        ) from error
    if hashlib.sha256(found).hexdigest() != sha256:
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    return found


def _disagreements(
    folder: Path, found: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[str]:
    """What it says that ``release.json`` and the tables do not."""
    if found["id"] != metadata["id"]:
        yield "it is about another release than release.json"
    for name, said in packaging.about(metadata).items():
        if found.get(name) != said:
            yield f"its {name!r} is not what release.json says"
    told = [(one["path"], one["hash"]) for one in found["resources"]]
    if told != [(one["file"], f"sha256:{one['sha256']}") for one in metadata["tables"]]:
        yield "its resources are not the tables of release.json, with their hashes"
        return
    for one in found["resources"]:
        fields = {field["name"]: field["type"] for field in one["schema"]["fields"]}
        if fields != _fields(folder / one["path"]) or len(fields) != len(one["schema"]["fields"]):
            yield f"its fields of {one['path']!r} are not the columns of that file"


def _fields(path: Path) -> dict[str, str]:
    """The columns of a table's file, in the standard's types."""
    kinds = {kind: name for name, kind in parquet.TYPES.items()}
    columns = parquet.opened(path).columns
    return {name: packaging.TYPES[kinds[kind]] for name, kind in columns.items()}
