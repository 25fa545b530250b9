"""Refusing row-wise expressions that are not known to mean the same on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp

from crowdtally.curator.engine.spark.expressions import CASTS, PARTS, RULES, SAME, Node, part_name
from crowdtally.curator.engine.spark.formats import java_pattern
from crowdtally.errors import UsageError


def check(sql: str, what: str) -> None:
    """Refuse an expression with anything in it that is not listed here.

    Args:
        sql: in DuckDB's dialect.
        what: what it is, for a message.
    """
    for node in sqlglot.parse_one(sql, read="duckdb").walk():
        problem = _problem(node)
        if problem:
            raise UsageError(
                f"{what} contains {problem}, which is not known to mean the same on Spark: use "
                "columns, arithmetic, CASE, casts, comparisons, text "
                "functions with constant positions and parts of dates; or store the value as a "
                "column first."
            )


_LISTED = frozenset({*SAME, *RULES, exp.Floor, exp.Ceil})


def _problem(node: Node) -> str | None:
    """What of a node is not known to mean the same, in words; None where it does."""
    for kinds, problem in _PROBLEMS.items():
        if isinstance(node, kinds):
            return problem(node)
    # The class itself: a kind of node that is made a subclass of a listed one is another function.
    if type(node) in _LISTED:
        return None
    if not isinstance(node, exp.Func):
        return type(node).__name__.lower()
    typed = node.sql(dialect="duckdb").partition("(")[0]  # strptime, which sqlglot calls otherwise
    return f"{(typed if typed.isidentifier() else node.sql_name()).lower()}()"


def _in_cast(node: Node) -> str | None:
    target = node.to.this.name
    return None if target in CASTS else f"a cast to {target}"


def _in_call(node: Node) -> str | None:
    return None if part_name(node) in PARTS else f"{str(node.this).lower()}()"


def _in_extract(node: Node) -> str | None:
    part = node.this.name.lower()
    return None if part in PARTS else f"the part {part}"


def _in_format(node: Node) -> str | None:
    form = node.args["format"]
    known = isinstance(form, exp.Literal) and java_pattern(form.name) is not None
    return None if known else "a format with a directive"


def _in_like(node: Node) -> str | None:
    simple = isinstance(node.expression, exp.Literal) and "\\" not in node.expression.name
    return None if simple else "LIKE with a pattern that is not a plain constant"


def _in_trim(node: Node) -> str | None:
    return None if node.expression is None else "trim() of given characters"


def _in_piece(node: Node) -> str | None:
    return None if _constant_places(node) else f"{node.sql_name().lower()}() at such a position"


def _in_time(node: Node) -> str | None:
    scale = node.args.get("scale")
    return None if scale is None or scale.name in ("0", "3", "6") else "this kind of time"


_PROBLEMS: dict[tuple[type[Any], ...], Callable[[Node], str | None]] = {
    (exp.Cast,): _in_cast,
    (exp.Anonymous,): _in_call,
    (exp.Extract,): _in_extract,
    (exp.TimeToStr,): _in_format,
    (exp.Like, exp.ILike): _in_like,
    (exp.Trim,): _in_trim,
    (exp.Substring, exp.Left, exp.Right, exp.SplitPart): _in_piece,
    (exp.UnixToTime,): _in_time,
}
"""What to look at in nodes that mean the same only in some of their forms."""


def _constant_places(node: Node) -> bool:
    """Places counted from 1, lengths from 0, both constants: there the engines agree."""
    if isinstance(node, exp.Left | exp.Right):
        return _whole(node.expression) is not None
    if isinstance(node, exp.SplitPart):
        given = list(node.args.values())
        delimiter = given[1] if len(given) == 3 else None
        return bool(isinstance(delimiter, exp.Literal) and delimiter.name and _whole(given[2]))
    return bool(_whole(node.args.get("start")) and _whole(node.args.get("length")) is not None)


def _whole(node: Node) -> int | None:
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()
    return int(node.name) if is_number else None
