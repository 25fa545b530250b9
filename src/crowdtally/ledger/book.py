"""A checked view of one transaction, and requests that are made again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import chain
from crowdtally.ledger.amounts import for_people
from crowdtally.ledger.balance import Balance, after
from crowdtally.ledger.chain import Entry, Head, Row, damaged
from crowdtally.ledger.charge import Charge
from crowdtally.ledger.errors import DrawnBeforeError
from crowdtally.ledger.events import AboutReservation, Event, Reserved
from crowdtally.ledger.history import Charged, Record, follow, made
from crowdtally.ledger.provenance import Sources, normal, shelf, this_author

if TYPE_CHECKING:
    from crowdtally.ledger.database.store import Page

# The ledger open at its last page: read with checks, written at the end only.
#
# Before anything is charged, the last entry of the ledger and the last entry of the dataset are
# hashed again and compared with their neighbours. The running sum is part of the latter, so a sum
# that was edited, or a dataset that was pointed at an earlier sum, is noticed by the next charge,
# at a cost that does not grow with the ledger.


class Book:
    def __init__(self, page: Page) -> None:
        self._page = page
        header = page.header()
        self._role = header.role
        self.typed = page.typed
        """How a command names this ledger."""
        self.id = header.id
        """The ledger's own random name."""
        self.head = header.head
        self._checked: dict[int, Entry] = {}
        self._balances: dict[str, Balance] = {}
        self._require_head()

    def balance(self, dataset: str) -> Balance | None:
        """Where the dataset of this name stands; ``None`` if there is none."""
        if dataset in self._balances:
            return self._balances[dataset]
        said, found = self._page.last_of(dataset)
        if said != found:
            number = found if isinstance(found, int) else said if isinstance(said, int) else 0
            raise damaged(number, f"and the list of datasets disagree on {dataset!r}")
        if found is None:
            return None
        entry = self.entry(found)
        if entry.dataset != dataset:
            raise damaged(found, "was changed: it is about another dataset")
        self._balances[dataset] = entry.balance
        return entry.balance

    def append(self, dataset: str, event: Event) -> Entry:
        """Add an event; refused, with nothing written, where it may not happen."""
        before = self.balance(dataset)
        balance = after(before, dataset, event)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        by = this_author(self._role)
        row = chain.append(self.head, time, balance, event, by)
        self._page.append(row, first=before is None)
        self.head = Head(row.number, row.hash)
        entry = Entry(row.number, time, dataset, event, balance, row.hash, by)
        self._checked[row.number] = entry
        self._balances[dataset] = balance
        return entry

    def reservation(self, reservation_id: str) -> Charged:
        number = chain.number_of(reservation_id)
        entry = self.entry(number) if number <= self.head.number else None
        if entry is None or entry.id != reservation_id or not isinstance(entry.event, Reserved):
            raise UsageError(
                f"there is no reservation {reservation_id!r} in this ledger. "
                "`crowdtally ledger show` lists them."
            )
        charged = made(entry, entry.event)
        for row in self._page.about(number):
            found = self.entry(row.number)
            event = found.event
            if not isinstance(event, AboutReservation) or event.reservation != entry.id:
                raise damaged(row.number, "was changed: it is about another reservation")
            charged = follow(charged, found, event)
        return charged

    def request(self, request_id: str) -> Charged | None:
        """The reservation that was made under this request id; ``None`` if there is none."""
        row = self._page.of_request(request_id)
        return None if row is None else self.reservation(self.entry(row.number).id)

    def met(self, hashes: Collection[str]) -> dict[str, set[str]]:
        """By dataset, those of these hashes of sources that it was charged for before.

        What is read here can refuse a charge and never allow one, so that comparing it with the
        chain is left to ``verify``.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for row in self._page.about(*sorted({shelf(digest) for digest in hashes})):
            event = chain.read(row, None).event
            if isinstance(event, Sources):
                found[row.dataset].update(set(event.hashes).intersection(hashes))
        return {dataset: known for dataset, known in found.items() if known}

    def named_like(self, sources: Iterable[str]) -> set[str]:
        """The datasets that have a source's own name."""
        names = {normal(source) for source in sources}
        # What is not printable names no dataset, and may not even be text to a database.
        return self._page.named(sorted(name for name in names if name.isprintable()))

    def entry(self, number: int) -> Entry:
        """An entry, checked against the one before it and the one after."""
        if number in self._checked:
            return self._checked[number]
        return self._checked_entry(number, self._page.rows((number - 1, number, number + 1)))

    def _checked_entry(self, number: int, rows: dict[int, Row]) -> Entry:
        if number not in rows:
            raise damaged(number, "is missing")
        self._require_next(rows, number)
        self._checked[number] = chain.read(rows[number], self._hash_before(rows, number))
        return self._checked[number]

    def record(self) -> Record:
        """All there is; to be read at leisure, when nobody waits for this transaction."""
        return Record(self.id, self.head, tuple(self._page.rows_after(0)))

    def datasets(self) -> list[str]:
        return sorted(self._page.datasets())

    def _hash_before(self, rows: dict[int, Row], number: int) -> str:
        if number == 1:
            return chain.genesis(self.id)
        if number - 1 not in rows:
            raise damaged(number - 1, "is missing")
        return rows[number - 1].hash

    def _require_next(self, rows: dict[int, Row], number: int) -> None:
        if number >= self.head.number:
            return
        if number + 1 not in rows:
            raise damaged(number + 1, "is missing")
        if chain.link(rows[number].hash, rows[number + 1].body) != rows[number + 1].hash:
            raise damaged(number + 1, "does not follow from the entry before it")

    def _require_head(self) -> None:
        head = self.head
        rows = {row.number: row for row in self._page.rows_after(max(0, head.number - 2), 4)}
        if any(number > head.number for number in rows):
            raise damaged(head.number + 1, "was added past the recorded end")
        if head.number and head.number not in rows:
            raise damaged(head.number, "is missing: the ledger was cut at its end")
        found = (
            self._checked_entry(head.number, rows).hash if head.number else chain.genesis(self.id)
        )
        if found != head.hash:
            raise damaged(head.number, "is not the one that the ledger records as its last")


