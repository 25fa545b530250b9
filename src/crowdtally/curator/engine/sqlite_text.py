"""SQLite's values as text, each by itself, and DuckDB's values of that text."""

from __future__ import annotations

_WHOLE = 2**53


def declared_type(declared: str) -> str:
    """The type in which a column is read, by its declaration alone.

    >>> [declared_type(text) for text in ("BIGINT", "varchar(9)", "", "DATETIME", "NUMERIC")]
    ['BIGINT', 'VARCHAR', 'VARCHAR', 'TIMESTAMP', 'VARCHAR']
    """
    upper = declared.upper()
    for words, kind in (
        (("INT",), "BIGINT"),
        (("CHAR", "CLOB", "TEXT"), "VARCHAR"),
        (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "DOUBLE"),
        (("BOOL",), "BOOLEAN"),
        (("DATETIME", "TIMESTAMP"), "TIMESTAMP"),
    ):
        if any(word in upper for word in words):
            return kind
    return "DATE" if upper == "DATE" else "VARCHAR"


def as_text(column: str, kind: str) -> str:
    """SQLite's SQL for a value as text, null where it is not of the kind."""
    whole = f"CAST(CAST({column} AS INTEGER) AS TEXT)"
    digits = f"printf('%!.17g', {column})"
    plain = f"CASE WHEN abs({column}) < {_WHOLE} AND {column} = CAST({column} AS INTEGER) "
    readings = {
        "BIGINT": {"integer": whole},
        "DOUBLE": {"integer": whole, "real": digits},
        "BOOLEAN": {"integer": whole, "text": column},
        "BLOB": {"blob": f"hex({column})"},
        "VARCHAR": {
            "text": column,
            "integer": whole,
            "real": f"{plain} THEN {whole} ELSE {digits} END",
        },
    }
    cases = readings.get(kind, {"text": column})
    words = " ".join(f"WHEN '{stored}' THEN {sql}" for stored, sql in cases.items())
    return f"CASE typeof({column}) {words} END"


def from_text(column: str, kind: str) -> str:
    """DuckDB's SQL for the value again."""
    if kind == "VARCHAR":
        return column
    return f"from_hex({column})" if kind == "BLOB" else f"TRY_CAST({column} AS {kind})"


def decoded(raw: bytes) -> str | None:
    """Text, or null: bytes that are no text must not stop the release."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
