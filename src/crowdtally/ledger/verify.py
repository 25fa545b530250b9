"""Verification: the whole record read again, from its first entry to its head.

Each entry is hashed again, its event is replayed by the same function that charged it, and the
running sums, the search columns, the list of datasets and the head are compared with the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdtally.errors import CrowdtallyError
from crowdtally.ledger.balance import Balance, after
from crowdtally.ledger.chain import Entry, Head, Row, damaged, genesis, number_of, read
from crowdtally.ledger.errors import DamagedLedgerError, LedgerError
from crowdtally.ledger.events import AboutReservation, Reserved
from crowdtally.ledger.history import Trace
from crowdtally.ledger.provenance import normal

if TYPE_CHECKING:
    from crowdtally.ledger.database.store import Page, Store

_PORTION = 1000
_RECENT = 2000
_MOST = 20  # problems listed; the first ones tell where to look


@dataclass(frozen=True)
class Problem:
    entry: int | None
    """The number of the entry concerned; ``None`` where it is the ledger as a whole."""
    what: str


@dataclass(frozen=True)
class Verification:
    head: Head
    problems: tuple[Problem, ...]
    """What does not hold, in the order of the entries; at most the first 20."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def describe(self) -> str:
        if self.ok:
            return f"The ledger is whole: {self.head.number} entries, head {self.head}."
        lines = "\n".join(f"- {problem.what}" for problem in self.problems)
        return (
            f"The ledger is damaged:\n{lines}\nRestore a good copy before releasing anything more."
        )


class Audit:
    def __init__(self, ledger_id: str, anchor: Head | None = None) -> None:
        self.last = 0
        """The number of the last row visited."""
        self.unknown: LedgerError | None = None
        """Set where the first problem is an entry of another version: it is no damage."""
        self._start = 0  # what is up to here was not looked at
        self._anchor = anchor
        self._previous: str | None = genesis(ledger_id)
        self._balances: dict[str, Balance] = {}
        self._last_of: dict[str, int] = {}
        self._traces: dict[str, Trace] = {}
        self._requests: set[str] = set()
        self._gap = False  # from here on, what came before is not fully known
        self._problems: list[Problem] = []
        self._check_anchor(0, self._previous)

    def note(self, what: str, entry: int | None = None) -> None:
        if len(self._problems) < _MOST:
            subject = f"entry {entry} " if entry is not None else ""
            self._problems.append(Problem(entry, f"{subject}{what}"))

    def begin_after(self, number: int, digest: str | None) -> None:
        """Take entries up to this one for granted; its hash is ``None`` where it is lost."""
        self.last = self._start = number
        self._previous, self._gap = digest, True

    def visit(self, row: Row) -> None:
        first, last = self.last + 1, row.number - 1
        if first <= last:
            self.note("is missing" if first == last else f"to entry {last} are missing", first)
            self._previous, self._gap = None, True
            self._balances.clear()
        try:
            self._replay(read(row, self._previous))
        except LedgerError as error:
            if isinstance(error, DamagedLedgerError):
                self.note(error.what, row.number)
            else:
                self.unknown = self.unknown if self._problems else error
                self.note(f"is unknown: {error}", row.number)
            self._gap = True
            self._balances.pop(row.dataset, None)
        self._check_anchor(row.number, row.hash)
        self._last_of[row.dataset] = row.number
        self._previous, self.last = row.hash, row.number

    def unreadable(self, head: Head) -> Verification:
        if self.last < head.number:
            self.note("or one soon after it cannot be read", self.last + 1)
        else:
            self.note("the file is damaged")
        return Verification(head, tuple(self._problems))

    def finish(self, head: Head, datasets: Mapping[str, int]) -> Verification:
        """Compare the end of the walk with the head and with the list of datasets."""
        last = self.last
        if last < head.number:
            self.note(f"and all up to {head.number} are missing: cut at the end", last + 1)
        elif last > head.number:
            self.note("was added past the recorded end", head.number + 1)
        elif self._previous != head.hash:
            self.note("is not the one that the ledger records as its last", last)
        for name in sorted(self._last_of.keys() | datasets.keys(), key=str):
            found, said = self._last_of.get(name), datasets.get(name)
            if found is None and isinstance(said, int) and 0 < said <= self._start:
                continue  # its entries are all before those that were looked at
            if found is None:
                self.note(f"the list of datasets has {name!r}, which no entry is about")
            elif found != said:
                self.note(f"and the list of datasets disagree on {name!r}", found)
        if self._anchor is not None and self._anchor.number > last:
            self.note(
                f"of the given head does not exist: this is an older copy, of {last} entries",
                self._anchor.number,
            )
        return Verification(head, tuple(self._problems))

    def _check_anchor(self, number: int, found: str | None) -> None:
        anchor = self._anchor
        if anchor is not None and anchor.number == number and anchor.hash != found:
            self.note("is not the one of the given head: this is another history", number)

    def _replay(self, entry: Entry) -> None:
        known = self._balances.get(entry.dataset)
        self._balances[entry.dataset] = entry.balance
        if known is not None or not self._gap:  # past a gap, go on from what the entry says
            self._require_follows(known, entry)
        self._follow_reservation(entry)
        if not entry.dataset or normal(entry.dataset) != entry.dataset:
            self.note("is filed under a name that no dataset can have", entry.number)

    def _require_follows(self, known: Balance | None, entry: Entry) -> None:
        try:
            follows = after(known, entry.dataset, entry.event) == entry.balance
        except CrowdtallyError as error:
            self.note(f"could not have happened: {error}", entry.number)
        else:
            if not follows:
                self.note(
                    "has a running sum that does not follow from the entries before it",
                    entry.number,
                )

    def _follow_reservation(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, Reserved):
            self._traces[entry.id] = Trace.of(event, entry.balance.accountant)
            self._require_new_request(entry, event)
        elif isinstance(event, AboutReservation):
            trace = self._traces.get(event.reservation)
            if trace is None and self._gap:
                return
            follows = None if trace is None else trace.then(event)
            if follows is None:
                number = number_of(event.reservation)
                self.note(f"does not fit what happened to reservation {number}", entry.number)
            else:
                self._traces[event.reservation] = follows

    def _require_new_request(self, entry: Entry, event: Reserved) -> None:
        request_id = event.asked.request_id
        if request_id is None:
            return
        if request_id in self._requests:
            self.note("has a request id that an earlier entry has", entry.number)
        self._requests.add(request_id)


