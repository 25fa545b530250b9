"""Row-wise SQL expressions that a person typed: parsed, checked, never trusted as text.

A context, an item or a condition must be a function of one record. Aggregates, windows and
subqueries look at other records, and a non-deterministic function would change when a part of the
work is computed again; each would break the bound that the noise rests on, so each is refused.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from crowdtally.errors import UsageError

Tree = Any
"""A node of sqlglot's syntax tree; its class names differ between releases."""

# Functions whose value is not decided by their arguments, and those that reach outside the row.
_FORBIDDEN = frozenset(
    """
    random rand uuid gen_random_uuid uuidv4 uuidv7 setseed now today current_date current_time
    current_timestamp localtime localtimestamp get_current_time get_current_timestamp
    transaction_timestamp currval nextval txid_current current_setting getvariable getenv
    current_user current_schema current_schemas current_database current_query current_catalog
    read_text read_blob read_csv read_csv_auto read_parquet parquet_scan read_json glob query
    query_table getdate sysdate systimestamp unix_timestamp monotonically_increasing_id
    input_file_name spark_partition_id randn randstr shuffle parse_json_file row_number rowid
    generate_series range unnest generate_subscripts write_log add_parquet_key version pg_typeof
    in_search_path stats error current_localtime current_localtimestamp session_user current_role
    user current_connection_id
    """.split()
)
# Functions whose result has any length that an argument says: one record could fill the memory.
_OF_ANY_LENGTH = frozenset(
    """
    repeat lpad rpad pad bar printf format list_resize array_resize space sequence array_repeat
    """.split()
)
# Functions that make text longer, so that a few of them inside each other make it long.
_GROWING = frozenset(
    """
    replace regexp_replace hex to_hex bin to_binary base64 to_base64 url_encode list_concat
    array_concat array_to_string
    """.split()
)
WHERE = "the condition --where"
"""What a message calls the condition."""
_LONGEST, _DEEPEST, _MOST_GROWING, _SHOWN = 2_000, 100, 3, 120
# Which column these mean depends on what else is there, and beside a column whose type was inferred
# stands its text: one user's value could decide which column everybody's is read from.
_WITHOUT_NAMES = {"PositionalColumn", "Columns"}
_WITHOUT_PARENTHESES = {"rowid", "current_date", "current_time", "current_timestamp"}

_TOO_DEEP = "is nested too deeply"

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

    Args:
        text: what a person typed.
        what: what it is, for a message: :data:`WHERE`, :func:`of_context` or :func:`of_item`.
    """
    tree = _parsed(text, what)
    nodes = list(tree.walk())
    if max(node.depth for node in nodes) > _DEEPEST:
        raise UsageError(_refusal(what, text, _TOO_DEEP))
    for node in nodes:
        problem = _problem(node)
        if problem:
            raise UsageError(_refusal(what, text, f"contains {problem}"))
    growing = sum(map(_grows, nodes))
    if growing > _MOST_GROWING:
        why = f"has {growing} functions that can lengthen text, and may have {_MOST_GROWING}"
        raise UsageError(_refusal(what, text, why))
    return tree


def _parsed(text: str, what: str) -> Tree:
    """The syntax tree of one expression, whatever is in it."""
    if not isinstance(text, str):
        raise UsageError(f"{what} is SQL text: received a {type(text).__name__}.")
    if len(text) > _LONGEST:
        why = f"has {len(text)} characters, and at most {_LONGEST} are read"
        raise UsageError(_refusal(what, text, why))
    try:
        parsed = sqlglot.parse(text, read="duckdb")
    except RecursionError:
        raise UsageError(_refusal(what, text, _TOO_DEEP)) from None
    except SqlglotError:
        raise UsageError(_refusal(what, text, "cannot be parsed as an SQL expression")) from None
    if len(parsed) != 1 or parsed[0] is None:
        raise UsageError(_refusal(what, text, "must be exactly one expression"))
    tree = parsed[0]
    if isinstance(tree, exp.DDL | exp.DML | exp.Command | exp.Query | exp.Alias):
        raise UsageError(_refusal(what, text, "must be an expression, not a statement"))
    return tree


def _grows(node: Tree) -> bool:
    """Whether a function can make a text longer; replacing by something shorter cannot."""
    if not _names(node) & _GROWING:
        return False
    pattern, shorter = node.args.get("expression"), node.args.get("replacement")
    constants = isinstance(pattern, exp.Literal) and isinstance(shorter, exp.Literal)
    return not (
        constants
        and type(node).__name__ == "Replace"
        and 0 < len(pattern.name) >= len(shorter.name)
    )


def _names(node: Tree) -> set[str]:
    """Every name by which a function is known; sqlglot gives some of DuckDB's another."""
    if not isinstance(node, exp.Func):
        return set()
    return {_function_name(node), *(name.lower() for name in node.sql_names())}


def _problem(node: Tree) -> str | None:
    if isinstance(node, exp.Func):
        name = _function_name(node)
        # With one argument age() counts from today.
        if name in _FORBIDDEN or (name == "age" and len(node.expressions) < 2):
            return f"{name}(), whose value is not a function of one record"
        if _names(node) & _OF_ANY_LENGTH:
            return f"{name}(), whose result can have any length"
    if isinstance(node, exp.Column) and node.name.lower() in _WITHOUT_PARENTHESES:
        return f"{node.name}, whose value is not a function of one record"
    if type(node).__name__ in _WITHOUT_NAMES:
        return "a column by its place or by a pattern, instead of by its name"
    for kind, words in _OTHER_ROWS:
        if isinstance(node, kind):
            return f"{words}: it must be computed from one record alone"
    return None


def _function_name(node: exp.Func) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower()


def _refusal(what: str, text: str, why: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    example = "rating >= 4" if what == WHERE else "day=dayname(to_timestamp(timestamp))"
    return (
        f"{what} {why}: received {shown!r}. "
        f'Use columns, arithmetic, CASE, casts and row-wise functions, for example "{example}".'
    )


def columns_of(tree: Tree) -> list[str]:
    """The names of the columns that the expression reads."""
    return sorted({column.name for column in tree.find_all(exp.Column)})
