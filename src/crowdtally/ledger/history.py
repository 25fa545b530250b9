"""What a ledger's entries say, read fast."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from crowdtally.core.privacy import Delta, PrivacyUnit
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger.accountants import accountant
from crowdtally.ledger.amounts import Loss, from_text
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.chain import Entry, Head, Row, columns, content, damaged, genesis, link, read
from crowdtally.ledger.charge import (
    Asked,
    Charge,
    Json,
    Part,
    canonical,
    exact_json,
    read_amount,
    read_unit,
    unit_fields,
)
from crowdtally.ledger.events import (
    AboutReservation,
    Drawing,
    Event,
    MarkedPublished,
    Reserved,
    Voided,
    parse,
    part,
    some_epsilon,
    some_rho,
)
from crowdtally.ledger.provenance import Author, StagedFolder

# Read many entries fast: parse what repeats in them once.
#
# An entry's canonical text is cut at its keys, and each piece is looked up among those that were
# read before. Pieces that are each the canonical text of a value, put together between the keys
# of an object in their order, are the canonical text of that object. So it does not matter how
# the cuts were found: if every piece is canonical, they are the right ones.
#
# Each piece is read by the function that ``parsing`` reads it by, and compared with what would be
# recorded of it. This reader only ever accepts. Where anything is unusual, ``chain.read`` reads
# the whole entry, decides, and finds the words.

_MOST = 4096
_LONGEST = 2000  # characters; longer texts are read each time, so that the memory stays bounded
T = TypeVar("T")


def value_of(text: str) -> Any:
    """The value that a canonical text stands for; a ``ValueError`` where it is not canonical.

    >>> value_of('{"a":1}')
    {'a': 1}
    """
    inside = text[1:-1]
    # Most texts by far: printable ASCII without an escape stands for itself.
    if (
        text == f'"{inside}"'
        and inside.isascii()
        and inside.isprintable()
        and '"' not in inside
        and "\\" not in inside
    ):
        return inside
    value = json.loads(text)
    if canonical(value) != text:
        raise ValueError("not in canonical form")
    return value


class Keys:
    """The keys of an object in canonical form, at which its text is cut."""

    def __init__(self, *keys: str) -> None:
        self._first = f'{{"{keys[0]}":'
        self._others = [f',"{key}":' for key in reversed(keys[1:])]

    def cut(self, text: str) -> list[str]:
        """The texts of the members, in order; a ``ValueError`` where a key is not found.

        A key is looked for from the end. One that occurs again, deeper in the member of its own
        name or after it, leads to a wrong cut, and that to a piece that is no JSON.

        >>> Keys("a", "b").cut('{"a":{"b":1},"b":[2]}')
        ['{"b":1}', '[2]']
        """
        end, found = len(text) - 1, []
        for key in self._others:
            start = text.rindex(key, 0, end)
            found.append(text[start + len(key) : end])
            end = start
        if not text.startswith(self._first) or not text.endswith("}"):
            raise ValueError("other keys")
        found.append(text[len(self._first) : end])
        found.reverse()
        return found


class Known(Generic[T]):
    """What was made of values, by their canonical texts: the same text is read once."""

    def __init__(self, made: Callable[[Any], T]) -> None:
        self._made = made
        self._found: dict[str, T] = {}

    def of(self, text: str) -> T:
        """What is made of the value; a ``ValueError`` where the text is not canonical."""
        try:
            return self._found[text]
        except KeyError:
            pass
        found = self._made(value_of(text))
        if len(text) <= _LONGEST:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[text] = found
        return found


_START = '{"asked":'
_CHARGE = Keys(
    "asked", "delta", "epsilon", "kind", "parts", "release", "rho", "unit", "version", "versions"
)
_ASKED = Keys("output", "parameters", "purpose", "request_id", "source")
_KIND = f'"{Reserved.kind}"', str(Reserved.version)


class ChargeReader:
    """Reads events ``reserved``."""

    def __init__(self) -> None:
        self._delta = Known(lambda text: Delta(from_text(text)))
        self._epsilon = Known(some_epsilon)
        self._rho = Known(some_rho)
        self._parts = Known(_parts)
        self._units = Known(_unit)
        self._exact = Known(_exact)

    def read(self, text: str) -> Reserved | None:
        """The charge in a canonical text; ``None`` where it has to be read as a whole."""
        if not text.startswith(_START):
            return None
        asked, delta, epsilon, kind, parts, release, rho, unit, version, versions = _CHARGE.cut(
            text
        )
        if (kind, version) != _KIND:
            return None
        charge = Charge(
            value_of(release),
            self._epsilon.of(epsilon),
            self._parts.of(parts),
            self._delta.of(delta),
            self._exact.of(versions),
            rho=self._rho.of(rho),
        )
        return Reserved(self._units.of(unit), charge, self._asked(asked))

    def _asked(self, text: str) -> Asked:
        output, parameters, purpose, request_id, source = _ASKED.cut(text)
        return Asked(
            value_of(source), value_of(output), self._exact.of(parameters), value_of(purpose),
            value_of(request_id),
        )  # fmt: skip


def _parts(recorded: Any) -> tuple[Part, ...]:
    found = tuple(part(fields) for fields in recorded)
    if [one.fields() for one in found] != recorded:
        raise ValueError("parts with other fields")
    return found


def _unit(recorded: Any) -> PrivacyUnit:
    unit = read_unit(recorded)
    if unit is None or unit_fields(unit) != recorded:
        raise ValueError("a unit with other fields")
    return unit


def _exact(recorded: Any) -> dict[str, Any]:
    if not isinstance(recorded, dict) or exact_json(recorded, "parameters") != recorded:
        raise ValueError("not recorded exactly")
    return recorded


_BALANCE, _BY, _DATASET, _EVENT, _NUMBER, _TIME = (
    '{"balance":', ',"by":', ',"dataset":', ',"event":', ',"number":', ',"time":',
)  # fmt: skip


_SPENT = '"spent":'
_LOSS = Keys("delta", "epsilon")


class Reader:
    """Reads entries one after the other, and remembers what most of them have in common."""

    def __init__(self) -> None:
        self._authors = Known(Author.read)
        self._times = Known(lambda value: value)
        self._charges = ChargeReader()
        self._balances: dict[str, _Recorded] = {}

    def read(self, row: Row, previous: str | None) -> Entry:
        """The entry in a row, checked just as ``chain.read`` checks it."""
        if previous is None or link(previous, row.body) == row.hash:
            try:
                return self._read(row)
            except (
                KeyError, TypeError, ValueError, AttributeError, RecursionError, CrowdtallyError
            ):  # fmt: skip
                pass
        return read(row, previous)

    def _read(self, row: Row) -> Entry:
        body = row.body
        # Of the keys on the left none stands deeper in what is before it, and none of the two on
        # the right in what is after it; an event may hold any of them.
        by = body.index(_BY)
        dataset = body.index(_DATASET, by)
        event = body.index(_EVENT, dataset)
        time = body.rindex(_TIME)
        number = body.rindex(_NUMBER, event, time)
        if not (body.startswith(_BALANCE) and body.endswith("}")):
            raise ValueError("other keys")
        if body[number + len(_NUMBER) : time] != str(row.number):
            raise ValueError("another number")
        balance = self._balance(
            row.dataset, body[dataset + len(_DATASET) : event], body[len(_BALANCE) : by]
        )
        made = self._event(body[event + len(_EVENT) : number])
        if (row.dataset, row.kind, row.about, row.key) != columns(balance, made):
            raise ValueError("other columns")
        author = self._authors.of(body[by + len(_BY) : dataset])
        when = self._times.of(body[time + len(_TIME) : -1])
        return Entry(row.number, when, row.dataset, made, balance, row.hash, author)

    def _balance(self, dataset: str, name: str, text: str) -> Balance:
        """The balance; mostly that of the dataset's entry before, or the same but for the sum."""
        known = self._balances.get(dataset)
        if known is not None and known.name == name:
            if known.text == text:
                return known.balance
            balance = known.with_another_sum(text)
        else:
            balance = None
        if balance is None:
            balance = Balance.read(value_of(name), value_of(text))
        self._balances[dataset] = _Recorded(name, text, balance)
        return balance

    def _event(self, text: str) -> Event:
        charge = self._charges.read(text)
        return parse(value_of(text)) if charge is None else charge


