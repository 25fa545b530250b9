"""A release as Croissant metadata (version 1.1): JSON-LD that finds and reads the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from crowdtally.core import files
from crowdtally.core.display import markdown, printable_json
from crowdtally.format import Published, TableFacts, tables
from crowdtally.reader.describing.withdrawal import withdrawal_lines

_PARQUET = "application/x-parquet"
"""What the standard's own library reads; the registered name came later."""
VERSION = "http://mlcommons.org/croissant/1.1"
"""The version of the standard."""
_OWN = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field",
    "fileProperty", "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
    "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
"""The standard's own words."""
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    **{word: f"cr:{word}" for word in _OWN},
}
"""What the words of the file mean."""
_TYPES = {"VARCHAR": "sc:Text", "BIGINT": "cr:Int64", "DOUBLE": "cr:Float64"}
"""The standard's name of each type of column."""


def croissant(published: Published) -> str:
    """The text of the file."""
    return f"{printable_json(_dataset(published), indent=2)}\n"


def _dataset(published: Published) -> dict[str, Any]:
    facts = tables.facts(published.metadata)
    told = [*withdrawal_lines(published.withdrawn), facts["guarantee"]]
    release = {
        "@type": "cr:FileObject",
        "@id": "release.json",
        "name": "release.json",
        "contentUrl": "release.json",
        "encodingFormat": "application/json",
        "sha256": published.sha256 or files.digest(published.folder / "release.json"),
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": f"crowdtally-release-{facts['release']}",
        "identifier": facts["release"],
        "description": markdown(" ".join(told)),
        "dateCreated": published.metadata["created"],
        "datePublished": published.metadata["created"],
        "keywords": ["differential privacy", "counts"],
        "isLiveDataset": False,
        "distribution": [release, *(_file(published, table) for table in published.tables)],
        "recordSet": [_record_set(published, table) for table in published.tables],
    }


def _file(published: Published, table: TableFacts) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "contentUrl": table.file,
        "encodingFormat": _PARQUET,
        "sha256": table.sha256 or files.digest(published.folder / table.file),
    }


def _record_set(published: Published, table: TableFacts) -> dict[str, Any]:
    columns = tables.opened(published.folder / table.file).columns
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "field": [_field(table, name, kind) for name, kind in columns.items()],
    }


def _field(table: TableFacts, column: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{quote(column, safe='')}",
        "name": column,
        "dataType": _TYPES[kind],
        "source": {"fileObject": {"@id": table.file}, "extract": {"column": column}},
    }
