"""Conditions that a person typed: parsed, looked up in the public lists, never run.

Understood are comparisons of a column with a value (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``,
``BETWEEN``, ``IN``), joined by ``AND``, ``OR``, ``NOT`` and parentheses. All else is refused: the
text decides which cells are meant and reaches no engine. ``<`` and its like go by the order of the
public list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.condition import Among, Condition, every, negated, some
from crowdtally.reader.lookup import AxisLookup, Value, column
from crowdtally.reader.stated import Stated

Tree = Any
"""A node of sqlglot's syntax tree."""
Lists = Mapping[str, AxisLookup]
"""The public list of each column."""

_SIGNS = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_DIALECT = Dialect.get_or_raise("duckdb")
_DIGITS = 100
_EXAMPLE = "for example: age BETWEEN 30 AND 40 AND sex = 'F'"


def parse(text: str, lists: Lists) -> Stated:
    """The condition that the text states about these columns, or a UsageError that says why not."""
    if not isinstance(text, str):
        raise UsageError(f"a condition is text, {_EXAMPLE}: received a {type(text).__name__}.")
    if not text.strip():
        raise UsageError(f"the condition is empty: state one, {_EXAMPLE}; or none, for all cells.")
    try:
        parsed = _DIALECT.parse_into(exp.Condition, text)
        if len(parsed) != 1 or parsed[0] is None:
            raise UsageError(f"give one condition: received {text!r}. Join several with AND or OR.")
        named = frozenset(found.name for found in parsed[0].find_all(exp.Column))
        return Stated(_condition(parsed[0], lists), named)
    except SqlglotError:
        raise UsageError(
            f"the condition {text!r} cannot be read. Text stands in single quotes, a name with "
            f"blanks or signs in double quotes; {_EXAMPLE}."
        ) from None
    except RecursionError:
        raise UsageError("the condition is nested too deeply: write fewer parentheses.") from None


def _condition(tree: Tree, lists: Lists) -> Condition:
    match tree:
        case exp.Paren():
            return _condition(tree.this, lists)
        case exp.Not():
            return negated(_condition(tree.this, lists))
        case exp.And():
            return every([_condition(part, lists) for part in tree.flatten()])
        case exp.Or():
            return some([_condition(part, lists) for part in tree.flatten()])
        case exp.NEQ():
            return negated(_compared(tree, "=", lists))
    if type(tree) in _SIGNS:
        return _compared(tree, _SIGNS[type(tree)], lists)
    return _within(tree, lists)


def _within(tree: Tree, lists: Lists) -> Condition:
    """A column between two values, or among some."""
    match tree:
        case exp.Between() if not tree.args.get("symmetric"):
            axis = _column(tree.this, lists)
            low, high = _value(tree.args["low"], axis), _value(tree.args["high"], axis)
            return Among(axis.name, axis.between(low, high, False, False))
        case exp.In() if tree.expressions and not tree.args.get("query"):
            axis = _column(tree.this, lists)
            return Among(axis.name, axis.among([_value(v, axis) for v in tree.expressions]))
    raise UsageError(
        f"{tree.sql(dialect='duckdb')!r} is not a condition that is understood here. A condition "
        "compares a column with values by =, !=, <, <=, >, >=, BETWEEN or IN (…), joined by AND, "
        f"OR, NOT and parentheses; {_EXAMPLE}."
    )


def _compared(tree: Tree, sign: str, lists: Lists) -> Condition:
    left, right = tree.this.unnest(), tree.expression.unnest()
    if isinstance(right, exp.Column) and _is_value(left):
        left, right, sign = right, left, _MIRRORED[sign]
    axis = _column(left, lists)
    return compared(axis, sign, _value(right, axis))


def compared(axis: AxisLookup, sign: str, value: Value) -> Condition:
    """The values of an axis that are =, <, <=, > or >= a value, by the order of its list."""
    if sign == "=":
        return Among(axis.name, axis.among([value]))
    low, high = (None, value) if sign in ("<", "<=") else (value, None)
    return Among(axis.name, axis.between(low, high, sign == ">", sign == "<"))


def _column(tree: Tree, lists: Lists) -> AxisLookup:
    text = tree.sql(dialect="duckdb")
    if isinstance(tree, exp.Column) and not tree.table:
        return column(tree.name, lists)
    spelled = text.replace(" ", "").replace('"', "")
    if spelled in lists:
        raise UsageError(f'write the name {spelled!r} in double quotes: "{spelled}".')
    raise UsageError(
        f"a condition starts with a column of the release: received {text!r}. Functions, "
        f"arithmetic and subqueries are not understood. {did_you_mean(spelled, lists)}"
    )


def _is_value(tree: Tree) -> bool:
    negative = isinstance(tree, exp.Neg)
    return isinstance(tree.this if negative else tree, exp.Literal)


def _value(tree: Tree, axis: AxisLookup) -> Value:
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        raise UsageError(
            f"{axis.name!r} is compared with {tree.name!r}: a column is compared with values, and "
            f"text stands in single quotes, '{tree.name}'."
        )
    if _is_value(tree):
        negative = isinstance(tree, exp.Neg)
        literal = tree.this if negative else tree
        if literal.is_string and not negative:
            return str(literal.this)
        if not literal.is_string and literal.this.isdecimal() and len(literal.this) < _DIGITS:
            return -int(literal.this) if negative else int(literal.this)
    raise UsageError(
        f"{axis.name!r} is compared with {tree.sql(dialect='duckdb')}: a value is text in single "
        "quotes or a whole number."
    )
