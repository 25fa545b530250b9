"""The ledger and the dataset that a request is charged to, as they were typed.

Closed by default: a name that nobody made is refused, before any list or record is read, since a
slip in it would be a budget of its own. Only one's own ledger, at a terminal, is made on first use.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdtally.core.privacy import Delta, Epsilon, Rho
    from crowdtally.ledger import Balance, Ledger
    from crowdtally.records.locate import Sources


@dataclass(frozen=True)
class Account:
    """What is charged, or would be."""

    ledger: str | None
    """``--ledger``."""
    dataset: str | None
    """``--dataset``."""
    new: bool
    """Whether it is meant that there may be no such ledger or dataset yet."""
    looks_only: bool = False
    """Whether nothing will be charged: a dataset that does not exist is then no slip yet."""

    def check(self, sources: Sources, epsilon: Epsilon, delta: Delta) -> None:
        """Refuse a request that the ledger does not allow, before any list is read.

        With a δ it may be paid for in ρ, of which nothing is known yet: a dataset that counts it is
        asked once the request is whole.
        """
        self.standing(sources, epsilon, delta, whole=False)

    def standing(
        self,
        sources: Sources,
        epsilon: Epsilon,
        delta: Delta,
        rho: Rho | None = None,
        *,
        whole: bool = True,
    ) -> Standing:
        """Where the dataset stands, if the request fits; looking makes no ledger.

        Args:
            sources: where the records are.
            epsilon: ε of the request.
            delta: its δ.
            rho: what it is paid for in, where that is ρ.
            whole: whether it is known what it is paid for in.
        """
        from crowdtally.curator.dataset import counts_rho, dataset_of
        from crowdtally.ledger import Balance

        books = self._books()
        if books is None:
            return Standing(Balance(dataset_of(sources, self.dataset, ()).name), self, None)
        with books:
            known = books.names()
            found = dataset_of(sources, self.dataset, known)
            by_rho = counts_rho(books, found.name)
            if by_rho and found.name in known and delta.value and not whole:
                return Standing(books.balance(found.name), self, known)
            paid: dict[str, Any] = {"request": epsilon, "delta": delta}
            if by_rho and rho is not None:
                paid = {"rho": rho}
            balance = books.check(
                found.name, sources.declared.unit, **paid, sources=found.sources,
                chosen=found.chosen, new_dataset=self.new or self.looks_only,
            )  # fmt: skip
        return Standing(balance, self, known)

    def _books(self) -> Ledger | None:
        """The ledger; None where there is none and there need not be."""
        from crowdtally.ledger import Ledger, MissingLedgerError
        from crowdtally.ledger.database.location import choose

        try:
            return Ledger.open(self.ledger)
        except MissingLedgerError:
            own = choose(self.ledger).by == "default"
            if self.new or (own and self.looks_only):
                return None
            raise


@dataclass(frozen=True)
class Standing:
    """What the ledger says before anything is charged."""

    balance: Balance
    """Where the dataset stands."""
    account: Account
    """What was typed."""
    known: list[str] | None
    """The datasets that there are; None where there is no ledger yet."""

    @property
    def is_new(self) -> bool:
        """Whether there is no such dataset yet."""
        return self.known is None or self.balance.dataset not in self.known

    def sentences(self) -> Iterator[str]:
        """For whoever plans a release."""
        if not self.is_new:
            yield self.balance.describe(self.account.ledger)
            if (warning := self.balance.warning()) is not None:
                yield f"Note: {warning}"
            return
        yield self.new_words()

    def new_words(self) -> str:
        """What it takes to charge a dataset that does not exist."""
        from crowdtally.errors import closest

        name, ledger = self.balance.dataset, self.account.ledger
        meant = closest(name, self.known or ())
        hint = f" Did you mean {meant!r}?" if meant is not None else ""
        where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
        create = f"crowdtally ledger create {shlex.quote(name)} --epsilon E{where}"
        return (
            f"Dataset {name!r} does not exist yet, so nothing was spent.{hint} A release makes it "
            f"with --new-dataset, without a limit; to give it one, first: {create}"
        )


def is_first_use(ledger: str | None) -> bool:
    """Whether somebody at a terminal is about to charge their own ledger for the first time."""
    from crowdtally.cli.asking import somebody_is_there
    from crowdtally.ledger import Ledger, MissingLedgerError
    from crowdtally.ledger.database.location import choose

    if not somebody_is_there() or choose(ledger).by != "default":
        return False
    try:
        with Ledger.open(ledger) as books:
            return not books.names()  # a first try that failed left it empty
    except MissingLedgerError:
        return True


def first_use_words(ledger: Ledger, dataset: str) -> str:
    """What a ledger is, told where one is made."""
    from crowdtally.ledger import Balance

    return (
        f"This is the first release of this account, so a ledger was made: {ledger.location}\n"
        "It records what each release spends (ε) of the privacy of the people in the records, so "
        "that all releases about them can be kept within one limit. These records are its dataset "
        f"{dataset!r}, without a limit so far. To set one:\n"
        f"  {Balance(dataset).how_to_limit()}\n"
        "Another ledger, such as one that a team shares, is named with --ledger PATH|URL or "
        "$CROWDTALLY_LEDGER. From now on a dataset that is new needs --new-dataset."
    )