@dataclass(frozen=True)
class _Recorded:
    """A balance, and the texts that it was read from."""

    name: str
    text: str
    balance: Balance

    def with_another_sum(self, text: str) -> Balance | None:
        """The balance in a text that differs in its sum of ε and δ alone; else ``None``."""
        start = text.index(_SPENT) + len(_SPENT)
        end = text.index("}", start)
        # The rest of the text, before and after, was read with the other sum.
        if not (self.text.startswith(text[:start]) and self.text.endswith(text[end:])):
            return None
        if self.text.index("}", start) != len(self.text) - len(text) + end:
            return None
        delta, epsilon = _LOSS.cut(text[start : end + 1])
        spent = Loss(read_amount(value_of(epsilon)), read_amount(value_of(delta)))
        return replace(self.balance, spent=spent)


State = Literal["reserved", "drawing", "published", "voided"]


@dataclass(frozen=True)
class Reservation:
    """A charge that was made; from here on it counts as spent."""

    id: str
    """How ``start_drawing``, ``mark_published`` and ``void`` call it."""
    dataset: str
    charge: Charge
    before: Balance
    after: Balance
    also: tuple[str, ...] = ()
    """Other datasets that were charged for some of the same sources."""
    taken_up: bool = False
    """Whether an earlier run of the same request had made it."""
    typed: str | None = None
    """How a command names the ledger."""

    @property
    def void(self) -> str:
        """The command that gives it back."""
        where = "" if self.typed is None else f" --ledger {shlex.quote(self.typed)}"
        return f"crowdtally ledger void {self.id} --reason TEXT{where}"