# The same request again: known by its request id, compared with what was charged for it.
#
# ::
#
#     the earlier charge is   the same request, made again
#     reserved                takes that charge up: nothing was drawn
#     drawing                 is refused: there may have been a draw, and one charge pays for one
#     published               shows that release
#     voided                  is refused: the id stands for a charge that was given back

_LONGEST_SHOWN = 80


def made_before(
    look_up: Callable[[str], Charged | None], dataset: str, event: Reserved
) -> Charged | None:
    """The charge of the same request, to be taken up or shown; ``None`` for a new request.

    Refused where neither can be done, and where the id belongs to another request. ``look_up``
    finds a charge by its request id.
    """
    key = event.asked.request_id
    found = None if key is None else look_up(key)
    if found is not None:
        require_same(found, dataset, event)
        if found.state != "published":
            require_undrawn(found)
    return found


def require_same(earlier: Charged, dataset: str, event: Reserved) -> None:
    differing = list(_differences(earlier, dataset, event))
    if differing:
        raise UsageError(
            f"the request id {_key(earlier)!r} was used for another request before (entry "
            f"{earlier.id} by {earlier.by}, {earlier.time}): {'; '.join(differing)}. One "
            "request id means one request: give this one an id of its own. Nothing was charged."
        )


def require_undrawn(earlier: Charged) -> None:
    """Refuse a charge for which noise was drawn, or that was given back."""
    if earlier.state != "reserved":
        raise _refusal(earlier)


