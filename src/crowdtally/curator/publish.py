"""The main line: from records to a release, on one page.

One charge, then steps of *bound → count → noise*, then one folder, written whole or not at all.
The order is the guarantee: nothing is drawn before the charge is durable, nobody can find the
folder before the ledger has it marked as published, and a failure in between stays charged.
``budget/ledger.md`` argues why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crowdtally.budget import Ledger
from crowdtally.curator.describe import Outcome, charge_of, describe
from crowdtally.curator.engine.census import Dropped
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import prepare
from crowdtally.curator.request.request import Request
from crowdtally.curator.stages import making, marking, placing, reading, reserving
from crowdtally.curator.steps.bounds import find_bounds
from crowdtally.curator.steps.discovery import discover_items
from crowdtally.curator.steps.first import read_first
from crowdtally.curator.steps.tables import count_tables, popularity_table
from crowdtally.curator.steps.work import Work
from crowdtally.errors import InputError
from crowdtally.noise.draws import Draws
from crowdtally.published import Published, staging

Tell = Callable[[str], None]
"""Says something to the curator; never to a reader."""


def publish(
    request: Request,
    dataset: str,
    target: Path,
    *,
    ledger: Ledger,
    draws: Draws,
    tell: Tell,
    start_engine: Callable[[], Engine] = DuckDBEngine,
    sources: Sequence[str] = (),
    chosen: bool = True,
) -> Published:
    """Make the release that ``request`` describes in the new folder ``target``.

    Args:
        request: What to release.
        dataset: The name to charge to.
        target: The folder to make.
        ledger: Where to charge.
        draws: Where randomness comes from.
        tell: What says something to the curator.
        start_engine: What opens the engine that counts.
        sources: Resolved names of the records' sources, for the ledger to recognise them.
        chosen: Whether a person chose the dataset's name, or it was made from the source.
    """
    began, unit, charge = datetime.now(UTC), request.records.unit, charge_of(request)
    ledger.check(  # exit 3: nothing was read yet
        dataset, unit, charge.epsilon, charge.delta, sources=sources, chosen=chosen
    )
    with staging(target) as staged, start_engine() as engine:
        with reading():  # every record, once: damage shows here, and nothing is charged
            prepared = prepare(engine, request.records, request.domain)  # (user, cell[, id])
            work = Work(request, engine, prepared, draws)
            first = read_first(work)  # exact counts of the first step; no noise is drawn
        _tell_dropped(first.dropped, request, tell)
        with reserving():  # durable when it returns
            reservation = ledger.reserve(
                dataset, unit, charge, staged=staged.path, sources=sources, chosen=chosen
            )
        with making(reservation, staged):
            outcome = _steps(work, first.found)
            metadata = describe(request, prepared.lists, reservation, outcome, began)
            digest = staged.write(metadata, outcome.tables)  # under a temporary name
            staged.ready()
        with marking(reservation, staged):
            ledger.mark_published(reservation.id, digest)  # paid for, whatever happens
        with placing(reservation, staged):
            staged.commit()  # only now can anybody find it
    return Published(target, metadata)


def _steps(work: Work, first: Any) -> Outcome:
    """The steps; ``first`` is what was read for the first of them."""
    method, popularity = work.request.method, None
    if method.discover:
        items, other = discover_items(work, first)  # (user, item) → items that enough users have
        return Outcome([items], {}, other)
    if method.popularity_records is not None:
        popularity = popularity_table(work, first)  # at most d₀ records per user → noisy counts
        first = None
    bounds = find_bounds(work, first)  # records per user → l or θ, as given or by a charged choice
    if method.choose is not None:
        first = None
    tables = count_tables(work, bounds, popularity, first)  # bounded records → every cell, noisy
    return Outcome([*([popularity] if popularity else []), *tables], bounds)


def _tell_dropped(dropped: Dropped, request: Request, tell: Tell) -> None:
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
            tell("The source has no rows: what is released is noise alone.")
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
            "declared type (NaN, or 2^53 and beyond). A Parquet file, an Arrow table or pandas's "
            "nullable types (convert_dtypes) keep such numbers; see docs/sources.md."
        )
    if not left:
        tell(
            "No row is left to count, so what is released is noise alone. Compare the spelling and "
            "the types of the lists with the records; --strict would have stopped, uncharged."
        )
