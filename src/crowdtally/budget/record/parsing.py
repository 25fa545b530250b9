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
    checked_sha256,
    record,
)
from crowdtally.budget.record.fields import read_amount, read_loss, read_unit
from crowdtally.budget.record.sources import Sources
from crowdtally.budget.record.staged import StagedFolder
from crowdtally.errors import CrowdtallyError
from crowdtally.values.epsilon import Delta, Epsilon, Rho


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
            "cannot say what it cost. Use a version at least as new as the one that wrote it."
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
        _epsilon(fields),
        fields["mechanism"],
        fields["parameters"],
        Delta(read_amount(fields["delta"])),
        rho=_rho(fields),
        selects=_flag(fields.get("selects", False)),
    )


def _epsilon(fields: Any) -> Epsilon | None:
    return positive_epsilon(fields["epsilon"], may_be_none="rho" in fields)


def positive_epsilon(text: object, *, may_be_none: bool) -> Epsilon | None:
    """None of it only where the version knows ρ, of which there must be some then."""
    amount = read_amount(text)
    return None if may_be_none and not amount else Epsilon(amount)


def _rho(fields: Any) -> Rho | None:
    return positive_rho(fields.get("rho", "0"))


def positive_rho(text: object) -> Rho | None:
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
        _epsilon(fields),
        tuple(part(each) for each in fields["parts"]),
        Delta(read_amount(fields["delta"])),
        fields["versions"],
        rho=_rho(fields),
    )
    # A field of another version is refused: the event would be recorded as that version.
    asked = Asked(**fields["asked"]) if "asked" in fields else None
    return Reserved(unit, charge, asked, _staged(fields.get("staged")))


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


# One reader per kind and version. A changed meaning is a new version with a new reader; the old
# one stays.
_READERS: dict[tuple[str, int], Callable[[Any], Event]] = {
    ("created", 1): lambda f: Created(read_unit(f["unit"]), f["accountant"], read_loss(f["limit"])),
    ("created", 2): _created,
    ("created", 3): _created,
    ("limit", 1): lambda f: LimitSet(read_loss(f["limit"])),
    ("limit", 2): _limit,
    ("limit", 3): _limit,
    ("sources", 1): lambda f: Sources(f["hashes"]),
    ("reserved", 1): _reserved,
    ("reserved", 2): _reserved,
    ("reserved", 3): _reserved,
    ("reserved", 4): _reserved,
    ("drawing", 1): lambda f: Drawing(f["reservation"], _staged(f["staged"])),
    ("published", 1): lambda f: MarkedPublished(f["reservation"]),
    ("published", 2): lambda f: MarkedPublished(f["reservation"], checked_sha256(f["sha256"])),
    ("voided", 1): _voided,
    ("voided", 2): _voided,
    ("withdrawn", 1): lambda f: Withdrawn(f["reservation"], f["reason"]),
}