def verify(store: Store, anchor: Head | None = None) -> Verification:
    """Walk along the whole ledger; a database that cannot be read to its end is a problem too."""
    header = store.read(lambda page: page.header())
    audit = Audit(header.id, anchor)
    try:
        while True:
            # Entries never change, so they can be read in portions; nobody waits for long.
            rows, end = store.read(lambda page: _portion(page, audit.last))
            for row in rows:
                audit.visit(row)
            if end is not None:
                break
        problem = store.read(lambda page: page.file_problem())
    except DamagedLedgerError:
        return audit.unreadable(header.head)
    if problem is not None:
        audit.note(f"the file is damaged: {problem}")
    return audit.finish(*end)


def require_recent(page: Page) -> None:
    """Refuse what ``verify`` would find in the last entries, at a cost that does not grow."""
    header = page.header()
    start = max(0, header.head.number - _RECENT)
    audit = Audit(header.id)
    # The one before them for its hash, and one more than there should be: none may be past the end.
    rows = page.rows_after(max(0, start - 1), _RECENT + 2)
    if start and rows and rows[0].number == start:
        audit.begin_after(start, rows.pop(0).hash)
    elif start:
        audit.begin_after(start - 1, None)
    for row in rows:
        audit.visit(row)
    found = audit.finish(header.head, page.datasets())
    if audit.unknown is not None:
        raise audit.unknown
    if not found.ok:
        raise _refusal(found.problems[0])
    problem = page.recent_file_problem(start)
    if problem is not None:
        raise _refusal(Problem(None, f"the file is damaged: {problem}"))


def _refusal(problem: Problem) -> DamagedLedgerError:
    return DamagedLedgerError(str(damaged(None, problem.what)), problem.entry, problem.what)


def _portion(page: Page, start: int) -> tuple[list[Row], tuple[Head, dict[str, int]] | None]:
    """The next rows and, with the last of them, the head and the datasets of the same moment."""
    head, rows = page.header().head, page.rows_after(start, _PORTION)
    return rows, (head, page.datasets()) if len(rows) < _PORTION else None
