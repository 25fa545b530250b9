"""Hostile values of every type, as SQL: what one record might hold to stop everybody's release."""

from __future__ import annotations

from crowdtally.records.duckdb import DuckDBEngine

LETTERS = 100_000
"""How long the long values are."""


def _integers(bits: int) -> list[str]:
    return ["0", "1", "-1", "7", str(2 ** (bits - 1) - 1), str(-(2 ** (bits - 1)))]


_TIMES = [
    "'1970-01-01'", "'infinity'", "'-infinity'", "'294247-01-10 04:00:54'",
    "'290309-12-22 (BC) 00:00:00'", "'2024-02-29 23:59:59'",
]  # fmt: skip
VALUES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "VARCHAR": [
        "''", "'a'", "' 12 '", "'-1e400'", "'1e99999999999'", "'2024-02-30'", "'infinity'", "'nan'",
        "'Mars/Base'", "'('", "'%'", "'%Y %q'", r"'\'", "chr(0) || 'x'", "'é́🏳️‍🌈'", "'[1,'", "'$.a'",
        """'{"a":[1,{"b":null}]}'""", "'5877642-06-25 (BC)'", "'99999999999 years'",
        "'2024-02-29 Mars/Base'",
    ],
    "TINYINT": _integers(8), "SMALLINT": _integers(16), "INTEGER": _integers(32),
    "BIGINT": _integers(64), "HUGEINT": _integers(128),
    "UTINYINT": ["0", "1", str(2**8 - 1)], "USMALLINT": ["0", str(2**16 - 1)],
    "UINTEGER": ["0", str(2**32 - 1)], "UBIGINT": ["0", "1", str(2**64 - 1)],
    "UHUGEINT": ["0", "1", str(2**128 - 1)],
    "BIGNUM": ["'0'", "'-1'", f"'{'9' * 60}'"],
    "FLOAT": ["0", "'nan'", "'inf'", "3e38", "-1.5"],
    "DOUBLE": [
        "0", "-0.0", "1.5", "-1e308", "1e308", "'nan'", "'inf'", "'-inf'", "5e-324", "9.3e18",
    ],
    "DECIMAL(18,0)": ["0", "999999999999999999", "-1"],
    "DECIMAL(38,10)": ["0", "0.0000000001", "-9999999999999999999999999999.9999999999"],
    "DATE": [
        "'1970-01-01'", "'infinity'", "'-infinity'", "'5881580-07-10'", "'5877642-06-25 (BC)'",
        "'2024-02-29'",
    ],
    "TIME": ["'00:00:00'", "'24:00:00'", "'23:59:59.999999'"],
    "TIMETZ": ["'00:00:00+15:59:59'", "'24:00:00-15:59:59'"],
    "TIMESTAMP": _TIMES, "TIMESTAMP WITH TIME ZONE": _TIMES,
    "TIMESTAMP_S": _TIMES, "TIMESTAMP_MS": _TIMES,
    "TIMESTAMP_NS": ["'1970-01-01'", "'2262-04-11 23:47:16'", "'1677-09-22'", "'infinity'"],
    "INTERVAL": [
        "'0 days'", "'1 month'", "'2147483647 months'", "'-2147483648 days'", "'1 microsecond'",
        "'9223372036854775807 microseconds'",
    ],
    "BLOB": ["''", r"'\x00\xFF'", "'abc'"],
    "UUID": ["'00000000-0000-0000-0000-000000000000'"],
    "BIT": ["'0'", "'101'"],
    "JSON": ["'{}'", """'{"a":[1,{"b":null}]}'""", "'[]'", "'null'", "'1e400'"],
    "VARCHAR[]": ["[]", "['a', NULL]"],
    "VARCHAR[][]": ["[['a'], NULL, []]"],
    "BIGINT[]": ["[]", "[NULL]", f"[{2**63 - 1}, {2**63 - 1}]"],
    "HUGEINT[]": [f"[{2**127 - 1}, {2**127 - 1}]"],
    "DOUBLE[]": ["[1e308, 1e308, 'nan']"],
    "MAP(VARCHAR, BIGINT)": ["MAP {'a': 1}", "MAP {}"],
    "STRUCT(a BIGINT)": ["{'a': 1}"],
}  # fmt: skip
"""Type → values, besides null."""

_DEEP = f"repeat('[', {LETTERS // 2}) || repeat(']', {LETTERS // 2})"
_MANY = f"'[' || repeat('1,', {LETTERS // 2}) || '1]'"
LONG: dict[str, list[str]] = {
    "VARCHAR": [
        *(f"repeat('{letter}', {LETTERS})" for letter in ("a", "9", "é", "%", " ", "ab", '"')),
        f"repeat(chr(769), {LETTERS})", _DEEP, _MANY,
    ],
    "JSON": [_MANY, """repeat('{"a":', 900) || '1' || repeat('}', 900)"""],
    "BLOB": [f"CAST(repeat('a', {LETTERS}) AS BLOB)"],
    "BIGNUM": ["repeat('9', 3000)"],
    "BIT": [f"repeat('1', {LETTERS})"],
    "VARCHAR[]": [f"string_split(repeat('a,', {LETTERS // 2}), ',')"],
    "BIGINT[]": [f"range({LETTERS})"],
    "DOUBLE[]": [f"range({LETTERS})"],
}  # fmt: skip
"""Type → long values."""

_ANYTHING = (
    "VARCHAR", "BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "INTERVAL",
    "BOOLEAN", "HUGEINT", "DECIMAL(38,10)", "BLOB", "UUID", "VARCHAR[]", "STRUCT(a BIGINT)",
    "MAP(VARCHAR, BIGINT)", "JSON", "BIT", "TIME", "BIGNUM",
)  # fmt: skip
_NAMES = {"TIME WITH TIME ZONE": "TIMETZ", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}


def types_of(parameter: str) -> tuple[str, ...]:
    """Types with hostile values that fit a parameter, as the catalogue writes it."""
    known = _NAMES.get(parameter, parameter)
    if known in VALUES:
        return (known,)
    if known.endswith("]"):
        return ("VARCHAR[]", "BIGINT[]", "DOUBLE[]", "HUGEINT[]", "VARCHAR[][]")
    if known.startswith("MAP"):
        return ("MAP(VARCHAR, BIGINT)",)
    if known.startswith(("STRUCT", "TUPLE")):
        return ("STRUCT(a BIGINT)",)
    if known.startswith("DECIMAL"):
        return ("DECIMAL(18,0)", "DECIMAL(38,10)")
    return _ANYTHING if known in ("ANY", "T", "K", "V", "TEMPLATE", '"NULL"') else ()


def store(engine: DuckDBEngine) -> None:
    """Tables ``short: TYPE`` and ``long: TYPE`` of one column ``v``."""
    for kind, short in VALUES.items():
        for name, values in (("short", short), ("long", LONG.get(kind, []))):
            rows = " UNION ALL ".join(f"SELECT CAST({v} AS {kind})" for v in ["NULL", *values])
            engine._connection.execute(
                f'CREATE TABLE "{name}: {kind}" AS SELECT * FROM ({rows}) t(v)'
            )
