"""What the record says of a dataset, put together to be shown: limits, charges, sums by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from crowdtally.budget.datasets import Limits
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.authors import Author
from crowdtally.budget.record.balance import Balance
from crowdtally.budget.record.chain import Entry
from crowdtally.budget.record.events import Created, LimitSet
from crowdtally.budget.record.history import Charged, Charges
from crowdtally.budget.record.sources import Sources
from crowdtally.errors import UsageError, did_you_mean

Grouping = Literal["purpose", "person", "unit"]


@dataclass(frozen=True)
class LimitChange:
    """The limits of a dataset were set or changed."""

    time: str
    """When, in UTC."""
    by: Author
    """Who recorded it."""
    before: Limits | None
    """What they were; ``None`` where the dataset was made."""
    after: Limits
    """What they are since then."""
    reason: str | None
    """Why; ``None`` where the dataset was made."""


@dataclass(frozen=True)
class Shown:
    """One dataset as it stands, and how it came there."""

    balance: Balance
    """Where it stands."""
    limits: tuple[LimitChange, ...]
    """How its limits came to be, in order."""
    charges: tuple[Charged, ...]
    """Every charge and what became of it, in order."""
    also: tuple[str, ...]
    """Other datasets that were charged for some of the same sources."""


@dataclass(frozen=True)
class Group:
    """The charges of a dataset that have something in common."""

    name: str | None
    """What; ``None`` for those that do not say."""
    charges: int
    """How many, voided ones left out."""
    spent: Loss
    """Their exact sum."""


def shown(balances: Sequence[Balance], entries: Iterable[Entry]) -> list[Shown]:
    """Each dataset with its history.

    Args:
        balances: Where the datasets stand that are to be shown.
        entries: The whole record: which datasets share a source is seen in all of it. It is gone
            through once, and no entry is kept.
    """
    histories = {balance.dataset: _History() for balance in balances}
    owners: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        if isinstance(entry.event, Sources):
            for digest in entry.event.hashes:
                owners[digest].add(entry.dataset)
        elif entry.dataset in histories:
            histories[entry.dataset].add(entry)
    also = _sharing(owners.values())
    return [
        Shown(
            balance, tuple(histories[balance.dataset].limits),
            histories[balance.dataset].charges(), tuple(sorted(also.get(balance.dataset, ()))),
        )
        for balance in balances
    ]  # fmt: skip


def grouped(found: Shown, by: Grouping) -> list[Group]:
    """What was spent for each purpose, by each person or by unit; what was voided is not spent."""
    key = _KEYS[by]
    counts: dict[str | None, int] = defaultdict(int)
    sums: dict[str | None, Loss] = defaultdict(Loss)
    for charge in found.charges:
        if charge.state != "voided":
            counts[key(charge)] += 1
            sums[key(charge)] += found.balance.cost(charge.charge)
    named = sorted(sums, key=lambda name: (name is None, name or ""))
    return [Group(name, counts[name], sums[name]) for name in named]


def grouping(text: str) -> Grouping:
    """The grouping of that name."""
    for known in get_args(Grouping):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(
        f"--by sums by purpose, by person or by unit: received {text[:40]!r}. "
        f"{did_you_mean(text, get_args(Grouping))}"
    )


def same_people(others: Sequence[str]) -> str | None:
    """A sentence where the same sources were charged under other names; else ``None``."""
    if not others:
        return None
    named = " and ".join(map(repr, others[:3]))
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return (
        f"these records, or some of them, were charged to {named}{more} too: the same people have "
        "one budget, and what both names spent adds up for them. Charge them to one name."
    )


def _purpose(charge: Charged) -> str | None:
    return charge.asked.purpose


def _person(charge: Charged) -> str | None:
    return str(charge.by)


def _unit(charge: Charged) -> str | None:
    return charge.unit.key


_KEYS: dict[Grouping, Callable[[Charged], str | None]] = {
    "purpose": _purpose,
    "person": _person,
    "unit": _unit,
}


class _History:
    """The limits and charges of one dataset, put together as its entries come by."""

    def __init__(self) -> None:
        self.limits: list[LimitChange] = []
        self._charges = Charges()

    def add(self, entry: Entry) -> None:
        event = entry.event
        if not isinstance(event, Created | LimitSet):
            self._charges.add(entry)
            return
        now = self.limits[-1].after if self.limits else None
        after = Limits(event.limit, event.each)
        reason = event.reason if isinstance(event, LimitSet) else None
        self.limits.append(LimitChange(entry.time, entry.by, now, after, reason))

    def charges(self) -> tuple[Charged, ...]:
        return tuple(self._charges.all())


def _sharing(owners: Iterable[set[str]]) -> dict[str, set[str]]:
    """By dataset, the others that were charged for one of its sources."""
    found: dict[str, set[str]] = defaultdict(set)
    for names in owners:
        if len(names) > 1:
            for name in names:
                found[name] |= names - {name}
    return found