@dataclass(frozen=True)
class Withdrawal:
    """A published release was called back."""

    time: str
    """When, in UTC."""
    reason: str
    """Why, in a person's words."""
    by: Author


@dataclass(frozen=True)
class Charged:
    """A reservation as the record has it, and what became of it."""

    id: str
    """How ``void`` calls it."""
    time: str
    """When it was made, in UTC."""
    dataset: str
    charge: Charge
    state: State
    """``reserved`` (charged, nothing drawn), ``drawing``, ``published`` or ``voided``."""
    unit: PrivacyUnit
    by: Author
    asked: Asked
    reason: str | None = None
    """Why it was voided."""
    sha256: str | None = None
    """SHA-256 of the published ``release.json``; ``None`` before that."""
    staged: StagedFolder | None = None
    """Where the unfinished release is written; ``None`` before that."""
    published_at: str | None = None
    """When it was marked as published, in UTC."""
    withdrawn: Withdrawal | None = None
    """Whether, when and why the release was called back."""
    drawing_at: str | None = None
    """When it was recorded that noise may be drawn, in UTC."""
    drawn_by: Author | None = None
    """Who drew: another one than who charged, where a repeated request took the charge up."""

    def hint(self) -> str | None:
        """What to do about a staged folder that is still on this computer; ``None`` without one."""
        if self.staged is None or self.state == "voided" or not self.staged.is_here:
            return None
        folder = self.staged.path
        if self.state == "published":
            return (
                f"paid for, but not in place: it lies in {folder}. Unless a run is just about to "
                "rename it, rename that folder yourself: it is the whole release."
            )
        return (
            f"unfinished: {folder} exists. Unless a run is writing it, `crowdtally ledger void "
            f"{self.id} --reason TEXT --delete-staged` deletes it and gives the charge back."
        )


@dataclass(frozen=True)
class Record:
    """The whole ledger as it was at one moment."""

    id: str
    """The ledger's own random name."""
    head: Head
    rows: tuple[Row, ...]
    """Its entries as stored."""

    def entries(self, datasets: Container[str] | None = None) -> Iterator[Entry]:
        """All entries, or those of some datasets, each checked against the one before it."""
        previous, reader = genesis(self.id), Reader()
        for row in self.rows:
            if datasets is None or row.dataset in datasets:
                yield reader.read(row, previous)
            elif link(previous, row.body) != row.hash:
                raise damaged(row.number, "does not follow from the entry before it")
            previous = row.hash


