"""The main line: from records to a release, on one page.

One conversation, one charge, then one folder, written whole or not at all. The order is the
guarantee: nothing is drawn before the charge and the entry that says so are durable, nobody can
find the folder before the ledger has it marked as published, and a failure in between stays
charged. The first question is counted before the charge: that draws nothing, and it reads every
record, so that a damaged source costs nothing. A request with an id is looked up before all that:
made again, it is charged once and drawn once. ``ledger/ledger.md`` argues why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from crowdtally.curator.converse import Account, Conversation, Progress
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.dataset import Dataset, counts_rho, tell_standing, tell_unspent
from crowdtally.curator.dropped_rows import Confirm, Tell, settle_dropped
from crowdtally.curator.failures import making, marking, placing, reading, reserving, starting
from crowdtally.curator.inspect import reasons
from crowdtally.curator.manifest import asked_of, declared, describe, versions
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.repeat import show_again, unless_made_meanwhile
from crowdtally.curator.request.request import Request
from crowdtally.format import Published, staging
from crowdtally.ledger import Ledger, Reserved
from crowdtally.ledger.book import made_before
from crowdtally.noise.draws import Draws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Engine
from crowdtally.records.prepare import prepare


@dataclass(frozen=True)
class Outside:
    dataset: Dataset
    """What to charge, and the sources by which the ledger recognises it."""
    target: Path
    ledger: Ledger
    draws: Draws
    tell: Tell
    start_engine: Callable[[], Engine] = DuckDBEngine
    confirm: Confirm | None = None
    """Asks the curator where most rows would be dropped; None: nobody is asked."""
    stage: Progress = lambda _: None
    """Is told what is being done, by public names alone."""
    new_dataset: bool = False
    """Whether to make a dataset that the ledger does not have."""
    purpose: str | None = None
    """In the curator's words, for the ledger."""
    request_id: str | None = None
    """The key under which a repeated request is charged once."""
    temporary: bool = False
    """Whether the folder is deleted when this program ends."""


def publish(request: Request, outside: Outside) -> Published:
    began, unit, method = datetime.now(UTC), request.records.unit, method_of(request)
    ledger, to = outside.ledger, outside.dataset
    charge = charge_of(request, method, versions(), by_rho=counts_rho(ledger, to.name))
    target, key = outside.target, outside.request_id
    asked = asked_of(
        request, source=to.source, output=None if outside.temporary else target,
        purpose=outside.purpose, request_id=key,
    )  # fmt: skip
    said = declared(request, began)  # of release.json, what can be written before the charge
    look_up = partial(made_before, ledger.request, to.name, Reserved(unit, charge, asked))
    earlier = look_up()
    if earlier is not None and earlier.state == "published":
        return show_again(earlier, target, outside.tell)  # nothing is read, charged or drawn
    with unless_made_meanwhile(look_up):
        if earlier is None:  # else it is charged already
            ledger.check(  # exit 3: nothing was read yet
                to.name, unit, charge, sources=to.sources, chosen=to.chosen,
                new_dataset=outside.new_dataset,
            )  # fmt: skip
        folder = staging(target)  # refused where something is there
    with folder as staged, outside.start_engine() as engine:
        outside.stage("reading and counting")
        tell_unspent(request.paid, outside.tell)
        with reading():  # every record, once: damage shows here, and nothing is charged
            prepared = prepare(engine, request.records, request.lists, request.sources)
            records = Reading(engine, prepared)  # (user, cell[, id])
            talk = Conversation(  # the first question is counted exactly; no noise is drawn
                method.ask(), partial(count, records=records), outside.stage
            )
            settle_dropped(  # too many: refused, or asked about while it costs nothing
                talk.dropped, request, outside.tell, outside.confirm,
                lambda: reasons(engine, prepared, request.sources),
            )  # fmt: skip
        outside.stage("charging")
        with reserving():  # durable when it returns
            reservation = ledger.reserve(
                to.name, unit, charge, asked=asked, sources=to.sources, chosen=to.chosen,
                new_dataset=outside.new_dataset,
            )  # fmt: skip
        with starting(reservation, staged, key):
            tell_standing(reservation, outside.tell)
            ledger.start_drawing(reservation.id, staged=staged.path)  # durable; one run gets it
        with making(reservation, staged, key):
            released = talk.finish(Account.of(reservation), outside.draws)  # with noise
            outside.stage("writing")
            manifest = describe(said, request, to, reservation, released)
            metadata, digest = staged.write(manifest, released.tables)  # under a temporary name
            staged.ready()
        with marking(reservation, staged, key):
            ledger.mark_published(reservation.id, digest)  # paid for, whatever happens
        with placing(reservation, staged, target, digest, key):
            staged.commit()  # only now can anybody find it
    return Published(target, metadata)
