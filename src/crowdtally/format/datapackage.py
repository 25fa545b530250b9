"""Datapackage.json."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from crowdtally.core import files
from crowdtally.core.display import markdown, printable_json
from crowdtally.errors import InputError
from crowdtally.format import tables
from crowdtally.format.entries import PublicDomain, TableFacts
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import Facts, damaged, json_object, shaped

# ``datapackage.json``: the folder of a release as a Frictionless Data Package (version 2).
#
# It says in a standard's words what ``release.json`` says: files, hashes, columns, types. It
# follows from ``release.json`` and the columns' kinds alone. ``release.json`` has its hash, and
# the ledger that of ``release.json``; so it cannot have the hash of ``release.json`` itself.

FILE = "datapackage.json"
"""Its name in the folder of a release."""
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


def package(manifest: Manifest, kinds: Kinds) -> dict[str, Any]:
    """The contents of ``datapackage.json``; ``kinds`` are the columns as they were written."""
    said, lists = about(manifest), _lists(manifest.domain)
    facts = said.pop("crowdtally")
    return {
        "$schema": PROFILE,
        **said,
        "keywords": ["differential privacy", "counts"],
        "resources": [_resource(table, kinds[table.name], lists) for table in manifest.tables],
        "crowdtally": facts,
    }


def about(manifest: Manifest) -> dict[str, Any]:
    """What it says of the release as a whole, the promise above all."""
    facts = tables.facts(manifest)
    return {
        "name": f"crowdtally-release-{manifest.id}",
        "id": manifest.id,
        "title": f"Differentially private counts of {manifest.counted}",
        "description": markdown(facts["guarantee"]),
        "created": manifest.created,
        "crowdtally": facts,
    }


def encoded(manifest: Manifest, kinds: Kinds) -> bytes:
    """The bytes of ``datapackage.json``."""
    return f"{printable_json(package(manifest, kinds), indent=2)}\n".encode()


def _lists(domain: PublicDomain) -> dict[str, Sequence[str | int]]:
    """The short public lists, by their column; that of the items also as the other of a pair."""
    lists = {one.name: one.values for one in domain.lists}
    if domain.items is not None:
        lists |= {f"other_{domain.items.name}": domain.items.values} | lists
    return {name: found for name, found in lists.items() if found and len(found) <= _LISTED}


def _resource(
    table: TableFacts, kinds: Mapping[str, str], lists: Mapping[str, Sequence[str | int]]
) -> dict[str, Any]:
    """One table: its file, and what its columns are."""
    named = [name for name in kinds if name not in _VALUES]
    empty = set[str]()
    if table.transform.kind == "dyadic":
        empty = {f"{name}{end}" for name in table.transform.ordered for end in _ENDS}
    return {
        "name": table.name,
        "type": "table",
        "path": table.file,
        "format": "parquet",
        "mediatype": MEDIATYPE,
        "hash": f"sha256:{table.sha256}",
        "schema": {
            "fields": [
                _field(name, kind, None if name in empty else lists.get(name), name not in empty)
                for name, kind in kinds.items()
            ],
            "primaryKey": [name for name in named if name not in empty],
            "missingValues": [],  # an empty text is a value: what is missing is NULL
        },
    }


def _field(
    name: str, kind: str, values: Sequence[str | int] | None, required: bool
) -> dict[str, Any]:
    constraints: dict[str, Any] = {"required": True} if required else {}
    if name in _VALUES:
        described = {"description": _VALUES[name]}
        constraints |= {"minimum": 0} if name == "noise_std" else {}
    else:
        described = {}
        constraints |= {"enum": values} if values else {}
    return {"name": name, "type": TYPES[kind], **described, "constraints": constraints}


class _Field(Facts, frozen=True):
    name: str
    type: str


class _Schema(Facts, frozen=True):
    fields: tuple[_Field, ...]


class _Resource(Facts, frozen=True, rename={"columns": "schema"}):
    path: str
    hash: str
    columns: _Schema


class _Package(Facts, frozen=True):
    id: str
    resources: tuple[_Resource, ...]


def check_package(folder: Path, manifest: Manifest) -> None:
    """Raise an InputError where a release's ``datapackage.json`` is not what it must be."""
    path = folder / FILE
    raw = _bytes(path, manifest.datapackage.sha256)
    found = json_object(raw, partial(damaged, path))
    stated = shaped(found, _Package, partial(damaged, path))
    for fault in _disagreements(folder, found, stated, manifest):
        raise damaged(path, fault)


def check_footer(path: Path, manifest: Manifest) -> None:
    """Raise an InputError where a table's footer is that of another release."""
    for fault in tables.disagreements(tables.notes_in(path), manifest):
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
    folder: Path, found: Mapping[str, Any], stated: _Package, manifest: Manifest
) -> Iterator[str]:
    """What it says that ``release.json`` and the tables do not."""
    if stated.id != manifest.id:
        yield "it is about another release than release.json"
    for name, said in about(manifest).items():
        if found.get(name) != said:
            yield f"its {name!r} is not what release.json says"
    told = [(one.path, one.hash) for one in stated.resources]
    if told != [(one.file, f"sha256:{one.sha256}") for one in manifest.tables]:
        yield "its resources are not the tables of release.json, with their hashes"
        return
    for one in stated.resources:
        fields = [(field.name, field.type) for field in one.columns.fields]
        if sorted(fields) != sorted(_fields(folder / one.path).items()):
            yield f"its fields of {one.path!r} are not the columns of that file"


def _fields(path: Path) -> dict[str, str]:
    """The columns of a table's file, in the standard's types."""
    kinds = {kind: name for name, kind in tables.TYPES.items()}
    columns = tables.opened(path).columns
    return {name: TYPES[kinds[kind]] for name, kind in columns.items()}
