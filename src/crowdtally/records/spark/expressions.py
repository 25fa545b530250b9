"""Row-wise expressions in DuckDB's SQL, as Spark's: those whose meaning is the same.

Only what is listed here passes: a node of the syntax tree that means the same to both engines, or
one with a translation that does (a test compares them on both, value by value). On Spark with ANSI
mode off all of it is total: a value that an expression cannot take gives null, never an error that
would depend on one record. Everything listed is a function of one row.

The engines still differ here: Spark divides by zero to null, DuckDB to infinity; where a part
cannot be computed Spark goes on with null for that part, DuckDB with null for the whole; capitals
of letters beyond A–Z, such as ß; times outside the years 1–9999, which are null here; a time
without a zone that is cast to an instant, or compared with one, in the hour that clocks show twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlglot
from sqlglot import exp

from crowdtally.errors import InputError, UsageError

_DIRECTIVES = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "j": "DDD", "H": "HH", "M": "mm", "S": "ss",
    "A": "EEEE", "a": "EEE", "B": "MMMM", "b": "MMM", "-d": "d", "-m": "M", "-H": "H",
}  # fmt: skip


def java_pattern(form: str) -> str | None:
    """Java's pattern of a format; None where a directive has no counterpart.

    >>> java_pattern("%Y-%m at %H"), java_pattern("%U")
    ("yyyy-MM' at 'HH", None)
    """
    pieces = re.split(r"(%-?[A-Za-z%])", form)
    directives = [_DIRECTIVES.get(piece[1:]) for piece in pieces[1::2]]
    if None in directives:
        return None
    texts = [_plain(piece) for piece in pieces[0::2]]
    return texts[0] + "".join(f"{d}{text}" for d, text in zip(directives, texts[1:], strict=True))


def _plain(text: str) -> str:
    """Text between directives; its letters need quotes."""
    if not re.search(r"[A-Za-z'\[\]{}#]", text):
        return text
    return "'" + text.replace("'", "''") + "'"


Node = Any
TypeOf = Callable[[Node], str]

_INTEGERS = {"TINYINT", "SMALLINT", "INT", "BIGINT"}
CASTS = {
    *_INTEGERS, "VARCHAR", "TEXT", "DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DOUBLE",
    "BOOLEAN",
}  # fmt: skip
"""Types that a cast may name."""
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double"}
_EARLIEST, _LATEST = -62135596800, 253402300799  # seconds: the years 1 to 9999


def _named(*names: str) -> tuple[type[Any], ...]:
    """The syntax tree's classes of these names, those that this release of sqlglot has."""
    return tuple(getattr(exp, name) for name in names if hasattr(exp, name))


SAME = _named(
    "Column", "Identifier", "Literal", "Null", "Boolean", "Paren", "And", "Or", "Not", "EQ", "NEQ",
    "GT", "GTE", "LT", "LTE", "Is", "NullSafeEQ", "NullSafeNEQ", "Case", "If", "In", "Between",
    "Coalesce", "Nullif", "Mod", "IntDiv", "Round", "Greatest",
    "Least", "DPipe", "Concat", "Lower", "Upper", "Length", "Trim", "Replace", "StartsWith",
    "Contains", "EndsWith", "Year", "Month", "Day", "Quarter", "DayOfYear", "DayOfMonth", "Hour",
    "Minute", "Second", "DateFromParts", "DataType", "Var", "DataTypeParam",
)  # fmt: skip
"""Nodes that mean the same to both engines."""


def _call(name: str, *arguments: Any) -> Node:
    return exp.Anonymous(this=name, expressions=[exp.convert(a) for a in arguments])


def _plus(node: Node, number: int) -> Node:
    return exp.paren(exp.Add(this=node, expression=exp.convert(number)))


def _negative(node: Node) -> Node:
    return _call("try_subtract", 0, node)


def _try_cast(node: Node, kind: Any) -> Node:
    """Without ``safe`` sqlglot writes a plain CAST for Spark."""
    return exp.TryCast(this=node, to=exp.DataType.build(kind, dialect="spark"), safe=True)


def _formatted(node: Node, pattern: str | None) -> Node:
    return _call("date_format", node.this, pattern)


def _day_of_week(x: Node) -> Node:
    return _plus(_call("dayofweek", x), -1)  # Sunday is 0 in DuckDB and 1 in Spark


PARTS: dict[str, Callable[[Node], Node]] = {
    **{
        name: partial(_call, name)
        for name in ("year", "quarter", "month", "day", "dayofyear", "hour", "minute", "second")
    },
    "week": partial(_call, "weekofyear"),
    "doy": partial(_call, "dayofyear"),
    **dict.fromkeys(("dow", "dayofweek", "weekday"), _day_of_week),
    "isodow": lambda x: _plus(_call("weekday", x), 1),  # Monday is 1 in DuckDB and 0 in Spark
}
"""Parts of a date or time, by DuckDB's names for them."""

