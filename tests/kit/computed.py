"""Newcomers whose one value changes a column's type, where expressions read that column.

Expressions see the canonical text of a column whose type was inferred, or the type that was
declared: here both are said once more, in plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kit.crowds import Database, Lookup, Texts
from kit.newcomers import FRACTIONS, INTEGERS, ITEMS, MIXED, NUMBERS, Newcomer, visits

_AT = tuple(f"at {item}" for item in ITEMS)
_WHOLE = re.compile(r" *([+-]?[0-9]+)(?:[.]0*)? *")
_NUMBER = re.compile(r" *[+-]?[0-9]+(?:[.][0-9]+)? *")
_INT64 = {"types": {"place": "int64"}}


def _computed(
    base: Database, meaning: Callable[[str], str | None], items: Any, **roles: Any
) -> Any:
    """The same records, their items or the condition computed from ``place``."""

    def means(texts: Texts) -> Texts | None:
        place = None if texts["place"] is None else meaning(texts["place"])
        return None if place is None else {**texts, "place": place}

    return replace(base, roles=roles, meaning=means, items=items)


def _as_text(base: Database) -> Database:
    return _computed(base, lambda text: f"at {text}", _AT, item={"place": "'at ' || place"})


def _cast(base: Database) -> Database:
    item = {"place": "concat('at ', CAST(place AS VARCHAR))"}
    return _computed(base, lambda text: f"at {text}", _AT, item=item)


def _condition(base: Database) -> Database:
    where = "CAST(place AS VARCHAR) < '3' OR CAST(place AS VARCHAR) = '8'"
    return _computed(base, lambda text: text if text < "3" or text == "8" else None, ITEMS,
                     where=where)  # fmt: skip


def whole(text: str) -> int | None:
    """A text as int64: a whole number, nothing rounded."""
    found = _WHOLE.fullmatch(text)
    return int(found[1]) if found else None


def _typed(base: Database) -> Database:
    def means(text: str) -> str | None:
        number = whole(text)
        return None if number is None or number + 1 > 6 else str(number - 1)

    roles = {"where": "place + 1 <= 6", "item": {"place": "place - 1"}} | _INT64
    return _computed(base, means, ITEMS, **roles)


def _typed_text(base: Database) -> Database:
    """The type is declared, and the expression shows it: 7 never looks like 7.0."""

    def means(text: str) -> str | None:
        number = whole(text)
        return None if number is None else f"at {number}"

    return _computed(base, means, _AT, item={"place": "'at ' || place"}, **_INT64)


def _halved(base: Database) -> Database:
    """Declared as floats: every number fits."""

    def means(text: str) -> str | None:
        number = float(text) if _NUMBER.fullmatch(text) else None
        return None if number is None or number >= 2.5 else str(int(number >= 1))

    item = {"place": "CASE WHEN place < 1 THEN 0 ELSE 1 END"}
    return _computed(base, means, ITEMS, item=item, where="place < 2.5", types={"place": "float64"})


def _looked_up(base: Database, kind: Any) -> Database:
    """An expression over a column of a joined table."""
    sizes = Lookup({"place": kind, "size": kind}, [(item, 10 * item) for item in ITEMS])

    def means(texts: Texts) -> Texts | None:
        return texts if texts["size"] in ("10", "80") else None

    return replace(
        base, lookups=(sizes,), roles={"where": "size || '!' IN ('10!', '80!')"}, meaning=means
    )


COMPUTED: dict[str, Newcomer] = {
    "as text: a missing item": Newcomer(_as_text(INTEGERS), [(99, None, "Mon"), *visits(99)]),
    "as text: a fraction": Newcomer(_as_text(NUMBERS), [(99, 1.5, "Mon"), *visits(99)]),
    "as text: a text": Newcomer(_as_text(MIXED), [("guest", "abc", "Mon"), *visits("guest")]),
    "cast to text: a missing item": Newcomer(_cast(INTEGERS), [(99, None, "Mon"), *visits(99)]),
    "cast to text: a fraction": Newcomer(_cast(NUMBERS), [(99, 1.5, "Mon"), *visits(99)]),
    "compared as text: a missing item": Newcomer(_condition(INTEGERS), [(99, None, "Mon")]),
    "compared as text: a text": Newcomer(_condition(MIXED), [(99, "abc", "Mon"), *visits(99)]),
    "compared as text: infinite": Newcomer(_condition(NUMBERS), [(99, float("inf"), "Mon")]),
    "int64: a missing item": Newcomer(_typed(INTEGERS), [(99, None, "Mon"), *visits(99)]),
    "int64: a fraction": Newcomer(_typed(NUMBERS), [(99, 1.5, "Mon"), *visits(99)]),
    "int64: a text": Newcomer(_typed(MIXED), [("guest", "abc", "Mon"), *visits("guest")]),
    "int64 as text: a missing item": Newcomer(_typed_text(INTEGERS), [(99, None, "Mon")]),
    "int64 as text: a fraction": Newcomer(_typed_text(NUMBERS), [(99, 1.5, "Mon")]),
    "float64: a fraction": Newcomer(_halved(NUMBERS), [(99, 1.5, "Mon"), *visits(99)]),
    "float64: a text among fractions": Newcomer(_halved(FRACTIONS), [(99, "abc", "Mon")]),
    "of a joined table: missing": Newcomer(
        _looked_up(INTEGERS, "integer"), visits(99), ([(77, None)],)
    ),
    "of a joined table: a text": Newcomer(
        _looked_up(MIXED, "mixed"), visits(99), ([("abc", "large")],)
    ),
}
"""Each expression, and who changes the type of the column that it reads."""
CORE = ("as text: a missing item", "cast to text: a fraction", "int64: a fraction",
        "of a joined table: a text")  # fmt: skip
SELDOM = ("as text: a fraction", "compared as text: infinite", "int64 as text: a fraction",
          "cast to text: a missing item")  # fmt: skip
