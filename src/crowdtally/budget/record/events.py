"""What was done: frozen, versioned events that never change meaning.

An event states facts (mechanisms, parameters, exact ε, δ and ρ, units, versions), never what they
cost in total: that is the accountant's word. Each kind has one version. Another kind or version is
refused, because guessing at a privacy loss could make it free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from crowdtally.budget.amounts import to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json, exact_json
from crowdtally.budget.record.charge import Asked, Charge
from crowdtally.budget.record.fields import loss_fields, unit_fields, words
from crowdtally.budget.record.sources import Sources
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Created:
    """A dataset came into being."""

    kind: ClassVar[str] = "created"
    version: ClassVar[int] = 3
    unit: PrivacyUnit | None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str
    """The kind of accountant."""
    limit: Loss | None
    """The total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit."""

    def __post_init__(self) -> None:
        words(self.accountant, "the accountant of a dataset")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "each": loss_fields(self.each),
            "unit": unit_fields(self.unit),
            "accountant": self.accountant,
            "limit": loss_fields(self.limit),
        }


@dataclass(frozen=True)
class LimitSet:
    """The limits of a dataset were set, changed or lifted."""

    kind: ClassVar[str] = "limit"
    version: ClassVar[int] = 3
    limit: Loss | None
    """The new total that may be spent; ``None`` for no limit."""
    each: Loss | None
    """What a single release may cost; ``None`` for no such limit."""
    reason: str
    """Why, in a person's words."""

    def __post_init__(self) -> None:
        words(self.reason, "the reason of a limit")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        limit, each = loss_fields(self.limit), loss_fields(self.each)
        return {"limit": limit, "each": each, "reason": self.reason}


@dataclass(frozen=True)
class Reserved:
    """A charge was made; from here on it counts as spent, whatever happens."""

    kind: ClassVar[str] = "reserved"
    version: ClassVar[int] = 4
    unit: PrivacyUnit
    """What its ε protects."""
    charge: Charge
    """What is going to be done."""
    asked: Asked = field(default_factory=Asked)
    """What for."""

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        stated = self.charge.loss
        return {
            "asked": self.asked.fields(),
            "unit": unit_fields(self.unit),
            "release": self.charge.release_id,
            "epsilon": to_text(stated.epsilon),
            "delta": to_text(stated.delta),
            "rho": to_text(stated.rho),
            "parts": [part.fields() for part in self.charge.parts],
            "versions": exact_json(self.charge.versions, "versions"),
        }


@dataclass(frozen=True)
class Drawing:
    """Noise may be drawn from here on: what was charged can no longer be taken up again."""

    kind: ClassVar[str] = "drawing"
    version: ClassVar[int] = 1
    reservation: str
    """The id of the reservation."""
    staged: StagedFolder | None = None
    """Where the unfinished release lies; ``None`` where no folder is staged."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a drawing")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        staged = None if self.staged is None else self.staged.fields()
        return {"reservation": self.reservation, "staged": staged}


@dataclass(frozen=True)
class MarkedPublished:
    """The release of a reservation is written, and is about to get its name."""

    kind: ClassVar[str] = "published"
    version: ClassVar[int] = 2
    reservation: str
    """The id of the reservation."""
    sha256: str
    """SHA-256 of its ``release.json``, in hexadecimal."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a publication")
        checked_sha256(self.sha256)

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"reservation": self.reservation, "sha256": self.sha256}


@dataclass(frozen=True)
class Voided:
    """A person stated that nothing of a reservation left the machine; its charge is given back."""

    kind: ClassVar[str] = "voided"
    version: ClassVar[int] = 2
    reservation: str
    """The id of the reservation."""
    reason: str
    """The person's words."""
    given_back: Loss
    """What the reservation had cost."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a void")
        words(self.reason, "the reason of a void")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "reservation": self.reservation,
            "reason": self.reason,
            "given_back": loss_fields(self.given_back),
        }


@dataclass(frozen=True)
class Withdrawn:
    """A published release was called back; its charge stays."""

    kind: ClassVar[str] = "withdrawn"
    version: ClassVar[int] = 1
    reservation: str
    """The id of the reservation."""
    reason: str
    """Why, in a person's words, for its readers."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a withdrawal")
        words(self.reason, "the reason of a withdrawal")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"reservation": self.reservation, "reason": self.reason}


AboutReservation: TypeAlias = Drawing | MarkedPublished | Voided | Withdrawn
"""What can happen to a charge once it was made."""
Event: TypeAlias = Created | LimitSet | Sources | Reserved | AboutReservation


def record(event: Event) -> dict[str, Json]:
    """The event as recorded: its kind, its version and its fields."""
    return {"kind": event.kind, "version": event.version, **event.fields()}


def checked_sha256(value: object) -> str:
    """``value`` if it can be a SHA-256 in hexadecimal."""
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise UsageError(
            "the SHA-256 of a release's release.json is 64 hexadecimal digits in lower case: "
            f"received {str(value)[:80]!r}."
        )
    return value
