"""The keyed 64-bit hash that orders a user's records: the one hook each engine must supply.

The hash decides only *which* of a user's own records are kept. Privacy holds for every fixed key
and any hash whatever; uniformity of the sample needs a good one. DuckDB's ``hash(a, b, c)`` ends
in an exclusive-or, under which the order of three records is not uniform (probabilities 1/2, 1/4,
1/4 in place of thirds), so its result is hashed once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.datatypes as dt

HASH_BITS = 63
"""Bits of the ordering hash: it is a non-negative 64-bit integer."""

DUCKDB_MACRO = "CREATE MACRO crowdtally_mix(x) AS CAST(hash(x) >> 1 AS BIGINT)"
"""Ibis drops a cast from unsigned to signed as needless; inside a macro it stays."""


def duckdb_hash(key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
    """A hash of (key, columns) in 0 … 2^63 − 1; nulls are values like any other."""
    return _builtin("crowdtally_mix", dt.int64, _builtin("hash", dt.uint64, key, *columns))


def _builtin(name: str, returns: dt.DataType, *arguments: Any) -> ibis.Value:
    values = [a if isinstance(a, ibis.Value) else ibis.literal(a, type=dt.int64) for a in arguments]
    function = _declared(name, len(values))
    signature = (tuple(value.type() for value in values), returns)
    return ibis.udf.scalar.builtin(function, name=name, signature=signature)(*values)


def _declared(name: str, arity: int) -> Any:
    """A function of so many arguments: Ibis reads a built-in's arity off one."""
    declarations = (
        lambda a: ..., lambda a, b: ..., lambda a, b, c: ..., lambda a, b, c, d: ...,
    )  # fmt: skip
    function = declarations[arity - 1]
    function.__name__ = name
    return function