RULES: dict[type[Any], Callable[[Node], Node]] = {
    exp.Try: lambda n: n.this,  # everything here is total
    exp.Add: lambda n: _call("try_add", n.this, n.expression),
    exp.Sub: lambda n: _call("try_subtract", n.this, n.expression),
    exp.Mul: lambda n: _call("try_multiply", n.this, n.expression),
    exp.Div: lambda n: _call("try_divide", n.this, n.expression),
    exp.Neg: lambda n: n if isinstance(n.this, exp.Literal) else _negative(n.this),
    exp.Abs: lambda n: exp.If(this=n.this < 0, true=_negative(n.this), false=n.this.copy()),
    exp.DayOfWeek: lambda n: _day_of_week(n.this),
    exp.DayOfWeekIso: lambda n: PARTS["isodow"](n.this),
    exp.Week: lambda n: PARTS["week"](n.this),
    exp.Extract: lambda n: PARTS[n.this.name.lower()](n.expression),
    exp.TimeToStr: lambda n: _formatted(n, java_pattern(n.args["format"].name)),
    exp.UnixToTime: lambda n: _instant(n),
    exp.Substring: lambda n: _call("substring", n.this, n.args["start"], n.args["length"]),
    exp.Left: lambda n: _call("left", n.this, n.expression),
    exp.Right: lambda n: _call("right", n.this, n.expression),
    exp.SplitPart: lambda n: _call("split_part", *n.args.values()),
    exp.Like: lambda n: n,
    exp.ILike: lambda n: n,
    exp.Anonymous: lambda n: PARTS[part_name(n)](n.expressions[-1]),
}
"""Nodes with a translation that means the same."""
for _class, _pattern in (("Dayname", "EEEE"), ("Monthname", "MMMM")):
    if hasattr(exp, _class):
        RULES[getattr(exp, _class)] = partial(_formatted, pattern=_pattern)


def to_spark(node: Node, type_of: TypeOf) -> Node:
    """The expression for Spark, from the leaves up; ``type_of`` gives the type of a part of it."""

    def inner(value: Any) -> Any:
        if isinstance(value, list):
            return [inner(one) for one in value]
        return to_spark(value, type_of) if isinstance(value, exp.Expression) else value

    node = node.copy()
    for key, value in list(node.args.items()):
        if isinstance(value, list | exp.Expression):
            node.set(key, inner(value))
    if isinstance(node, exp.Cast):  # TRY_CAST is one as well
        return _cast(node, type_of(node.this))
    if isinstance(node, exp.Floor | exp.Ceil) and type_of(node.this) in ("double", "float"):
        # Spark makes integers of them, and the largest integer of what is too large.
        small = exp.Abs(this=node.this.copy()) < exp.Literal.number("9.2e18")
        return exp.Case(ifs=[exp.If(this=small, true=node)])
    if isinstance(node, _COMPARING):
        _refuse_mixed(node, type_of)
    if isinstance(node, _OF_NUMBERS_AND_TIMES):
        _refuse_text(node, type_of)
    rule = RULES.get(type(node))
    return rule(node) if rule else node


_COMPARING = _named(
    "EQ", "NEQ", "GT", "GTE", "LT", "LTE", "NullSafeEQ", "NullSafeNEQ", "In", "Between"
)
_OF_NUMBERS_AND_TIMES = _named(
    "Add", "Sub", "Mul", "Div", "Mod", "IntDiv", "Neg", "Abs", "Floor", "Ceil", "Round",
    "UnixToTime", "Extract", "TimeToStr", "Dayname", "Monthname", "Year", "Month", "Day", "Quarter",
    "DayOfYear", "DayOfMonth", "DayOfWeek", "DayOfWeekIso", "Week", "Hour", "Minute", "Second",
    "DateFromParts", "Anonymous",
)  # fmt: skip


def _refuse_text(node: Node, type_of: TypeOf) -> None:
    """Refuse arithmetic and parts of dates over text, as DuckDB does; Spark would convert it."""
    names = ("expression", "year", "month", "day")
    parts = [node.this, *map(node.args.get, names), *node.args.get("expressions", [])]
    read = [part for part in parts if isinstance(part, exp.Expression)]
    columns = [part for part in read if not isinstance(part, exp.Literal | exp.Var)]
    if any(type_of(part) == "string" for part in columns):
        raise InputError(
            "an expression does not fit the types of its columns: it computes with text; add a "
            "cast, such as CAST(column AS INTEGER)."
        )


