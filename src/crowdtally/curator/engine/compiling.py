"""Ibis's compiler for DuckDB, made exact on whole numbers."""

from __future__ import annotations

from typing import Any

from ibis.backends.sql.compilers.duckdb import DuckDBCompiler
from sqlglot import exp


class ExactDuckDBCompiler(DuckDBCompiler):  # type: ignore[misc]  # Ibis has no types
    """Divides whole numbers as whole numbers: Ibis divides floats, which err beyond 2^53."""

    __slots__ = ()

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        """The quotient rounded down; DuckDB's ``//`` rounds towards zero."""
        if not (op.left.dtype.is_integer() and op.right.dtype.is_integer()):
            return super().visit_FloorDivide(op, left=left, right=right)
        left, right = exp.paren(left), exp.paren(right)
        rest = exp.paren(exp.Mod(this=left, expression=right))
        above = exp.paren(exp.Add(this=rest, expression=right))
        rest = exp.paren(exp.Mod(this=above, expression=right))
        whole = exp.paren(exp.Sub(this=left, expression=rest))
        return exp.paren(exp.IntDiv(this=whole, expression=right))


compiler = ExactDuckDBCompiler()
