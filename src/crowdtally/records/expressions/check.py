"""Checks an expression by DuckDB's own syntax tree of the SQL that DuckDB will compute.

The parser that reads what a person typed may call a function by another name, or not know it. Any
kind of node, function or type that is not listed is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from crowdtally.records.expressions.functions import (
    ALLOWED,
    CASTS,
    GUARDS,
    INSTEAD,
    JOINING,
    WITHOUT_SPANS,
    Node,
    growth,
    reader,
    text_of,
)

MOST_GROWTH = 32  # how many times longer than a record an expression's text can become

_ALIKE = 0.72  # how alike a suggested name must be: more than pow() is to now()
_KINDS = frozenset("CASE BETWEEN COMPARISON CONJUNCTION CONSTANT TYPE".split())
_OPERATORS = frozenset(
    """
    OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL OPERATOR_COALESCE OPERATOR_TRY COMPARE_IN
    COMPARE_NOT_IN ARRAY_EXTRACT ARRAY_SLICE STRUCT_EXTRACT
    """.split()
)
_IN_WORDS = {
    "WINDOW": "a window function", "SUBQUERY": "a subquery", "STAR": "a star",
    "PARAMETER": "a parameter", "LAMBDA": "a lambda", "COLLATE": "a collation",
    "POSITIONAL_REFERENCE": "a column by its place",
}  # fmt: skip


def problem(sql: str, columns: Sequence[str]) -> str | None:
    """Why the expression is refused, in words that follow its name; None where it may pass.

    ``columns`` are the names that our parser takes for columns: a name that only DuckDB takes for
    one may be a function without parentheses.
    """
    tree = _expression(_statement(sql))
    if tree is None:
        return "cannot be parsed as an SQL expression"
    nodes = list(_walk(tree))
    for node in nodes:
        fault = _refused(node, columns)
        if fault:
            return f"contains {fault}"
    longer = _lengthened(tree)
    if longer > MOST_GROWTH:
        return (
            f"has functions that together can lengthen a text {longer}-fold, and may have "
            f"{MOST_GROWTH}-fold"
        )
    return None


def _lengthened(node: Node) -> int:
    """How many times longer than a record an expression's text is; joined texts add up."""
    if node["class"] == "COLUMN_REF":
        return 1
    parts = [_lengthened(part) for value in node.values() for part in _outermost(value)]
    if node["class"] != "FUNCTION":
        return max(parts, default=0)
    name = _name(node)
    return growth(name, _arguments(node)) * (sum if name in JOINING else max)(parts or [0])


def spans(sql: str) -> tuple[list[str], str]:
    """Functions that may not be given an interval, and their arguments as SQL, in one order."""
    statement = _statement(sql)
    calls = [
        (_name(node), argument)
        for node in _walk(_expression(statement))
        if node["class"] == "FUNCTION" and _name(node) in WITHOUT_SPANS
        for argument in _arguments(node)
        if text_of(argument) is None
    ]
    if not calls:
        return [], ""
    selected = statement["statements"][0]["node"] | {"select_list": [node for _, node in calls]}
    only = statement | {"statements": [statement["statements"][0] | {"node": selected}]}
    query = "SELECT json_deserialize_sql(CAST(? AS JSON))"
    ((text,),) = reader().execute(query, [json.dumps(only)]).fetchall()
    return [name for name, _ in calls], str(text).removeprefix("SELECT ")


@lru_cache(maxsize=256)
def _statement(sql: str) -> Any:
    ((text,),) = reader().execute("SELECT json_serialize_sql(?)", [f"SELECT {sql}"]).fetchall()
    return json.loads(text)


def _expression(statement: Any) -> Node | None:
    """The expression, if the statement selects just one, from no table; else None."""
    if statement["error"] or len(statement["statements"]) != 1:
        return None
    node = statement["statements"][0]["node"]
    if node["type"] != "SELECT_NODE" or node["from_table"]["type"] != "EMPTY":
        return None
    clauses = ("modifiers", "where_clause", "group_expressions", "having", "sample", "qualify")
    alone = len(node["select_list"]) == 1 and not any(node[clause] for clause in clauses)
    return node["select_list"][0] if alone else None


def _walk(node: Any) -> Iterator[Node]:
    """Every expression in a part of the tree, from the outside in."""
    if isinstance(node, dict):
        if "class" in node:
            yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)


def _outermost(value: Any) -> Iterator[Node]:
    """The outermost expressions in a part of the tree."""
    if isinstance(value, dict) and "class" in value:
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _outermost(inner)


def _name(node: Node) -> str:
    return str(node["function_name"]).lower()


def _arguments(node: Node) -> list[Node]:
    return [argument["expression"] for argument in node["arguments"]]


def _refused(node: Node, columns: Sequence[str]) -> str | None:
    kind = node["class"]
    if kind in _KINDS:
        return None
    check = _CHECKS.get(kind)
    if kind == "COLUMN_REF":
        return _in_column(node, columns)
    return check(node) if check else _other_rows(kind)


def _other_rows(kind: str) -> str:
    words = _IN_WORDS.get(kind, f"syntax of the kind {kind}")
    return f"{words}: it must be computed from one record alone"


def _in_column(node: Node, columns: Sequence[str]) -> str | None:
    names = node["column_names"]
    if len(names) > 1:
        shown = ".".join(names)
        return f"the name {shown!r} (write a column without its table, a field as {names[0]}['…'])"
    if names[0] not in columns:
        return f"{names[0].lower()}, which is no column: its value is not a function of one record"
    return None


def _in_operator(node: Node) -> str | None:
    if node["type"] == "ARRAY_SLICE" and len(node["children"]) > 3:
        return "a slice with steps"
    return None if node["type"] in _OPERATORS else _other_rows(node["type"])


def _in_cast(node: Node) -> str | None:
    target = node["type_expr"]
    name = str(target.get("type_name", "")).upper()
    if name in CASTS and len(target["qualified_name"]["path"]) == 1:
        return None
    return f"a cast to {name.lower()}, and may cast to numbers, text, dates and times"


def _in_arrow(node: Node) -> str | None:
    """DuckDB parses ``document -> path`` as a lambda; with a constant path it is none."""
    path = text_of(node["expr"])
    return GUARDS["json_extract"]([node["lhs"], node["expr"]]) if path else _other_rows("LAMBDA")


def _in_call(node: Node) -> str | None:
    name = _name(node)
    plain = (
        len(node["qualified_name"]["path"]) == 1
        and not node["filter"]
        and not node["distinct"]
        and not node["order_bys"]["orders"]
        and not any(argument.get("name") for argument in node["arguments"])
    )
    if name not in ALLOWED:
        return _not_allowed(name)
    if not plain:
        return f"{name}() in the form of an aggregate, a method or with named arguments"
    guard = GUARDS.get(name)
    wrong = guard(_arguments(node)) if guard else None
    return f"{_shown(name)} {wrong}" if wrong else None


def _shown(name: str) -> str:
    words = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "->>": "->>"}
    return words.get(name) or ("AT TIME ZONE" if name == "timezone" else f"{name}()")


def _not_allowed(name: str) -> str:
    named = sorted(other for other in ALLOWED if other[0].isalpha())
    alike = get_close_matches(name, named, n=1, cutoff=_ALIKE)
    near = INSTEAD.get(name) or next(iter(alike), None)
    hint = f" (the nearest is {near}())" if near else ""
    return f"{name}(), which is not an allowed function{hint}"


_CHECKS = {"FUNCTION": _in_call, "OPERATOR": _in_operator, "CAST": _in_cast, "LAMBDA": _in_arrow}
