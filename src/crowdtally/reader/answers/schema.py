"""The JSON schema of an answer, from its rows' dataclass."""

from __future__ import annotations

from typing import Any

from crowdtally.reader.answers.columns import LABELS, Column, columns_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {"text": "string", "integer": "integer", "float": "number", "boolean": "boolean"}


def schema_of(row: type, *, many: bool) -> dict[str, Any]:
    """The schema of a list of such rows, or of one; labels are there where they were asked for."""
    columns = columns_of(row, LABELS)
    one = {
        "type": "object",
        "properties": {column.name: {"type": type_of(column)} for column in columns},
        "required": [column.name for column in columns if column.name not in LABELS],
        "additionalProperties": False,
    }
    return {"$schema": DIALECT} | ({"type": "array", "items": one} if many else one)


def type_of(column: Column) -> str | list[str]:
    """The JSON type of a column's values, or which there may be."""
    found = ["string", "integer"] if column.either else [_TYPES[column.kind]]
    found += ["null"] if column.optional else []
    return found if len(found) > 1 else found[0]
