"""The main line: from records to a release, on one page.

One charge, then steps of *bound → count → noise*, then one folder, written whole or not at all.
The order is the guarantee: nothing is drawn before the charge is durable, and a failure after it
stays charged, because noise may have been drawn.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crowdtally.budget import Ledger, Reservation
from crowdtally.curator.describe import charge_of, describe
from crowdtally.curator.engine.counting import count
from crowdtally.curator.engine.duckdb import DuckDBEngine
from crowdtally.curator.engine.prepare import Dropped, Prepared, count_dropped, prepare
from crowdtally.curator.publishing.dense import dense
from crowdtally.curator.request import Request
from crowdtally.errors import CrowdtallyError, InputError
from crowdtally.noise.draws import Draws
from crowdtally.published import NoisyTable, Published, staging
from crowdtally.values.epsilon import Delta

Tell = Callable[[str], None]
"""Says something to the curator; never to a reader."""


def publish(
    request: Request, dataset: str, target: Path, *, ledger: Ledger, draws: Draws, tell: Tell
) -> Published:
    """Make the release that ``request`` describes in the new folder ``target``."""
    charge = charge_of(request)
    ledger.check(dataset, request.records.unit, charge.epsilon, Delta())  # exit 3: nothing read yet
    with staging(target) as staged, DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.domain)  # (user, cell[, id])
        dropped = count_dropped(engine, prepared)  # reads every record once: damage shows here
        _tell_dropped(dropped, request.strict, tell)
        reservation = ledger.reserve(dataset, request.records.unit, charge)  # durable from here on
        with _charged(reservation):
            tables = _steps(request, engine, prepared, dropped, draws)
            metadata = describe(request, prepared.domain, reservation, tables)
            staged.write(metadata, tables)
            staged.commit()
            ledger.mark_published(reservation.id)
    return Published(target, metadata)


def _steps(
    request: Request, engine: DuckDBEngine, prepared: Prepared, dropped: Dropped, draws: Draws
) -> list[NoisyTable]:
    # The key orders each user's records. It comes from the OS and has nothing to do with the
    # noise: privacy holds for every fixed key, also for one that leaks into a log.
    key = secrets.randbits(63)
    items, edges = count(  # bounded records → non-zero cells
        engine, prepared, request.rule, rows=dropped.rows, key=key, what=request.what
    )
    tables = [dense("items", items, request.part("items"), draws)]  # every item, noisy
    if prepared.domain.contexts:
        tables.append(dense("edges", edges, request.part("edges"), draws))  # every item × context
    return tables


def _tell_dropped(dropped: Dropped, strict: bool, tell: Tell) -> None:
    reasons = []
    if dropped.without_user:
        reasons.append(f"{dropped.without_user} without a user")
    if dropped.outside:
        reasons.append(f"{dropped.outside} with a value outside the lists or no join partner")
    if not reasons:
        return
    words = f"{' and '.join(reasons)}, of {dropped.rows} rows"
    if strict:
        raise InputError(
            f"--strict: {words}, would be dropped. Extend the lists or mend the rows, or run "
            "without --strict. Nothing was charged."
        )
    tell(f"Dropped {words} (for your eyes only: the release does not say so).")


@contextmanager
def _charged(reservation: Reservation) -> Iterator[None]:
    """Say, with any failure, that the charge stands."""
    try:
        yield
    except CrowdtallyError as error:
        raise type(error)(
            f"{error} The charge stands (entry {reservation.id}), because noise may have been "
            "drawn; if you are certain that nothing left this machine, see `ledger void`."
        ) from error
