"""The chain: each entry's hash covers its text and the hash before it.

One chain runs through the whole ledger. The text of an entry holds its number, time, dataset,
event, author, and the dataset's **balance after it**: the exact running sum is thus covered by the
chain and cannot be edited alone. Whoever can write the file can also rebuild the whole chain;
against that only a head kept elsewhere helps (``Head``).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.charge import Json, canonical
from crowdtally.ledger.errors import DamagedLedgerError, LedgerError
from crowdtally.ledger.events import AboutReservation, Event, Reserved, parse, parse_quickly, record
from crowdtally.ledger.provenance import Author, Sources

_ID = re.compile(r"([1-9][0-9]{0,17})-[0-9a-f]{8}")
_KEYS = {"by", "number", "time", "dataset", "event", "balance"}
_HEAD = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Head:
    """The end of the chain: kept elsewhere, it proves later that nothing before it was lost."""

    number: int
    """The number of the last entry; 0 for a ledger without entries."""
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def of(cls, text: str) -> Head:
        match = _HEAD.fullmatch(text.strip())
        if match is None:
            raise UsageError(
                f"a ledger head looks like 17:0123…, a number and 64 hexadecimal digits: "
                f"received {text[:80]!r}. `crowdtally ledger show --head` prints one."
            )
        return cls(int(match[1]), match[2])


@dataclass(frozen=True)
class Row:
    """An entry as stored: the hashed text, and columns copied from it to search by."""

    number: int
    dataset: str
    kind: str
    about: int | None
    """The number of the reservation that this entry is about; of sources, their shelf."""
    body: str
    hash: str
    key: str | None = None


@dataclass(frozen=True)
class Entry:
    """One event in its place in the chain."""

    number: int
    """1 for the first."""
    time: str
    """When, by this machine's clock, in UTC; for people, no rule depends on it."""
    dataset: str
    event: Event
    balance: Balance
    hash: str
    """The hash of ``body`` chained to the entry before."""
    by: Author

    @property
    def id(self) -> str:
        """How a reservation is called: its number, and hash digits so that a typing slip misses."""
        return f"{self.number}-{self.hash[:8]}"


def genesis(ledger_id: str) -> str:
    """The hash before the first entry, different for each ledger."""
    return sha256(f"crowdtally-ledger:1:{ledger_id}".encode()).hexdigest()


def link(previous: str, body: str) -> str:
    """The hash of an entry.

    >>> link("0" * 64, "{}")[:8]
    '5649d09e'
    """
    return sha256(f"{previous}\n{body}".encode()).hexdigest()


def content(number: int, time: str, balance: Balance, event: Event, by: Author) -> dict[str, Json]:
    return {
        "by": by.fields(),
        "number": number,
        "time": time,
        "dataset": balance.dataset,
        "event": record(event),
        "balance": balance.fields(),
    }


def append(head: Head, time: str, balance: Balance, event: Event, by: Author) -> Row:
    number = head.number + 1
    body = canonical(content(number, time, balance, event, by))
    digest = link(head.hash, body)
    return Row(number, balance.dataset, event.kind, _about(event), body, digest, _key(event))


def number_of(reservation_id: str) -> int:
    match = _ID.fullmatch(reservation_id)
    if match is None:
        raise UsageError(
            f"a reservation id looks like 17-0123abcd: received {reservation_id[:80]!r}. "
            "`crowdtally ledger show` lists them."
        )
    return int(match[1])


def read(row: Row, previous: str | None) -> Entry:
    """The entry in a row, checked against the hash before it (``None``: that one is lost)."""
    if previous is not None and link(previous, row.body) != row.hash:
        raise damaged(row.number, "was changed: its hash does not follow from its content")
    return _quickly(row) or _carefully(row)


# Most of an entry's text stands in earlier entries too, so it is cut at its keys, and each piece is
# parsed once. Pieces that are each the canonical text of a value, put together between the keys of
# an object in their order, are the canonical text of that object. So a piece that was cut at the
# wrong place is refused as such, and how the cuts were found does not matter.
_PIECES = re.compile(  # atomic groups: a long text that does not fit is refused in linear time
    r'(?>\{"balance":(\{.*?\}),"by":)(?>(\{.*?\}),"dataset":)(?>(".*?"),"event":)'
    r'(\{.*\}),"number":(\d+),"time":("[^"]*")\}'
)


def _quickly(row: Row) -> Entry | None:
    """The entry, where nothing about it is unusual; ``None`` where ``_carefully`` has to decide."""
    pieces = _PIECES.fullmatch(row.body)
    if pieces is None:
        return None
    state, by, dataset, event, number, time = pieces.groups()
    try:
        done, balance = parse_quickly(event), _balance(dataset, state)
        entry = Entry(row.number, _time(time), row.dataset, done, balance, row.hash, _author(by))
        same = number == str(row.number) and _columns(row) == columns(balance, done)
    except _UNREADABLE:
        return None
    return entry if same else None


def _value(text: str) -> Any:
    """The value that a canonical text stands for; a ``ValueError`` where it is not canonical.

    >>> _value('{"a":1}')
    {'a': 1}
    """
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError("not in canonical form")
    return value


_remembered = lru_cache(maxsize=1024)
_time = _remembered(_value)


@_remembered
def _author(text: str) -> Author:
    return Author.read(_value(text))


@_remembered
def _balance(dataset: str, text: str) -> Balance:
    return Balance.read(_value(dataset), _value(text))


_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, RecursionError, CrowdtallyError)


def _carefully(row: Row) -> Entry:
    """The entry, or what is wrong with it in words."""
    try:
        found = json.loads(row.body)
        event = parse(found["event"])
        balance = Balance.read(found["dataset"], found["balance"])
        number, time = found["number"], found["time"]
        by = Author.read(found["by"])
        whole = found.keys() == _KEYS and canonical(found) == row.body
        copied = columns(balance, event)
    except DamagedLedgerError as error:
        raise damaged(row.number, f"cannot be read: it holds {error}") from error
    except LedgerError as error:
        raise LedgerError(f"entry {row.number} of the ledger holds {error}") from error
    except _UNREADABLE as error:
        raise damaged(row.number, "cannot be read") from error
    if number != row.number:
        raise damaged(row.number, f"is in the wrong place: its content is that of entry {number}")
    if not whole or _columns(row) != copied:
        raise damaged(row.number, "was changed: its columns and its content disagree")
    return Entry(number, time, balance.dataset, event, balance, row.hash, by)


def _columns(row: Row) -> tuple[str, str, int | None, str | None]:
    return row.dataset, row.kind, row.about, row.key


def columns(balance: Balance, event: Event) -> tuple[str, str, int | None, str | None]:
    """What is copied from an entry to search by: dataset, kind, about and key."""
    return balance.dataset, event.kind, _about(event), _key(event)


def _about(event: Event) -> int | None:
    if isinstance(event, Sources):
        return event.shelf
    return number_of(event.reservation) if isinstance(event, AboutReservation) else None


def _key(event: Event) -> str | None:
    return event.asked.request_id if isinstance(event, Reserved) else None


def damaged(entry: int | None, what: str) -> DamagedLedgerError:
    """The error about an entry; without one, ``what`` is a whole sentence."""
    subject = "" if entry is None else f"entry {entry} "
    return DamagedLedgerError(
        f"the ledger is damaged: {subject}{what}. Nothing is charged to a damaged ledger. "
        "`crowdtally ledger verify` lists what is wrong; restore a good copy.",
        entry,
        what,
    )
