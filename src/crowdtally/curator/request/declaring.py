"""Declaring records: where they are and which column plays which role. Nothing is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crowdtally.curator.engine.expressions import row_expression
from crowdtally.errors import UsageError
from crowdtally.values.records import Records


def declare(
    source: object,
    *,
    user: str | None,
    item: str | None,
    contexts: Mapping[str, str | None] | Iterable[str],
    record_id: str | None,
    joins: Iterable[tuple[object, str]],
    attributes: Iterable[str],
    user_per_row: bool,
    weight: str | None,
) -> Records:
    """The declaration that ``ct.read`` and the command line make."""
    if (user is None) != user_per_row:
        raise UsageError(
            "say whose records these are: --user COLUMN, or --user-per-row where each row is one "
            "person; not both."
        )
    named = _named(contexts)
    for name, expression in named.items():
        if expression is not None:
            row_expression(expression, name)
    columns = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    return Records(source, user, item, named, record_id, _pairs(joins), columns, weight)


def _named(contexts: object) -> dict[str, str | None]:
    if isinstance(contexts, str):
        contexts = [contexts]
    if not isinstance(contexts, Iterable):
        raise UsageError(
            f"contexts are names of columns, or {{name: expression}}: received {contexts!r}."
        )
    return dict(contexts) if isinstance(contexts, Mapping) else dict.fromkeys(contexts)


def _pairs(joins: Iterable[object]) -> tuple[tuple[object, str], ...]:
    listed: list[tuple[object, str]] = []
    for pair in joins:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[1], str):
            raise UsageError(
                "joins are pairs of a source and its key column, such as "
                f"[('users.parquet', 'user_id')]: received a {type(pair).__name__} instead of "
                "a pair."
            )
        listed.append((pair[0], pair[1]))
    return tuple(listed)
