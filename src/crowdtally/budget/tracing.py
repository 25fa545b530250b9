"""What became of each charge, followed along the chain; what cannot follow is named."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdtally.budget.accountant import Loss
from crowdtally.budget.events import (
    AboutReservation,
    Drawing,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
)
from crowdtally.budget.history import State


@dataclass(frozen=True)
class Trace:
    """Where one charge stands."""

    cost: Loss
    """What it cost."""
    records_drawing: bool
    """Whether its run records when it draws; those of earlier versions did not."""
    state: State = "reserved"
    """As in ``Charged``."""
    withdrawn: bool = False
    """Whether its release was called back."""

    @classmethod
    def of(cls, event: Reserved) -> Trace:
        """A charge that was just made."""
        return cls(event.charge.loss, event.asked is not None)

    def then(self, event: AboutReservation) -> Trace | None:
        """Where it stands after the event; ``None`` where that cannot have happened."""
        if isinstance(event, Drawing):
            fits = self.state == "reserved" and self.records_drawing
            return replace(self, state="drawing") if fits else None
        if isinstance(event, MarkedPublished):
            fits = self.state == ("drawing" if self.records_drawing else "reserved")
            return replace(self, state="published") if fits else None
        if isinstance(event, Voided):
            fits = self.state in {"reserved", "drawing"} and event.given_back == self.cost
            return replace(self, state="voided") if fits else None
        assert isinstance(event, Withdrawn)
        fits = self.state == "published" and not self.withdrawn
        return replace(self, withdrawn=True) if fits else None
