"""What became of each charge, followed along the chain; what cannot follow is named."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdtally.budget.loss import Loss
from crowdtally.budget.record.accountant import accountant
from crowdtally.budget.record.charge import Charge
from crowdtally.budget.record.events import (
    AboutReservation,
    Drawing,
    MarkedPublished,
    Reserved,
    Voided,
)
from crowdtally.budget.record.history import State
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class Trace:
    """Where one charge stands."""

    charge: Charge
    """What was charged."""
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
