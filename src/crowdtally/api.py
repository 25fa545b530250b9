"""The public verbs: read, release, plan, inspect, withdraw."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally import format
from crowdtally.core import files
from crowdtally.core.display import plainly
from crowdtally.core.domain import Domain
from crowdtally.core.numbers import Number
from crowdtally.core.records import Records
from crowdtally.curator.converse import Progress
from crowdtally.curator.dataset import dataset_of
from crowdtally.curator.dropped_rows import Confirm, Tell
from crowdtally.curator.inspect import Inspection, check_columns
from crowdtally.curator.inspect import inspect as look_into
from crowdtally.curator.plan.accuracy import LARGEST, Target, check_either
from crowdtally.curator.plan.plan import Plan, make_plan
from crowdtally.curator.publish import Outside, publish
from crowdtally.curator.request.declare import declare
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import make_request, make_subject
from crowdtally.curator.request.wording import python_words
from crowdtally.curator.summaries.base import Publishing
from crowdtally.curator.transforms.base import Transform
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.format import Published, WithdrawalNote, check_target, temporary_target, write_note
from crowdtally.format.withdrawal import FILE, command
from crowdtally.ledger import Asked, Charged, Ledger, MissingLedgerError
from crowdtally.ledger.amounts import stated
from crowdtally.ledger.provenance import dataset_name
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import Release
from crowdtally.records.locate import Sources
from crowdtally.records.start import starter

_logger = logging.getLogger("crowdtally")


def read(
    source: object,
    *,
    user: str | Iterable[str] | None = None,
    item: str | Mapping[str, str] | None = None,
    contexts: Mapping[str, str | None] | Iterable[str] = (),
    where: str | None = None,
    timezone: str = "UTC",
    joins: Iterable[tuple[object, str | tuple[str, str]]] = (),
    same_person: object = None,
    quantity: str | None = None,
    max_quantity: int | None = None,
    record_id: str | None = None,
    attributes: str | Iterable[str] = (),
    user_per_row: bool = False,
    weight: str | None = None,
    types: Mapping[str, str] | None = None,
    bounded_to: int | None = None,
    cells_once: bool = False,
) -> Records:
    """Declare records: where they are and which column plays which role. Nothing is read yet.

    Args:
        source: a path, glob, ``file.duckdb#table``, ``file.sqlite#table`` or ``URL#schema.table``;
            or a pandas, Polars or Spark DataFrame, pyarrow Table, DuckDB relation, Ibis table or
            any object that offers Arrow batches (``__arrow_c_stream__``).
        user: the column that says whose record it is; all of a user's records are protected.
            Several columns are one compound id: ``["shop", "customer"]``.
        item: the column that is counted, of the records or of a joined table; or a name and its
            row-wise SQL expression, such as ``{"genre": "split_part(genres, '|', 1)"}``.
        contexts: columns to count items in, or a mapping from a name to a row-wise SQL expression,
            such as ``{"day": "dayname(to_timestamp(timestamp))"}``.
        where: a row-wise SQL condition, such as ``"rating >= 4"``; other rows are no records.
        timezone: the zone in which times are turned into days and hours: ``"Europe/Vienna"``.
        joins: pairs of a source and the key column that it shares with the records, or of a source
            and both columns: ``("films.csv", ("item_id", "film"))``.
        same_person: a table that says which ids are one person's: a source with the user's column
            and one that names the person, or a pair of the source and that column. What is
            protected is then the person.
        quantity: a column that says how often a record counts, up to ``max_quantity``.
        max_quantity: the public bound of ``quantity``.
        record_id: a stored column that tells a user's records apart (quicker than without).
        attributes: instead of ``item``: the columns, or names of ``contexts``, of one joint
            table.
        user_per_row: instead of ``user``: each row is one person. The release says so.
        weight: with ``user_per_row``: a column that says how many persons a row stands for.
        types: the types of columns, typed out: ``{"age": "int64"}``. Columns of CSV files, frames
            and views are text to an expression, unless their type is declared here; a value that
            does not fit is missing. ``int64``, ``float64``, ``text``, ``bool``, ``date``,
            ``timestamp`` and ``timestamptz``.
        bounded_to: instead of ``user``, for records that were bounded elsewhere and have no ids:
            you state that no person has more rows than this. It is not checked, all privacy rests
            on it, and the release says so.
        cells_once: with ``bounded_to``: you also state that no two rows of a person are in one
            cell (one item, in one combination of contexts). For Gaussian noise, which is then less.
    """
    with python_words():
        return declare(
            source, user=user, item=item, contexts=contexts, record_id=record_id, joins=joins,
            attributes=attributes, user_per_row=user_per_row, weight=weight, where=where,
            timezone=timezone, same_person=same_person, quantity=quantity,
            max_quantity=max_quantity, types=types, bounded_to=bounded_to,
            cells_once=cells_once,
        )  # fmt: skip


def release(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    method: Any = None,
    summary: Publishing | None = None,
    transform: Transform | None = None,
    noise: str = AUTO,
    count: str = "records",
    pairs: bool = False,
    split: Mapping[str, Number] | None = None,
    strict: bool = False,
    most_dropped: Number | None = None,
    output: str | os.PathLike[str] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    new_dataset: bool = False,
    purpose: str | None = None,
    request_id: str | None = None,
    engine: str | None = None,
    engine_settings: Mapping[str, str] | None = None,
) -> Release:
    """Make a differentially private release of item counts, and of item-in-context counts.

    Args:
        records: from :func:`read`.
        domain: the public items and context values; of the columns that ``ct.Discover`` names
            there are none.
        epsilon: the whole cost, exact: ``"0.1"``, ``"1/3"``, an int, a Fraction, or a float, which
            means its shortest decimal.
        delta: the probability of exceeding epsilon, for Gaussian noise and discovery; else 0.
        method: how users are bounded and what is selected, such as ``ct.SRA(max_records=10)``,
            ``ct.Top(10)`` or a rule of your own. Without one ``ct.Auto()`` measures and decides;
            with a summary, a transform or pairs it is ``ct.SRA()``.
        summary: which noisy counts are published, such as ``ct.Filter(size=3000)``; else all.
        transform: what is published instead of cells, such as ``ct.Dyadic("age")``.
        noise: ``laplace``; ``gaussian``, which needs ``delta``; ``interval`` with
            ``count="users"``, for tables of few cells, where nobody needs to be bounded; or
            ``auto`` (default): ``laplace``, and with a ``delta`` the smaller of the first two.
        count: ``records`` (default), or ``users`` for distinct users in each cell.
        pairs: count pairs of items of one user too ("who used i also used j").
        split: each part's share of ε, such as ``{"items": "0.5", "edges": "0.5"}``.
        strict: stop, before anything is charged, where a row would be dropped.
        most_dropped: stop, before anything is charged, where more than this share of all rows would
            be dropped: exact, such as ``"0.1"``. Readers see whether there is a release, and the
            guarantee does not cover what they learn from that.
        output: the folder to write; without one the release lives as long as the object, and
            :meth:`Release.save` keeps it.
        ledger: where to charge: a :class:`Ledger`, a path or URL; by default $CROWDTALLY_LEDGER,
            else the one that the computer's own setting names, else the user's own.
        dataset: the name to charge under; by default the source's resolved name.
        new_dataset: make the dataset, and the ledger, if there is none yet. Without it a name that
            the ledger does not know is refused: a slip would be a budget of its own.
        purpose: what the release is for, in your words; the ledger keeps it.
        request_id: a key for this one request: repeated with the same key it is charged once, and
            the release that it made is returned. Needs an ``output``.
        engine: what counts: ``"duckdb"``, on this machine (the default); ``"spark"``, the running
            session or else one on this machine; or Spark's master or Connect server
            (``"spark://…"``, ``"sc://…"``). A Spark DataFrame is counted where it lives.
        engine_settings: Spark's, such as ``{"spark.executor.memory": "4g"}``.
    """
    with python_words():
        request = make_request(
            records, domain, epsilon=epsilon, delta=delta, split=split, strict=strict,
            most_dropped=most_dropped, method=method, summary=summary, transform=transform,
            noise=noise, count=count, pairs=pairs,
        )  # fmt: skip
        outside, held = surroundings(
            request.sources, output=output, ledger=ledger, dataset=dataset, tell=_logger.warning,
            engine=engine, engine_settings=engine_settings, new_dataset=new_dataset,
            purpose=purpose, request_id=request_id,
        )  # fmt: skip
        made = publish(request, outside)
    return Release(Published(made.folder, made.metadata, held))


def surroundings(
    sources: Sources,
    *,
    output: str | os.PathLike[str] | None,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    tell: Tell,
    confirm: Confirm | None = None,
    stage: Progress = lambda _: None,
    engine: str | None = None,
    engine_settings: Mapping[str, str] | None = None,
    new_dataset: bool = False,
    purpose: str | None = None,
    request_id: str | None = None,
) -> tuple[Outside, object]:
    """What a release needs around it, and what keeps its temporary folder alive."""
    start_engine = starter(
        engine, {} if engine_settings is None else engine_settings, sources.every
    )
    if output is not None and not isinstance(output, str | os.PathLike):
        raise UsageError(f"output is the path of a folder: received a {type(output).__name__}.")
    Asked(purpose=purpose, request_id=request_id)  # refused before a ledger is made
    if request_id is not None and not output:
        raise UsageError(
            "--request-id needs a folder for the release, -o DIR, so that the same request can "
            "show it again."
        )
    target, held = (Path(output), None) if output else temporary_target()
    if request_id is None:  # else it may be the release of that request: looked up first
        check_target(target)
    books = ledger if isinstance(ledger, Ledger) else _books(ledger, sources, dataset, new_dataset)
    charged = dataset_of(sources, dataset, books.names())
    outside = Outside(
        charged, target, books, SystemDraws(), tell, start_engine, confirm, stage,
        new_dataset=new_dataset, purpose=purpose, request_id=request_id,
        temporary=held is not None,
    )  # fmt: skip
    return outside, held


def _books(
    ledger: str | os.PathLike[str] | None, sources: Sources, dataset: str | None, new: bool
) -> Ledger:
    """The ledger; where it is meant to be new, made once a charge to it could be."""
    try:
        return Ledger.open(ledger)
    except MissingLedgerError:
        if not new:
            raise
    # A slip in a name leaves no empty ledger behind; one in a path was refused with the engine.
    dataset_name(dataset_of(sources, dataset, ()).name)
    return Ledger.open(ledger, create=True)


def plan(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    method: Any = None,
    summary: Publishing | None = None,
    transform: Transform | None = None,
    noise: str = AUTO,
    count: str = "records",
    pairs: bool = False,
    split: Mapping[str, Number] | None = None,
    guess_users: int | None = None,
    guess_records: int | None = None,
    guess_total: int | None = None,
    query_cells: int | None = None,
    half_width: Number | None = None,
    accuracy_of: str | None = None,
) -> Plan:
    """Noise, size and cost of a release before anything is spent; reads no record.

    It looks at the sources' columns and types, and refuses a declaration that does not fit them.

    Takes what :func:`release` takes, and public guesses of the number of users, of records and of
    the total count; with ``query_cells``, the number of cells that a question will sum over, it
    advises on a summary.
    Instead of ``epsilon``, ``half_width=N`` finds the smallest ε whose 95% noise interval is at
    most ±N, for ``accuracy_of``: ``"item"``, one item's count (the default); ``"cell"``, one cell
    of the contexts' table; or ``"sum:R"``, a sum of R cells of it.
    """
    with python_words():
        check_either(epsilon, half_width, accuracy_of)
        target = None if half_width is None else Target.of(half_width, accuracy_of)
        request = make_request(
            records, domain, epsilon=LARGEST if epsilon is None else epsilon, delta=delta,
            split=split, method=method, summary=summary, transform=transform, noise=noise,
            count=count, pairs=pairs,
        )  # fmt: skip
        unseen = check_columns(request.sources, request.lists)
        return make_plan(
            request, guess_users=guess_users, guess_records=guess_records,
            guess_total=guess_total, query_cells=query_cells, target=target, unseen=unseen,
        )  # fmt: skip


def inspect(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    method: Any = None,
    summary: Publishing | None = None,
    transform: Transform | None = None,
    noise: str = AUTO,
    count: str = "records",
    pairs: bool = False,
    split: Mapping[str, Number] | None = None,
    engine: str | None = None,
    engine_settings: Mapping[str, str] | None = None,
) -> Inspection:
    """The records as a release would see them: exact, private, for the curator's eyes only.

    Says how many rows would be dropped because of each column, which listed values no row has, how
    records are spread over users, and what a bound would keep. Nothing is charged, because
    nothing is published: no number of it may be, and a parameter that is chosen by looking at it is
    not covered by the guarantee.

    Takes what :func:`release` takes. Without ``epsilon`` the cost and the form are not checked.
    """
    with python_words():
        options: dict[str, Any] = {
            "method": method, "summary": summary, "transform": transform, "noise": noise,
            "count": count, "pairs": pairs,
        }  # fmt: skip
        if epsilon is None:
            subject = make_subject(records, domain, **options)
        else:
            subject = make_request(
                records, domain, epsilon=epsilon, delta=delta, split=split, **options
            ).subject
        settings = {} if engine_settings is None else engine_settings
        return look_into(subject, starter(engine, settings, subject.sources.every))


# A published release is withdrawn: in the ledger first, then for its readers.
#
# The order matters. A note without an entry would be one that nobody vouches for; an entry
# without a note is completed by running this again.

_LONGEST = 2000


@dataclass(frozen=True)
class CalledBack:
    folder: Path
    note: WithdrawalNote
    """When and why, as the ledger has it."""
    charged: Charged
    again: bool
    """Whether the ledger had recorded it before; then nothing was added to it."""
    asked: str
    found: WithdrawalNote | None

    def __str__(self) -> str:
        return "\n".join([str(self.note), *self._recorded(), self._noted(), self._charge()])

    def _recorded(self) -> list[str]:
        if not self.again:
            return []
        first = "The ledger had recorded that before, and got no second entry."
        if self.asked == self.note.reason:
            return [first]
        return [f"{first} What was said first stands: the reason given now was not recorded."]

    def _noted(self) -> str:
        path = plainly(self.folder / FILE)
        if self.found == self.note:
            return f"Its note was there already: {path}"
        if self.found is not None:
            return f"Its note was damaged or said something else, and was written anew: {path}"
        first = "Its note was missing, and is written now" if self.again else "Its note for readers"
        return (
            f"{first}: {path}\nThe note travels with the folder. Whoever has a copy of "
            "the release needs the note too: send it, to be put beside release.json."
        )

    def _charge(self) -> str:
        paid = self.charged
        cost = ", ".join(stated(paid.charge.loss))
        return (
            f"The charge stays (entry {paid.id} of dataset {paid.dataset!r}: {cost}), because "
            "what was published cannot be taken back. "
            "A corrected release is a new charge."
        )


def withdraw(
    release: Release | str | os.PathLike[str],
    *,
    reason: str,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> CalledBack:
    """Mark a published release as withdrawn, in the ledger and for its readers; the charge stays.

    Run again, it completes what a crash left out. What was said first stands.

    Args:
        release: the release, or its folder.
        reason: why, in words for its readers.
        ledger: the ledger that it was charged to, its path or its PostgreSQL URL; None means
            $CROWDTALLY_LEDGER, or else yours.
    """
    with python_words():
        return call_back(release, reason, ledger)


def call_back(
    release: Release | str | os.PathLike[str],
    reason: str,
    ledger: Ledger | str | os.PathLike[str] | None,
) -> CalledBack:
    """:func:`withdraw`, with messages in the command line's words."""
    _check_reason(reason)
    if not isinstance(release, Release | str | os.PathLike):
        raise UsageError(
            f"a release, or the path of its folder, is withdrawn: received a "
            f"{type(release).__name__}."
        )
    found = format.load(release.folder if isinstance(release, Release) else release)
    books = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger, create=False)
    before = books.charge_of_release(found.id)
    _require_same(found, before)
    charged = books.withdraw(found.id, reason)
    assert charged.withdrawn is not None
    note, there = WithdrawalNote(charged.withdrawn.time, charged.withdrawn.reason), found.withdrawn
    _put(found, note, there, command(found.folder, books.location))
    again = before is not None and before.withdrawn is not None
    return CalledBack(found.folder, note, charged, again, reason, there)


