"""Where a dataset stands, and what each event does to it.

``after`` is the only place where a budget decides anything. The ledger calls it to charge, and
``verify`` calls it again over the whole record.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import Any

from crowdtally.budget.accountant import Loss, SequentialComposition, accountant
from crowdtally.budget.amounts import for_people
from crowdtally.budget.canonical import Json
from crowdtally.budget.errors import OverBudgetError
from crowdtally.budget.events import Created, Event, LimitSet, Reserved, Voided
from crowdtally.budget.fields import loss_fields, read_loss, read_unit, unit_fields
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit


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

    @property
    def remaining(self) -> Loss | None:
        """What may still be spent, never negative; ``None`` without a limit."""
        return None if self.limit is None else (self.limit - self.spent).at_least_zero()

    def require(self, requested: Loss) -> None:
        """Refuse a request that does not fit; one that fits exactly does.

        A limit can be set below what was spent. What remains is then nothing, not a debt: a request
        without δ is judged by ε alone, also where more δ was spent than the limit now allows.
        """
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
        remaining = self.remaining
        if self.limit is None or remaining is None:
            delta = " --delta D" if self.spent.delta else ""
            where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
            return (
                f"{spent}; no limit is set. To set one: "
                f"crowdtally ledger create {shlex.quote(self.dataset)} --epsilon E{delta}{where}"
            )
        return f"{spent} of {amount(self.limit)}; remaining {amount(remaining)}."

    def fields(self) -> dict[str, Json]:
        """As recorded beside each event; the dataset's name stands beside it too."""
        return {
            "unit": unit_fields(self.unit),
            "accountant": self.accountant,
            "spent": loss_fields(self.spent),
            "limit": loss_fields(self.limit),
        }

    @classmethod
    def read(cls, dataset: str, fields: Any) -> Balance:
        """What ``fields`` wrote."""
        spent = read_loss(fields["spent"])
        if spent is None:
            raise ValueError("a balance without a sum")
        accountant(fields["accountant"])  # refuses an unknown kind
        unit, limit = read_unit(fields["unit"]), read_loss(fields["limit"])
        balance = cls(dataset, unit, fields["accountant"], spent, limit)
        if balance.fields() != fields:
            raise ValueError("a balance with other fields")
        return balance


def after(balance: Balance | None, dataset: str, event: Event) -> Balance:
    """The balance once ``event`` happened; refused where it may not happen."""
    if isinstance(event, Created):
        if balance is not None:
            raise UsageError(f"dataset {dataset!r} exists already. {balance.describe()}")
        accountant(event.accountant)
        return Balance(dataset, event.unit, event.accountant, Loss(), event.limit)
    if balance is None:
        raise UsageError(f"there is no dataset {dataset!r} yet.")
    if isinstance(event, LimitSet):
        return replace(balance, limit=event.limit)
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
