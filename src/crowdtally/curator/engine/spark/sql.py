"""Ibis expressions, and the few queries in DuckDB's SQL that define views, as Spark's SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import sqlglot
from ibis.backends.sql.compilers.base import SQLGlotCompiler
from ibis.backends.sql.compilers.pyspark import PySparkCompiler
from sqlglot import exp

from crowdtally.curator.engine.spark.expressions import to_spark


class _Compiler(PySparkCompiler):  # type: ignore[misc]  # Ibis has no types
    """Ibis's compiler for Spark, exact on whole numbers."""

    __slots__ = ()

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        """Ibis divides as floats and rounds down, which goes wrong beyond 2^53."""
        if not (op.left.dtype.is_integer() and op.right.dtype.is_integer()):
            return super().visit_FloorDivide(op, left=left, right=right)
        whole = exp.paren(exp.Sub(this=left, expression=self.f.anon.pmod(left, right)))
        return exp.paren(exp.IntDiv(this=whole, expression=exp.paren(right)))

    def visit_IntegerRange(self, op: Any, *, start: Any, stop: Any, step: Any) -> Any:
        """From ``start`` to below ``stop`` by ones; Ibis's own builds the sequence five times."""
        first, end = (self.cast(value, dt.int64) for value in (start, stop))
        numbers = self.f.anon.sequence(first, exp.Sub(this=end, expression=exp.convert(1)))
        return self.if_(end > first, numbers, self.f.array())

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:
        """A small number is an INT to Spark, whatever type it was given here."""
        if dtype.is_int64():
            return self.cast(exp.convert(int(value)), dtype)
        return None if dtype.is_floating() else super().visit_NonNullLiteral(
            op, value=value, dtype=dtype
        )  # fmt: skip

    def visit_BitXor(self, op: Any, *, arg: Any, where: Any) -> Any:
        """Spark has it; Ibis does not say so."""
        return self.agg.bit_xor(arg, where=where)

    def visit_Field(self, op: Any, *, rel: Any, name: Any) -> Any:
        """NaN is a number here; Ibis's Spark option, unset without a connection, says otherwise."""
        return SQLGlotCompiler.visit_Field(self, op, rel=rel, name=name)


_compiler = _Compiler()


def compiled(expression: ibis.Table) -> str:
    """The expression in Spark's SQL."""
    return str(_compiler.to_sqlglot(expression).sql(dialect="spark"))


def translated_query(
    query: str, view_of: Callable[[str], str], type_of: Callable[[str, str], str]
) -> str:
    """A view's query from DuckDB's SQL to Spark's: columns, FROM with joins, perhaps WHERE.

    Args:
        query: in DuckDB's SQL.
        view_of: the name under which Spark has a view of ours.
        type_of: the Spark type of an expression over a FROM clause, both in Spark's SQL.
    """
    tree: Any = sqlglot.parse_one(query, read="duckdb")
    for table in list(tree.find_all(exp.Table)):
        table.set("this", exp.to_identifier(view_of(table.name), quoted=True))
    for column in tree.find_all(exp.Column):
        if column.table:
            column.set("table", exp.to_identifier(view_of(column.table), quoted=True))
    clause = _clause(tree)

    def kind(node: Any) -> str:
        return type_of(node.sql(dialect="spark"), clause)

    columns = [
        exp.alias_(to_spark(column.unalias(), kind), column.alias_or_name, quoted=True)
        for column in tree.expressions
    ]
    made = f"SELECT {', '.join(column.sql(dialect='spark') for column in columns)} {clause}"
    where = tree.args.get("where")
    if where is None:
        return made
    return f"{made} WHERE {to_spark(where.this, kind).sql(dialect='spark')}"


def _clause(tree: Any) -> str:
    origin = next(tree.args[name] for name in ("from", "from_") if tree.args.get(name))
    joins = [join.sql(dialect="spark") for join in tree.args.get("joins") or []]
    return " ".join([origin.sql(dialect="spark").strip(), *joins])


def quoted(name: str) -> str:
    """The name as an identifier of Spark's.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"
