"""What was done: frozen, versioned events that never change meaning.

An event states facts (mechanisms, parameters, exact ε, δ and ρ, units, versions), never what they
cost in total: that is the accountant's word. A kind or a version that is not listed here is
refused, because guessing at a privacy loss could make it free. An event is written in the oldest
version that can say all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from crowdtally.budget.amounts import to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json, exact_json
from crowdtally.budget.record.charge import Asked, Charge
from crowdtally.budget.record.fields import loss_fields, unit_fields, words
from crowdtally.budget.record.sources import Sources
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Created:
    """A dataset came into being."""

    kind: ClassVar[str] = "created"
    unit: PrivacyUnit | None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str
    """The kind of accountant."""
    limit: Loss | None
    """The total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit, and in version 1."""

    def __post_init__(self) -> None:
        words(self.accountant, "the accountant of a dataset")

    @property
    def version(self) -> int:
        """3 with a limit of ρ, 2 with a limit on single releases."""
        if _speaks_zcdp(self.limit, self.each):
            return 3
        return 1 if self.each is None else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            **({} if self.version == 1 else {"each": loss_fields(self.each)}),
            "unit": unit_fields(self.unit),
            "accountant": self.accountant,
            "limit": loss_fields(self.limit),
        }


@dataclass(frozen=True)
class LimitSet:
    """The limits of a dataset were set, changed or lifted."""

    kind: ClassVar[str] = "limit"
    limit: Loss | None
    """The new total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit, and in version 1."""
    reason: str | None = None
    """Why, in a person's words; ``None`` in version 1."""

    def __post_init__(self) -> None:
        if self.reason is None:
            if self.each or _speaks_zcdp(self.limit):
                raise UsageError("a limit needs a reason: received none.")
            return
        words(self.reason, "the reason of a limit")

    @property
    def version(self) -> int:
        """3 with a limit of ρ, 2 with a reason; 1 was written before reasons were asked for."""
        if self.reason is None:
            return 1
        return 3 if _speaks_zcdp(self.limit, self.each) else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        limit: dict[str, Json] = {"limit": loss_fields(self.limit)}
        if self.reason is None:
            return limit
        return {**limit, "each": loss_fields(self.each), "reason": self.reason}


@dataclass(frozen=True)
class Reserved:
    """A charge was made; from here on it counts as spent, whatever happens."""

    kind: ClassVar[str] = "reserved"
    unit: PrivacyUnit
    """What its ε protects."""
    charge: Charge
    """What is going to be done."""
    asked: Asked | None = None
    """What for; ``None`` in versions 1 and 2, whose runs draw without an entry ``drawing``."""
    staged: StagedFolder | None = None
    """Where the unfinished release lies, in version 2 only: now ``drawing`` says it."""

    def __post_init__(self) -> None:
        if self.asked is not None and self.staged is not None:
            raise UsageError("the staged folder of a charge is recorded when its drawing starts.")
        if self.charge.speaks_zcdp and self.asked is None:
            raise UsageError("a charge with a rho or a selection says what it was asked for.")

    @property
    def version(self) -> int:
        """4 with ρ or a selection, 3 with what was asked, 2 with a staged folder, else 1."""
        if self.charge.speaks_zcdp:
            return 4
        if self.asked is not None:
            return 3
        return 1 if self.staged is None else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        stated, zcdp = self.charge.loss, self.charge.speaks_zcdp
        return {
            **({} if self.staged is None else {"staged": self.staged.fields()}),
            **({} if self.asked is None else {"asked": self.asked.fields()}),
            "unit": unit_fields(self.unit),
            "release": self.charge.release_id,
            "epsilon": to_text(stated.epsilon),
            "delta": to_text(stated.delta),
            **({"rho": to_text(stated.rho)} if zcdp else {}),
            "parts": [part.fields(zcdp=zcdp) for part in self.charge.parts],
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
    reservation: str
    """The id of the reservation."""
    sha256: str | None = None
    """SHA-256 of its ``release.json``, in hexadecimal; ``None`` in version 1."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a publication")
        if self.sha256 is not None:
            checked_sha256(self.sha256)

    @property
    def version(self) -> int:
        """2 with a hash."""
        return 1 if self.sha256 is None else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        digest: dict[str, Json] = {} if self.sha256 is None else {"sha256": self.sha256}
        return {"reservation": self.reservation, **digest}


@dataclass(frozen=True)
class Voided:
    """A person stated that nothing of a reservation left the machine; its charge is given back."""

    kind: ClassVar[str] = "voided"
    reservation: str
    """The id of the reservation."""
    reason: str
    """The person's words."""
    given_back: Loss
    """What the reservation had cost."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a void")
        words(self.reason, "the reason of a void")

    @property
    def version(self) -> int:
        """2 where a dataset that counts by zCDP gets something back."""
        return 2 if _speaks_zcdp(self.given_back) else 1

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


def _speaks_zcdp(*amounts: Loss | None) -> bool:
    """Whether an amount has a ρ, which earlier versions did not know."""
    return any(amount is not None and amount.has_rho for amount in amounts)


def checked_sha256(value: object) -> str:
    """``value`` if it can be a SHA-256 in hexadecimal."""
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise UsageError(
            "the SHA-256 of a release's release.json is 64 hexadecimal digits in lower case: "
            f"received {str(value)[:80]!r}."
        )
    return value
