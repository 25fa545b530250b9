"""What the curator is told about dropped rows, and asked. Never in a release.

Readers see whether there is a release, so by default the records do not decide it: rows are
dropped, the curator is told, and the release is made. It stops where a person at the terminal says
so, or by ``--most-dropped`` (or ``--strict``): both before anything is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from crowdtally.core.numbers import show
from crowdtally.curator.inspect import Reason
from crowdtally.curator.request.request import Request
from crowdtally.errors import CrowdtallyError, InputError
from crowdtally.records.engine import Dropped

Tell = Callable[[str], None]
"""Tells the curator; never a reader."""
Confirm = Callable[[str], bool]
"""Asks the curator whether to go on."""
Explain = Callable[[], Sequence[Reason]]
"""Counts the dropped rows of each column; takes a pass over the records."""

ASKED_ABOVE = Fraction(1, 2)
"""The share of dropped rows beyond which a person at a terminal is asked."""


def settle_dropped(
    dropped: Dropped, request: Request, tell: Tell, confirm: Confirm | None, explain: Explain
) -> None:
    """Say which rows are dropped; stop where there are too many. Nothing was charged yet."""
    if request.most_dropped is not None:
        _refuse_many(dropped, request, request.most_dropped)
    elif confirm is not None and exceeds(dropped, ASKED_ABOVE):
        _ask(dropped, request, confirm, explain())
    _tell_dropped(dropped, request, tell)


def exceeds(dropped: Dropped, share: Fraction) -> bool:
    """Whether more than this share of all rows is dropped, compared exactly.

    >>> exceeds(Dropped(10, 0, 5), Fraction(1, 2)), exceeds(Dropped(10, 1, 5), Fraction(1, 2))
    (False, True)
    """
    return _lost(dropped) > share * dropped.rows


def _lost(dropped: Dropped) -> int:
    return dropped.without_user + dropped.outside


def _refuse_many(dropped: Dropped, request: Request, most: Fraction) -> None:
    if not exceeds(dropped, most):
        return
    option = _option(most)
    raise InputError(
        f"{option}: {_words(dropped, request)}, would be dropped. Extend the lists or mend the "
        f"rows, or run without {option.split()[0]}; `crowdtally inspect` says which columns they "
        "fail in. Nothing was charged."
    )


def _option(most: Fraction) -> str:
    return f"--most-dropped {show(most)}" if most else "--strict"


def _ask(dropped: Dropped, request: Request, confirm: Confirm, reasons: Sequence[Reason]) -> None:
    lost = _lost(dropped)
    most = sorted((one for one in reasons if one.rows), key=lambda one: -one.rows)
    because = "".join(f"\n  {one.rows} because of {one.role} {one.name!r}" for one in most)
    hopeless = "".join(
        f"\nNo row matches the list of {reason.name!r}: compare its spelling and its type."
        for reason in reasons
        if reason.rows == dropped.rows and reason.role in ("item", "context", "attribute")
    )
    left = "\nNothing would be left but noise." if lost == dropped.rows else ""
    question = (
        f"Of {dropped.rows} rows, {lost} would be dropped (a row may have several reasons):"
        f"{because}{hopeless}{left}\nCharge epsilon {request.epsilon} and release all the same?"
    )
    if not confirm(question):
        raise CrowdtallyError(
            "stopped before the charge, because too many rows would be dropped: nothing was "
            "charged and nothing was released. `crowdtally inspect` says more about the rows; "
            "--yes answers beforehand."
        )


def _words(dropped: Dropped, request: Request) -> str:
    reasons = []
    if dropped.without_user:
        twice = " or of an id with several persons" if request.records.same_person else ""
        reasons.append(f"{dropped.without_user} without a user{twice}")
    if dropped.outside:
        joined = " or without a join partner, or with several," if request.records.joins else ""
        weighed = " or without a weight of at least 1" if request.records.weight else ""
        counted = " or without a quantity of at least 1" if request.records.quantity else ""
        reasons.append(
            f"{dropped.outside} with a value outside the lists{joined}{weighed}{counted}"
        )
    return f"of {dropped.rows} rows, {' and '.join(reasons)}"


def _tell_dropped(dropped: Dropped, request: Request, tell: Tell) -> None:
    if not _lost(dropped):
        if not dropped.rows:
            _tell_empty(request, tell)
        return
    tell(f"Dropped, {_words(dropped, request)} (for your eyes only: the release does not say so).")
    if dropped.inexact:
        tell(
            f"Of the rows, {dropped.inexact} hold a number that is not exact in a column without a "
            "declared type (NaN, or 2^53 and beyond; as a user or record id also a fraction). A "
            "Parquet file, an Arrow table or pandas's nullable types (convert_dtypes) keep whole "
            "numbers; see docs/sources.md."
        )
    if _lost(dropped) == dropped.rows:
        tell(
            "No row is left to count, so what is released is noise alone. Compare the spelling and "
            "the types of the lists with the records; --strict would have stopped, uncharged."
        )


def _tell_empty(request: Request, tell: Tell) -> None:
    once = _once(request)
    if request.most_dropped is not None and once:
        raise InputError(f"{_option(request.most_dropped)}: the source has no rows.{once}")
    held = " for which --where holds" if request.records.where is not None else ""
    tell(f"The source has no rows{held}: what is released is noise alone.{once}")


def _once(request: Request) -> str:
    """Explain a stream without rows: it may have been read before, which looks the same."""
    if request.sources.records.kind != "stream":
        return ""
    return " A reader of Arrow batches gives its rows once: was it read before? Then make it anew."
