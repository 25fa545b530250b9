"""Events read back from the record; what is not known is refused, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crowdtally.budget.errors import DamagedLedgerError, LedgerError
from crowdtally.budget.record.charge import Asked, Charge, Part
from crowdtally.budget.record.events import (
    Created,
    Drawing,
    Event,
    LimitSet,
    MarkedPublished,
    Reserved,
    Voided,
    Withdrawn,
    record,
)
from crowdtally.budget.record.fields import read_amount, read_loss, read_unit
from crowdtally.budget.record.sources import Sources
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import CrowdtallyError


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
