"""Where a dataset stands, and what each event does to it.

``after`` is the only place where a budget decides anything. The ledger calls it to charge, and
``verify`` calls it again over the whole record.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger.accountants import Accountant, SequentialComposition, accountant
from crowdtally.ledger.amounts import Loss, amount, for_people, made_of, remaining_words
from crowdtally.ledger.charge import Charge, Json, loss_fields, read_loss, read_unit, unit_fields
from crowdtally.ledger.errors import OverBudgetError, TooMuchAtOnceError
from crowdtally.ledger.events import Created, Event, LimitSet, Reserved, Voided

_WARN_FROM = Fraction(4, 5)


@dataclass(frozen=True)
class Balance:
    """What was spent on one dataset, and what may be."""

    dataset: str
    unit: PrivacyUnit | None = None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str = SequentialComposition.kind
    spent: Loss = field(default_factory=Loss)
    """The exact sum of all charges that were not voided, published or not."""
    limit: Loss | None = None
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit."""

    @property
    def remaining(self) -> Loss | None:
        """What may still be spent, never negative; ``None`` without a limit."""
        return None if self.limit is None else self._rule.remaining(self.spent, self.limit)

    @property
    def reported(self) -> Loss:
        """What was spent, in the terms of the limit: for a limit of (ε, δ) converted to these."""
        return self._rule.reported(self.spent, self.limit)

    @property
    def counts_by_zcdp(self) -> bool:
        """Whether ρ can be charged here; what remains is then ε or ρ, and not both."""
        return self.accountant != SequentialComposition.kind

    @property
    def _rule(self) -> Accountant:
        return accountant(self.accountant)

    def require(self, requested: Loss) -> None:
        """Refuse a request that does not fit, at once or in total; one that fits exactly does."""
        rule = self._rule
        if self.each is not None and not rule.fits_alone(requested, self.each):
            said = rule.reported(requested, self.each)
            raise TooMuchAtOnceError(self.dataset, said, self.each)
        if self.limit is not None and not rule.fits(self.spent, requested, self.limit):
            raise OverBudgetError(
                self.dataset, requested, rule.remaining(self.spent, self.limit),
                either=self.counts_by_zcdp, raise_it=self._how_to_raise(requested),
            )  # fmt: skip

    def cost(self, charge: Charge) -> Loss:
        return self._rule.cost(charge)

    def require_limits(self, total: Loss | None, each: Loss | None) -> None:
        """Refuse a limit that what is spent here, or by one charge, cannot be compared with."""
        for limit, spent in ((total, self.spent), (each, Loss())):
            if limit is not None:
                self._rule.require_limit(self.dataset, limit, spent)

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
        spent = f"Dataset {self.dataset!r}: spent so far {self.spent_words()}"
        each = "" if self.each is None else f" A single release may cost {amount(self.each)}."
        remaining = self.remaining
        if self.limit is None or remaining is None:
            total = "no limit on the total is set" if each else "no limit is set"
            return f"{spent}; {total}.{each} To set one: {self.how_to_limit(ledger)}"
        left = remaining_words(remaining, either=self.counts_by_zcdp)
        return f"{spent} of {amount(self.limit)}; remaining {left}.{each}"

    def spent_words(self) -> str:
        """What was spent; what it is made of too, where the two are not the same."""
        reported = self.reported
        in_rho = self.limit is not None and bool(self.limit.rho)
        said = amount(reported, in_rho=in_rho)
        return said if reported == self.spent else f"{said} ({made_of(self.spent)})"

    def standing_words(self) -> str:
        limit = "; no limit is set" if self.limit is None else f" of {amount(self.limit)}"
        return f"{self.spent_words()}{limit}"

    def how_to_limit(self, ledger: str | None = None) -> str:
        delta = " --delta D" if self.counts_by_zcdp or self.spent.delta else ""
        where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
        name = shlex.quote(self.dataset)
        return f"crowdtally ledger limit {name} --epsilon E{delta} --reason TEXT{where}"

    def _how_to_raise(self, requested: Loss) -> str:
        """The command that changes a limit; with δ where that is what is missing."""
        name, limit = shlex.quote(self.dataset), self.limit or Loss()
        if self.counts_by_zcdp and (limit.rho or requested.delta):
            # δ of single charges needs a limit in which it has a part of its own: see ``zcdp``.
            return f"crowdtally ledger limit {name} --rho R --delta D --reason TEXT"
        delta = " --delta D" if self.counts_by_zcdp or limit.delta or requested.delta else ""
        return f"crowdtally ledger limit {name} --epsilon E{delta} --reason TEXT"

    def warning(self) -> str | None:
        """A sentence where at least 80% of the limit is spent; else ``None``."""
        if self.limit is None:
            return None
        reported = self.reported
        first = (
            ("ρ", reported.rho, self.limit.rho)
            if self.limit.rho
            else ("ε", reported.epsilon, self.limit.epsilon)
        )
        for letter, spent, limit in (first, ("δ", self.spent.delta, self.limit.delta)):
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
            "each": loss_fields(self.each),
        }

    @classmethod
    def read(cls, dataset: str, fields: Any) -> Balance:
        spent = read_loss(fields["spent"])
        if spent is None:
            raise ValueError("a balance without a sum")
        accountant(fields["accountant"])  # refuses an unknown kind
        unit, limit = read_unit(fields["unit"]), read_loss(fields["limit"])
        each = read_loss(fields["each"])
        balance = cls(dataset, unit, fields["accountant"], spent, limit, each)
        if balance.fields() != fields:
            raise ValueError("a balance with other fields")
        return balance


def after(balance: Balance | None, dataset: str, event: Event) -> Balance:
    """Return the balance after ``event``; refuse an event that may not happen."""
    if isinstance(event, Created):
        if balance is not None:
            raise UsageError(f"dataset {dataset!r} exists already. {balance.describe()}")
        accountant(event.accountant)  # refuses an unknown kind
        made = Balance(dataset, event.unit, event.accountant, Loss(), event.limit, event.each)
        made.require_limits(event.limit, event.each)
        return made
    if balance is None:
        raise UsageError(f"there is no dataset {dataset!r} yet.")
    if isinstance(event, LimitSet):
        balance.require_limits(event.limit, event.each)
        return replace(balance, limit=event.limit, each=event.each)
    if isinstance(event, Reserved):
        return _charged(balance, event)
    if isinstance(event, Voided):
        rule = accountant(balance.accountant)
        return replace(balance, spent=rule.take_back(balance.spent, event.given_back))
    return balance


def _charged(balance: Balance, event: Reserved) -> Balance:
    rule = accountant(balance.accountant)
    cost = rule.cost(event.charge)
    balance.require_unit(event.unit)
    balance.require(cost)
    return replace(balance, unit=event.unit, spent=rule.add(balance.spent, cost))
