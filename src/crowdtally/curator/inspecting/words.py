"""An inspection in words, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from crowdtally.records.prepare import typed_options

WARNING = (
    "For your eyes only: these numbers are exact and private. Nothing was charged; do not publish "
    "them."
)
_BAR, _WIDTH = 30, 79
_NAMES, _LONGEST = 30, 54
"""Letters of the names of columns: room for the usual ones, and for the longest."""
_CHOSEN_BY_LOOKING = (
    "A bound that is chosen by looking at these numbers is not covered by the guarantee: it "
    "depends on the records. Choose it by what is known without them, or let --choose rank choose "
    "it privately, for a share of epsilon."
)

_SEVERAL_PARTNERS = "Without a partner in that table, or with several: a key that repeats has none."
_MATCHES_NOTHING = {
    ("join", "user"): _SEVERAL_PARTNERS,
    ("join", "person"): _SEVERAL_PARTNERS,
    ("user", "person"): "Without a user, or of an id to which the table gives several persons.",
}
"""Why a table beside the records drops rows, by role and by who is protected."""


_UNDECLARED = (
    "Columns that are text to an expression, because no schema declares their type, and types that "
    "fit these rows. Declare those that expressions need, as they are known without the rows:"
)


def lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """All of it; the first line says that it is private."""
    yield WARNING
    yield ""
    rows, left = facts["rows"], facts["left"]
    yield f"Rows: {rows}. Dropped: {rows - left} ({_share(rows - left, rows)}). Left: {left}."
    if facts["inexact"]:
        yield f"  {facts['inexact']} rows hold a number that is not exact: see docs/sources.md."
    yield "Dropped because of (a row may have several reasons):"
    width = max([_NAMES, *(len(_named(reason)) for reason in facts["columns"])])
    for reason in facts["columns"]:
        yield from _reason(reason, rows, min(width, _LONGEST), facts["protected"])
    if facts["persons"] is not None:
        yield f"Persons that the rows left stand for: {facts['persons']}."
    if facts["spread"] is None:
        whose = "Each row is one person" if facts["persons"] is None else "Nobody has several rows"
        if facts["bounding"] == "stated":
            most = facts["max_records"]
            whose = f"Nothing says whose a row is, and nobody is said to have more than {most}"
        yield f"{whose}: there is nothing to bound."
    else:
        yield from _spread(facts["spread"], facts)
    if facts["types"]:
        yield ""
        yield _UNDECLARED
        yield f"  {typed_options(facts['types'])}"


def wrapped(text: str) -> str:
    """The lines broken where they are longer than a terminal's."""
    return "\n".join(
        textwrap.fill(line, _WIDTH, subsequent_indent=" " * (len(line) - len(line.lstrip())))
        for line in text.split("\n")
    )


def _named(reason: Mapping[str, Any]) -> str:
    return f"{reason['role']} {reason['name']}"


def _reason(reason: Mapping[str, Any], rows: int, width: int, who: str) -> Iterator[str]:
    yield f"  {_named(reason):<{width}} {reason['rows']:>12}  {_share(reason['rows'], rows):>6}"
    if reason["rows"] and (reason["role"], who) in _MATCHES_NOTHING:
        yield f"    {_MATCHES_NOTHING[reason['role'], who]}"
    found = reason["list"]
    if found is None or not found["missing"]:
        return
    shown = ", ".join(map(repr, found["examples"]))
    more = ", …" if found["missing"] > len(found["examples"]) else ""
    yield f"    listed, and in no row: {found['missing']} of {found['listed']}: {shown}{more}"
    if found["missing"] == found["listed"]:
        yield "    No row matches this list: compare its spelling and its type with the records."


def _spread(spread: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[str]:
    users, records, what = spread["users"], spread["records"], spread["counted"]
    yield ""
    who = facts["protected"]
    yield f"{who.capitalize()}s with a row left: {users}, who have together {records} {what}."
    if not users:
        return
    yield f"{f'{_first(what)} per {who}':>18} {f'{who}s':>12}  share"
    largest = max(bucket["users"] for bucket in spread["histogram"])
    for bucket in spread["histogram"]:
        least, most, number = bucket["least"], bucket["most"], bucket["users"]
        named = str(least) if least == most else f"{least}–{most}"
        bar = "#" * -(-number * _BAR // largest)
        yield f"{named:>18} {number:>12} {_share(number, users):>6}  {bar}".rstrip()
    yield ""
    if facts["max_records"] is None:
        yield f"Nobody is bounded: every {who} counts in all of these cells."
        return
    if not spread["max_records"]:
        yield (
            "With --norm l2 the bound is one on the Euclidean norm of a row, the root of the sum "
            "of its squares: rows above it are scaled down to it."
        )
        return
    yield f"What --max-records would keep (asked for: {facts['max_records']}):"
    yield f"{'bound':>18} {_first(what) + ' kept':>18} {f'{who}s cut':>18}"
    for one in spread["max_records"]:
        kept = f"{one['kept']} {_share(one['kept'], records):>6}"
        cut = f"{one['cut']} {_share(one['cut'], users):>6}"
        mark = "  <" if one["limit"] == facts["max_records"] else ""
        yield f"{one['limit']:>18} {kept:>18} {cut:>18}{mark}"
    yield _CHOSEN_BY_LOOKING


def _first(what: str) -> str:
    return what.partition(",")[0]


def _share(part: int, whole: int) -> str:
    """A share in percent with one digit; what is not all, or not nothing, does not look so.

    >>> _share(1, 3), _share(1, 100_000), _share(99_999, 100_000), _share(3, 3)
    ('33.3%', '<0.1%', '>99.9%', '100%')
    """
    if part in (0, whole):
        return "100%" if part else "0%"
    per_mille = (2000 * part + whole) // (2 * whole)  # the nearest
    if per_mille in (0, 1000):
        return ">99.9%" if per_mille else "<0.1%"
    return f"{per_mille // 10}.{per_mille % 10}%"