def _refusal(earlier: Charged) -> CrowdtallyError:
    key = _key(earlier)
    if earlier.state == "voided":
        return UsageError(
            f"the charge of the request id {key!r} (entry {earlier.id}) was given back: "
            f"{earlier.reason!r}. A request id is not used twice: give this request a new one. "
            "Nothing was charged."
        )
    if earlier.state == "published":
        return DrawnBeforeError(
            f"another run of the request {key!r} has published its release meanwhile (entry "
            f"{earlier.id}): this one stops. Nothing was charged a second time. Run again with the "
            "same request id: it shows that release."
        )
    return DrawnBeforeError(
        f"noise was drawn, or is being drawn, for the request {key!r} already: entry {earlier.id}, "
        f"drawing since {earlier.drawing_at} by {earlier.drawn_by}. {_folder(earlier)}One charge "
        "pays for one draw: another one needs a new request id, and is charged anew. Nothing was "
        "charged now."
    )


def _folder(earlier: Charged) -> str:
    """What the unfinished folder tells about the run, and how its charge is given back."""
    staged = earlier.staged
    if staged is None:
        return ""
    void = f"crowdtally ledger void {earlier.id} --reason TEXT"
    wait = "if so, wait for its end and run again with the same request id to see its release"
    if not staged.is_this_host:
        return (
            f"Its unfinished folder is {staged.path} on the computer {staged.host!r}: while it is "
            f"there, that run may be alive; {wait}. Else `{void}`, run there, gives the charge "
            "back. "
        )
    if staged.is_here:
        return (
            f"Its unfinished folder {staged.path} is there, so that run may be alive; {wait}. If "
            f"it was killed, and nothing left the machine, `{void} --delete-staged` gives the "
            "charge back. "
        )
    return (
        f"Its unfinished folder {staged.path} is gone: that run has ended without a release. If "
        f"you are certain that nothing left the machine, `{void}` gives the charge back. "
    )


def _differences(earlier: Charged, dataset: str, event: Reserved) -> Iterator[str]:
    before, now = earlier.asked, event.asked
    old, new = earlier.charge, event.charge
    pairs: list[tuple[str, object, object]] = [
        ("--dataset", earlier.dataset, dataset),
        ("--epsilon", old.loss.epsilon, new.loss.epsilon),
        ("--delta", old.loss.delta, new.loss.delta),
        ("--rho", old.loss.rho, new.loss.rho),
        ("the source", before.source, now.source),
        ("the output", before.output, now.output),
    ]
    found = [words for pair in pairs for words in _compared(*pair)]
    found += _compared("", before.parameters, now.parameters)
    if earlier.unit != event.unit and not found:
        found.append("it protects another privacy unit")
    if _comparable(old) != _comparable(new) and not found:
        found.append("its mechanisms are others, as those of another version of Crowdtally are")
    yield from found


def _compared(name: str, old: object, new: object) -> Iterator[str]:
    """Sentences about what differs between two values, for each parameter by itself."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping) and "sha256" not in old:
        for key in sorted({*old, *new}):
            inner = f"{name} {key}" if name else key.replace("_", "-")
            yield from _compared(inner, old.get(key), new.get(key))
    else:
        yield f"{name} was {_said(old)} and is {_said(new)}"


def _said(value: object) -> str:
    if value is None or value is False:
        return "not given"
    if value is True:
        return "given"
    if isinstance(value, Fraction):
        return for_people(value)
    if isinstance(value, Mapping):
        if "sha256" in value:
            digest = str(value["sha256"])  # of any kind: others may have recorded it
            return f"a list of {value.get('size')} (SHA-256 {digest[:12]}…)"
        value = [f"{key}: {_said(inner)}" for key, inner in value.items()]
    if isinstance(value, list | tuple):
        value = ", ".join(map(_said, value))
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _comparable(charge: Charge) -> Charge:
    """The charge without its release's id and versions, which differ between two runs."""
    return replace(charge, release_id="any", versions={})


def _key(charged: Charged) -> str:
    return charged.asked.request_id or ""
