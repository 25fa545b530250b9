"""Reading many entries: what repeats in them is parsed once.

The text of an entry is cut at its keys, and its pieces are looked up among those that were read
before (``pieces`` says why that is the same). This only ever says yes: where anything is not as it
should be, the entry is read as a whole by ``chain.read``, which decides, and finds the words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdtally.budget.loss import Loss
from crowdtally.budget.record.authors import Author
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.chain import Entry, Row, columns, link, read
from crowdtally.budget.record.charge_reading import ChargeReader
from crowdtally.budget.record.events import Event
from crowdtally.budget.record.fields import read_amount
from crowdtally.budget.record.parsing import parse
from crowdtally.budget.record.pieces import Keys, Known, value_of
from crowdtally.errors import CrowdtallyError

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
