"""Where a dataset stands, and what each event does to it.

``after`` is the only place where a budget decides anything. The ledger calls it to charge, and
``verify`` calls it again over the whole record.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from crowdtally.budget.amounts import for_people
from crowdtally.budget.errors import OverBudgetError, TooMuchAtOnceError
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.accountant import SequentialComposition, accountant
from crowdtally.budget.record.canonical import Json
from crowdtally.budget.record.events import Created, Event, LimitSet, LimitsFile, Reserved, Voided
from crowdtally.budget.record.fields import loss_fields, read_loss, read_unit, unit_fields
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit

_WARN_FROM = Fraction(4, 5)


@dataclass(frozen=True)
class Balance:
    """What was spent on one dataset, and what may be."""

    dataset: str
    """Its name."""
    unit: PrivacyUnit | None = None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str = SequentialComposition.kind
    """The kind of accountant that composes them."""
    spent: Loss = field(default_factory=Loss)
    """The exact sum of all charges that were not voided, published or not."""
    limit: Loss | None = None
    """The total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit."""
    limits_file: str | None = None
    """SHA-256 of the officer's file that the limits were taken from; ``None`` without one."""

    @property
    def remaining(self) -> Loss | None:
        """What may still be spent, never negative; ``None`` without a limit."""
        return None if self.limit is None else (self.limit - self.spent).at_least_zero()

    def require(self, requested: Loss) -> None:
        """Refuse a request that does not fit, at once or in total; one that fits exactly does.

        A limit can be set below what was spent. What remains is then nothing, not a debt: a request
        without δ is judged by ε alone, also where more δ was spent than the limit now allows.
        """
        if self.each is not None and not requested.within(self.each):
            raise TooMuchAtOnceError(self.dataset, requested, self.each)
        remaining = self.remaining
        if self.limit is None or remaining is None:
            return
        if not requested.within(remaining):
            raise OverBudgetError(self.dataset, requested, self.spent, self.limit)

    def require_unit(self, unit: PrivacyUnit) -> None:
        """Refuse another unit: its ε says something else, and the sum would say nothing."""
        if self.unit is not None and self.unit != unit:
            same = f" If that was meant, type {self.unit.typed}." if self.unit.typed else ""
            raise UsageError(
                f"dataset {self.dataset!r} counts its budget by the privacy unit "
                f"{self.unit.key!r}, and this request is for {unit.key!r}."
                f"{same} Epsilons of different units do not add up: other users' records need "
                "another name, --dataset NAME."
            )

    def describe(self, ledger: str | None = None) -> str:
        """One or two sentences for a person; ``ledger`` is the one they named, if they did."""
        spent = f"Dataset {self.dataset!r}: spent so far {amount(self.spent)}"
        each = "" if self.each is None else f" A single release may cost {amount(self.each)}."
        remaining = self.remaining
        if self.limit is None or remaining is None:
            total = "no limit on the total is set" if each else "no limit is set"
            return f"{spent}; {total}.{each} To set one: {self.how_to_limit(ledger)}"
        return f"{spent} of {amount(self.limit)}; remaining {amount(remaining)}.{each}"

    def how_to_limit(self, ledger: str | None = None) -> str:
        """The command that sets a limit."""
        delta = " --delta D" if self.spent.delta else ""
        where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
        name = shlex.quote(self.dataset)
        return f"crowdtally ledger limit {name} --epsilon E{delta} --reason TEXT{where}"

    def warning(self) -> str | None:
        """A sentence where at least 80% of the limit is spent; else ``None``."""
        if self.limit is None:
            return None
        for letter, spent, limit in (
            ("ε", self.spent.epsilon, self.limit.epsilon),
            ("δ", self.spent.delta, self.limit.delta),
        ):
            if spent and spent >= limit * _WARN_FROM:
                share = f"{100 * spent // limit}%" if limit else "more than all"
                return (
                    f"{share} of the {letter} that dataset {self.dataset!r} may ever spend is "
                    f"spent: {for_people(spent)} of {for_people(limit)}."
                )
        return None

    def fields(self) -> dict[str, Json]:
        """As recorded beside each event; the dataset's name stands beside it too."""
        return {
            "unit": unit_fields(self.unit),
            "accountant": self.accountant,
            "spent": loss_fields(self.spent),
            "limit": loss_fields(self.limit),
            **({} if self.each is None else {"each": loss_fields(self.each)}),
            **({} if self.limits_file is None else {"limits_file": self.limits_file}),
        }

    @classmethod
    def read(cls, dataset: str, fields: Any) -> Balance:
        """What ``fields`` wrote."""
        spent = read_loss(fields["spent"])
        if spent is None:
            raise ValueError("a balance without a sum")
        accountant(fields["accountant"])  # refuses an unknown kind
        unit, limit = read_unit(fields["unit"]), read_loss(fields["limit"])
        each, file = read_loss(fields.get("each")), fields.get("limits_file")
        balance = cls(dataset, unit, fields["accountant"], spent, limit, each, file)
        if balance.fields() != fields:
            raise ValueError("a balance with other fields")
        return balance


def after(balance: Balance | None, dataset: str, event: Event) -> Balance:
    """The balance once ``event`` happened; refused where it may not happen."""
    if isinstance(event, Created):
        if balance is not None:
            raise UsageError(f"dataset {dataset!r} exists already. {balance.describe()}")
        accountant(event.accountant)
        return Balance(dataset, event.unit, event.accountant, Loss(), event.limit, event.each)
    if isinstance(event, LimitsFile):
        return balance or Balance(dataset)
    if balance is None:
        raise UsageError(f"there is no dataset {dataset!r} yet.")
    if isinstance(event, LimitSet):
        return replace(balance, limit=event.limit, each=event.each, limits_file=event.file)
    if isinstance(event, Reserved):
        return _charged(balance, event)
    if isinstance(event, Voided):
        rule = accountant(balance.accountant)
        return replace(balance, spent=rule.take_back(balance.spent, event.given_back))
    return balance


def _charged(balance: Balance, event: Reserved) -> Balance:
    rule = accountant(balance.accountant)
    cost = rule.cost(event.charge, event.charge.parts)
    balance.require_unit(event.unit)
    balance.require(cost)
    return replace(balance, unit=event.unit, spent=rule.add(balance.spent, cost))


def amount(loss: Loss) -> str:
    """An amount for a person; δ only where there is any."""
    epsilon = f"ε = {for_people(loss.epsilon)}"
    return f"{epsilon}, δ = {for_people(loss.delta)}" if loss.delta else epsilon