def _refuse_mixed(node: Node, type_of: TypeOf) -> None:
    """Refuse a comparison of text with numbers, as DuckDB does; Spark would convert in silence."""
    names = ("expression", "low", "high")
    compared = [node.this, *map(node.args.get, names), *node.args.get("expressions", [])]
    parts = [part for part in compared if part is not None]
    types = {type_of(part) for part in parts if not isinstance(part, exp.Null)}
    texts = [p for p in parts if not isinstance(p, exp.Literal) and type_of(p) == "string"]
    if texts and any(kind in _NUMBERS or kind.startswith("decimal") for kind in types):
        raise InputError(
            "an expression does not fit the types of its columns: it compares text with a number; "
            "add a cast, such as CAST(column AS INTEGER)."
        )


def _cast(node: Node, kind: str) -> Node:
    """A cast as DuckDB does it: to the nearest whole number, and null where it cannot be done."""
    target, value = node.to.this.name, node.this
    if target in _INTEGERS:
        if kind in ("double", "float"):
            value = _call("rint", value)
        elif kind.startswith("decimal"):
            value = _call("round", value)
        elif kind == "string":
            nearest = _call("round", _try_cast(value.copy(), "decimal(38, 9)"))
            return _call("coalesce", _try_cast(value, node.to), _try_cast(nearest, node.to))
    if target in ("VARCHAR", "TEXT"):
        if kind in ("double", "float"):
            raise UsageError(
                "a fraction as text looks different on each engine: cast it to BIGINT first, or "
                "multiply it to a whole number."
            )
        if kind == "timestamp":
            return _call("concat", _try_cast(value, "string"), _offset(value.copy()))
    return _try_cast(value, "timestamp_ltz" if target == "TIMESTAMPTZ" else node.to)


def _offset(value: Node) -> Node:
    """How far local time is from UTC, as DuckDB writes it: '+00', '-03', '+05:30'."""
    offset = _call("date_format", value, "xxx")
    whole = exp.EQ(this=_call("right", offset, 3), expression=exp.convert(":00"))
    return exp.If(this=whole, true=_call("left", offset.copy(), 3), false=offset.copy())


def _instant(node: Node) -> Node:
    """A time from seconds, milliseconds or microseconds since 1970; null outside the years 1–9999.

    Spark raises an error, even with ANSI mode off, for numbers that no time has.
    """
    scale = int(node.args["scale"].name) if node.args.get("scale") else 0
    function = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}[scale]
    low, high = (exp.convert(limit * 10**scale) for limit in (_EARLIEST, _LATEST))
    within = exp.Between(this=node.this.copy(), low=low, high=high)
    return exp.Case(ifs=[exp.If(this=within, true=_call(function, node.this))])


def part_name(node: Node) -> str:
    """The part of a date that ``date_part('hour', x)`` or ``weekday(x)`` asks for."""
    name = str(node.this).lower()
    if name in ("date_part", "datepart") and len(node.expressions) == 2:
        return str(node.expressions[0].name).lower()
    return name if len(node.expressions) == 1 else "?"


def check(sql: str, what: str) -> None:
    """Refuse an expression in DuckDB's SQL with anything in it that is not listed here."""
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
    """The part of a node that may not mean the same, in words; None where all of it does."""
    for kinds, problem in _PROBLEMS.items():
        if isinstance(node, kinds):
            return problem(node)
    # The class itself: a subclass of a listed kind of node is another function.
    if type(node) in _LISTED:
        return None
    if not isinstance(node, exp.Func):
        return type(node).__name__.lower()
    typed = node.sql(dialect="duckdb").partition("(")[0]  # strptime, which sqlglot calls otherwise
    return f"{(typed if typed.isidentifier() else node.sql_name()).lower()}()"


def _in_format(node: Node) -> str | None:
    form = node.args["format"]
    known = isinstance(form, exp.Literal) and java_pattern(form.name) is not None
    return None if known else "a format with a directive"


def _in_like(node: Node) -> str | None:
    simple = isinstance(node.expression, exp.Literal) and "\\" not in node.expression.name
    return None if simple else "LIKE with a pattern that is not a plain constant"


def _in_time(node: Node) -> str | None:
    scale = node.args.get("scale")
    return None if scale is None or scale.name in ("0", "3", "6") else "this kind of time"


_PROBLEMS: dict[tuple[type[Any], ...], Callable[[Node], str | None]] = {
    (exp.Cast,): lambda n: None if (to := n.to.this.name) in CASTS else f"a cast to {to}",
    (exp.Anonymous,): lambda n: None if part_name(n) in PARTS else f"{str(n.this).lower()}()",
    (exp.Extract,): lambda n: None if (p := n.this.name.lower()) in PARTS else f"the part {p}",
    (exp.TimeToStr,): _in_format,
    (exp.Like, exp.ILike): _in_like,
    (exp.Trim,): lambda n: None if n.expression is None else "trim() of given characters",
    (exp.Substring, exp.Left, exp.Right, exp.SplitPart): lambda n: (
        None if _constant_places(n) else f"{n.sql_name().lower()}() at such a position"
    ),
    (exp.UnixToTime,): _in_time,
}
"""Checks of nodes that mean the same only in some of their forms."""


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