class Charges:
    """Reservations put together as their entries come by, each with what became of it."""

    def __init__(self) -> None:
        self._facts: dict[str, dict[str, Any]] = {}

    def add(self, entry: Entry) -> None:
        """Take the next entry, in order; one that is about no charge changes nothing."""
        event = entry.event
        if isinstance(event, Reserved):
            self._facts[entry.id] = _made(entry, event)
        elif isinstance(event, AboutReservation):
            self._facts[event.reservation].update(_change(entry, event))

    def all(self) -> list[Charged]:
        return [Charged(**facts) for facts in self._facts.values()]


def charged(entries: Iterable[Entry]) -> list[Charged]:
    """The reservations among the entries, each with its end."""
    charges = Charges()
    for entry in entries:
        charges.add(entry)
    return charges.all()


def made(entry: Entry, event: Reserved) -> Charged:
    """A charge as it was when it was made."""
    return Charged(**_made(entry, event))


def follow(old: Charged, entry: Entry, event: AboutReservation) -> Charged:
    """The charge after something happened to it."""
    return replace(old, **_change(entry, event))


def _made(entry: Entry, event: Reserved) -> dict[str, Any]:
    return {
        "id": entry.id, "time": entry.time, "dataset": entry.dataset, "charge": event.charge,
        "state": "reserved", "unit": event.unit, "by": entry.by, "asked": event.asked,
    }  # fmt: skip


def _change(entry: Entry, event: AboutReservation) -> dict[str, Any]:
    if isinstance(event, Drawing):
        return {
            "state": "drawing", "staged": event.staged,
            "drawing_at": entry.time, "drawn_by": entry.by,
        }  # fmt: skip
    if isinstance(event, MarkedPublished):
        return {"state": "published", "sha256": event.sha256, "published_at": entry.time}
    if isinstance(event, Voided):
        return {"state": "voided", "reason": event.reason}
    return {"withdrawn": Withdrawal(entry.time, event.reason, entry.by)}


def export(record: Record) -> dict[str, Json]:
    """Everything another program needs to check the chain and to compute the costs anew."""
    previous = genesis(record.id)
    entries: list[Json] = []
    for entry in record.entries():
        body = content(entry.number, entry.time, entry.balance, entry.event, entry.by)
        entries.append({"content": body, "previous": previous, "hash": entry.hash})
        previous = entry.hash
    return {
        "format": "crowdtally-ledger",
        "version": 1,
        "ledger": record.id,
        "genesis": genesis(record.id),
        "hashing": (
            "hash = SHA-256(previous + newline + JSON of content with sorted keys, no spaces, "
            "ASCII only), in hexadecimal; the first previous is genesis"
        ),
        "head": {"number": record.head.number, "hash": record.head.hash},
        "entries": entries,
    }


# What became of each charge, followed along the chain; what cannot follow is named.


@dataclass(frozen=True)
class Trace:
    """Where one charge stands."""

    charge: Charge
    accountant: str
    """The kind of accountant of its dataset."""
    state: State = "reserved"
    """As in ``Charged``."""
    withdrawn: bool = False
    """Whether its release was called back."""

    @classmethod
    def of(cls, event: Reserved, kind: str) -> Trace:
        """A charge that was just made to a dataset with that kind of accountant."""
        return cls(event.charge, kind)

    @property
    def cost(self) -> Loss:
        """What it cost; few are ever voided, so that it is not computed for each."""
        try:
            return accountant(self.accountant).cost(self.charge)
        except UsageError:  # the entry could not have happened, and is named for that
            return self.charge.loss

    def then(self, event: AboutReservation) -> Trace | None:
        """Where it stands after the event; ``None`` where that cannot have happened."""
        if isinstance(event, Drawing):
            return self._moved("drawing", self.state == "reserved")
        if isinstance(event, MarkedPublished):
            return self._moved("published", self.state == "drawing")
        if isinstance(event, Voided):
            unpublished = self.state in {"reserved", "drawing"}
            return self._moved("voided", unpublished and event.given_back == self.cost)
        fits = self.state == "published" and not self.withdrawn
        return replace(self, withdrawn=True) if fits else None

    def _moved(self, state: State, fits: bool) -> Trace | None:
        return Trace(self.charge, self.accountant, state) if fits else None
