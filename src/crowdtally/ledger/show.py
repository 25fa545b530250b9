"""What ``crowdtally ledger show`` says, in words and as JSON."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import wrap
from typing import Any, Literal, get_args

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.ledger.amounts import Loss, amount, stated
from crowdtally.ledger.balance import Balance
from crowdtally.ledger.chain import Entry
from crowdtally.ledger.charge import Json, amount_fields, loss_fields, unit_fields
from crowdtally.ledger.events import Created, LimitSet
from crowdtally.ledger.history import Charged, Charges
from crowdtally.ledger.provenance import Author, Sources
from crowdtally.ledger.transactions import Limits

Grouping = Literal["purpose", "person", "unit"]


@dataclass(frozen=True)
class LimitChange:
    time: str
    by: Author
    before: Limits | None
    """``None`` where the dataset was made."""
    after: Limits
    reason: str | None


@dataclass(frozen=True)
class Shown:
    balance: Balance
    limits: tuple[LimitChange, ...]
    charges: tuple[Charged, ...]
    also: tuple[str, ...]
    """Other datasets that were charged for some of the same sources."""


@dataclass(frozen=True)
class Group:
    name: str | None
    charges: int
    spent: Loss


def shown(balances: Sequence[Balance], entries: Iterable[Entry]) -> list[Shown]:
    """Each dataset with its history; ``entries`` are the whole record, of which none is kept."""
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


_KEYS: dict[Grouping, Callable[[Charged], str | None]] = {
    "purpose": lambda charge: charge.asked.purpose,
    "person": lambda charge: str(charge.by),
    "unit": lambda charge: charge.unit.key,
}


class _History:
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


_WIDTH = 80
_LABEL = 10
_UNPRINTABLE = re.compile(r"[^\S ]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def lines(found: Shown, ledger: str | None = None) -> Iterator[str]:
    """A dataset, its limits and its charges, for a person; ``ledger`` is the one they named."""
    balance = found.balance
    if balance.limit is not None:
        yield from wrap(plain(balance.describe(ledger)), _WIDTH, **_WHOLE_WORDS)
    else:
        spent = f"Dataset {balance.dataset!r}: spent so far {balance.spent_words()}"
        each = "" if balance.each is None else f" A single release may cost {amount(balance.each)}."
        yield from wrap(plain(f"{spent}; no limit is set.{each}"), _WIDTH, **_WHOLE_WORDS)
        yield f"  to set one: {balance.how_to_limit(ledger)}"
    if balance.counts_by_zcdp:
        yield "  accountant: zcdp"
    if balance.unit is not None:
        yield f"  unit: {plain(balance.unit.key)}"
        if balance.unit.unchecked is not None:
            yield from _indented(balance.unit.unchecked, 2)
    for words in (balance.warning(), same_people(found.also)):
        if words is not None:
            yield from _indented(f"Note: {words[0].upper()}{words[1:]}", 2)
    if found.limits:
        yield "  limits"
    for change in found.limits:
        yield from _limit_lines(change)
    if found.charges:
        yield "  charges"
    for charge in found.charges:
        yield from _charge_lines(charge)


def group_lines(dataset: str, by: str, groups: Iterable[Group]) -> Iterator[str]:
    yield f"Dataset {plain(dataset)!r}, by {by}:"
    none = True
    for group in groups:
        none = False
        times = f"{group.charges} charge{'s' if group.charges > 1 else ''}"
        name = plain(group.name) if group.name is not None else f"(no {by} recorded)"
        yield from _indented(f"{amount(group.spent)}, {times}: {name}", 2, 4)
    if none:
        yield "  nothing was spent"


def paragraph(text: str) -> str:
    return "\n".join(wrap(plain(text), _WIDTH, **_WHOLE_WORDS))


def plain(text: str) -> str:
    r"""Text that a terminal takes as text: what would move its cursor is written out.

    >>> plain("a\x1b[2J\nb")
    'a\\x1b[2J\\nb'
    """
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def as_json(found: Shown) -> dict[str, Json]:
    """A dataset with its limits and charges; amounts are exact texts."""
    balance = found.balance
    return {
        "dataset": balance.dataset,
        "unit": unit_fields(balance.unit),
        "accountant": balance.accountant,
        "spent": loss_fields(balance.spent),
        "reported": loss_fields(balance.reported),
        "limit": loss_fields(balance.limit),
        "each": loss_fields(balance.each),
        "remaining": loss_fields(balance.remaining),
        "warning": balance.warning(),
        "also_charged_to": list(found.also),
        "limits": [_limit_json(change) for change in found.limits],
        "charges": [_charge_json(charge) for charge in found.charges],
    }


def groups_json(dataset: str, groups: Iterable[Group]) -> dict[str, Json]:
    return {
        "dataset": dataset,
        "groups": [
            {"name": group.name, "charges": group.charges, **amount_fields(group.spent)}
            for group in groups
        ],
    }


_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def _indented(text: str, first: int, rest: int | None = None) -> list[str]:
    later = " " * (first if rest is None else rest)
    return wrap(
        text, _WIDTH, initial_indent=" " * first, subsequent_indent=later, **_WHOLE_WORDS
    )  # fmt: skip


def _labelled(label: str, text: str | None, *, whole: bool = False) -> list[str]:
    """A fact of a charge, under the others; ``whole`` keeps what is to be copied on one line."""
    if text is None:
        return []
    start, rest = f"      {label:<{_LABEL}}", " " * (6 + _LABEL)
    if whole:
        return [start + plain(text)]
    pieces = _wrapped(text, _WIDTH - len(rest))
    return [f"{start if n == 0 else rest}{piece}" for n, piece in enumerate(pieces)]


@lru_cache(maxsize=1024)
def _wrapped(text: str, width: int) -> tuple[str, ...]:
    """Cached: purposes and parameters repeat from charge to charge."""
    return tuple(wrap(plain(text), width, **_WHOLE_WORDS))


def _when(time: str) -> str:
    return plain(time).replace("T", " ").replace("+00:00", " UTC")


def _limit_lines(change: LimitChange) -> Iterator[str]:
    if change.before is None:
        what = f"created: {_limits_words(change.after)}"
    else:
        what = f"{_limits_words(change.before)} → {_limits_words(change.after)}"
    yield from _indented(f"{_when(change.time)}  {what}", 4, 6)
    yield from _labelled("by", str(change.by))
    yield from _labelled("reason", change.reason)


def _limits_words(limits: Limits) -> str:
    total = "no limit" if limits.total is None else amount(limits.total)
    return total if limits.each is None else f"{total} (each {amount(limits.each)})"


def _charge_lines(charge: Charged) -> Iterator[str]:
    cost, asked = "  ".join(stated(charge.charge.loss)), charge.asked
    state = charge.state if charge.withdrawn is None else f"{charge.state}, withdrawn"
    yield f"    {charge.id}  {_when(charge.time)}  {cost}  {state}"
    yield from _labelled("by", str(charge.by))
    yield from _labelled("source", asked.source, whole=True)
    yield from _labelled("output", asked.output, whole=True)
    yield from _labelled("purpose", asked.purpose)
    yield from _labelled("request", asked.request_id, whole=True)
    yield from _labelled("asked", _parameters(asked.parameters) or None)
    yield from _labelled("voided", charge.reason)
    if charge.withdrawn is not None:
        said = f"{_when(charge.withdrawn.time)}, {charge.withdrawn.by!s}: "
        yield from _labelled("withdrawn", said + charge.withdrawn.reason)
    if hint := charge.hint():
        yield from _labelled("note", hint, whole=True)


def _parameters(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in parameters.items()
        if value is not None and value != {} and value != []
    )


def _limit_json(change: LimitChange) -> dict[str, Json]:
    return {
        "time": change.time,
        "by": change.by.fields(),
        "event": "created" if change.before is None else "changed",
        "before": None if change.before is None else _limits_json(change.before),
        "after": _limits_json(change.after),
        "reason": change.reason,
    }


def _limits_json(limits: Limits) -> Json:
    return {"limit": loss_fields(limits.total), "each": loss_fields(limits.each)}


def _charge_json(charge: Charged) -> dict[str, Json]:
    asked, withdrawn = charge.asked, charge.withdrawn
    return {
        "id": charge.id,
        "time": charge.time,
        "release": charge.charge.release_id,
        "unit": unit_fields(charge.unit),
        **amount_fields(charge.charge.loss),
        "state": charge.state,
        "by": charge.by.fields(),
        "source": asked.source,
        "output": asked.output,
        "purpose": asked.purpose,
        "request_id": asked.request_id,
        "parameters": asked.fields()["parameters"],
        "sha256": charge.sha256,
        "published_at": charge.published_at,
        "voided": charge.reason,
        "withdrawn": None
        if withdrawn is None
        else {"time": withdrawn.time, "reason": withdrawn.reason, "by": withdrawn.by.fields()},
        "hint": charge.hint(),
    }
