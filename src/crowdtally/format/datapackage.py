"""Datapackage.json."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crowdtally.core import files
from crowdtally.core.display import markdown, printable_json
from crowdtally.errors import InputError
from crowdtally.format import tables
from crowdtally.format.manifest import Each, Fields, Leaf, damaged, faults, is_text
from crowdtally.format.parse import json_object

# ``datapackage.json``: the folder of a release as a Frictionless Data Package (version 2).
#
# It says in a standard's words what ``release.json`` says: files, hashes, columns, types. It
# follows from ``release.json`` and the columns' kinds alone. ``release.json`` has its hash, and
# the ledger that of ``release.json``; so it cannot have the hash of ``release.json`` itself.

FILE = "datapackage.json"
"""Its name in the folder of a release."""
FIELD = "datapackage"
"""The field of ``release.json`` that has its hash."""
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
"""The version of the standard."""
MEDIATYPE = "application/vnd.apache.parquet"
"""Of the tables."""
TYPES = {"text": "string", "integer": "integer", "float": "number"}
"""The standard's name of each kind of column."""
_LISTED = 100
"""Values of a list that a field repeats; a longer one stands in ``release.json`` or a table."""
_VALUES = {
    "count": "The noisy count, never clipped: a negative one is honest.",
    "noise_std": "Standard deviation of the noise in the count.",
    "low": "Lower end of the noise interval: of the noise alone.",
    "high": "Upper end of the noise interval: of the noise alone.",
}
"""What each column says that does not name a cell."""
_ENDS = ("_first", "_last")
"""Columns of a dyadic tree that are empty where a node has no value below it."""

Kinds = Mapping[str, Mapping[str, str]]
"""The columns of each table, by its name, and their kinds."""


def package(metadata: Mapping[str, Any], kinds: Kinds) -> dict[str, Any]:
    """The contents of ``datapackage.json``.

    Args:
        metadata: ``release.json``, complete but for what only this file tells: its hash.
        kinds: the columns of the tables as they were written.
    """
    said, lists = about(metadata), _lists(metadata)
    facts = said.pop("crowdtally")
    return {
        "$schema": PROFILE,
        **said,
        "keywords": ["differential privacy", "counts"],
        "resources": [
            _resource(table, kinds[table["name"]], lists) for table in metadata["tables"]
        ],
        "crowdtally": facts,
    }


def about(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What it says of the release as a whole, the promise above all: nothing that differs from it.

    Args:
        metadata: ``release.json``.
    """
    facts = tables.facts(metadata)
    return {
        "name": f"crowdtally-release-{metadata['id']}",
        "id": metadata["id"],
        "title": f"Differentially private counts of {metadata['counted']}",
        "description": markdown(facts["guarantee"]),
        "created": metadata["created"],
        "crowdtally": facts,
    }


def encoded(metadata: Mapping[str, Any], kinds: Kinds) -> bytes:
    """The bytes of ``datapackage.json``."""
    return f"{printable_json(package(metadata, kinds), indent=2)}\n".encode()


def _lists(metadata: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The short public lists, by their column."""
    domain = metadata["domain"]
    found = domain["attributes"] if "attributes" in domain else _of_items(domain)
    return {
        one["name"]: one["values"]
        for one in found
        if "values" in one and len(one["values"]) <= _LISTED
    }


def _of_items(domain: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The list of items, again as that of the other item of a pair, and those of contexts."""
    items = domain["items"]
    return [items, {**items, "name": f"other_{items['name']}"}, *domain["contexts"]]


def _resource(
    table: Mapping[str, Any], kinds: Mapping[str, str], lists: Mapping[str, list[Any]]
) -> dict[str, Any]:
    """One table: its file, and what its columns are."""
    named = [name for name in kinds if name not in _VALUES]
    empty = set(_emptied(table, named))
    return {
        "name": table["name"],
        "type": "table",
        "path": table["file"],
        "format": "parquet",
        "mediatype": MEDIATYPE,
        "hash": f"sha256:{table['sha256']}",
        "schema": {
            "fields": [
                _field(name, kind, None if name in empty else lists.get(name), name not in empty)
                for name, kind in kinds.items()
            ],
            "primaryKey": [name for name in named if name not in empty],
            "missingValues": [],  # an empty text is a value: what is missing is NULL
        },
    }


def _emptied(table: Mapping[str, Any], named: list[str]) -> Iterator[str]:
    """Columns that may have rows without a value."""
    transform = table.get("transform", {"kind": "none", "ordered": []})
    if transform["kind"] == "dyadic":
        ends = {f"{name}{end}" for name in transform["ordered"] for end in _ENDS}
        yield from (name for name in named if name in ends)


def _field(name: str, kind: str, values: list[Any] | None, required: bool) -> dict[str, Any]:
    constraints: dict[str, Any] = {"required": True} if required else {}
    if name in _VALUES:
        described = {"description": _VALUES[name]}
        constraints |= {"minimum": 0} if name == "noise_std" else {}
    else:
        described = {}
        constraints |= {"enum": values} if values else {}
    return {"name": name, "type": TYPES[kind], **described, "constraints": constraints}


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
    path = folder / FILE
    raw = _bytes(path, metadata[FIELD]["sha256"])
    found = json_object(raw, lambda what: damaged(path, what))
    for fault in faults(_PACKAGE, found):
        raise damaged(path, fault)
    for fault in _disagreements(folder, found, metadata):
        raise damaged(path, fault)


def check_footer(path: Path, metadata: Mapping[str, Any]) -> None:
    """Raise an InputError where a table's footer is that of another release."""
    for fault in tables.disagreements(tables.notes_in(path), metadata):
        raise damaged(path, fault)


def _bytes(path: Path, sha256: str) -> bytes:
    try:
        found = files.content(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(
            f"{str(path.parent)!r} lacks its {FILE!r}: copy the whole folder."
        ) from None
    except OSError as error:
        raise files.unreadable(path, error) from error
    if hashlib.sha256(found).hexdigest() != sha256:
        raise damaged(path, "it is not the file that was released (its SHA-256 is another)")
    return found


def _disagreements(
    folder: Path, found: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Iterator[str]:
    """What it says that ``release.json`` and the tables do not."""
    if found["id"] != metadata["id"]:
        yield "it is about another release than release.json"
    for name, said in about(metadata).items():
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
    kinds = {kind: name for name, kind in tables.TYPES.items()}
    columns = tables.opened(path).columns
    return {name: TYPES[kinds[kind]] for name, kind in columns.items()}
