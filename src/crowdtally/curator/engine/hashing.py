"""The keyed 64-bit hash that orders a user's records: the one hook each engine must supply.

The hash decides only *which* of a user's own records are kept. Privacy holds for every fixed key
and any hash whatever; uniformity of the sample needs a good one. DuckDB's ``hash(a, b, c)`` ends
in an exclusive-or, under which the order of three records is not uniform (probabilities 1/2, 1/4,
1/4 in place of thirds), so its result is hashed once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
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


def spark_hash(key: int, columns: Sequence[ibis.Value]) -> ibis.Value:
    """The same by Spark's ``xxhash64``, whose last step mixes all bits: it needs no second pass.

    Each column seeds the next, and a null leaves the seed as it is; a flag before each column makes
    it a value like any other.
    """
    flagged = [value for column in columns for value in (column.isnull(), column)]
    hashed = _builtin("xxhash64", dt.int64, key, *flagged)
    return _builtin("shiftrightunsigned", dt.int64, hashed, ibis.literal(1, type=dt.int32))


def _builtin(name: str, returns: dt.DataType, *arguments: Any) -> ibis.Value:
    values = [a if isinstance(a, ibis.Value) else ibis.literal(a, type=dt.int64) for a in arguments]
    function = _declared(name, len(values))
    signature = (tuple(value.type() for value in values), returns)
    return ibis.udf.scalar.builtin(function, name=name, signature=signature)(*values)


def _declared(name: str, arity: int) -> Any:
    """A function of so many arguments: Ibis reads a built-in's arity off its signature."""

    def function(*_: Any) -> Any: ...

    names = [f"argument_{number}" for number in range(arity)]
    shown = [Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in names]
    function.__name__, function.__signature__ = name, Signature(shown)  # type: ignore[attr-defined]
    return function
