"""An engine for thousands of tiny databases: each expression is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from unittest.mock import patch

import ibis
import numpy as np

from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Kept
from crowdtally.records.prepare import Prepared, prepare

_RULES: tuple[Any, ...] = (SRA, HPA)


class RememberingEngine(DuckDBEngine):
    """Runs what production compiles, from a table whose rows can be replaced.

    Equal expressions share one prepared statement. DuckDB's optimizer, which takes longer than
    such a query, is off; tests of whole releases run with it on.
    """

    def __init__(self) -> None:
        super().__init__()
        self._statements: dict[object, str] = {}
        self._patches = [
            patch.object(ibis.udf.scalar, "builtin", _remembered(ibis.udf.scalar.builtin)),
            patch.object(ibis.udf.agg, "builtin", _remembered(ibis.udf.agg.builtin)),
            *(patch.object(rule, "keep", _remembered_rule(rule.keep)) for rule in _RULES),
        ]
        self._loaded: dict[object, ibis.Table] = {}
        self._connection.execute("SET threads = 1")
        self._connection.execute("PRAGMA disable_optimizer")

    def __enter__(self) -> Self:
        for patched in self._patches:
            patched.start()
        return self

    def __exit__(self, *error: Any) -> None:
        for patched in self._patches:
            patched.stop()
        super().__exit__(*error)

    def prepare(self, records: Records, domain: Domain | None) -> Prepared:
        """Prepare records that are held in memory, and keep them in a table of the engine's own."""
        prepared = prepare(self, records, domain)
        self._connection.execute("CREATE TABLE copied AS FROM source_held")
        self._connection.unregister("source_held")
        self._connection.execute("ALTER TABLE copied RENAME TO source_held")
        return prepared

    def replace(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Replace all rows by these."""
        self._connection.execute("TRUNCATE source_held")
        if rows:
            marks = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
            values = [value for row in rows for value in row]
            self._connection.execute(f"INSERT INTO source_held VALUES {marks}", values)

    def load(self, name: str, columns: Mapping[str, Any]) -> ibis.Table:
        """Each content in a table of its own, so that an expression always means the same."""
        content = (name, *((column, _plain(values)) for column, values in columns.items()))
        if content not in self._loaded:
            self._loaded[content] = super().load(f"{name}_{len(self._loaded)}", columns)
        return self._loaded[content]

    def columns(self, expression: ibis.Table) -> dict[str, Any]:
        return dict(self._run(expression).fetchnumpy())

    def rows(self, expression: ibis.Table) -> list[tuple[Any, ...]]:
        """The result's rows."""
        return list(self._run(expression).fetchall())

    def materialise(self, expression: ibis.Table, name: str) -> ibis.Table:
        return expression

    def _run(self, expression: ibis.Table) -> Any:
        operation = expression.op()
        name = self._statements.get(operation)
        if name is None:
            name = self._statements[operation] = f"statement_{len(self._statements)}"
            self._connection.execute(f"PREPARE {name} AS {self.sql(expression)}")
        return self._connection.execute(f"EXECUTE {name}")


def _remembered(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a function of the engine once, so that expressions that call it can be equal."""
    declared: dict[object, Any] = {}

    def declare(function: Any, *, name: str, signature: Any) -> Any:
        if (name, signature) not in declared:
            declared[name, signature] = builtin(function, name=name, signature=signature)
        return declared[name, signature]

    return declare


def _remembered_rule(keep: Callable[..., Kept]) -> Callable[..., Kept]:
    """Build the expression of an equal rule on an equal table once: it is a pure function."""
    built: dict[object, Kept] = {}

    def remembered(rule: Any, engine: DuckDBEngine, rows: ibis.Table, **given: Any) -> Kept:
        fields = (_plain(value) for value in vars(rule).values())
        known = (*fields, id(engine), rows.op(), *given.values())
        if known not in built:
            built[known] = keep(rule, engine, rows, **given)
        return built[known]

    return remembered


def _plain(value: Any) -> object:
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value