def _check_reason(reason: object) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(
            "--reason must say why the release is withdrawn, in words for its readers: received "
            f"{reason!r}. Nothing was changed."
        )
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise UsageError("--reason must be text in UTF-8. Nothing was changed.") from None
    if len(reason) > _LONGEST:
        raise UsageError(
            f"--reason must have at most {_LONGEST} characters, and has {len(reason)}: readers "
            "see it each time. Nothing was changed."
        )


def _require_same(found: Published, paid: Charged | None) -> None:
    """Refuse a folder that has a release's id and is not that release."""
    if paid is not None and paid.sha256 not in (None, found.sha256):
        raise InputError(
            f"{str(found.folder)!r} is not the release that the ledger knows by its id: it was "
            "changed after publication (the ledger has another SHA-256 of release.json). Copy the "
            "release again. Nothing was changed."
        )


def _put(found: Published, note: WithdrawalNote, there: WithdrawalNote | None, again: str) -> None:
    """Put the note into the folder, or make certain that the one that is there stays."""
    assert note.time is not None
    assert note.reason is not None
    try:
        if there == note:
            files.flush(found.folder / FILE)
            files.flush(found.folder)
        else:
            write_note(found.folder, found.id, note.time, note.reason)
    except OSError as error:
        raise CrowdtallyError(
            f"the ledger says now that the release was {note}; but its note, "
            f"{str(found.folder / FILE)!r}, could not be written: "
            f"{error.strerror or 'unknown reason'}. Readers of this folder are not told yet. Check "
            f"permissions and free space, and run `{again}`: it completes the note, without a "
            "second entry. The charge stays."
        ) from error
