"""Row-wise SQL expressions that a person typed: parsed, checked, never trusted as text.

A context, an item or a condition must be a function of one record. Aggregates, windows and
subqueries read other records, and a non-deterministic function would change when a part of the work
is computed again; each would break the bound that the noise rests on. ``functions.py`` lists what
is allowed, and ``check.py`` checks it as DuckDB reads it; this module has words for common
mistakes.
"""

from __future__ import annotations

from typing import Any

from sqlglot import Dialect, ErrorLevel, TokenType, exp
from sqlglot.errors import SqlglotError

from crowdtally.core.registry import DEEPEST, nesting
from crowdtally.errors import UsageError
from crowdtally.records.expressions import check

Tree = Any  # a node of sqlglot's syntax tree; its class names differ between releases

WHERE = "the condition --where"  # what a message calls the condition
_LONGEST, _DEEPEST, _SHOWN = 2_000, 100, 120
# The columns that these mean depend on which others there are, and a column of inferred type has
# its text beside it: one user's value could decide which column is read for everybody.
_WITHOUT_NAMES = {"PositionalColumn", "Columns"}
_WITHOUT_PARENTHESES = {"rowid"}

_OPTIONS = ("modifiers", "flag", "parameters", "options")
"""The parser's names for the options of a regular expression."""
_TOO_DEEP = "is nested too deeply"
_UNREADABLE = "cannot be parsed as an SQL expression"
_DIALECT = Dialect.get_or_raise("duckdb")
_BRACKETS = {
    getattr(TokenType, name): text
    for name, text in (
        ("L_PAREN", "("), ("R_PAREN", ")"), ("L_BRACKET", "["), ("R_BRACKET", "]"),
        ("L_BRACE", "{"), ("R_BRACE", "}"),
    )
}  # fmt: skip
# Brackets behind the name of a type sqlglot reads twice, as the type's parameters and as arguments:
# the time doubles with each bracket inside another, and array[…] takes three times as long.
_READ_AGAIN = frozenset({*_DIALECT.parser_class.TYPE_TOKENS, TokenType.ROW})
_MOST_READ_AGAIN = 3

_OTHER_ROWS: tuple[tuple[type[Any], str], ...] = (
    (exp.AggFunc, "an aggregate"),
    (exp.Window, "a window function"),
    (exp.Subquery, "a subquery"),
    (exp.Query, "a subquery"),
    (exp.Star, "a star"),
    (exp.Placeholder, "a placeholder"),
    (exp.Parameter, "a parameter"),
    (exp.Lambda, "a lambda"),
    (exp.UDTF, "a table function"),
    (exp.Collate, "a collation, which makes different texts equal"),
)


def of_context(name: str) -> str:
    """What a message calls the expression of a context."""
    return f"the expression of context {name!r}"


def of_item(name: str | None) -> str:
    """What a message calls the expression of the item."""
    return f"the expression of the item {name!r}"


def row_expression(text: str, what: str) -> Tree:
    """The syntax tree of a row-wise expression, or a UsageError that says why it is not one.

    Messages call it ``what``: :data:`WHERE`, :func:`of_context` or :func:`of_item`.
    """
    tree = _parsed(text, what)
    nodes = list(tree.walk())
    if max(node.depth for node in nodes) > _DEEPEST:
        raise UsageError(_refusal(what, text, _TOO_DEEP))
    for node in nodes:
        problem = _problem(node)
        if problem:
            raise UsageError(_refusal(what, text, f"contains {problem}"))
    try:
        sql = written(tree)
    except (ValueError, SqlglotError):  # sqlglot cannot write everything that it reads
        raise UsageError(_refusal(what, text, _UNREADABLE)) from None
    wrong = check.problem(sql, columns_of(tree))
    if wrong:
        raise UsageError(_refusal(what, text, wrong))
    return tree


def _parsed(text: str, what: str) -> Tree:
    """The syntax tree of one expression, before any check of its parts."""
    if not isinstance(text, str):
        raise UsageError(f"{what} is SQL text: received a {type(text).__name__}.")
    if len(text) > _LONGEST:
        why = f"has {len(text)} characters, and at most {_LONGEST} are read"
        raise UsageError(_refusal(what, text, why))
    try:
        parsed = _trees(text)
    except RecursionError:
        raise UsageError(_refusal(what, text, _TOO_DEEP)) from None
    except Exception:  # sqlglot's own errors, and an IndexError where a function lacks an argument
        raise UsageError(_refusal(what, text, _UNREADABLE)) from None
    if len(parsed) != 1 or parsed[0] is None:
        raise UsageError(_refusal(what, text, "must be exactly one expression"))
    tree = parsed[0]
    if isinstance(tree, exp.DDL | exp.DML | exp.Command | exp.Query | exp.Alias):
        raise UsageError(_refusal(what, text, "must be an expression, not a statement"))
    return tree


def _trees(text: str) -> list[Tree]:
    tokens = _DIALECT.tokenize(text)
    depth, read_again = nesting(
        (_BRACKETS.get(token.token_type, ""), token.token_type in _READ_AGAIN) for token in tokens
    )
    if depth > DEEPEST or read_again > _MOST_READ_AGAIN:
        raise RecursionError
    return list(_DIALECT.parser().parse(tokens, text))


def written(tree: Tree) -> str:
    """The expression in DuckDB's SQL, with quoted names, so that no column passes for a keyword."""
    # ``check.py`` checks the result; sqlglot's warnings would only confuse.
    silent = ErrorLevel.IGNORE
    return str(tree.sql(dialect="duckdb", identify=True, unsupported_level=silent))


def _problem(node: Tree) -> str | None:
    if isinstance(node, exp.Column) and node.name.lower() in _WITHOUT_PARENTHESES:
        return f"{node.name}, whose value is not a function of one record"
    if isinstance(node, exp.Func) and node.error_messages():
        return f"{node.sql_name().lower()}() without all of its arguments"
    if _drops_options(node):
        return "an option of a regular expression that is none of 'c', 'i', 'm', 's' (or 'g')"
    if type(node).__name__ in _WITHOUT_NAMES:
        return "a column by its place or by a pattern, instead of by its name"
    for kind, words in _OTHER_ROWS:
        if isinstance(node, kind):
            return f"{words}: it must be computed from one record alone"
    return None


def _drops_options(node: Tree) -> bool:
    """Whether a regular expression has options that sqlglot would not write again."""
    given = next((node.args[name] for name in _OPTIONS if node.args.get(name)), None)
    if given is None or not isinstance(node, exp.Func):
        return False
    known = {*"cims", *("g" if isinstance(node, exp.RegexpReplace) else "")}
    return not isinstance(given, exp.Literal) or not known.issuperset(given.name)


def _refusal(what: str, text: str, why: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    column = "rating" if what == WHERE else "timestamp"
    example = "rating >= 4" if what == WHERE else "day=dayname(to_timestamp(timestamp))"
    return (
        f"{what} {why}: received {shown!r}. "
        f'Use columns, arithmetic, CASE, casts and row-wise functions, for example "{example}", '
        f"with --type {column}=int64 where that column is text."
    )


def columns_of(tree: Tree) -> list[str]:
    return sorted({column.name for column in tree.find_all(exp.Column)})
