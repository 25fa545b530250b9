"""Events, and reading them back by version."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger.amounts import Loss, to_text
from crowdtally.ledger.charge import (
    Asked,
    Charge,
    Json,
    Part,
    exact_json,
    loss_fields,
    read_amount,
    read_loss,
    read_unit,
    unit_fields,
    words,
)
from crowdtally.ledger.errors import DamagedLedgerError, LedgerError
from crowdtally.ledger.provenance import Sources, StagedFolder

# What was done: frozen, versioned events that never change meaning.
#
# An event states facts (mechanisms, parameters, exact ε, δ and ρ, units, versions), never what
# they cost in total: that is the accountant's word. Each kind has one version. Another kind or
# version is refused, because guessing at a privacy loss could make it free.

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Created:
    """A dataset came into being."""

    kind: ClassVar[str] = "created"
    version: ClassVar[int] = 3
    unit: PrivacyUnit | None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str
    limit: Loss | None
    """The total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit."""

    def __post_init__(self) -> None:
        words(self.accountant, "the accountant of a dataset")

    def fields(self) -> dict[str, Json]:
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
        limit, each = loss_fields(self.limit), loss_fields(self.each)
        return {"limit": limit, "each": each, "reason": self.reason}


@dataclass(frozen=True)
class Reserved:
    """A charge was made; from here on it counts as spent, whatever happens."""

    kind: ClassVar[str] = "reserved"
    version: ClassVar[int] = 4
    unit: PrivacyUnit
    charge: Charge
    """What is going to be done."""
    asked: Asked = field(default_factory=Asked)

    def fields(self) -> dict[str, Json]:
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


# Events read back from the record; what is not known is refused, never guessed.


def parse(recorded: object) -> Event:
    """The event that ``record`` wrote; an unknown kind, version or field is refused."""
    if not isinstance(recorded, dict):
        raise DamagedLedgerError("an event that is not a JSON object.")
    fields = dict(recorded)
    kind, version = fields.pop("kind", None), fields.pop("version", None)
    # `true` equals 1 in Python, and a list cannot be looked up: both are unknown, not errors.
    known = isinstance(kind, str) and type(version) is int
    reader = _READERS.get((kind, version)) if known else None
    if reader is None:
        raise LedgerError(
            f"an unknown event, {kind!r} in version {version!r}: this version of Crowdtally "
            "cannot say what it cost. Use the version that wrote it."
        )
    try:
        event = reader(fields)
        complete = record(event) == recorded
    except (KeyError, TypeError, ValueError, AttributeError, CrowdtallyError):
        complete = False
    if not complete:
        raise DamagedLedgerError(f"an event {kind!r} without the fields of its version.")
    return event


def part(fields: Any) -> Part:
    """The part of a charge that its ``fields`` wrote."""
    return Part(
        fields["name"],
        some_epsilon(fields["epsilon"]),
        fields["mechanism"],
        fields["parameters"],
        Delta(read_amount(fields["delta"])),
        rho=some_rho(fields["rho"]),
        selects=_flag(fields["selects"]),
    )


def some_epsilon(text: object) -> Epsilon | None:
    """The ε of a text; ``None`` for nothing."""
    amount = read_amount(text)
    return Epsilon(amount) if amount else None


def some_rho(text: object) -> Rho | None:
    """The ρ of a text; ``None`` for nothing."""
    amount = read_amount(text)
    return Rho(amount) if amount else None


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _reserved(fields: Any) -> Reserved:
    unit = read_unit(fields["unit"])
    if unit is None:
        raise ValueError("a charge without a unit")
    charge = Charge(
        fields["release"],
        some_epsilon(fields["epsilon"]),
        tuple(part(each) for each in fields["parts"]),
        Delta(read_amount(fields["delta"])),
        fields["versions"],
        rho=some_rho(fields["rho"]),
    )
    return Reserved(unit, charge, Asked(**fields["asked"]))


def _staged(fields: Any) -> StagedFolder | None:
    return None if fields is None else StagedFolder.read(fields)


def _voided(fields: Any) -> Voided:
    given_back = read_loss(fields["given_back"])
    if given_back is None:
        raise ValueError("a void of nothing")
    return Voided(fields["reservation"], fields["reason"], given_back)


def _created(f: Any) -> Created:
    limit, each = read_loss(f["limit"]), read_loss(f["each"])
    return Created(read_unit(f["unit"]), f["accountant"], limit, each)


def _limit(f: Any) -> LimitSet:
    return LimitSet(read_loss(f["limit"]), read_loss(f["each"]), f["reason"])


# By kind and version. A changed meaning is a new version.
_READERS: dict[tuple[str, int], Callable[[Any], Event]] = {
    (Created.kind, Created.version): _created,
    (LimitSet.kind, LimitSet.version): _limit,
    (Sources.kind, Sources.version): lambda f: Sources(f["hashes"]),
    (Reserved.kind, Reserved.version): _reserved,
    (Drawing.kind, Drawing.version): lambda f: Drawing(f["reservation"], _staged(f["staged"])),
    (MarkedPublished.kind, MarkedPublished.version): lambda f: MarkedPublished(
        f["reservation"], f["sha256"]
    ),
    (Voided.kind, Voided.version): _voided,
    (Withdrawn.kind, Withdrawn.version): lambda f: Withdrawn(f["reservation"], f["reason"]),
}
