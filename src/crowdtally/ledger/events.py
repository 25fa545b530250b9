"""What was done: frozen events, recorded and read back by kind and version."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, get_args

from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger.amounts import Loss
from crowdtally.ledger.charge import (
    Asked,
    Charge,
    Json,
    Recorded,
    canonical,
    read_unit,
    unit_fields,
    words,
)
from crowdtally.ledger.errors import DamagedLedgerError, LedgerError
from crowdtally.ledger.provenance import Sources, StagedFolder

# An event states facts (mechanisms, parameters, exact ε, δ and ρ, units, versions), never what
# they cost in total: that is the accountant's word. Each kind has one version. Another kind or
# version is refused, because guessing at a privacy loss could make it free.

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Created(Recorded):
    kind: ClassVar[str] = "created"
    version: ClassVar[int] = 3
    called: ClassVar[str] = "a dataset"
    unit: PrivacyUnit | None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str
    limit: Loss | None
    """The total that may be spent; ``None`` for no limit."""
    each: Loss | None = None
    """What a single release may cost; ``None`` for no such limit."""

    def fields(self) -> dict[str, Json]:
        return {"each": None, **super().fields()}  # in the order of earlier exports


@dataclass(frozen=True)
class LimitSet(Recorded):
    kind: ClassVar[str] = "limit"
    version: ClassVar[int] = 3
    called: ClassVar[str] = "a limit"
    limit: Loss | None
    """The new total that may be spent; ``None`` for no limit."""
    each: Loss | None
    """What a single release may cost; ``None`` for no such limit."""
    reason: str


@dataclass(frozen=True)
class Reserved:
    """A charge was made; from here on it counts as spent, whatever happens."""

    kind: ClassVar[str] = "reserved"
    version: ClassVar[int] = 4
    unit: PrivacyUnit
    charge: Charge
    asked: Asked = field(default_factory=Asked)

    def fields(self) -> dict[str, Json]:
        """The fields of the charge stand beside the others."""
        return {
            "asked": self.asked.fields(),
            "unit": unit_fields(self.unit),
            **self.charge.fields(),
        }

    @classmethod
    def read(cls, recorded: Any) -> Reserved:
        unit = read_unit(recorded["unit"])
        if unit is None:
            raise ValueError("a charge without a unit")
        return cls(unit, Charge.read(recorded), Asked(**recorded["asked"]))


@dataclass(frozen=True)
class Drawing(Recorded):
    """Noise may be drawn from here on: no other run can continue this charge."""

    kind: ClassVar[str] = "drawing"
    version: ClassVar[int] = 1
    called: ClassVar[str] = "a drawing"
    reservation: str
    staged: StagedFolder | None = None
    """Where the unfinished release lies; ``None`` where no folder is staged."""

    @classmethod
    def read(cls, recorded: Any) -> Drawing:
        staged = recorded["staged"]
        folder = None if staged is None else StagedFolder.read(staged)
        return cls(recorded["reservation"], folder)


@dataclass(frozen=True)
class MarkedPublished(Recorded):
    """The release of a reservation is written, and is about to get its name."""

    kind: ClassVar[str] = "published"
    version: ClassVar[int] = 2
    called: ClassVar[str] = "a publication"
    reservation: str
    sha256: str
    """SHA-256 of its ``release.json``, in hexadecimal."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a publication")
        checked_sha256(self.sha256)


@dataclass(frozen=True)
class Voided(Recorded):
    """A person stated that nothing of a reservation left the machine; its charge is given back."""

    kind: ClassVar[str] = "voided"
    version: ClassVar[int] = 2
    called: ClassVar[str] = "a void"
    reservation: str
    reason: str
    given_back: Loss


@dataclass(frozen=True)
class Withdrawn(Recorded):
    """A published release was withdrawn; its charge stays."""

    kind: ClassVar[str] = "withdrawn"
    version: ClassVar[int] = 1
    called: ClassVar[str] = "a withdrawal"
    reservation: str
    reason: str
    """Why, in a person's words, for its readers."""


AboutReservation: TypeAlias = Drawing | MarkedPublished | Voided | Withdrawn
"""What can happen to a charge after it was made."""
Event: TypeAlias = Created | LimitSet | Sources | Reserved | AboutReservation


def record(event: Event) -> dict[str, Json]:
    return {"kind": event.kind, "version": event.version, **event.fields()}


def parse_quickly(text: str) -> Event:
    """The event in a canonical text; a ``KeyError``, ``ValueError``, … where it is not one."""
    fields = json.loads(text)
    event = _EVENTS[fields["kind"], fields["version"]].read(fields)
    if canonical(record(event)) != text:
        raise ValueError("not what would be recorded")
    return event


def checked_sha256(value: object) -> str:
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
    event_type = _EVENTS.get((kind, version)) if known else None
    if event_type is None:
        raise LedgerError(
            f"an unknown event, {kind!r} in version {version!r}: this version of Crowdtally "
            "cannot say what it cost. Use the version that wrote it."
        )
    try:
        event = event_type.read(fields)
        complete = record(event) == recorded
    except (KeyError, TypeError, ValueError, AttributeError, CrowdtallyError):
        complete = False
    if not complete:
        raise DamagedLedgerError(f"an event {kind!r} without the fields of its version.")
    return event


_EVENTS: dict[tuple[str, int], type[Event]] = {
    (event.kind, event.version): event for event in get_args(Event)
}
"""By kind and version. A changed meaning is a new version."""
