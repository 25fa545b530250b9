"""What the curator is told about rows that are not counted. Never in a release."""

from __future__ import annotations

from collections.abc import Callable

from crowdtally.curator.engine.census import Dropped
from crowdtally.curator.request.request import Request
from crowdtally.errors import InputError

Tell = Callable[[str], None]
"""Says something to the curator; never to a reader."""


def tell_dropped(dropped: Dropped, request: Request, tell: Tell) -> None:
    """Say which rows fall out; with --strict, stop: nothing was charged yet."""
    reasons = []
    if dropped.without_user:
        reasons.append(f"{dropped.without_user} without a user")
    if dropped.outside:
        joined = " or without a join partner" if request.records.joins else ""
        weighed = " or without a weight of at least 1" if request.records.weight else ""
        reasons.append(f"{dropped.outside} with a value outside the lists{joined}{weighed}")
    left = dropped.rows - dropped.without_user - dropped.outside
    if not reasons:
        if not left:
            _tell_empty(request, tell)
        return
    words = f"of {dropped.rows} rows, {' and '.join(reasons)}"
    if request.strict:
        raise InputError(
            f"--strict: {words}, would be dropped. Extend the lists or mend the rows, or run "
            "without --strict. Nothing was charged."
        )
    tell(f"Dropped, {words} (for your eyes only: the release does not say so).")
    if dropped.inexact:
        tell(
            f"Of the rows, {dropped.inexact} hold a number that is not exact in a column without a "
            "declared type (NaN, or 2^53 and beyond; as a user or record id also a fraction). A "
            "Parquet file, an Arrow table or pandas's nullable types (convert_dtypes) keep whole "
            "numbers; see docs/sources.md."
        )
    if not left:
        tell(
            "No row is left to count, so what is released is noise alone. Compare the spelling and "
            "the types of the lists with the records; --strict would have stopped, uncharged."
        )


def _tell_empty(request: Request, tell: Tell) -> None:
    once = _once(request)
    if request.strict and once:
        raise InputError(f"--strict: the source has no rows.{once}")
    tell(f"The source has no rows: what is released is noise alone.{once}")


def _once(request: Request) -> str:
    """A reader that somebody has read is empty, and nothing tells it from one without rows."""
    if request.sources.records.kind != "stream":
        return ""
    return " A reader of Arrow batches gives its rows once: was it read before? Then make it anew."
