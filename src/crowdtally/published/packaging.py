"""``datapackage.json``: the folder of a release as a Frictionless Data Package (version 2).

It says in a standard's words what ``release.json`` says: files, hashes, columns, types. It follows
from ``release.json`` and the columns' kinds alone. ``release.json`` has its hash, and the ledger
that of ``release.json``; so it cannot have the hash of ``release.json`` itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdtally.core.display import markdown, printable_json
from crowdtally.published import footer

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
    facts = footer.facts(metadata)
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
